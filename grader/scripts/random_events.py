"""Events about random numbers: generators that are seeded, and what is drawn from them."""

from dataclasses import dataclass

from torch import Tensor

from grader.scripts.facts import Event
from grader.scripts.places import Place


@dataclass(kw_only=True, slots=True)
class Seeded(Event):
    """A global generator was seeded."""

    package: str
    seed: int | None
    callers: tuple[Place, ...] = ()
    """The learner's lines that led to it, innermost first."""


@dataclass(kw_only=True, slots=True)
class Drawn(Event):
    """Random numbers were drawn from a generator of the script's own; only the first ones of a line are kept."""

    rows: Tensor | None
    """A hash of each row."""
    callers: tuple[Place, ...] = ()
    """The learner's lines that led to it, innermost first."""
