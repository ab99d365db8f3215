"""What a notebook's cell shows for `check`, `hint`, `progress` and the rest: a card, and the same in plain text."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from grader.course.feedback import Feedback
from grader.report.html import note_html


@dataclass(frozen=True)
class Shown:
    """HTML where the front end can, the same in plain text elsewhere."""

    html: str
    text: str
    feedback: Feedback | None = None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Mapping[str, str]:
        return {"text/plain": self.text, "text/html": self.html}

    def __repr__(self) -> str:
        return self.text

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return self.feedback is not None and self.feedback.status == "passed"


def message(text: str) -> Shown:
    """A line instead of feedback; `code` in backticks is set as code."""
    return Shown(note_html([text]), text)


def new_cell(code: str) -> None:
    """Put code into a new cell below, where the front end can; nothing else happens elsewhere."""
    with suppress(Exception):  # no front end's trouble keeps anybody from what is shown
        from IPython import get_ipython

        shell = get_ipython()
        if shell is not None:
            shell.set_next_input(code, replace=False)
