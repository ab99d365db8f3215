"""Driver of `seed_everything`, which seeds random, NumPy and torch and returns a generator for a DataLoader.

Scenarios seed several times and draw from each source of randomness after every call.
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

driver = Driver("seed_everything")

_Draw = Callable[[Any], Fact]
"""A function that draws from one source, given what `seed_everything` returned."""


def _drawn_after_seeding(
    stage: Stage, draws: dict[str, _Draw], *, first: int | None = None, further: int = 5
) -> None:
    """Record for each source of randomness if the same seed repeats it and another seed changes it.

    The numbers themselves are not compared, so that any way of seeding is right. What is compared is which calls drew
    the same numbers; a learner cannot know the order of seeds beforehand.
    """
    recorder, env = stage.recorder, stage.env
    if first is None:
        first = env.draw("seed").whole(1, 999)
    later = torch.randint(0, 3, (further,), generator=env.generator("order")).tolist()
    seeds = [first, first, first + 1, *(first + n for n in later)]
    drawn: list[dict[str, Fact]] = []
    with restored_backends():
        for seed in seeds:
            generator = recorder.call(stage.student("seed_everything"), seed)
            drawn.append({name: draw(generator) for name, draw in draws.items()})
    for name in draws:
        series = [numbers[name] for numbers in drawn]
        recorder.fact(f"같은 시드로 되풀이됨: {name}", series[0] == series[1])
        recorder.fact(f"다른 시드로 달라짐: {name}", series[0] != series[2])
        recorder.fact(f"호출마다 처음 같은 수가 나온 호출: {name}", [series.index(s) + 1 for s in series])


@driver.scenario("streams", "random, numpy, torch")
def _streams(stage: Stage) -> None:
    _drawn_after_seeding(stage, _global_draws(stage))


@driver.scenario("zero", "시드 0", check="streams")
def _zero(stage: Stage) -> None:
    """Zero is a seed like any other."""
    _drawn_after_seeding(stage, _global_draws(stage), first=0, further=1)


def _global_draws(stage: Stage) -> dict[str, _Draw]:
    """Return draws from the global generators of random, NumPy and torch, and of a GPU if one is used."""
    device = stage.env.device
    draws: dict[str, _Draw] = {
        "random": lambda _: [random.random() for _ in range(3)],
        "numpy": lambda _: [float(x) for x in np.random.rand(3)],
        "torch": lambda _: torch.rand(3).tolist(),
    }
    if device.type != "cpu":
        draws[f"torch ({device.type})"] = lambda _: torch.rand(3, device=device).tolist()
    return draws


@driver.scenario("training", "초기 가중치와 드롭아웃")
def _training(stage: Stage) -> None:
    """Initial weights and a dropout mask as the sources."""

    def initial(_: Any) -> Fact:
        return [float(x) for x in nn.Linear(3, 2).weight.detach().ravel()]

    def mask(_: Any) -> Fact:
        kept: list[Fact] = (nn.functional.dropout(torch.ones(40), 0.5) > 0).tolist()
        return kept

    _drawn_after_seeding(stage, {"초기 가중치": initial, "드롭아웃": mask})


@driver.scenario("loader", "DataLoader의 순서")
def _loader(stage: Stage) -> None:
    """The order of two epochs of a shuffling DataLoader that uses the returned generator."""
    types: list[Fact] = []

    def order(generator: Any) -> Fact:
        types.append(type_name(generator))
        loader: DataLoader[Any] = DataLoader(
            TensorDataset(torch.arange(20)), batch_size=6, shuffle=True, generator=generator
        )
        return [int(i) for _ in range(2) for (batch,) in loader for i in batch]

    _drawn_after_seeding(stage, {"배치 순서": order})
    stage.recorder.fact("반환 타입", types)


@driver.scenario("own-generator", "돌려준 제너레이터와 torch의 전역 제너레이터", check="loader")
def _own_generator(stage: Stage) -> None:
    """A draw from torch's global generator must not move the returned one, else a dropout would change the order."""
    with restored_backends():
        generator = stage.recorder.call(
            stage.student("seed_everything"), stage.env.draw("seed").whole(1, 999)
        )
        before = generator.get_state() if isinstance(generator, torch.Generator) else None
        torch.rand(3)
        moved = before is not None and not torch.equal(before, generator.get_state())
    stage.recorder.fact("전역 제너레이터에서 뽑으면 함께 움직임", "예" if moved else "아니요")
