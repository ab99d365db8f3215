"""Driver of `train_step_extras`: steps with clipping, with a scheduler, with both and with neither.

The clip is active at some batches only, and the scheduler's factor follows from the seed. So a clip or scheduler
that always or never acts, or acts at the wrong time, gives other numbers.
"""

import torch

from grader.exercises.five_line_step._step_problem import step_problem
from grader.exercises.five_line_step._tolerances import CLIP_ATOL, FLOAT32_ATOL
from grader.observe.fixtures.classifiers import adamw, freeze_last, gradient_norm, scale_rates, sgd
from grader.observe.play import Driver, Stage

driver = Driver("train_step_extras")

BELOW_LARGEST = 0.08
"""Share of a gradient's norm that is smaller than its largest component: with 66 parameters, that one is at least
1/√66 = 0.12 of the norm. At a limit this small, clipping by value acts too, whatever the seed."""


def _extras(stage: Stage, *, momentum: float, clips: bool, schedules: bool) -> None:
    problem, recorder = step_problem(stage.env), stage.recorder
    model, loss_fn = problem.model, problem.loss_fn
    norm = gradient_norm(model, loss_fn, problem.batches[0])
    opt = sgd(model, momentum=momentum)
    gamma = 0.5 + 0.4 * float(torch.rand(1, generator=stage.env.generator("gamma")))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(opt, gamma) if schedules else None
    recorder.watch(model, opt, scheduler, batches=[xb for xb, _ in problem.batches])
    # Active, inactive, active, not asked for, active: a clip that always or never acts hides mistakes.
    limits = (BELOW_LARGEST * norm, 50.0 * norm, 0.3 * norm, None, 0.4 * norm)
    rates = []
    for (xb, yb), limit in zip(problem.batches, limits, strict=True):
        recorder.call(
            stage.student("train_step_extras"),
            *(model, opt, loss_fn, xb, yb),
            max_norm=limit if clips else None,
            scheduler=scheduler,
        )
        rates.append([group["lr"] for group in opt.param_groups])
        if scheduler is not None:
            recorder.append_fact("scheduler.step()의 횟수", scheduler.last_epoch)
    recorder.array("rates", torch.tensor(rates))


@driver.scenario("clip", "SGD와 클리핑", atol=CLIP_ATOL, problem=step_problem)
def _clip(stage: Stage) -> None:
    _extras(stage, momentum=0.0, clips=True, schedules=False)


@driver.scenario("schedule", "SGD와 스케줄러", problem=step_problem)
def _schedule(stage: Stage) -> None:
    _extras(stage, momentum=0.0, clips=False, schedules=True)


@driver.scenario("both", "모멘텀에 클리핑과 스케줄러를 함께", atol=CLIP_ATOL)
def _both(stage: Stage) -> None:
    _extras(stage, momentum=0.9, clips=True, schedules=True)


@driver.scenario("plain", "AdamW만 (max_norm과 scheduler 없이)", atol=FLOAT32_ATOL)
def _plain(stage: Stage) -> None:
    """Without either extra it is a plain step: the loss before the update comes back, the modes stay."""
    problem, recorder = step_problem(stage.env), stage.recorder
    opt = adamw(problem.model)
    freeze_last(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    for xb, yb in problem.batches:
        recorder.returned(
            recorder.call(stage.student("train_step_extras"), problem.model, opt, problem.loss_fn, xb, yb)
        )
        scale_rates(opt, 0.8)
    recorder.modes()
    recorder.fact("모든 순전파가 받은 모드에서", all(recorder.forward_modes))


@driver.scenario("returns", "max_norm이나 scheduler가 있을 때의 반환값", check="plain", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """The loss comes back with either extra too. One call on a fresh model each: a wrong update cannot change it."""
    for name in ("max_norm", "scheduler"):
        problem = step_problem(stage.env)
        opt = sgd(problem.model)
        extra = {"max_norm": 0.1, "scheduler": torch.optim.lr_scheduler.ExponentialLR(opt, 0.5)}
        student, batch = stage.student("train_step_extras"), problem.batches[0]
        value = stage.recorder.call(
            student, problem.model, opt, problem.loss_fn, *batch, **{name: extra[name]}
        )
        stage.recorder.returned(value)
