"""Draw a report as one HTML file without anything from elsewhere."""

from html import escape
from typing import Any

from grader.scripts.findings import Language
from grader.scripts.report import Report, where
from grader.scripts.timeline import timeline

_CSS = """body{font:16px/1.6 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}
body{color-scheme:light dark}
article{border-left:4px solid #808080;padding:.2rem 1rem;margin:1.2rem 0}.bug{border-color:#e05252}
.warning{border-color:#c07c10}.info{border-color:#3d85f0}h2{font-size:1.1rem;margin:.2rem 0}.dim{opacity:.75}
table{border-collapse:collapse;width:100%}td{padding:.15rem .5rem;vertical-align:top}
code{font-family:ui-monospace,monospace}
pre{margin:.4rem 0;overflow-x:auto}del,ins{display:block;text-decoration:none;padding:0 .4rem}
del{background:#e0525233}ins{background:#2e9e5b33}
tr.off{opacity:.25}.bar{display:inline-block;height:.7rem;background:#3d85f0;margin-right:2px}"""
_SCRIPT = """const r=document.getElementById('at'),t=[...document.querySelectorAll('tr')];
r.oninput=()=>t.forEach((e,i)=>e.className=i<=+r.value?'':'off')"""


def page(report: Report, language: Language) -> str:
    """Return the page."""
    ko = language == "ko"
    folder = report.facts.folder
    found = (
        "".join(
            f'<article class="{told.severity}"><h2>{escape(told.rule.title.in_(language))} '
            f"<code>{escape(where(told.finding.place, folder))}</code></h2>"
            f"<p>{escape(told.finding.sentence.in_(language))}</p>"
            f'<p class="dim">{escape(told.finding.evidence.in_(language))}</p>'
            + (f"<p>→ {escape(told.finding.mend.in_(language))}</p>" if told.finding.mend else "")
            + _diff(told.finding.diff)
            + f'<p class="dim">{escape(told.rule.lesson)} [{told.rule.id}]</p></article>'
            for told in report.told
        )
        or f"<p>{'잘못된 것을 찾지 못했어요.' if ko else 'Nothing wrong was found.'}</p>"
    )
    rows = timeline(report.facts)
    title = f"xray: {report.facts.script.rpartition('/')[2]}"
    watched = f"업데이트 {report.facts.updates}번" if ko else f"{report.facts.updates} updates watched"
    return (
        f'<!doctype html><html lang="{language}"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_CSS}</style><h1>{escape(title)}</h1><p>{watched}</p>{found}"
        f"<h2>{'마지막 두 업데이트' if ko else 'The last two updates'}</h2>"
        f'<input id="at" type="range" min="0" max="{max(0, len(rows) - 1)}" value="{max(0, len(rows) - 1)}" '
        f'aria-label="{"시각" if ko else "moment"}" style="width:100%"><table>'
        + "".join(map(_row, rows))
        + f"</table><script>{_SCRIPT}</script></html>"
    )


def _diff(diff: tuple[str, str] | None) -> str:
    """Return a line as it is and as it should be; nothing if one line does not mend it."""
    if diff is None:
        return ""
    return f"<pre><code><del>- {escape(diff[0])}</del><ins>+ {escape(diff[1])}</ins></code></pre>"


def _row(row: Any) -> str:
    bars, line = "", row.line if row.code else ""
    if row.step is not None and row.step.recipe:
        largest = max(map(abs, row.step.recipe.values()))
        shares = [abs(value) / largest for value in list(row.step.recipe.values())[::-1][:12]]
        bars = "".join(f'<span class="bar" style="width:{2 * share:.2f}rem"></span>' for share in shares)
    return (
        f"<tr><td>{row.update}</td><td>{escape(row.kind)}</td><td>{line}</td>"
        f"<td><code>{escape(row.code)}</code></td><td>{escape(row.note)} {bars}</td></tr>"
    )
