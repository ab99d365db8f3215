"""What was observed of a script's run: events in their order, and the things they are about.

Rules read this, and some of them the script's text beside it (`rules/_reading.py`). Events about
states, files and flags are in `states.py`, those about random numbers in `random_events.py`.

Events and things are numbered from 0 in the order in which they were first seen; an event's `serial` is its place in
`Facts.events`. Tensors kept in facts are small (hashes, sketches, scalars) and detached.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from torch import Tensor

from grader.scripts.places import Place
from grader.scripts.things import (
    LoaderFacts,
    Mixed,
    ModuleFacts,
    OptimizerFacts,
    ParameterFacts,
    Producer,
    SchedulerFacts,
)


@dataclass(kw_only=True, slots=True)
class Event:
    """Something that happened: `serial` in order, `place` the learner's line, `update` the finished updates before."""

    serial: int = -1
    place: Place | None = None
    update: int = 0


@dataclass(kw_only=True, slots=True)
class OptimizerBuilt(Event):
    """An optimizer was constructed."""

    optimizer: int


@dataclass(kw_only=True, slots=True)
class GroupAdded(Event):
    """A parameter group was added to a finished optimizer."""

    optimizer: int


@dataclass(kw_only=True, slots=True)
class ForwardRan(Event):
    """An outermost module with parameters was called; forwards recomputed within a backward are left out."""

    module: int
    training: bool
    grad: bool
    autocast: str | None
    rows: "Tensor | None"
    """A hash of each row of the first tensor argument; equal rows have equal hashes."""
    batch: int = 0
    continuous: bool = False
    """Rows of real numbers: two samples are hardly equal by chance."""
    rewritten: bool = False
    """The first tensor argument is a part of a larger tensor that was written into since the forward before."""
    frozen_parts: int = 0
    """Submodules that are sensitive to the mode (dropout, batch norm) and stand in eval mode."""
    live_parts: int = 0
    """The same in training mode."""
    raised: bool = False
    single_norms: int = 0
    """Batch-norm layers in training mode that were given one sample."""
    tokens: "Tensor | None" = None
    """The first tensor argument itself, if it holds integers in two dimensions; at most 64 rows."""
    repeated_row: bool = False
    """All rows of the input are equal, but are not one row that was expanded."""
    input_changed: bool = False
    """The first tensor argument was changed in place while the forward ran."""
    live_drops: int = 0
    """Dropout layers in training mode."""
    live_frozen_norms: frozenset[int] = frozenset()
    """Frozen weights (numbers) of batch norms that stand in training mode and keep statistics."""
    weights: float | None = None
    """A sum of some weights, of a forward in training mode without gradients."""
    needs_grad: bool = False
    """Gradients flow to the first tensor argument: it may change with the weights."""
    sharing: int = 0
    """Living inputs of earlier forwards that are other tensors and lie in exactly the memory of this one's."""
    drifted: bool | None = None
    """The first tensor argument is a part of a larger tensor that came before, and each time a little else: it has
    changed by less than half of itself since. None if it is no such part, or came for the first time."""
    changed_by: Place | None = None
    """Where the layer of torch was constructed that changed it."""
    input_lasts: bool = False
    """The changed tensor, or the one that it is a part of, was changed by a forward before."""
    mixed: tuple[Mixed, ...] = ()
    """What mixes the positions of a sequence; of the first forwards that build a graph only."""
    callers: tuple[Place, ...] = ()
    """Without gradients: the learner's lines that led to it, innermost first."""


@dataclass(kw_only=True, slots=True)
class LossComputed(Event):
    """A loss function of torch.nn.functional was called."""

    name: str
    shape: tuple[int, ...]
    target_shape: tuple[int, ...]
    dtype: str
    target_dtype: str
    grad: bool
    training: bool | None
    """Mode of the module that ran last; None if none ran."""
    reduction: str
    ignore_index: int | None
    class_weights: bool
    producers: tuple[Producer, ...]
    """What made the input, newest first; looks through reshapes. Empty without a graph."""
    module_place: Place | None = None
    """Where the loss module (`nn.NLLLoss()`) was constructed; None for a plain function call."""
    row_sums: "Tensor | None" = None
    """Smallest and largest entry, smallest and largest row sum, smallest and largest row sum of exp; float32."""
    targets: "Tensor | None" = None
    """The targets of a classification, at most 4096 of them."""
    value: "Tensor | None" = None
    target_rows: "Tensor | None" = None
    """A hash of each row of the targets."""
    behind_input: tuple[int, ...] = ()
    """Where the target has a graph, too: serials of the outermost forwards behind the input."""
    behind_target: tuple[int, ...] = ()
    """Serials of the outermost forwards behind the target."""
    filled: float = 0.0  # share of real-valued targets that are zeros at the ends of rows
    input_laid: tuple[int, ...] = ()
    """Shape of what the input was flattened from; empty if it was not."""
    target_laid: tuple[int, ...] = ()
    """The same of integer targets."""
    behind: frozenset[int] = frozenset()
    """Parameters that its graph reaches; of the first losses of a line only."""


@dataclass(kw_only=True, slots=True)
class BackwardRan(Event):
    """`backward` was called; `number` counts these: recipes name them."""

    number: int
    reached: frozenset[int]
    """Parameters (numbers) that the graph reaches or whose gradient changed."""
    contributed: frozenset[int]
    """Optimizers (numbers) whose parameters got gradients."""
    root: tuple[str, ...]
    """Names of the last operations of the root, newest first; empty if it is a leaf."""
    losses: tuple[int, ...]
    """Serials of the losses found in its graph."""
    nodes: int
    """Operations in the graph, at most `graph.MOST_NODES`."""
    retain: bool
    forward: int | None
    """Serial of the last outermost forward before it."""
    in_step: bool
    autocast: str | None
    norms: dict[int, float] = field(default_factory=dict)
    """Norm of this backward's own contribution, by optimizer, from its sketch."""
    held_before: dict[int, float] = field(default_factory=dict)
    """Norm of what already lay in `.grad` when it began, by optimizer."""
    value: "Tensor | None" = None
    raised: bool = False
    wrapped: Place | None = None  # where the newest leaf of its graph was made, as by `torch.tensor(…)`
    weights: dict[int, float] = field(default_factory=dict)  # a sum of some entries, by optimizer
    cut: int = 0  # tensors with graphs whose values were copied into that leaf
    forwards: tuple[int, ...] = ()  # serials of the outermost forwards whose outputs are in its graph
    divisor: float | None = None  # the number by which the root was divided last
    factor: float | None = None  # the number by which it was multiplied last
    spread: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """A difference that a broadcast made larger, right behind the root: shape of its prediction, and its own."""
    spread_entries: tuple[tuple[int, ...], tuple[int, ...]] | None = None  # not of squares
    flat_terms: int = 0  # summands of the root that have no graph, numbers among them
    callers: tuple[Place, ...] = ()
    """The learner's lines that led to it, innermost first."""
    summed: tuple[int, ...] = ()  # shape of what the root is a sum of; empty if something else made it
    left: frozenset[int] = frozenset()
    """Parameters without an optimizer that were changed since the last backward, and whose gradient still lay there."""
    pulls_baseline: bool = False
    """A policy's log-probabilities times an advantage train the value in it; the first backwards of a line only."""


@dataclass(kw_only=True, slots=True)
class OwnFunctionRan(Event):
    """A backward came to a `torch.autograd.Function` of the script; only the first ones of a class are kept."""

    kind: str
    backward: Place
    """Where its `backward` is defined."""
    ones: bool
    """Every gradient that it was given was 1."""


@dataclass(kw_only=True, slots=True)
class Detached(Event):
    """`detach` cut a graph, behind which these parameters stand; only the first calls of a line are kept."""

    parameters: frozenset[int]
    in_forward: bool


@dataclass(kw_only=True, slots=True)
class PartWithoutGrad(Event):
    """Within a forward that builds a graph a part ran without gradients."""

    parameters: frozenset[int]
    kind: str = ""
    live_parts: int = 0
    """Its own parts that are sensitive to the mode and stand in training mode."""
    live_drops: int = 0
    """Dropout layers among them."""
    weights: float = 0.0
    """A sum of some of its weights."""
    shape: tuple[int, ...] = ()
    """Shape of its output."""
    callers: tuple[Place, ...] = ()  # the learner's lines that led to it, innermost first


@dataclass(kw_only=True, slots=True)
class SequenceRan(Event):
    """A layer whose first axis is the time ran within a training forward; only the first runs of a layer are kept."""

    kind: str
    shape: tuple[int, ...]
    built: Place | None
    forward: int  # serial of the outermost forward


@dataclass(kw_only=True, slots=True)
class AxesSwapped(Event):
    """The script's `view` or `reshape` gave a tensor the sizes that it had, in another order; or those of heads.

    Only the first ones of a line are kept.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    in_training: bool
    """Within a forward that builds a graph."""


@dataclass(kw_only=True, slots=True)
class GraphKept(Event):
    """A tensor was alive with a graph of no loss, which uses one parameter `uses` times.

    Seen when the watch ended, or before: then its graph contains that of a tensor that lived some updates ago.
    """

    nodes: int
    uses: int


@dataclass(kw_only=True, slots=True)
class GradientTaken(Event):
    """`torch.autograd.grad` was called."""

    create_graph: bool
    parameters: frozenset[int] = frozenset()
    """Known parameters whose gradients were asked for."""


@dataclass(kw_only=True, slots=True)
class Cleared(Event):
    """`zero_grad` was called on an optimizer or a module."""

    optimizer: int | None
    module: int | None
    parameters: frozenset[int]
    dropped: dict[int, tuple[int, ...]]
    """By optimizer: backward numbers whose gradients no step of it had read."""


@dataclass(kw_only=True, slots=True)
class Clipped(Event):
    """Gradients were clipped by norm or value."""

    method: str
    parameters: frozenset[int]
    limit: float
    norm: "Tensor | None"
    updated: bool = False
    """Where no optimizer steps: its parameters had been changed by hand since the last backward."""
    in_time: bool = False
    """A step was running and had changed nothing yet, as in a hook before it."""


@dataclass(kw_only=True, slots=True)
class Stepped(Event):
    """An optimizer stepped; what it read, as a combination of what backwards contributed."""

    optimizer: int
    number: int
    """How many steps this optimizer made before."""
    closure: bool
    inside: bool
    """Called by the step of another optimizer."""
    empty: int
    """Parameters without a gradient."""
    total: int
    read_norm: float
    """0 if every gradient was None or zero."""
    recipe: dict[int, float]
    """Backward number -> coefficient, without those below 0.01 of the largest. Carried gradients are expanded."""
    carried: float | None
    """Coefficient of what the previous step had read, which still lay in `.grad`; None if nothing did."""
    unexplained: float
    """Share of the norm that the recipe does not explain."""
    window: tuple[int, ...]
    """Backwards that contributed since its previous step."""
    rates: tuple[float, ...]
    graphs_alive: int
    """Graphs of earlier backwards that something keeps alive."""
    callers: tuple[Place, ...] = ()
    cosines: dict[int, float] = field(default_factory=dict)
    """Backward number -> cosine of its contribution and that of the newest backward of the window."""
    weights: float = 0.0
    """A sum of some of its parameters' entries, before the step."""
    rounded_away: float | None = None
    """Share of looked-at entries of 16-bit weights with a gradient that the step left as they were."""
    short: str = ""
    """The type of those weights."""


@dataclass(kw_only=True, slots=True)
class UpdatedByHand(Event):
    """Parameters without an optimizer changed after a backward; its place is that of the next one."""

    within: bool = False
    """All of it happened after the forward that the next backward belongs to: none had changed when that began."""


@dataclass(kw_only=True, slots=True)
class ScalerCalled(Event):
    """A method of GradScaler was called: scale (with the factor `scale`), unscale_, step, update."""

    scaler: int
    method: str
    optimizer: int | None
    skipped: bool = False
    """For `step`: the optimizer did not step, because of infinite gradients."""
    scale: "Tensor | None" = None


@dataclass(kw_only=True, slots=True)
class ScalerBuilt(Event):
    """A GradScaler was constructed."""

    scaler: int


@dataclass(kw_only=True, slots=True)
class AutocastEntered(Event):
    """An autocast region began."""

    dtype: str
    enabled: bool


@dataclass(kw_only=True, slots=True)
class SchedulerBuilt(Event):
    """A scheduler was constructed."""

    scheduler: int


@dataclass(kw_only=True, slots=True)
class Scheduled(Event):
    """A scheduler stepped (its own first step inside its constructor is left out)."""

    scheduler: int
    before: tuple[float, ...]
    after: tuple[float, ...]
    metric: float | None = None
    """The score that ReduceLROnPlateau was given."""
    mode: str = ""
    """Its `mode`: "min" or "max"."""
    callers: tuple[Place, ...] = ()  # the learner's lines that led to it, innermost first


@dataclass(kw_only=True, slots=True)
class ModeSet(Event):
    """`train()` or `eval()` was called from the learner's code or a framework, on an outermost module."""

    module: int
    training: bool


@dataclass(kw_only=True, slots=True)
class LoaderBegan(Event):
    """An iteration over a DataLoader began."""

    loader: int
    pass_: int
    callers: tuple[Place, ...] = ()
    """The learner's lines that led to it, innermost first."""
    changed: tuple[str, ...] = ()  # what its dataset holds that has changed since the pass before began


@dataclass(kw_only=True, slots=True)
class BatchLoaded(Event):
    """A DataLoader gave a batch."""

    loader: int
    pass_: int
    index: int
    size: int
    rows: "Tensor | None"
    labels: "Tensor | None"
    continuous: bool = False
    """The first row is of floating point and has many distinct entries: two samples are hardly equal by chance."""
    arranged: "Tensor | None" = None
    """Of a loader in order without labels: hashes of its first targets as they stand, and of their sorted entries."""
    pieces: "Tensor | None" = None  # hashes of four neighbouring entries each: `batch_hashes.piece_hashes`
    marks: "Tensor | None" = None
    """The last tensor of one column, if it is of floating point and holds zeros and ones only: targets of yes or no."""


@dataclass(kw_only=True, slots=True)
class LoaderEnded(Event):
    """A DataLoader ran out of batches."""

    loader: int
    pass_: int
    batches: int


@dataclass(kw_only=True, slots=True)
class NumberRead(Event):
    """`.item()` was called."""

    of_loss: bool
    loss: int | None = None
    """Serial of the loss whose value it is."""


_E = TypeVar("_E", bound=Event)


@dataclass
class Facts:
    """Everything that was observed of one run."""

    script: str
    folder: str
    events: list[Event] = field(default_factory=list)
    parameters: list[ParameterFacts] = field(default_factory=list)
    optimizers: list[OptimizerFacts] = field(default_factory=list)
    modules: list[ModuleFacts] = field(default_factory=list)
    loaders: list[LoaderFacts] = field(default_factory=list)
    schedulers: list[SchedulerFacts] = field(default_factory=list)
    updates: int = 0
    """Finished updates: outermost steps, or changes by hand."""
    ended: bool = False
    """The script came to its end while it was watched."""
    block: bool = False
    """What is watched is a `with xray():`, not a whole script."""
    compiled: bool = False
    """The script compiles a module or a function, which ran eagerly while it was watched."""
    whole: bool = False
    """The script came to its end, after the watch or in it: what is observed after a watch is complete."""

    def of(self, kind: type[_E]) -> Iterator[_E]:
        """Iterate over the events of one class in their order."""
        return (event for event in self.events if isinstance(event, kind))

    def steps(self, optimizer: int | None = None) -> list[Stepped]:
        """Return the steps of one optimizer, or of all; without steps inside another step."""
        return [step for step in self.of(Stepped) if not step.inside and optimizer in (None, step.optimizer)]

    def backward(self, number: int) -> BackwardRan:
        """Return a backward by its number."""
        return next(event for event in self.of(BackwardRan) if event.number == number)

    def between(self, first: int, last: int) -> list[Event]:
        """Return the events after serial `first` and before serial `last`."""
        return self.events[first + 1 : last]

    def held(self) -> frozenset[int]:
        """Return the parameters that some optimizer holds."""
        return frozenset().union(*(optimizer.parameters for optimizer in self.optimizers))
