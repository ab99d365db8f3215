"""Draw a report as one HTML file without anything from elsewhere."""

import base64
import hashlib
import linecache
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from grader.scripts.card import KINDS_OF_SEVERITY, heading
from grader.scripts.findings import Language, Told
from grader.scripts.places import Place
from grader.scripts.report import Report, where
from grader.scripts.timeline import Row, shares_of, timeline

_TEMPLATE = Path(__file__).with_name("page.html.j2")
_SCRIPT = """const moment = document.getElementById("moment");
const events = document.querySelectorAll(".event");
if (moment) moment.oninput = () => events.forEach((one, at) => one.classList.toggle("off", at > +moment.value));"""
_AROUND = 2
"""So many lines of the script are shown before and after the line of a finding."""
_WIDEST = 4.0
"""Width in rem of the bar of a batch that counts most."""


def page(report: Report, language: Language) -> str:
    """Return the page."""
    ko = language == "ko"
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["marked"] = _marked
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        language=language,
        name=report.facts.script.rpartition("/")[2],
        heading=heading(report, language),
        findings=[_finding(told, report, language) for told in report.told],
        nothing="잘못된 것을 찾지 못했어요." if ko else "Nothing wrong was found.",
        taught="배우는 곳:" if ko else "Taught in:",
        last_updates="마지막 두 업데이트" if ko else "The last two updates",
        moment="시각" if ko else "moment",
        rows=_rows(timeline(report.facts), language),
        script=_SCRIPT,
        script_hash=f"sha256-{digest}",
    )


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
        "where": where(finding.place, report.facts.folder),
        "title": told.rule.title.in_(language),
        "sentence": finding.sentence.in_(language),
        "evidence": finding.evidence.in_(language),
        "lines": _lines(finding.place, finding.diff),
        "mend": finding.mend.in_(language) if finding.mend else None,
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
    return lines


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
