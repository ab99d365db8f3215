"""Driver of `shard_indices`, which returns the indices of the items that one rank reads in one epoch.

The function exchanges nothing with other ranks. So no ranks are played: it is called once for each rank.

Promises of the exercise, and the scenarios that check them:
    every rank reads equally many, and nothing is left out or read too often: `padded`, `few`, `none`
    with `drop_last`, every rank reads n // world, and no two read the same: `dropped`
    the order is shuffled and follows from seed and epoch only: `shuffled`, `dropped-order`, `epochs`, `again`
    which rank reads which items changes with the epoch, too: `epochs`
    the global random states stay as they are: `random-states`
    a rank that does not exist is refused: `refused`
    a list of int is returned: `types`

The contract of all exercises adds: nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from grader.exercises.fixtures.returned import record_types
from grader.observe.play import Driver, Stage
from grader.observe.values import as_number
from grader.observe.wording import yes_or_no

driver = Driver("shard_indices")

_WORLD = 4
"""Number of ranks, unless a scenario says otherwise."""


def _shards(stage: Stage, n: int, world: int = _WORLD, **kwargs: Any) -> list[list[float]]:
    """Call the learner's function for each rank, and return its results as lists of numbers.

    Indices count as numbers here even if they are tensors: their type is judged in the scenario `types`.

    Args:
        stage: the scenario's stage.
        n: number of items to share.
        world: number of ranks.
        kwargs: keyword arguments for the learner's function.
    """
    student = stage.student("shard_indices")
    lists = [list(stage.recorder.call(student, n, rank, world, **kwargs)) for rank in range(world)]
    return [[as_number(index) for index in one] for one in lists]


def _draw_seed(stage: Stage) -> int:
    """Return the seed that the learner's function is given, drawn from the scenario's own."""
    return stage.env.draw("seed").whole(1, 10_000)


def _draw_indivisible_count(stage: Stage) -> int:
    """Draw a number of items that the ranks cannot share equally.

    Two items or more are missing to a multiple of the number of ranks: where only one is, any item may fill its place.
    """
    return _WORLD * stage.env.draw("n").whole(6, 12) + stage.env.draw("rest").whole(1, _WORLD - 2)


def _draw_divisible_count(stage: Stage) -> int:
    """Draw a number of items that the ranks can share equally.

    For scenarios that are not about the remainder, so that a wrong remainder costs no points there.
    """
    return _WORLD * stage.env.draw("n").whole(8, 14)


def _record_shares(stage: Stage, n: int, shards: list[list[float]]) -> None:
    """Record how many items each rank reads, how many are left out, and how often items are repeated.

    Args:
        stage: the scenario's stage.
        n: number of items that are shared.
        shards: what each rank reads.
    """
    counts = Counter(index for shard in shards for index in shard)
    times_read = [counts.pop(index, 0) for index in range(n)]
    recorder = stage.recorder
    recorder.fact("rank마다 읽는 개수", [len(shard) for shard in shards])
    recorder.fact("한 번도 나오지 않은 번호의 수", times_read.count(0))
    recorder.fact(
        "가장 많이 나온 번호와 가장 적게 나온 번호의 횟수 차이",
        max(times_read, default=0) - min(times_read, default=0),
    )
    recorder.fact("없는 번호의 수", len(counts))


@driver.scenario("padded", "나누어떨어지지 않는 데이터", check="shares")
def _padded(stage: Stage) -> None:
    """Share items that do not divide equally.

    A wrong program leaves some out, gives the last rank fewer, or takes indices from two different permutations.
    """
    n = _draw_indivisible_count(stage)
    _record_shares(stage, n, _shards(stage, n, seed=_draw_seed(stage), epoch=3))


@driver.scenario("few", "rank보다 적은 데이터", check="shares")
def _few(stage: Stage) -> None:
    """Share fewer items than there are ranks. A wrong program pads only once, so some ranks read nothing.

    There are two items or three, because one alone would fill every place. The seed is the default, 0, which no other
    scenario of this check uses.
    """
    n, world = stage.env.draw("n").whole(2, 3), 8
    _record_shares(stage, n, _shards(stage, n, world))


@driver.scenario("none", "데이터가 없을 때", check="shares")
def _none(stage: Stage) -> None:
    """Share nothing among a drawn number of ranks. A wrong program divides by zero."""
    shards = _shards(stage, 0, stage.env.draw("world").whole(2, 6))
    stage.recorder.fact("rank마다 읽는 개수", [len(shard) for shard in shards])


@driver.scenario("dropped", "drop_last", check="drop")
def _dropped(stage: Stage) -> None:
    """Share with `drop_last` one item less than can be shared equally, then as many as can, then two among five ranks.

    A wrong program ignores `drop_last`, lets two ranks read the same item, or rounds the number to the wrong multiple.
    """
    even = _draw_divisible_count(stage)
    n = even - 1
    shards = _shards(stage, n, seed=_draw_seed(stage), drop_last=True)
    read = [index for shard in shards for index in shard]
    stage.recorder.fact("rank마다 읽는 개수", [len(shard) for shard in shards])
    stage.recorder.fact("되풀이해 읽은 횟수", len(read) - len(set(read)))
    stage.recorder.fact("없는 번호의 수", sum(not 0 <= index < n for index in read))
    equal = _shards(stage, even, seed=_draw_seed(stage), drop_last=True)
    stage.recorder.fact("나누어떨어지는 데이터를 rank마다 읽는 개수", [len(shard) for shard in equal])
    fewer_than_ranks = _shards(stage, 2, 5, seed=_draw_seed(stage), drop_last=True)
    stage.recorder.fact(
        "데이터 2개를 rank 5개가 나눌 때 읽는 개수", [len(shard) for shard in fewer_than_ranks]
    )


@driver.scenario("shuffled", "섞인 순서", check="order")
def _shuffled(stage: Stage) -> None:
    """Record whether a rank's list is shuffled. A wrong program sorts it, or takes every fourth item of the data.

    The list has 24 items or more, so a shuffled one is in order less than once in 10^23 draws.
    """
    n = 3 * _draw_divisible_count(stage)
    shard = _shards(stage, n, seed=_draw_seed(stage))[1]
    gaps = {after - before for before, after in pairwise(shard)}
    stage.recorder.fact("읽는 개수", len(shard))
    stage.recorder.fact("번호가 늘 커지기만 함", yes_or_no(all(gap > 0 for gap in gaps)))
    stage.recorder.fact("번호의 간격이 모두 같음", yes_or_no(len(gaps) == 1))


@driver.scenario("dropped-order", "drop_last를 줄 때의 순서", check="order")
def _dropped_order(stage: Stage) -> None:
    """Record with `drop_last` whether all ranks' lists are in order, and whether they depend on epoch and seed.

    A wrong program shuffles only what it does not drop from. Every rank has six items or more, so four shuffled lists
    are in order less than once in 10^11 draws.
    """
    n, seed = _draw_indivisible_count(stage), _draw_seed(stage)
    first = _shards(stage, n, seed=seed, drop_last=True)
    is_sorted = all(before < after for shard in first for before, after in pairwise(shard))
    next_epoch = _shards(stage, n, seed=seed, epoch=1, drop_last=True)
    other_seed = _shards(stage, n, seed=seed + 17, drop_last=True)
    stage.recorder.fact("읽는 개수", len(first[0]))
    stage.recorder.fact("모든 rank의 번호가 커지기만 함", yes_or_no(is_sorted))
    stage.recorder.fact("다음 에폭의 순서가 같음", yes_or_no(first == next_epoch))
    stage.recorder.fact("다른 시드의 순서가 같음", yes_or_no(first == other_seed))


@driver.scenario("epochs", "에폭과 시드마다의 순서", check="order")
def _epochs(stage: Stage) -> None:
    """Compare epochs and seeds, and two epochs with the default seed, 0.

    A wrong program forgets one of them, multiplies them, or shuffles each rank's fixed share only.
    """
    n, seed = _draw_divisible_count(stage), _draw_seed(stage)
    first = _shards(stage, n, seed=seed, epoch=0)
    next_epoch = _shards(stage, n, seed=seed, epoch=1)
    other_seed = _shards(stage, n, seed=seed + 17, epoch=0)
    recorder = stage.recorder
    recorder.fact("읽는 개수", len(first[0]))
    recorder.fact("다음 에폭의 순서가 같음", yes_or_no(first == next_epoch))
    recorder.fact("다음 에폭에 rank 0이 읽는 데이터가 같음", yes_or_no(set(first[0]) == set(next_epoch[0])))
    recorder.fact("다른 시드의 순서가 같음", yes_or_no(first == other_seed))
    with_default_seed = [_shards(stage, n, epoch=epoch) for epoch in (0, 1)]
    is_same = with_default_seed[0] == with_default_seed[1]
    recorder.fact("시드를 주지 않을 때 다음 에폭의 순서가 같음", yes_or_no(is_same))


@driver.scenario("again", "같은 인자로 다시 부르기", check="order")
def _again(stage: Stage) -> None:
    """Call twice with other random numbers drawn in between. A wrong program uses the global random state."""
    n, seed = _draw_divisible_count(stage), _draw_seed(stage)
    first = _shards(stage, n, seed=seed, epoch=2)
    torch.rand(3), np.random.rand(3), random.random()
    second = _shards(stage, n, seed=seed, epoch=2)
    stage.recorder.fact("읽는 개수", len(first[0]))
    stage.recorder.fact("두 번째도 같은 순서", yes_or_no(first == second))


@driver.scenario("random-states", "전역 난수 상태", check="kept")
def _random_states(stage: Stage) -> None:
    """Record whether the next global random numbers are as if the function had not been called.

    A wrong program calls `torch.manual_seed`, `random.seed` or `np.random.seed`.
    """
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()
    expected = torch.rand(3).tolist() + np.random.rand(3).tolist() + [random.random()]
    torch.set_rng_state(states[0])
    np.random.set_state(states[1])
    random.setstate(states[2])
    shard = _shards(stage, _draw_divisible_count(stage), seed=_draw_seed(stage))[0]
    drawn = torch.rand(3).tolist() + np.random.rand(3).tolist() + [random.random()]
    stage.recorder.fact("읽는 개수", len(shard))
    stage.recorder.fact("다음에 나올 난수가 그대로", yes_or_no(drawn == expected))


@driver.scenario("refused", "없는 rank", check="kept")
def _refused(stage: Stage) -> None:
    """Call with the last rank, and with ranks just outside the limits, for which a wrong program returns a list.

    One of these calls has no data: a program that looks at `n` first returns an empty list there.
    """
    student, n = stage.student("shard_indices"), _draw_divisible_count(stage)
    for rank in (_WORLD, -1):
        stage.recorder.record_raised(
            ValueError, f"rank가 {rank}이고 world가 {_WORLD}일 때", student, n, rank, _WORLD
        )
    stage.recorder.record_raised(
        ValueError, f"n이 0, rank와 world가 {_WORLD}일 때", student, 0, _WORLD, _WORLD
    )
    stage.recorder.fact("마지막 rank가 읽는 개수", len(stage.recorder.call(student, n, _WORLD - 1, _WORLD)))


@driver.scenario("types", "반환 타입", check="kept")
def _types(stage: Stage) -> None:
    """Record the types of the list and its items. A wrong program returns a tensor, or a list of tensors."""
    student, n = stage.student("shard_indices"), _draw_divisible_count(stage)
    value = stage.recorder.call(student, n, 1, _WORLD)
    record_types(stage.recorder, value)
    stage.recorder.fact("읽는 개수", len(value))


@driver.scenario("quiet", "화면 출력", check="kept")
def _quiet(stage: Stage) -> None:
    """Record whether the call uses `print`."""
    n = _draw_divisible_count(stage)
    shards = _shards(stage, n, seed=1)
    stage.recorder.fact("읽는 개수", len(shards[0]))
    stage.recorder.fact("print를 부름", yes_or_no(stage.recorder.print_count > 0))
