"""Tell what samples of the training and the validation data share: by accident, or because windows overlap."""

import ast
from collections import Counter
from collections.abc import Iterator

from grader.scripts.facts import BatchLoaded, Facts
from grader.scripts.findings import Finding, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._evaluations import Batches, batches, rows

DRAWS = ("randperm", "permutation", "shuffle", "sample", "choice", "random_split", "train_test_split")
"""Functions that split at random."""
_ORDERS = ("randperm", "permutation", "shuffle", "random_split", "train_test_split")
_FEWEST, _SHARE, _DISTINCT = 8, 0.5, 0.9
_AS_OFTEN = 0.7


def come_again_by_nature(found: Batches, share: float) -> bool:
    """Return True if rows come again within a pass of the training data, too, about as often as in the validation data.

    Then samples are equal by accident, as short texts are. If most rows come again they were rather put in twice.
    """
    passes: dict[tuple[int, int], list[int]] = {}
    for one in found.trained:
        if one.rows is not None:
            passes.setdefault((one.loader, one.pass_), []).extend(one.rows.tolist())
    longest = max(passes.values(), key=len, default=[])
    again = sum(count for count in Counter(longest).values() if count > 1)
    return share < _SHARE and again >= _AS_OFTEN * share * len(longest) > 0


def overlapping_windows(facts: Facts) -> Iterator[Finding]:
    """Find evaluated windows of a series that begin and end within windows that were trained on."""
    found = batches(facts)
    trained = [one for one in found.trained if one.pieces is not None]
    loaders = {one.loader for one in trained}
    known = rows(found.trained)
    later = _all(one.pieces[:, 1:].reshape(-1).tolist() for one in trained if one.pieces is not None)
    sooner = _all(one.pieces[:, :-1].reshape(-1).tolist() for one in trained if one.pieces is not None)
    for loader in dict.fromkeys(one.loader for one in found.evaluated):
        own = _ends([one for one in found.evaluated if one.loader == loader])
        ends = [pair for row, pair in own.items() if row not in known]
        inside = sum(first in later and last in sooner for first, last in ends)
        once = len({first for first, _ in ends}) >= _DISTINCT * len(ends)
        if loader in loaders or inside < max(_FEWEST, _SHARE * len(own)) or not once:
            continue
        yield _told(_draw(facts) or facts.loaders[loader].built, inside, len(own))


def _all(found: Iterator[list[int]]) -> set[int]:
    return {value for one in found for value in one} - {0}


def _ends(found: list[BatchLoaded]) -> dict[int, tuple[int, int]]:
    """Return the first and the last piece of each row."""
    ends: dict[int, tuple[int, int]] = {}
    for one in found:
        if one.pieces is not None and one.rows is not None:
            pairs = one.pieces[:, [0, -1]].tolist()
            ends.update(
                (row, (first, last)) for row, (first, last) in zip(one.rows.tolist(), pairs, strict=False)
            )
    return ends


def _draw(facts: Facts) -> Place | None:
    """Return the first line that draws an order; those of the rounds of a loop are not about a split."""
    for file in _reading.files(facts):
        looped = {id(below) for loop in _reading.nodes(file, *_reading.LOOPS) for below in ast.walk(loop)}
        for whole in _reading.nodes(file, ast.Module):
            for call in _reading.calls(whole, *_ORDERS):
                if id(call) not in looped:
                    return _reading.at(file, call)
    return None


def _told(place: Place | None, inside: int, of: int) -> Finding:
    return Finding(
        place=place,
        severity="warning",
        sentence=Said(
            "검증하는 창의 앞뒤가 학습한 창 안에 들어 있어요. 겹치는 창을 만든 다음에 무작위로 나누어서, 검증 데이터의 "
            "값을 거의 다 학습 때 봤어요.",
            "Validation windows begin and end within training windows: overlapping windows were split at random, so "
            "nearly all values of the validation data were seen in training.",
        ),
        evidence=Said(
            f"검증한 서로 다른 {of}행 가운데 {inside}행은 처음 네 값도 마지막 네 값도 학습한 행의 다른 자리에 그대로 "
            "있었어요.",
            f"Of {of} distinct validation rows, {inside} have their first four and their last four values in training "
            "rows, at other positions.",
        ),
        mend=Said(
            "먼저 시간으로 나누고(앞은 학습, 뒤는 검증), 창은 나눈 다음에 각각 만드세요.",
            "Split the series in time first, and cut the windows of each part afterwards.",
        ),
    )
