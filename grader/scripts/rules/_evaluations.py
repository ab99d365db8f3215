"""Tell the batches that were trained on from those that were evaluated, for the rules that compare them."""

from dataclasses import dataclass

from grader.scripts.facts import BackwardRan, BatchLoaded, Facts, ForwardRan, LoaderEnded


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


def rows(found: list[BatchLoaded]) -> set[int]:
    """Return the hashes of the rows of some batches."""
    return {row for one in found if one.rows is not None for row in one.rows.tolist()}
