"""Events about what is kept and set beside the loop: states, files, flags of modules, and dropout in eval mode."""

from dataclasses import dataclass

from grader.scripts.facts import Event
from grader.scripts.places import Place
from grader.scripts.things import FirstStep


@dataclass(kw_only=True, slots=True)
class StateTaken(Event):
    """`state_dict()` of an outermost module, optimizer or scheduler was taken."""

    kind: str
    owner: int
    shares: bool
    """True if its tensors are the model's own."""
    kept: bool = False
    """The dictionary was still alive when the watch ended or two updates later, and shared the model's memory."""
    restored: bool = False
    rewritten: bool = False
    """Of an optimizer: a rate in the dictionary was changed and thrown away; the next step used the one before."""
    used: bool = False
    """Of an optimizer or scheduler: it had stepped, and its state says so."""
    weights: float | None = None
    """Of a module: a sum of some of its entries."""
    late: bool = False
    """Taken after the watch: nobody looks at whether it is kept."""


@dataclass(kw_only=True, slots=True)
class StateLoaded(Event):
    """`load_state_dict` was called."""

    kind: str
    owner: int
    taken: int | None
    """Serial of the StateTaken whose dictionary was loaded."""
    given: tuple[str, ...] = ()
    """Names of the tensors that a module was given."""
    own: tuple[str, ...] = ()
    """Names of the tensors that the module has."""
    itself: bool = False
    """Of a module: every tensor that it was given lies in its own memory, so nothing was restored."""
    weights: float | None = None
    """Of a module: the same sum of what it was given."""
    first: FirstStep | None = None
    """The step that trained a module's weights first afterwards, unless another optimizer stepped before."""


@dataclass(kw_only=True, slots=True)
class FileSaved(Event):
    """`torch.save` was called; `holds` says what was found inside."""

    holds: frozenset[str]
    keys: tuple[str, ...]


@dataclass(kw_only=True, slots=True)
class FileLoaded(Event):
    """`torch.load` was called."""

    keys: tuple[str, ...]


@dataclass(kw_only=True, slots=True)
class HookAdded(Event):
    """A line registered a hook while hooks of it, from before some training, still hung on the same thing."""

    owner: str
    """Class of what it hangs on."""
    function: Place
    """Where the hook is defined."""
    living: int
    """How many of the earlier ones were still there."""
    shared: bool
    """They hold the very things that the new one holds."""


@dataclass(kw_only=True, slots=True)
class FlagSet(Event):
    """`requires_grad` of a module was assigned: an attribute like any other, which its parameters do not follow."""

    kind: str
    """The module's class."""
    value: bool
    parameters: int
    against: int = 0
    """Those that were not so at a step soon after; of False: those that the stepping optimizer holds."""


@dataclass(kw_only=True, slots=True)
class UnreadAttribute(Event):
    """An attribute that the script assigned, and that torch does not read, was found before a step."""

    kind: str
    """The class of what has it."""
    name: str
    looks: int = 0
    """Of an optimizer: steps that were looked at. Of a misspelt flag: parameters that the stepping optimizer holds."""
    against: int = 0
    """Those for which it says something else than what counts."""
    value: object = None
    used: object = None
    """Of an optimizer: what its first group has."""
    steady: bool = True
    """The first group had the same at every step."""


@dataclass(kw_only=True, slots=True)
class DroppedInEval(Event):
    """A model in eval mode dropped entries by a function of torch, such as `F.dropout`; the first ones of a line."""

    forward: int
    """Serial of the outermost forward."""
    name: str
    told: bool
    """It was given `training`, and not by default."""
