"""Driver of `warmup_cosine`, which makes a scheduler with linear warm-up and cosine decay to zero.

Scenarios make schedules of several lengths and read the learning rates before every update: the shape, two groups,
steps past the end, no warm-up, and very short or nothing but warm-up.
"""

import torch

from grader.exercises.fixtures.classifiers import mlp, two_groups
from grader.observe.play import Driver, Stage

driver = Driver("warmup_cosine", cost=2)


def _rates(
    stage: Stage, warmup_steps: int, total_steps: int, updates: range, name: str, *, groups: bool = False
) -> None:
    """Record each group's learning rate before these updates.

    There is one group of rate 1, so that a rate is the schedule's factor itself; with `groups` there are two, each with
    a rate of its own.
    """
    recorder = stage.recorder
    model = mlp(stage.env, name)
    if groups:
        opt = torch.optim.SGD(two_groups(model, (0.4, 0.05)), lr=0.4)
    else:
        opt = torch.optim.SGD(model.parameters(), lr=1.0)
    recorder.watch(model, opt)
    scheduler = recorder.call(stage.student("warmup_cosine"), opt, warmup_steps, total_steps)

    def move() -> None:
        opt.step()
        scheduler.step()

    rates: list[list[float]] = []
    for update in range(updates.stop):
        if update in updates:
            rates.append([float(group["lr"]) for group in opt.param_groups])
        recorder.call(move)
    recorder.array(name, torch.tensor(rates, dtype=torch.float64))


@driver.scenario("shape", "워밍업과 코사인 감쇠")
def _shape(stage: Stage) -> None:
    """Every step of one schedule."""
    total = stage.env.draw("total_steps").whole(13, 19)
    _rates(stage, stage.env.draw("warmup_steps").whole(3, 6), total, range(total), "학습률")


@driver.scenario("groups", "두 매개변수 그룹", check="shape")
def _groups(stage: Stage) -> None:
    """Two groups, each scaled from a rate of its own."""
    warmup, falling = stage.env.draw("warmup_steps").whole(2, 4), stage.env.draw("falling").whole(2, 4)
    total = warmup + falling
    _rates(stage, warmup, total, range(total), "그룹마다의 학습률", groups=True)


@driver.scenario("end", "total_steps를 넘긴 학습")
def _end(stage: Stage) -> None:
    """A training run that goes on longer than planned."""
    warmup, falling = stage.env.draw("warmup_steps").whole(2, 3), stage.env.draw("falling").whole(3, 5)
    total = warmup + falling
    _rates(stage, warmup, total, range(total, total + 2 * falling), "total_steps부터의 학습률")


@driver.scenario("no-warmup", "warmup_steps=0")
def _no_warmup(stage: Stage) -> None:
    total = stage.env.draw("total_steps").whole(5, 9)
    _rates(stage, 0, total, range(total), "학습률")


@driver.scenario("edges", "한 스텝짜리 워밍업, 워밍업뿐인 학습")
def _edges(stage: Stage) -> None:
    """A warm-up of one step, and a training that is nothing but warm-up."""
    total, warmup = (
        stage.env.draw("total_steps").whole(4, 7),
        stage.env.draw("warmup_steps").whole(3, 5),
    )
    _rates(stage, 1, total, range(total), "워밍업이 한 스텝일 때의 학습률")
    _rates(stage, warmup, warmup, range(warmup + 3), "워밍업뿐일 때의 학습률")
