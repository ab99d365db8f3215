"""Find training passes of shuffling loaders that give the same batches in the same order as the pass before."""

import ast
from dataclasses import dataclass, field
from itertools import pairwise

from grader.scripts.facts import BatchLoaded, Facts, LoaderBegan, OptimizerBuilt, Stepped
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.states import StateLoaded

_FEWEST = 3


@dataclass
class _Pass:
    """One pass: its batches, and the optimizers that stepped before the next one began."""

    place: Place | None
    batches: list[tuple[int, ...]] = field(default_factory=list)
    optimizers: set[int] = field(default_factory=set)


def same_orders(facts: Facts) -> tuple[Place, int] | None:
    """Return the line that seeds a loader's generator anew for each pass, and how many passes were alike.

    Loaders that one line makes of one data set count as one. A run that begins anew, with an optimizer of its own or
    with weights that were loaded, may see the same order on purpose.
    """
    for built, passes in _passes(facts).items():
        whole = [one for one in passes if one.optimizers and len(set(one.batches)) >= _FEWEST]
        alike = [
            after.batches == before.batches[: len(after.batches)] and after.optimizers == before.optimizers
            for before, after in pairwise(whole)
        ]
        seeding = _seeding(built, whole[-1].place) if alike and all(alike) else None
        if seeding is not None:
            return seeding, len(whole)
    return None


def _passes(facts: Facts) -> dict[Place, list[_Pass]]:
    """Return the passes since the last optimizer was built and the last weights were loaded, by the loader's line."""
    shuffling = {one.number: one for one in facts.loaders if one.sampler == "RandomSampler"}
    found: dict[tuple[Place, int], list[_Pass]] = {}
    last: _Pass | None = None
    for event in facts.events:
        if isinstance(event, OptimizerBuilt | StateLoaded):
            found, last = {}, None
        elif isinstance(event, LoaderBegan) and event.loader in shuffling:
            loader = shuffling[event.loader]
            last = _Pass(event.place)
            if loader.built is not None:
                found.setdefault((loader.built, loader.dataset), []).append(last)
        elif last is not None and isinstance(event, BatchLoaded) and event.loader in shuffling:
            last.batches.append(() if event.rows is None else tuple(event.rows.reshape(-1).tolist()))
        elif last is not None and isinstance(event, Stepped) and not event.inside:
            last.optimizers.add(event.optimizer)
    return {built: passes for (built, _), passes in found.items()}


def _seeding(built: Place, began: Place | None) -> Place | None:
    """Return the call that seeds a generator of its own, in the function that makes the loader or runs over it."""
    for place in (built, began):
        scopes = [] if place is None else _reading.around(place, ast.FunctionDef, *_reading.LOOPS)
        for call in (one for scope in scopes for one in _reading.calls(scope, "manual_seed")):
            assert place is not None
            owner = ast.unparse(call.func).rpartition(".")[0]
            if owner and (owner.partition(".")[0] != "torch" or "Generator(" in owner):
                return _reading.at(place.file, call)
    return None
