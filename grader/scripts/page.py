"""Draw a report as one HTML file without anything from elsewhere."""

import base64
import hashlib
import linecache
import math
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from grader.scripts.card import KINDS_OF_SEVERITY
from grader.scripts.findings import Language, Said, Told
from grader.scripts.places import Place
from grader.scripts.report import Report, advice, where
from grader.scripts.scope import heading, legend, losses_of_updates, remarks
from grader.scripts.timeline import Row, shares_of, timeline

_TEMPLATE = Path(__file__).with_name("page.html.j2")
_SCRIPT = """const moment = document.getElementById("moment");
const events = document.querySelectorAll(".event");
const told = document.getElementById("told");
function show() {
  events.forEach((one, at) => one.classList.toggle("off", at > +moment.value));
  told.textContent = `${+moment.value + 1}/${events.length} · ` + events[+moment.value].querySelector("b").textContent;
  moment.setAttribute("aria-valuetext", told.textContent);
}
if (moment) { moment.oninput = show; show(); }"""
_AROUND = 2
"""So many lines of the script are shown before and after the line of a finding."""
_WIDEST = 4.0
"""Width in rem of the bar of a batch that counts most."""


def page(report: Report, language: Language) -> str:
    """Return the page."""
    ko, rows = language == "ko", timeline(report.facts)
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["marked"] = _marked
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        language=language,
        name=report.facts.script.rpartition("/")[2],
        heading=heading(report, language),
        findings=[_finding(told, report, language) for told in report.told],
        remarks=remarks(report, language),
        legend=legend(rows, language),
        curve=_curve(losses_of_updates(report), language),
        losses="업데이트마다의 학습 손실" if ko else "Training loss of each update",
        taught="배우는 곳:" if ko else "Taught in:",
        last_updates="마지막 두 업데이트" if ko else "The last two updates",
        moment="여기까지" if ko else "up to here",
        rows=_rows(rows, language),
        script=_SCRIPT,
        script_hash=f"sha256-{digest}",
    )


def _curve(losses: list[float], language: Language) -> dict[str, str] | None:
    """Return the points of the curve in a box of 100 by 30, and what to say of it; None: nothing to draw."""
    low, high = min(losses, default=0.0), max(losses, default=0.0)
    if len(losses) < 2 or not (math.isfinite(low) and math.isfinite(high)) or low == high:
        return None
    points = (
        f"{100 * at / (len(losses) - 1):.2f},{30 * (high - loss) / (high - low):.2f}"
        for at, loss in enumerate(losses)
    )
    first, last = losses[0], losses[-1]
    said = Said(
        f"처음 {first:.4g}, 마지막 {last:.4g}, 가장 작을 때 {low:.4g}, 가장 클 때 {high:.4g}",
        f"first {first:.4g}, last {last:.4g}, lowest {low:.4g}, highest {high:.4g}",
    )
    return {
        "points": " ".join(points),
        "said": said.in_(language),
        "high": f"{high:.4g}",
        "low": f"{low:.4g}",
        "last": str(len(losses)),
    }


def _marked(text: str) -> Markup:
    """Set what stands between backticks as code; all of it is escaped."""
    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )


def _finding(told: Told, report: Report, language: Language) -> dict[str, Any]:
    """Return what the template says of one finding."""
    finding = told.finding
    return {
        "severity": told.severity,
        "kind": KINDS_OF_SEVERITY[told.severity].in_(language),
        "where": where(finding.place, report.facts.folder, language),
        "title": told.rule.title.in_(language),
        "sentence": finding.sentence.in_(language),
        "evidence": finding.evidence.in_(language),
        "lines": _lines(finding.place, finding.diff),
        "mend": advice(finding.mend, report.facts, language) if finding.mend else None,
        "lesson": told.rule.lesson,
        "id": told.rule.id,
    }


def _lines(place: Place | None, diff: tuple[str, str] | None) -> list[dict[str, str]]:
    """Return the line of a finding with those around it; where one line mends it, as it is and as it should be."""
    if place is None:
        return []
    lines: list[dict[str, str]] = []
    for number in range(max(1, place.line - _AROUND), place.line + _AROUND + 1):
        text = linecache.getline(place.file, number).rstrip()
        if not text and number > place.line:
            continue
        is_here = number == place.line
        if is_here and diff is not None:
            indent = text[: len(text) - len(text.lstrip())]
            lines.append({"number": f"{number} -", "text": text, "mark": "out"})
            lines.append({"number": f"{number} +", "text": indent + diff[1].strip(), "mark": "in"})
        else:
            lines.append({"number": str(number), "text": text, "mark": "here" if is_here else ""})
    shared = min((len(one["text"]) - len(one["text"].lstrip()) for one in lines if one["text"]), default=0)
    return [{**one, "text": one["text"][shared:]} for one in lines]


def _rows(rows: list[Row], language: Language) -> list[dict[str, Any]]:
    """Return what the template says of each event; the first of an update opens it."""
    told, before = [], None
    for row in rows:
        opens = f"업데이트 {row.update}" if language == "ko" else f"update {row.update}"
        told.append(
            {
                "opens": opens if row.update != before else "",
                "kind": row.kind,
                "line": row.line if row.code else "",
                "code": row.code,
                "note": row.note,
                "shares": [f"{_WIDEST / 2 * share:.2f}" for share in shares_of(row)],
            }
        )
        before = row.update
    return told
