"""Define one entry of the table from exceptions to advice."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Advice:
    """One entry: which exceptions it answers, and the answer."""

    id: str
    pattern: str
    """Regular expression for the beginning of `Type: message`."""
    text: str
    """Korean: the cause, then what to do. `{name}` stands for the pattern's group of this name, and `{name:은/는}` for
    the particle that follows it."""
    line: str = ""
    """Regular expression that must occur in the learner's line that raised; empty: any line, or none. `{name}` stands
    for the pattern's group of this name."""
