"""The things that a run's events are about, numbered in the order in which they were first seen."""

from dataclasses import dataclass, field

from grader.scripts.places import Place


@dataclass(slots=True)
class Producer:
    """An operation that made a loss's input, with the place of its call or of its module's construction."""

    name: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Mixed:
    """An operation that mixes the positions of a sequence of some length; `open`: also with later ones."""

    place: Place | None
    length: int
    open: bool


@dataclass(slots=True)
class ParameterFacts:
    """A tensor that gets gradients, or that is `frozen` when the watch ends."""

    number: int
    shape: tuple[int, ...]
    name: str
    """Qualified name in the module that was seen with it; "" if none was."""
    is_parameter: bool
    module_place: Place | None = None
    """Where the module that first held it was constructed."""
    module_callers: tuple[Place, ...] = ()
    module_serial: int | None = None
    """How many events had happened when that module was constructed; None if before the watch."""
    module_kind: str = ""
    born_in_forward: bool = False
    unregistered: bool = False
    """No outermost module that ran has it. Unless it is loose, name and place are those of the outermost module that
    has it, which ran at most inside another one."""
    loose: bool = False
    """Unregistered, and parameter of no known module: one keeps it in a list or dictionary, in the attribute `name`."""
    owner_classes: tuple[Place, ...] = ()
    """Of a loose one: a line in each of the learner's classes that make up the class of that module, itself first."""
    in_tree: bool = False
    """Belongs to `parameters()` of an outermost module that ran, at the end of the watch."""
    reached: int = 0
    """Backwards that gave it a gradient."""
    frozen: bool = False
    loaded: bool = False  # by `load_state_dict`, or copied with its module
    moved: bool | None = None
    """Changed since it was first seen; None if nobody looked."""
    alive: bool = True
    idle: int = 0
    """Updates in a row that left it as it was although it had a gradient; of those in no optimizer that steps now."""


@dataclass(slots=True)
class OptimizerFacts:
    """An optimizer and the parameters that it holds."""

    number: int
    kind: str
    built: Place | None
    serial: int
    groups: list[frozenset[int]]
    options: list[dict[str, object]]
    """Of each group: its settings besides the parameters."""
    shares_groups_with: frozenset[int] = frozenset()
    spent: tuple[int, ...] = ()
    """Groups whose parameters came as an iterator that had been used up before."""
    course: list[float] = field(default_factory=list)
    """The first group's rate before each step, or each 2nd, 4th … of many, from about its first change on; also after
    the watch."""

    @property
    def parameters(self) -> frozenset[int]:
        """Return the numbers of all its parameters."""
        return frozenset().union(*self.groups)


@dataclass(slots=True)
class ModuleFacts:
    """An outermost module that ran."""

    number: int
    kind: str
    built: Place | None
    parameters: frozenset[int]
    mode_sensitive: int
    """Submodules whose work depends on the mode."""
    batch_norms: int
    copied_from: int | None = None
    copy_ran: Place | None = None
    """Of a copy: where it, or it as a part, last ran with gradients on."""
    stale_runs: int = 0
    """Of a copy: evaluations with the statistics that it was copied with, while its source's had changed."""
    stale_from_birth: bool = False
    """Those statistics were a new batch norm's: it had never seen a batch."""


@dataclass(slots=True)
class LoaderFacts:
    """A DataLoader."""

    number: int
    built: Place | None
    batch_size: int | None
    batches: int | None
    size: int | None
    sampler: str
    drop_last: bool
    workers: int
    dataset: int
    """Equal for loaders of one dataset object."""
    dataset_kind: str = ""
    """Class of the dataset; of the innermost one where subsets wrap it."""
    worker_init: bool = False
    """A `worker_init_fn` was given."""


@dataclass(frozen=True, slots=True)
class FirstStep:
    """How an optimizer stood before its first step with weights that had been loaded."""

    optimizer: int
    fresh: bool
    """It carried nothing from earlier steps."""
    rates: tuple[float, ...]
    schedules: dict[int, int]
    """Its schedulers (numbers), and how far each was."""


@dataclass(slots=True)
class Deserted:
    """Steps in a row of a scheduler while its optimizer stood still and another one, not its own, trained the same."""

    optimizer: int
    """The other one, which no scheduler holds."""
    rates: tuple[float, ...]
    """Of the other one; the same all the time."""
    first: float
    """The scheduler's rate before these steps."""
    last: float = 0.0
    calls: int = 0
    updates: int = 0
    """Steps of the other one meanwhile."""


@dataclass(slots=True)
class SchedulerFacts:
    """A learning-rate scheduler."""

    number: int
    kind: str
    built: Place | None
    optimizer: int | None
    options: dict[str, float]
    """Its numbers: T_max, total_steps, step_size, last_epoch at the end …"""
    steps: int = 0
    """How often it stepped, also after the watch; so are the next two."""
    rises: int = 0
    """Steps that raised the rate of the first group."""
    rate: float | None = None
    """That rate at the end."""
    deserted: Deserted | None = None
    """Its last steps, if it moves the rate of an optimizer that is no longer in use; also after the watch."""
