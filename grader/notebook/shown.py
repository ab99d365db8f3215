"""Define `Shown`, what a cell shows for `check`, `hint`, `progress` and others: a card, and the same as plain text."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from grader.course.feedback import Feedback
from grader.report.html import note_html


@dataclass(frozen=True)
class Shown:
    """Shown as HTML if the front end can, as the same content in plain text otherwise."""

    html: str
    text: str
    feedback: Feedback | None = None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Mapping[str, str]:
        return {"text/plain": self.text, "text/html": self.html}

    def __repr__(self) -> str:
        return self.text

    @property
    def passed(self) -> bool:
        """True if every check passed."""
        return self.feedback is not None and self.feedback.status == "passed"


def message(text: str) -> Shown:
    """Return a card with one line instead of feedback; `code` in backticks is set as code."""
    return Shown(note_html([text]), text)


def new_cell(code: str) -> None:
    """Put code into a new cell below the running one; do nothing if the front end cannot."""
    with suppress(Exception):  # trouble with the front end must not hide the output
        from IPython import get_ipython

        shell = get_ipython()
        if shell is not None:
            shell.set_next_input(code, replace=False)
