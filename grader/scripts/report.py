"""What one watch led to, and its form as JSON."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from grader.scripts.facts import Facts
from grader.scripts.findings import Language, Told
from grader.scripts.places import Place

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


def as_json(report: Report, language: Language) -> bytes:
    """Write a report as JSON."""
    whole: dict[str, Any] = {
        "schema": SCHEMA,
        "script": report.facts.script,
        "updates": report.facts.updates,
        "findings": [
            {
                "id": told.rule.id,
                "title": told.rule.title.in_(language),
                "severity": told.severity,
                "file": told.finding.place.file if told.finding.place else None,
                "line": told.finding.place.line if told.finding.place else None,
                "sentence": told.finding.sentence.in_(language),
                "evidence": told.finding.evidence.in_(language),
                "mend": told.finding.mend.in_(language) if told.finding.mend else None,
                "diff": list(told.finding.diff) if told.finding.diff else None,
                "lesson": told.rule.lesson,
            }
            for told in report.told
        ],
        "script_status": report.script_status,
        "crash": report.crash,
        "observer_failures": [f"{type(one).__name__}: {one}" for one in report.failures],
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=1)


def where(place: Place | None, folder: str) -> str:
    """Return a place as `file:line`, relative to the script's folder where it lies inside."""
    if place is None:
        return "?"
    return f"{place.file.removeprefix(folder.rstrip('/') + '/')}:{place.line}"
