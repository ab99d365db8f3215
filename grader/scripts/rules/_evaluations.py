"""Tell the batches that were trained on from those that were evaluated, for the rules that compare them."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.scripts.facts import BackwardRan, BatchLoaded, Facts, ForwardRan, LoaderEnded
from grader.scripts.places import Place
from grader.scripts.things import LoaderFacts


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
    trained += _side_by_side(facts, {one.serial for one in (*trained, *evaluated)}, modules)
    return Batches(sorted(trained, key=lambda one: one.serial), evaluated, modules)


def _side_by_side(facts: Facts, sorted_: set[int], modules: dict[int, int]) -> list[BatchLoaded]:
    """Return the batches that were trained on after another one had been loaded, as `zip` gives them."""
    used = {one.forward for one in facts.of(BackwardRan)}
    inputs = {
        tuple(one.rows.tolist()): one.module
        for one in facts.of(ForwardRan)
        if one.serial in used and one.rows is not None
    }
    found = []
    for one in facts.of(BatchLoaded):
        key = None if one.rows is None or one.serial in sorted_ else tuple(one.rows.tolist())
        if key in inputs:
            found.append(one)
            modules[one.serial] = inputs[key]
    return found


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
    callers: tuple[Place, ...]
    """The learner's lines that led to the last of these forwards, innermost first."""


def slices(facts: Facts) -> Iterator[Slices]:
    """Iterate over the lines that evaluate a model on real numbers cut by hand: each row is hardly equal by chance."""
    if facts.loaders:
        return
    ran = [one for one in facts.of(ForwardRan) if one.rows is not None and one.continuous]
    used = {one.forward for one in facts.of(BackwardRan)}
    for module in facts.modules:
        own = [one for one in ran if one.module == module.number]
        parts = [row_set(one) for one in own if one.serial in used]
        trained = set[int]().union(*parts)
        evaluated = [one for one in own if not one.grad and one.update]
        for place in dict.fromkeys(one.place for one in evaluated):
            these = [one for one in evaluated if one.place == place]
            seen = set[int]().union(*map(row_set, these))
            if trained and place is not None:
                at_once = any(part == trained for part in parts)
                yield Slices(place, seen, trained, at_once, these[-1].callers)


def row_set(one: ForwardRan) -> set[int]:
    """Return the hashes of the rows of a forward's input."""
    return set() if one.rows is None else set(one.rows.reshape(-1).tolist())


def rows(found: list[BatchLoaded]) -> set[int]:
    """Return the hashes of the rows of some batches."""
    return {row for one in found if one.rows is not None for row in one.rows.tolist()}


def changed_passes(facts: Facts) -> Iterator[tuple[LoaderFacts, int, int]]:
    """Iterate over evaluation loaders whose labels come again in their order: rows of a pass, and those changed since.

    Several passes within one evaluation are left out: they are averaged on purpose.
    """
    for loader, first, second in _repeated(facts):
        if not _same_labels(first, second):
            continue
        before, after = _in_order(first), _in_order(second)
        if before:
            yield loader, len(before), sum(one != other for one, other in zip(before, after, strict=False))


def rearranged_passes(facts: Facts) -> Iterator[tuple[LoaderFacts, int, int]]:
    """Iterate over evaluation loaders whose targets come again with the same entries: those looked at, and rearranged.

    Targets are pictures; rearranged is one whose entries stand elsewhere, as in its mirror image.
    """
    for loader, first, second in _repeated(facts):
        before, after = _arranged(first), _arranged(second)
        same = [ordered for _, ordered in before] == [ordered for _, ordered in after]
        if same and len(set(before)) > 1:
            yield loader, len(before), sum(one != other for one, other in zip(before, after, strict=True))


def _repeated(facts: Facts) -> Iterator[tuple[LoaderFacts, list[BatchLoaded], list[BatchLoaded]]]:
    """Iterate over loaders that evaluate in a fixed order: their first two passes."""
    used = batches(facts)
    trained = {one.loader for one in used.trained}
    for loader in facts.loaders:
        passes: dict[int, list[BatchLoaded]] = {}
        for one in used.evaluated:
            if one.loader == loader.number:
                passes.setdefault(one.pass_, []).append(one)
        if loader.number in trained or loader.sampler != "SequentialSampler" or len(passes) < 2:
            continue
        if len({one[0].update for one in passes.values()}) == len(passes):
            first, second, *_ = passes.values()
            yield loader, first, second


def _arranged(found: list[BatchLoaded]) -> list[tuple[int, int]]:
    rows = [row for one in found if one.arranged is not None for row in one.arranged.tolist()]
    return [(plain, ordered) for plain, ordered in rows]


def _in_order(found: list[BatchLoaded]) -> list[int]:
    return [row for one in found if one.rows is not None for row in one.rows.tolist()]


def _same_labels(first: list[BatchLoaded], second: list[BatchLoaded]) -> bool:
    """Return True if two passes have the same batches by their labels, of at least two kinds."""
    given = [
        [None if one.labels is None else tuple(one.labels.tolist()) for one in them]
        for them in (first, second)
    ]
    sizes = [[one.size for one in them] for them in (first, second)]
    if given[0] != given[1] or sizes[0] != sizes[1] or None in given[0]:
        return False
    return len({label for one in given[0] if one is not None for label in one}) > 1
