"""What one watch led to, and its form as JSON."""

import linecache
import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from grader.scripts.facts import Facts
from grader.scripts.findings import Language, Said, Told
from grader.scripts.places import Place, cell_of

SCHEMA = "hanstep.xray/1"


@dataclass
class Report:
    """The findings of one run with the facts behind them."""

    facts: Facts
    told: list[Told]
    crash: str | None = None
    """The script's own traceback, if it ended with an exception."""
    script_status: int | None = None
    """Exit status of the script itself; None if it is still running."""
    failures: list[Exception] = field(default_factory=list)

    @property
    def status(self) -> int:
        """Return the exit status of the tool."""
        if any(told.severity == "bug" for told in self.told):
            return 1
        return 2 if self.crash is not None or self.facts.updates == 0 else 0


def as_json(report: Report, language: Language, notes: list[str]) -> bytes:
    """Write a report as JSON; `notes` is what the card says beside its findings."""
    whole: dict[str, Any] = {
        "schema": SCHEMA,
        "script": report.facts.script,
        "updates": report.facts.updates,
        "watch_ended_early": bool(report.facts.updates) and not report.facts.ended and report.crash is None,
        "findings": [
            {
                "id": told.rule.id,
                "title": told.rule.title.in_(language),
                "severity": told.severity,
                "file": told.finding.place.file if told.finding.place else None,
                "line": told.finding.place.line if told.finding.place else None,
                "also": {"file": also.file, "line": also.line} if (also := told.finding.also) else None,
                "sentence": told.finding.sentence.in_(language),
                "evidence": told.finding.evidence.in_(language),
                "mend": advice(mend, report.facts, language) if (mend := told.finding.mend) else None,
                "diff": list(told.finding.diff) if told.finding.diff else None,
                "lesson": told.rule.lesson,
            }
            for told in report.told
        ],
        "notes": notes,
        "script_status": report.script_status,
        "crash": report.crash,
        "observer_failures": [f"{type(one).__name__}: {one}" for one in report.failures],
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=1)


def advice(mend: Said, facts: Facts, language: Language) -> str:
    """Return an advice that calls the optimizer as the script does."""
    text = mend.in_(language)
    places = {step.place for step in facts.steps() if step.place is not None}
    lines = [linecache.getline(place.file, place.line) for place in places]
    names = {name for line in lines for name in re.findall(r"([A-Za-z_][\w.]*)\.step\(", line)}
    name = names.pop() if len(names) == 1 else "optimizer"
    return re.sub(r"(?<![\w.])optimizer(?=\.(?:step|zero_grad)\b)", name, text)


def where(place: Place | None, folder: str, language: Language) -> str:
    """Return a place as `file:line`, relative to the script's folder where it lies inside; of a notebook, its cell."""
    if place is None:
        return "?"
    cell = cell_of(place.file)
    if cell is not None:
        return Said(f"셀 {cell}의 {place.line}번째 줄", f"line {place.line} of cell {cell}").in_(language)
    return f"{place.file.removeprefix(folder.rstrip('/') + '/')}:{place.line}"
