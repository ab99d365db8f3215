"""Sort clippings: useful ones, and those that change no update, for the rules that say why."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from grader.scripts.facts import BackwardRan, Cleared, Clipped, Facts, Stepped


@dataclass(frozen=True, slots=True)
class Useless:
    """A clipping whose gradients no later step read; `late` if a step had read them just before."""

    clip: Clipped
    late: Stepped | None
    next_step: Stepped | None
    """The next step, if no backward lies in between."""


def owners(facts: Facts, clip: Clipped) -> frozenset[int]:
    """Return the optimizers that hold a clipped parameter."""
    return frozenset(one.number for one in facts.optimizers if one.parameters & clip.parameters)


def useless_clips(facts: Facts) -> Iterator[Useless]:
    """Iterate over the clippings that changed no update; those without a limit only measure."""
    for clip in facts.of(Clipped):
        if not isfinite(clip.limit):
            continue
        own = owners(facts, clip)
        if not _is_read(facts, clip, own) and any(
            isinstance(e, Stepped) for e in facts.events[clip.serial :]
        ):
            yield Useless(clip, _read_before(facts, clip, own), _next_step(facts, clip))


def _is_read(facts: Facts, clip: Clipped, own: frozenset[int]) -> bool:
    if clip.in_time:
        return True
    others = False
    for event in facts.events[clip.serial + 1 :]:
        if isinstance(event, Stepped) and event.optimizer in own:
            return True
        if isinstance(event, Cleared) and event.parameters & clip.parameters:
            return False
        others = others or isinstance(event, Stepped)
        if isinstance(event, BackwardRan) and (others or event.contributed & own):
            return False  # others were updated meanwhile, and the next round begins
    return bool(own)


def _read_before(facts: Facts, clip: Clipped, own: frozenset[int]) -> Stepped | None:
    for event in reversed(facts.events[: clip.serial]):
        if isinstance(event, Stepped) and event.optimizer in own:
            return event
        if isinstance(event, BackwardRan) and event.contributed & own:
            return None
    return None


def _next_step(facts: Facts, clip: Clipped) -> Stepped | None:
    for event in facts.events[clip.serial + 1 :]:
        if isinstance(event, Stepped):
            return event
        if isinstance(event, BackwardRan):
            return None
    return None
