"""Events about copies of modules, which follow their sources as averages do."""

from dataclasses import dataclass

from grader.scripts.facts import Event


@dataclass(kw_only=True, slots=True)
class CopyUpdated(Event):
    """Between a step and the next backward a copy of a module was set to `kept` of itself and `taken` of its source."""

    module: int
    kept: float
    taken: float


@dataclass(kw_only=True, slots=True)
class CopyEvaluated(Event):
    """A copy of a module ran in eval mode after a step and before the next backward."""

    module: int
    moved: bool
    """It had moved since that step."""


@dataclass(kw_only=True, slots=True)
class CopyUpdatedEarly(Event):
    """While an optimizer stepped, a copy of a module was mixed with the weights that its source had before the step."""

    optimizer: int
    module: int


@dataclass(kw_only=True, slots=True)
class ModuleCopied(Event):
    """`copy.deepcopy` copied a module."""

    source: int
    frozen: frozenset[int] = frozenset()
    """Parameters of the copy that were frozen from its beginning."""
