"""What a rule says: a finding with its evidence, and the rule that finds it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from grader.scripts.facts import Facts
from grader.scripts.particles import with_particles
from grader.scripts.places import Place

Language = Literal["ko", "en"]
Severity = Literal["bug", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("bug", "warning", "info")
"""Worst first."""


class Said(NamedTuple):
    """One sentence in both languages."""

    ko: str
    en: str

    def in_(self, language: Language) -> str:
        """Return it in one language."""
        return with_particles(self.ko) if language == "ko" else self.en


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong, or asked, at one line of the script."""

    place: Place | None
    sentence: Said
    """What happens and what it does to training."""
    evidence: Said
    """What was measured on this run: numbers, lines, how often."""
    mend: Said | None = None
    """The smallest change that mends it."""
    diff: tuple[str, str] | None = None
    """The line as it is and as it should be, where one line mends it."""
    also: Place | None = None
    """Another line that has its part in it."""
    severity: Severity | None = None
    """None: as its rule says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of mistake: a function from facts, and from the script's text where it reads that, to findings."""

    id: str
    severity: Severity
    title: Said
    lesson: str | None
    """The part that teaches it, such as `01_five_line_step/1_five_lines`; None if no part does."""
    find: Callable[[Facts], Iterable[Finding]]
    late: bool = False
    """It also judges what is seen after the watch."""


@dataclass(frozen=True, slots=True)
class Told:
    """A finding together with its rule."""

    rule: Rule
    finding: Finding

    @property
    def severity(self) -> Severity:
        """Return how bad it is."""
        return self.finding.severity or self.rule.severity
