"""Driver of `warmup_cosine`: makes schedules of several lengths and reads the learning rates before every update."""

import torch

from grader.exercises.loop_anatomy._drawing import drawn_number
from grader.observe.fixtures.classifiers import mlp, two_groups
from grader.observe.play import Driver, Stage

driver = Driver("warmup_cosine")


def _rates(stage: Stage, warmup_steps: int, total_steps: int, updates: int, name: str) -> None:
    """Each group's learning rate before each update; the groups start at rates of their own."""
    recorder = stage.recorder
    model = mlp(stage.env, name)
    opt = torch.optim.SGD(two_groups(model, (0.4, 0.05)), lr=0.4)
    recorder.watch(model, opt)
    scheduler = recorder.call(stage.student("warmup_cosine"), opt, warmup_steps, total_steps)

    def move() -> None:
        opt.step()
        scheduler.step()

    rates: list[list[float]] = []
    for _ in range(updates):
        rates.append([float(group["lr"]) for group in opt.param_groups])
        recorder.call(move)
    recorder.array(name, torch.tensor(rates, dtype=torch.float64))


@driver.scenario("shape", "워밍업과 코사인 감쇠")
def _shape(stage: Stage) -> None:
    total = drawn_number(stage.env, "total_steps", 13, 20)
    _rates(stage, drawn_number(stage.env, "warmup_steps", 3, 7), total, total, "학습률")


@driver.scenario("end", "total_steps를 넘긴 학습")
def _end(stage: Stage) -> None:
    """A training run that goes on longer than it was planned."""
    warmup, falling = drawn_number(stage.env, "warmup_steps", 2, 4), drawn_number(stage.env, "falling", 3, 6)
    _rates(stage, warmup, warmup + falling, warmup + 3 * falling, "학습률")


@driver.scenario("no-warmup", "warmup_steps=0")
def _no_warmup(stage: Stage) -> None:
    total = drawn_number(stage.env, "total_steps", 5, 10)
    _rates(stage, 0, total, total + 2, "학습률")


@driver.scenario("edges", "한 스텝짜리 워밍업, 워밍업뿐인 학습")
def _edges(stage: Stage) -> None:
    """One step of warm-up; nothing but warm-up."""
    total, warmup = (
        drawn_number(stage.env, "total_steps", 4, 8),
        drawn_number(stage.env, "warmup_steps", 3, 6),
    )
    _rates(stage, 1, total, total + 1, "워밍업이 한 스텝일 때의 학습률")
    _rates(stage, warmup, warmup, warmup + 3, "워밍업뿐일 때의 학습률")
