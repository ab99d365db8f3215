"""Events about what a script computes by hand where torch has a function: losses and updates."""

from dataclasses import dataclass

from torch import Tensor

from grader.scripts.facts import Event
from grader.scripts.places import Place

MOST_LOOKS = 8
"""Backwards of a line whose graphs are looked at for losses written by hand."""


@dataclass(kw_only=True, slots=True)
class ScorePicked(Event):
    """A loss picks the score of the target in each row: `gather`, an index or a product with one-hot rows.

    Only those of the first backwards of a line are kept; no loss function of torch made them.
    """

    backward: int
    targets: Tensor
    """At most 4096 of them, flat."""
    target_shape: tuple[int, ...]
    normalised: bool
    """The scores are log-probabilities: a log-softmax or a difference from `logsumexp` made them."""
    raw: bool
    """The last operation of the scores is a linear layer."""
    alone: bool
    """The loss is linear in what is picked, and nothing else in it reads the scores."""
    made: Place | None
    """The line of the log-softmax, where it was seen."""
    forward: int | None
    """Serial of the outermost forward whose output the scores are, if they are one as they stand."""
    weights: Tensor | None = None
    """The gradient of the loss with respect to each pick, as many as targets; None before the backward has run."""
    target_laid: tuple[int, ...] = ()


@dataclass(kw_only=True, slots=True)
class SquashedTwice(Event):
    """A loss of the script's own takes a softmax or a sigmoid of what has been through one already."""

    backward: int
    name: str
    """`Softmax` or `Sigmoid`."""
    made: Place | None
    """Where the first of the two was called, or its module constructed."""
    low: float
    high: float


@dataclass(kw_only=True, slots=True)
class SamplesSummed(Event):
    """A loss of the script's own adds one value for each sample; no mean and no division follows.

    The weight of every sample in the loss is the same, and was measured in the backward.
    """

    backward: int
    samples: int
    weight: float = 0.0


@dataclass(kw_only=True, slots=True)
class GradientsReused(Event):
    """What the newest update by hand was made of, as factors of what `torch.autograd.grad` gave before each update.

    A factor is negative where the update goes against a gradient. The place is that of the last call.
    """

    updates: int
    """How many there were, each with gradients of its own."""
    oldest: tuple[float, ...]
    """Factors of the gradients before the first updates."""
    between: float
    """The one factor of the sum of those that are neither old nor new."""
    newest: tuple[float, ...]
    """Factors of those before the last updates, oldest first."""
    unexplained: float
    """Share of the update that is no such combination."""
    without_oldest: float
    """The same of combinations that leave out the oldest."""


@dataclass(kw_only=True, slots=True)
class UpdatesStopped(Event):
    """Parameters without an optimizer of torch lie still although gradients come, and an iterator is used up.

    The script keeps that iterator, and it looks like one of parameters.
    """

    spent: Place | None
    """The line of a generator of the script's own; None for one of torch's, or a `filter`."""
