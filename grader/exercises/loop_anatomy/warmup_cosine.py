"""Driver of `warmup_cosine`, which makes a scheduler with linear warm-up and cosine decay to zero.

Promises of the exercise, and the scenarios that check them:
    the factor of update k, in warm-up and in decay: `shape`, `edges`
    it multiplies each group's own learning rate: `groups`
    0 from `total_steps` on: `end`
    `warmup_steps` may be 0: `no-warmup`

Scenarios read the learning rates before each update.
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
    """Make a scheduler with the learner's function, and record each group's learning rate before each of `updates`.

    The recorded array has the shape (updates, groups).

    Args:
        stage: the scenario's stage.
        warmup_steps: number of warm-up updates that the learner's function is given.
        total_steps: number of all updates that it is given.
        updates: numbers of the updates to record, from 0. Updates before them are made, but not recorded.
        shown_as: the array's name in feedback.
        two_base_rates: True: two groups, with base rates 0.4 and 0.05. False: one group with base rate 1, so that its
            rate is the schedule's factor itself.
    """
    recorder = stage.recorder
    # The name of the array is also the salt, so that two calls in one scenario get different models.
    model = mlp(stage.env, shown_as)
    if two_base_rates:
        # Each group has a rate of its own, so `lr` is only what a wrong program reads from `opt.defaults`.
        opt = torch.optim.SGD(two_groups(model, (0.4, 0.05)), lr=0.4)
    else:
        opt = torch.optim.SGD(model.parameters(), lr=1.0)
    recorder.watch(model, opt)
    scheduler = recorder.call(stage.student("warmup_cosine"), opt, warmup_steps, total_steps)

    def step_both() -> None:
        opt.step()  # moves nothing, as there are no gradients, but torch warns if a scheduler is stepped first
        scheduler.step()

    rates: list[list[float]] = []
    for update in range(updates.stop):
        if update in updates:
            rates.append([float(group["lr"]) for group in opt.param_groups])
        recorder.call(step_both)
    recorder.array(shown_as, torch.tensor(rates, dtype=torch.float64))


@driver.scenario("shape", "워밍업과 코사인 감쇠")
def _shape(stage: Stage) -> None:
    """Record the rate of every update; the lengths of warm-up and training follow from the seed.

    A program whose warm-up starts at 0, or whose cosine is one update early or late, gives other rates.
    """
    total = stage.env.draw("total_steps").whole(13, 19)
    warmup = stage.env.draw("warmup_steps").whole(3, 6)
    _record_rates(stage, warmup, total, range(total), "학습률")


@driver.scenario("groups", "두 매개변수 그룹", check="shape")
def _groups(stage: Stage) -> None:
    """Record the rates of two groups with different base rates.

    A program that sets all groups to one rate, or reads `opt.defaults["lr"]`, gives other rates.
    """
    warmup = stage.env.draw("warmup_steps").whole(2, 4)
    total = warmup + stage.env.draw("falling").whole(2, 4)
    _record_rates(stage, warmup, total, range(total), "그룹마다의 학습률", two_base_rates=True)


@driver.scenario("end", "total_steps를 넘긴 학습")
def _end(stage: Stage) -> None:
    """Record the rates from update `total_steps` on, for twice the length of the decay.

    A program that goes on with the cosine after `total_steps` lets the rates rise again.
    """
    warmup = stage.env.draw("warmup_steps").whole(2, 3)
    decay_steps = stage.env.draw("falling").whole(3, 5)
    total = warmup + decay_steps
    _record_rates(stage, warmup, total, range(total, total + 2 * decay_steps), "total_steps부터의 학습률")


@driver.scenario("no-warmup", "warmup_steps=0")
def _no_warmup(stage: Stage) -> None:
    """Record the rates with `warmup_steps=0`.

    A program that divides by `warmup_steps` without checking for 0 raises an exception.
    """
    total = stage.env.draw("total_steps").whole(5, 9)
    _record_rates(stage, 0, total, range(total), "학습률")


@driver.scenario("edges", "한 스텝짜리 워밍업, 워밍업뿐인 학습")
def _edges(stage: Stage) -> None:
    """Record the rates with a warm-up of one update, and with a warm-up as long as the training.

    A program that divides by `warmup_steps - 1`, or by `total_steps - warmup_steps`, may divide by 0.
    """
    total = stage.env.draw("total_steps").whole(4, 7)
    _record_rates(stage, 1, total, range(total), "워밍업이 한 스텝일 때의 학습률")
    warmup = stage.env.draw("warmup_steps").whole(3, 5)
    _record_rates(stage, warmup, warmup, range(warmup + 3), "워밍업뿐일 때의 학습률")
