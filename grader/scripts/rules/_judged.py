"""Find the forwards that judge a model while it stands in train mode."""

from grader.scripts.facts import (
    BackwardRan,
    BatchLoaded,
    Facts,
    ForwardRan,
    GradientTaken,
    LoaderEnded,
    Stepped,
)
from grader.scripts.rules._evaluations import row_set

Run = list[ForwardRan]


def judged_in_train_mode(facts: Facts, module: int) -> list[Run]:
    """Return the evaluations of a module in train mode on rows that were not trained on, each between two updates.

    An evaluation is what one line does with one loader. Rows that come to one line several times between two updates
    are samples of dropout, on purpose, and so is what else is done there; so is what is done beside an eval mode.
    """
    loaders = _loaders(facts)
    graphs = _unused_graphs(facts, loaders)
    trained: set[int] = set()
    for one in facts.of(ForwardRan):
        if one.grad and one.serial not in graphs:
            trained |= row_set(one)
    found: list[Run] = []
    for block in _blocks(facts, module, graphs):
        runs: dict[object, Run] = {}
        for one in block:
            runs.setdefault((one.place, one.callers, loaders.get(one.serial)), []).append(one)
        new = [run for run in runs.values() if not any(row_set(one) & trained for one in run)]
        live = all(one.training and one.live_parts and row_set(one) for one in block)
        if block[0].update > 0 and live and all(map(_distinct, new)):
            found += new
    return found


def _distinct(run: Run) -> bool:
    return sum(len(row_set(one)) for one in run) == len(set[int]().union(*map(row_set, run)))


def _blocks(facts: Facts, module: int, graphs: set[int]) -> list[Run]:
    """Return the judging forwards of a module, together those between two updates."""
    blocks: list[Run] = [[]]
    for event in facts.events:
        if isinstance(event, Stepped | BackwardRan):
            blocks.append([])
        elif isinstance(event, ForwardRan) and (not event.grad or event.serial in graphs):
            blocks[-1] += [event] if event.module == module else []
    return [block for block in blocks if block]


def _loaders(facts: Facts) -> dict[int, int]:
    """Return the loader whose batch came last before a forward, by the forward's serial."""
    found: dict[int, int] = {}
    last: int | None = None
    for event in facts.events:
        if isinstance(event, BatchLoaded):
            last = event.loader
        elif isinstance(event, LoaderEnded):
            last = None
        elif isinstance(event, ForwardRan) and last is not None:
            found[event.serial] = last
    return found


def _unused_graphs(facts: Facts, loaders: dict[int, int]) -> set[int]:
    """Return the forwards with gradients on loaders for which nobody ever asked for gradients."""
    if any(True for _ in facts.of(GradientTaken)):
        return set()
    used = {serial for one in facts.of(BackwardRan) for serial in (*one.forwards, one.forward)}
    trained = {loader for serial, loader in loaders.items() if serial in used}
    ran = [one for one in facts.of(ForwardRan) if one.grad and one.serial in loaders]
    return {one.serial for one in ran if loaders[one.serial] not in trained}
