"""Read and write `reasons.toml` and `one_case.toml`: why each program that passes is no hole."""

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
    "apart": "only a program that treats one epoch or case otherwise than the rest, for no reason, does this",
    "gpu": "the same without a GPU; where there is one, a scenario notices what is not",
}
"""The words that the two files may use, and what each says."""

EDITS_FILE = Path(__file__).with_name("reasons.toml")
EDITS_HEADER = (
    "# Edits of the solutions that pass, and why; `python -m tests.holes --all --write` writes it.\n"
)


@dataclass(frozen=True)
class Passed:
    """An edit of a solution, or a known mistake in one case only, that no scenario notices."""

    exercise: str
    old: str
    """The lines that it replaces, or the first of them; empty for something inserted."""
    new: str
    """The lines in their place; the variant's name for a known mistake."""
    where: str
    """Where something inserted belongs, as the repair says it; the case for a known mistake."""


def read_reasons(file: Path = EDITS_FILE) -> dict[Passed, str]:
    """Return the reason for each program that is known to pass; empty for one that nobody has judged."""
    table = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return {
        Passed(exercise, row["old"], row["new"], row["where"]): row["why"]
        for exercise, rows in table.items()
        for row in rows
    }


def write_reasons(reasons: dict[Passed, str], file: Path = EDITS_FILE, header: str = EDITS_HEADER) -> None:
    """Write them under a comment, by exercise in the order given."""
    text = header
    for one, why in reasons.items():
        fields = (("old", one.old), ("new", one.new), ("where", one.where), ("why", why))
        rows = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields)
        text += f"\n[[{one.exercise}]]\n{rows}"
    file.write_text(text, encoding="utf-8")
