"""Driver of `warmup_cosine`, which makes a scheduler with linear warm-up and cosine decay to zero.

Scenarios make schedules of several lengths and read the learning rates before every update: the shape, two groups,
steps past the end, no warm-up, and very short or nothing but warm-up.
"""

import torch

from grader.exercises.fixtures.classifiers import mlp, two_groups
from grader.observe.play import Driver, Stage

driver = Driver("warmup_cosine", cost=2)  # each scenario steps a scheduler a dozen times


def _record_rates(
    stage: Stage,
    warmup_steps: int,
    total_steps: int,
    updates: range,
    shown_as: str,
    *,
    two_base_rates: bool = False,
) -> None:
    """Make a schedule with the student's function, and record each group's learning rate before each of `updates`.

    Args:
        stage: the scenario's stage.
        warmup_steps: number of warm-up updates that the student's function is given.
        total_steps: number of all updates that it is given.
        updates: the updates to record, counted from 0; the earlier ones are made as well.
        shown_as: the array's name in feedback.
        two_base_rates: have two groups, each with a base rate of its own; otherwise there is one group of base rate 1,
            so that its rate is the schedule's factor itself.
    """
    recorder = stage.recorder
    model = mlp(
        stage.env, shown_as
    )  # the name is also the salt: two schedules in one scenario differ in their models
    if two_base_rates:
        opt = torch.optim.SGD(two_groups(model, (0.4, 0.05)), lr=0.4)  # the default rate, which no group uses
    else:
        opt = torch.optim.SGD(model.parameters(), lr=1.0)
    recorder.watch(model, opt)
    scheduler = recorder.call(stage.student("warmup_cosine"), opt, warmup_steps, total_steps)

    def step_both() -> None:
        opt.step()  # without gradients it moves nothing; torch warns of schedulers that are stepped first
        scheduler.step()

    rates: list[list[float]] = []
    for update in range(updates.stop):
        if update in updates:
            rates.append([float(group["lr"]) for group in opt.param_groups])
        recorder.call(step_both)
    recorder.array(shown_as, torch.tensor(rates, dtype=torch.float64))


@driver.scenario("shape", "워밍업과 코사인 감쇠")
def _shape(stage: Stage) -> None:
    """Every step of one schedule."""
    total = stage.env.draw("total_steps").whole(13, 19)
    warmup = stage.env.draw("warmup_steps").whole(3, 6)
    _record_rates(stage, warmup, total, range(total), "학습률")


@driver.scenario("groups", "두 매개변수 그룹", check="shape")
def _groups(stage: Stage) -> None:
    """Two groups, each scaled from a rate of its own."""
    warmup = stage.env.draw("warmup_steps").whole(2, 4)
    total = warmup + stage.env.draw("falling").whole(2, 4)
    _record_rates(stage, warmup, total, range(total), "그룹마다의 학습률", two_base_rates=True)


@driver.scenario("end", "total_steps를 넘긴 학습")
def _end(stage: Stage) -> None:
    """A training run that goes on longer than planned.

    A schedule that goes on with the cosine after `total_steps` would rise for as many updates as it fell.
    """
    warmup = stage.env.draw("warmup_steps").whole(2, 3)
    decay_steps = stage.env.draw("falling").whole(3, 5)
    total = warmup + decay_steps
    _record_rates(stage, warmup, total, range(total, total + 2 * decay_steps), "total_steps부터의 학습률")


@driver.scenario("no-warmup", "warmup_steps=0")
def _no_warmup(stage: Stage) -> None:
    total = stage.env.draw("total_steps").whole(5, 9)
    _record_rates(stage, 0, total, range(total), "학습률")


@driver.scenario("edges", "한 스텝짜리 워밍업, 워밍업뿐인 학습")
def _edges(stage: Stage) -> None:
    """A warm-up of one step, and a training that is nothing but warm-up."""
    total = stage.env.draw("total_steps").whole(4, 7)
    _record_rates(stage, 1, total, range(total), "워밍업이 한 스텝일 때의 학습률")
    warmup = stage.env.draw("warmup_steps").whole(3, 5)
    _record_rates(stage, warmup, warmup, range(warmup + 3), "워밍업뿐일 때의 학습률")
