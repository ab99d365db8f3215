"""What a notebook's cell shows for `check`, `hint` and `progress`: a card, and the same in plain text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.feedback import Feedback


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
    """A line instead of a card."""
    import html

    return Shown(f"<p>{html.escape(text)}</p>", text)
