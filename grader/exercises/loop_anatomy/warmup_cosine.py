"""Driver of `warmup_cosine`, which makes a scheduler with linear warm-up and cosine decay to zero.

Promises of the exercise, and the scenarios that check them:
    the factor by which a learning rate is multiplied at each update, in warm-up and in decay: `shape`, `edges`
    it multiplies each group's own learning rate: `groups`
    0 from `total_steps` on: `end`, `edges`
    `warmup_steps` may be 0: `no-warmup`

Scenarios read the learning rates before each update: the rates that the update uses.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import torch

from grader.exercises.fixtures.classifiers import mlp, two_groups
from grader.observe.play import Driver, Stage

# `cost`: schedulers' steps take time, but are not among the events by whose number plays are limited.
driver = Driver("warmup_cosine", cost=2)


def _record_rates(
    stage: Stage,
    array_name: str,
    warmup_steps: int,
    total_steps: int,
    recorded_updates: range,
    *,
    base_rates: tuple[float, float] | None = None,
) -> None:
    """Make a scheduler with the learner's function, and record each group's learning rate before the given updates.

    The recorded array has the shape (updates, groups).

    Args:
        stage: the scenario's stage.
        array_name: Korean name of the recorded array.
        warmup_steps: number of warm-up updates that the learner's function is given.
        total_steps: number of all updates that it is given.
        recorded_updates: indices of the updates whose rates are recorded; the first update has index 0. The updates
            before these are carried out, too.
        base_rates: learning rates of two parameter groups. None: one group with the rate 1, so that what is recorded
            is the schedule's factor itself.
    """
    recorder, model = stage.recorder, mlp(stage.env)
    if base_rates is None:
        opt = torch.optim.SGD(model.parameters(), lr=1.0)
    else:
        # Both groups have a rate of their own, so `lr` is only what a wrong program reads from `opt.defaults`. It is
        # right for the first group and wrong for the second.
        opt = torch.optim.SGD(two_groups(model, base_rates), lr=base_rates[0])
    recorder.watch(model, opt)
    scheduler = recorder.call(stage.student("warmup_cosine"), opt, warmup_steps, total_steps)

    def step_both() -> None:
        opt.step()  # moves nothing, as there are no gradients, but torch warns if a scheduler is stepped first
        scheduler.step()  # runs the learner's code, which may raise

    rates: list[list[float]] = []
    for update in range(recorded_updates.stop):
        if update in recorded_updates:
            rates.append([float(group["lr"]) for group in opt.param_groups])
        recorder.call(step_both)
    recorder.array(array_name, torch.tensor(rates, dtype=torch.float64))


@driver.scenario("shape", "워밍업과 코사인 감쇠")
def _shape(stage: Stage) -> None:
    """Record the rate of every update; the lengths of warm-up and training follow from the seed.

    A program whose warm-up starts at 0, or whose cosine is one update early or late, gives other rates.
    """
    total = stage.env.draw("total_steps").whole(13, 19)
    warmup = stage.env.draw("warmup_steps").whole(3, 6)
    _record_rates(stage, "학습률", warmup, total, range(total))


@driver.scenario("groups", "두 매개변수 그룹", check="shape")
def _groups(stage: Stage) -> None:
    """Record the rates of two groups with different base rates.

    A program that sets all groups to one rate, or reads `opt.defaults["lr"]`, gives other rates.
    """
    warmup = stage.env.draw("warmup_steps").whole(2, 4)
    total = warmup + stage.env.draw("falling").whole(2, 4)
    _record_rates(stage, "그룹마다의 학습률", warmup, total, range(total), base_rates=(0.4, 0.05))


@driver.scenario("end", "total_steps를 넘긴 학습")
def _end(stage: Stage) -> None:
    """Record the rates from index `total_steps` on, for twice the length of the decay: a whole period of the cosine.

    A program that goes on with the cosine after `total_steps` lets the rates rise again.
    """
    warmup = stage.env.draw("warmup_steps").whole(2, 3)
    decay_steps = stage.env.draw("falling").whole(3, 5)
    total = warmup + decay_steps
    _record_rates(stage, "total_steps부터의 학습률", warmup, total, range(total, total + 2 * decay_steps))


@driver.scenario("no-warmup", "warmup_steps=0")
def _no_warmup(stage: Stage) -> None:
    """Record the rates with `warmup_steps=0`.

    A program that divides by `warmup_steps` without checking for 0 raises an exception; one that makes a warm-up of at
    least one update gives other rates.
    """
    total = stage.env.draw("total_steps").whole(5, 9)
    _record_rates(stage, "학습률", 0, total, range(total))


@driver.scenario("edges", "한 스텝짜리 워밍업, 워밍업뿐인 학습")
def _edges(stage: Stage) -> None:
    """Record the rates with a warm-up of one update, then those with a warm-up as long as the whole training.

    In the second case three updates after the training are recorded, too: all rates must be 0 there. A program that
    divides by `warmup_steps - 1` may divide by 0 in the first case. One that divides by `total_steps - warmup_steps`
    without checking for 0 raises an exception in the second.
    """
    total = stage.env.draw("total_steps").whole(4, 7)
    _record_rates(stage, "워밍업이 한 스텝일 때의 학습률", 1, total, range(total))
    warmup = stage.env.draw("warmup_steps").whole(3, 5)
    _record_rates(stage, "워밍업뿐일 때의 학습률", warmup, warmup, range(warmup + 3))
