"""Keep the beginning of what a learner's function prints in one scenario, for the card."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

MAX_CHARS = 4000
"""Maximum number of printed characters kept for a scenario."""


@dataclass(frozen=True)
class Printed:
    """Output of one scenario."""

    text: str
    """Its beginning, at most `MAX_CHARS` characters; unchanged, so it may hold anything."""
    lines: int
    """Number of lines in all of it, kept or not."""

    @property
    def is_possible(self) -> bool:
        """False for what a `Copy` cannot have made: too long, or with fewer lines than its text."""
        return len(self.text) <= MAX_CHARS and self.text.count("\n") <= self.lines < 2**40 and self.lines > 0


class Copy:
    """A text stream that passes everything on to another one and keeps the beginning."""

    def __init__(self, stream: Any) -> None:
        """Create a copy of `stream`, which may be None or hostile."""
        self._stream, self._kept, self._breaks, self._open = stream, "", 0, False

    def write(self, text: str) -> Any:
        """Keep the beginning of `text`, and write it to the other stream."""
        if isinstance(text, str) and text:
            self._kept += text[: MAX_CHARS - len(self._kept)]
            self._breaks += text.count("\n")
            self._open = not text.endswith("\n")
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def printed(self) -> Printed | None:
        """Return what was written; None if it was nothing but white space."""
        return Printed(self._kept, self._breaks + self._open) if self._kept.strip() else None


@contextmanager
def copied_output() -> Iterator[Copy]:
    """Copy what is written to `sys.stdout` inside; afterwards `sys.stdout` is as before."""
    original = getattr(sys, "stdout", None)
    copy = Copy(original)
    sys.stdout = copy
    try:
        yield copy
    finally:
        sys.stdout = original
