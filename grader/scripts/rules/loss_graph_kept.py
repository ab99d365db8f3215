"""Losses are kept with their graphs: memory grows with every update."""

import itertools
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.keeping import keeping_line
from grader.scripts.rules._windows import usual_length, windows

_FEWEST = 8


def _longest_rise(alive: list[int]) -> int:
    """Return for how many steps in a row the number rose."""
    longest = now = 0
    for before, after in itertools.pairwise(alive):
        now = now + 1 if after > before else 0
        longest = max(longest, now)
    return longest


def _find(facts: Facts) -> Iterator[Finding]:
    steps = facts.steps()
    alive = [step.graphs_alive for step in steps]
    window = max((usual_length(windows(facts, one.number)) for one in facts.optimizers), default=1)
    if (
        not alive
        or max(alive) < _FEWEST + 2 * window
        or _longest_rise(alive[:: max(1, len(facts.optimizers))]) < 5
    ):
        return
    backwards = [one for one in facts.of(BackwardRan) if one.place is not None]
    places = dict.fromkeys(one.place for one in backwards)
    kept = [line for place in places if place is not None and (line := keeping_line(place))]
    peak = max(alive)
    yield Finding(
        place=kept[-1] if kept else next(reversed(places), None),
        sentence=Said(
            "손실을 그래프째 모아 두어서, 업데이트할수록 메모리가 늘어나요.",
            "Losses are kept together with their graphs, so memory grows with every update.",
        ),
        evidence=Said(
            f"이미 `backward()`가 끝난 그래프가 동시에 {peak}개까지 살아 있었어요 (업데이트 {len(steps)}번).",
            f"Up to {peak} graphs whose backward() was over were alive at once (in {len(steps)} updates).",
        ),
        mend=Said("`loss.item()`이나 `loss.detach()`를 모으세요.", "Keep `loss.item()` or `loss.detach()`."),
    )


RULE = Rule(
    id="loss-graph-kept",
    severity="warning",
    title=Said("손실의 그래프가 계속 쌓였어요", "The graphs of losses pile up"),
    lesson="01_five_line_step/5_one_epoch",
    find=_find,
)
