"""What grader tells the server at its start."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """How the server prepares, and what its children are kept from."""

    imports: Sequence[str]
    """Modules that drivers and submissions import, once for all of them."""
    device: str
    isolate: bool
    """Inside bubblewrap: namespaces and filters for each child."""
    keep: Sequence[str]
    """Folders below /tmp that a child still needs when it gets a /tmp of its own."""
