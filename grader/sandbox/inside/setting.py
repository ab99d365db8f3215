"""The setting that the grader sends to the server at its start."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """What the server prepares, and how its children are isolated."""

    imports: Sequence[str]
    """Modules that drivers and submissions import; the server imports them once for all."""
    device: str
    """`cpu` or `cuda`."""
    isolate: bool
    """True inside bubblewrap: each child gets namespaces and a filter of system calls."""
    keep: Sequence[str]
    """Folders below /tmp that must stay visible when a child gets a /tmp of its own."""
