"""Keep the beginning of what a learner's function prints in one scenario, for the card.

`play.py` copies the output of each scenario, and keeps the beginning as `Run.printed`. How much a submission may print
at all is limited in `sandbox/client.py`.
"""

import sys
from collections.abc import Iterable, Iterator
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
    def is_genuine(self) -> bool:
        """True if a `KeptOutput` can have made it: it is not too long, and has as many lines as its text at least."""
        return len(self.text) <= MAX_CHARS and self.text.count("\n") <= self.lines < 2**40 and self.lines > 0


class KeptOutput:
    """A text stream that passes everything on to another one and keeps the beginning.

    Bytes that are written to its `buffer` are passed on, but not kept.
    """

    def __init__(self, stream: Any) -> None:
        """Pass everything on to `stream`, which may be None or hostile."""
        self._stream = stream
        self._kept = ""
        """The beginning of what was written."""
        self._line_breaks = 0
        """Number of line breaks in all that was written."""
        self._is_in_line = False
        """True if the last text did not end with a line break."""

    def write(self, text: str) -> Any:
        """Keep the beginning of `text`, and write it to the other stream."""
        if isinstance(text, str) and text:
            self._kept += text[: MAX_CHARS - len(self._kept)]
            self._line_breaks += text.count("\n")
            self._is_in_line = not text.endswith("\n")
        return len(text) if self._stream is None else self._stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of the texts, without line breaks between them."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the other stream, if there is one: `print` to no stream does not fail either."""
        if self._stream is not None:
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        if name == "_stream":  # asked of a copy that is being made, whose attributes are not set yet
            raise AttributeError(name)
        return getattr(self._stream, name)

    def printed(self) -> Printed | None:
        """Return what was written; None if it was nothing but white space."""
        return Printed(self._kept, self._line_breaks + self._is_in_line) if self._kept.strip() else None


@contextmanager
def copied_output() -> Iterator[KeptOutput]:
    """Copy what is written to `sys.stdout` inside; afterwards `sys.stdout` is as before."""
    original = getattr(sys, "stdout", None)
    output = KeptOutput(original)
    sys.stdout = output
    try:
        yield output
    finally:
        sys.stdout = original
