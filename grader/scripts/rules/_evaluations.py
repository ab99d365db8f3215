"""Tell the batches that were trained on from those that were evaluated, for the rules that compare them."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.scripts.facts import BackwardRan, BatchLoaded, Facts, ForwardRan, LoaderEnded
from grader.scripts.places import Place


@dataclass(frozen=True, slots=True)
class Batches:
    """Loaded batches by their use."""

    trained: list[BatchLoaded]
    evaluated: list[BatchLoaded]
    """Seen by a forward without gradients, and by no backward before the next batch."""
    modules: dict[int, int]
    """By serial of a batch: the module that ran on it last."""


def batches(facts: Facts) -> Batches:
    """Sort the loaded batches of a run by their use."""
    trained: list[BatchLoaded] = []
    evaluated: list[BatchLoaded] = []
    last: BatchLoaded | None = None
    watched = False
    modules: dict[int, int] = {}
    for event in facts.events:
        if isinstance(event, BatchLoaded):
            if last is not None and watched:
                evaluated.append(last)
            last, watched = event, False
        elif isinstance(event, BackwardRan):
            if last is not None:
                trained.append(last)
            last, watched = None, False
        elif isinstance(event, LoaderEnded):  # a later backward is not about its last batch
            if last is not None and watched:
                evaluated.append(last)
            last, watched = None, False
        elif isinstance(event, ForwardRan) and last is not None:
            watched = watched or not event.grad
            modules[last.serial] = event.module
    if last is not None and watched:
        evaluated.append(last)
    return Batches(trained, evaluated, modules)


@dataclass(frozen=True, slots=True)
class Slices:
    """Inputs of one model that no loader gave."""

    place: Place
    own: set[int]
    """Rows of the forwards without gradients on one line."""
    trained: set[int]
    """Rows of its training forwards."""
    at_once: bool
    """One training forward saw them all: a graph, of which masks may choose."""


def slices(facts: Facts) -> Iterator[Slices]:
    """Iterate over the lines that evaluate a model on real numbers cut by hand: each row is hardly equal by chance."""
    if facts.loaders:
        return
    ran = [one for one in facts.of(ForwardRan) if one.rows is not None and one.continuous]
    used = {one.forward for one in facts.of(BackwardRan)}
    for module in facts.modules:
        own = [one for one in ran if one.module == module.number]
        parts = [_row_set(one) for one in own if one.serial in used]
        trained = set[int]().union(*parts)
        evaluated = [one for one in own if not one.grad and one.update]
        for place in dict.fromkeys(one.place for one in evaluated):
            seen = set[int]().union(*(_row_set(one) for one in evaluated if one.place == place))
            if trained and place is not None:
                yield Slices(place, seen, trained, any(part == trained for part in parts))


def _row_set(one: ForwardRan) -> set[int]:
    return set() if one.rows is None else set(one.rows.tolist())


def rows(found: list[BatchLoaded]) -> set[int]:
    """Return the hashes of the rows of some batches."""
    return {row for one in found if one.rows is not None for row in one.rows.tolist()}
