"""Tell which exercise a notebook cell belongs to, from its tag (`exercise:train_step`)."""

from collections.abc import Mapping
from typing import Any

_PREFIX = "exercise:"


def exercise_of(cell: Mapping[str, Any]) -> str | None:
    """Return the name of the exercise whose answer is in the cell, or None for any other cell.

    Args:
        cell: a cell as nbformat or JSON gives it. Its tags are untrusted: whoever wrote the notebook may have put
            anything there.
    """
    tags = cell["metadata"].get("tags")
    texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return next((tag.removeprefix(_PREFIX) for tag in texts if tag.startswith(_PREFIX)), None)
