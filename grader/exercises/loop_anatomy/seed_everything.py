"""Driver of `seed_everything`, which seeds random, NumPy and torch and returns a generator for a DataLoader.

Promises of the exercise, and the scenarios that check them:
    random, NumPy and torch are seeded: `streams`, `zero`, `training` (initial weights and dropout)
    a generator that follows the seed is returned, for a DataLoader: `loader`
    it is a generator of its own (promised in the lesson's text, not in the docstring): `own-generator`

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from grader.exercises.fixtures.stand_ins import restored_backends
from grader.observe.play import Driver, Stage
from grader.observe.trace import Fact
from grader.observe.values import type_name
from grader.observe.wording import yes_or_no

driver = Driver("seed_everything")

_DrawNumbers = Callable[[Any], Fact]
"""Draws numbers from one source of randomness, and returns them; its argument is what `seed_everything` returned."""


def _record_repetitions(
    stage: Stage, sources: dict[str, _DrawNumbers], *, first_seed: int | None = None, more_calls: int = 5
) -> None:
    """Seed several times and record, for each source, which calls drew the same numbers.

    The same seed must give the same numbers, and another seed others. The numbers themselves are not compared, so that
    any way of seeding is right. The order of the later seeds follows from the scenario's seed, and so do the facts.

    Args:
        stage: the scenario's stage.
        sources: name of a source, as learners read it -> function that draws from it.
        first_seed: the first seed; None: one that follows from the scenario's seed.
        more_calls: number of calls after the first three, whose seeds are `first_seed`, the same again, and the next
            number. Their seeds are drawn from `first_seed` and the two numbers after it.
    """
    recorder, env = stage.recorder, stage.env
    if first_seed is None:
        first_seed = env.draw("seed").whole(1, 999)
    offsets = torch.randint(0, 3, (more_calls,), generator=env.generator("order")).tolist()
    seeds = [first_seed + offset for offset in (0, 0, 1, *offsets)]
    drawn: list[dict[str, Fact]] = []
    with restored_backends():
        for seed in seeds:
            generator = recorder.call(stage.student("seed_everything"), seed)
            drawn.append({name: draw(generator) for name, draw in sources.items()})
    for name in sources:
        series = [numbers[name] for numbers in drawn]
        recorder.fact(f"같은 시드를 다시 주면 같은 수가 나오는지: {name}", series[0] == series[1])
        recorder.fact(f"시드가 다르면 다른 수가 나오는지: {name}", series[0] != series[2])
        # For each call, which call was the first that drew the same numbers, as in [1, 1, 3, 3]. This implies the two
        # facts above, which say more to a learner.
        recorder.fact(
            f"호출마다 처음 같은 수가 나온 호출: {name}", [series.index(numbers) + 1 for numbers in series]
        )


def _global_draws(stage: Stage) -> dict[str, _DrawNumbers]:
    """Return for each global generator its name and a function that draws from it: random, NumPy, torch, a GPU in use.

    (None of them needs what `seed_everything` returned.)
    """
    device = stage.env.device
    draws: dict[str, _DrawNumbers] = {
        "random": lambda _: [random.random() for _ in range(3)],
        "numpy": lambda _: [float(x) for x in np.random.rand(3)],
        "torch": lambda _: torch.rand(3).tolist(),
    }
    if device.type != "cpu":
        draws[f"torch ({device.type})"] = lambda _: torch.rand(3, device=device).tolist()
    return draws


@driver.scenario("streams", "random, numpy, torch")
def _streams(stage: Stage) -> None:
    """Draw from each of the global generators after the same seed and after another.

    A program that forgets random, NumPy or torch gets other numbers after the same seed; one that always uses the same
    seed gets the same numbers after another.
    """
    _record_repetitions(stage, _global_draws(stage))


@driver.scenario("zero", "시드 0", check="streams")
def _zero(stage: Stage) -> None:
    """Draw from each of the global generators after the seeds 0, 0 and 1, and one more.

    A program that tests `if seed:` does not seed with 0.
    """
    _record_repetitions(stage, _global_draws(stage), first_seed=0, more_calls=1)


@driver.scenario("training", "초기 가중치와 드롭아웃")
def _training(stage: Stage) -> None:
    """Draw initial weights and dropout masks after the same seed and after another.

    A program that does not seed torch gets other initial weights and dropout masks each time.
    """

    def initial_weights(_: Any) -> Fact:
        return [float(x) for x in nn.Linear(3, 2).weight.detach().ravel()]

    def dropout_mask(_: Any) -> Fact:
        kept: list[Fact] = (nn.functional.dropout(torch.ones(40), 0.5) > 0).tolist()
        return kept

    _record_repetitions(stage, {"초기 가중치": initial_weights, "드롭아웃": dropout_mask})


@driver.scenario("loader", "DataLoader의 순서")
def _loader(stage: Stage) -> None:
    """Draw the order of two epochs of a shuffling DataLoader that uses the returned generator; record its type.

    The order must be the same after the same seed, and a different one after a different seed. A program that returns a
    generator without the seed gives the same order for every seed, or a random one. One that returns None lets the
    loader shuffle by torch's global generator, which only the recorded type tells.
    """
    types: list[Fact] = []  # of what each call returned

    def batch_order(generator: Any) -> Fact:
        types.append(type_name(generator))
        loader: DataLoader[Any] = DataLoader(
            TensorDataset(torch.arange(20)), batch_size=6, shuffle=True, generator=generator
        )
        return [int(i) for _ in range(2) for (batch,) in loader for i in batch]

    _record_repetitions(stage, {"배치 순서": batch_order})
    stage.recorder.fact("반환 타입", types)


@driver.scenario("own-generator", "돌려준 제너레이터와 torch의 전역 제너레이터", check="loader")
def _own_generator(stage: Stage) -> None:
    """Draw from torch's global generator, and record whether the state of the returned one changes.

    A program that returns torch's global generator lets each dropout change the order of batches.
    """
    with restored_backends():
        generator = stage.recorder.call(
            stage.student("seed_everything"), stage.env.draw("seed").whole(1, 999)
        )
        before = generator.get_state() if isinstance(generator, torch.Generator) else None
        torch.rand(3)
        has_moved = before is not None and not torch.equal(before, generator.get_state())
    stage.recorder.fact("전역 제너레이터에서 뽑으면 함께 움직임", yes_or_no(has_moved))
