"""Which exercise a notebook's cell belongs to: its tag says so, `exercise:train_step`."""

from collections.abc import Mapping
from typing import Any

_PREFIX = "exercise:"


def exercise_of(cell: Mapping[str, Any]) -> str | None:
    """Name of the exercise whose answer stands in the cell; None where it is no such cell.

    Args:
        cell: as nbformat or JSON gives it; whoever wrote the notebook may have written anything into its tags.
    """
    tags = cell["metadata"].get("tags")
    texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return next((tag.removeprefix(_PREFIX) for tag in texts if tag.startswith(_PREFIX)), None)
