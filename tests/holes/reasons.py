"""Read and write `reasons.toml`: why each edit that passes is no hole."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

REASONS = {
    "same": "computes the same in every case that can occur",
    "style": "another right way: the contract leaves it open",
    "order": "the order of two statements that do not depend on each other",
    "unreached": "concerns only what the contract rules out",
    "rounding": "differs by rounding only",
    "message": "only the text of an exception or of a comment",
    "alone": "the same in one process and with at most one GPU, which is all that tests have",
    "gpu": "the same without a GPU; where there is one, a scenario notices what is not",
}
"""The words that `reasons.toml` may use, and what each says."""

_FILE = Path(__file__).with_name("reasons.toml")


@dataclass(frozen=True)
class Passed:
    """An edit of a solution that no scenario notices."""

    exercise: str
    old: str
    """The lines that it replaces; empty for something inserted."""
    new: str
    where: str
    """Where something inserted belongs, as the repair says it."""


def read_reasons() -> dict[Passed, str]:
    """Return the reason for each edit that is known to pass; empty for one that nobody has judged."""
    table = tomllib.loads(_FILE.read_text(encoding="utf-8")) if _FILE.is_file() else {}
    return {
        Passed(exercise, row["old"], row["new"], row["where"]): row["why"]
        for exercise, rows in table.items()
        for row in rows
    }


def write_reasons(reasons: dict[Passed, str]) -> None:
    """Write them, by exercise in the order given."""
    text = "# Edits of the solutions that pass, and why; `python -m tests.holes --all --write` writes it.\n"
    for one, why in reasons.items():
        fields = (("old", one.old), ("new", one.new), ("where", one.where), ("why", why))
        rows = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields)
        text += f"\n[[{one.exercise}]]\n{rows}"
    _FILE.write_text(text, encoding="utf-8")
