"""Driver of `resume`, which restores model, optimizer and scheduler from a checkpoint and returns the number of steps.

Promises of the exercise, and the scenarios that check them:
    the optimizer's state is restored: `sgd` (momentum), `adamw`
    the scheduler's state is restored: `sgd`, `sequential`
    the model's state is restored, buffers included, and each module keeps its mode: `modes`
    the path may be a str: `adamw`
    the saved number of steps is returned, as an int: all scenarios

All scenarios but `modes` train on after the call, and compare with a run that was never interrupted.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import warnings
from collections.abc import Callable

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, LRScheduler, SequentialLR

from grader.exercises.fixtures.checkpoints import as_fact, flat_state, scratch_folder
from grader.exercises.fixtures.classifiers import batches, norm_dropout_mlp, sgd
from grader.exercises.fixtures.training import DriverTraining, Settings, decaying_scheduler
from grader.observe.play import Driver, Stage
from grader.observe.values import type_name

driver = Driver("resume")

_UPDATE_COUNT = 9
"""Number of updates of the whole run."""


def _record_resumed_run(
    stage: Stage,
    *,
    adamw: bool = False,
    as_text: bool = False,
    scheduler: Callable[[Optimizer], LRScheduler] = decaying_scheduler,
) -> None:
    """Record the updates of a resumed run, and whether it ends like one that trained on all nine batches in one go.

    After some batches, the driver saves a checkpoint of the first run. The learner's function loads it into the objects
    of another run, which then trains on the remaining batches. The scheduler is one or two steps ahead of the updates.
    So a program that does not load its state, but steps a new scheduler once for each update, ends with another
    learning rate.

    Args:
        stage: the scenario's stage.
        adamw: train with AdamW; otherwise with SGD and momentum.
        as_text: give the path as str; otherwise as Path.
        scheduler: makes the scheduler.
    """
    env, recorder = stage.env, stage.recorder
    data = batches(env, (4,) * _UPDATE_COUNT)
    saved_at = 3 + env.number("saved at") % 4
    uninterrupted = DriverTraining(env, adamw=adamw, scheduler=scheduler)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns when no update came before the scheduler's step
        for _ in range(1 + env.number("ahead") % 2):
            uninterrupted.scheduler.step()
    uninterrupted.train(data[:saved_at])
    resumed = DriverTraining(env, adamw=adamw, salt="another start", scheduler=scheduler)
    with scratch_folder() as folder:
        path = folder / "run.pt"
        # What else a checkpoint of `BestCheckpoint` holds; and `note`, an entry of the kind that it may have besides.
        other_entries = {
            "step": saved_at,
            "score": 0.5,
            "config": Settings().to_dict(),
            "note": "덤으로 든 것",
        }
        torch.save({**uninterrupted.state_dicts(), **other_entries}, path)
        uninterrupted.train(data[saved_at:_UPDATE_COUNT])
        step = recorder.call(
            stage.student("resume"),
            str(path) if as_text else path,
            model=resumed.model,
            opt=resumed.opt,
            scheduler=resumed.scheduler,
        )
    recorder.fact("반환 타입", type_name(step))
    recorder.fact("반환값", as_fact(step))
    # Watch only now, so that the loaded parameters are the first state.
    recorder.watch(resumed.model, resumed.opt)
    # If the returned step is unusable, the facts above judge that. The restored objects are judged all the same, by
    # training on from the right step.
    start = step if isinstance(step, int) and 0 <= step <= _UPDATE_COUNT else saved_at
    resumed.train(data[start:_UPDATE_COUNT])
    ends = zip(uninterrupted.model.parameters(), resumed.model.parameters(), strict=True)
    recorder.fact("중단 없이 학습한 가중치와 비트까지 같음", all(torch.equal(a, b) for a, b in ends))


@driver.scenario("sgd", "모멘텀 SGD")
def _sgd(stage: Stage) -> None:
    """Resume with momentum.

    A program that does not restore momentum, or the scheduler, makes other updates from there on.
    """
    _record_resumed_run(stage)


@driver.scenario("adamw", "AdamW")
def _adamw(stage: Stage) -> None:
    """Resume with AdamW, from a path given as str.

    A program that makes a new optimizer, or restores only its learning rates, starts with empty moments.
    """
    _record_resumed_run(stage, adamw=True, as_text=True)


def _warmup_then_cosine(opt: Optimizer) -> LRScheduler:
    """Return a scheduler made of two others: two steps of warm-up, then a cosine."""
    parts = [LinearLR(opt, 0.5, total_iters=2), CosineAnnealingLR(opt, 2 * _UPDATE_COUNT)]
    return SequentialLR(opt, parts, milestones=[2])


@driver.scenario("sequential", "스케줄러 두 개를 이은 SequentialLR", check="sgd")
def _sequential(stage: Stage) -> None:
    """Resume with a scheduler that consists of two others. A program that restores only `last_epoch` misses theirs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in older torch, SequentialLR calls a deprecated function
        _record_resumed_run(stage, scheduler=_warmup_then_cosine)


@driver.scenario("modes", "배치 정규화의 이동 통계량과 모드")
def _modes(stage: Stage) -> None:
    """Load a checkpoint into a model with BatchNorm in mixed modes; record its whole state and its modes.

    A program that restores only parameters misses BatchNorm's statistics; one that calls `train()` changes modes.
    """
    env, recorder = stage.env, stage.recorder
    saved, model = norm_dropout_mlp(env, "saved"), norm_dropout_mlp(env)
    with torch.no_grad():
        for buffer in saved.buffers():  # so that they differ from those of `model`
            buffer.add_(0.25 if buffer.is_floating_point() else 1)
    opt = sgd(model)
    scheduler = LambdaLR(opt, lambda update: 0.9**update)
    saved_opt = sgd(saved)
    content = {
        "model": saved.state_dict(),
        "optimizer": saved_opt.state_dict(),
        "scheduler": LambdaLR(saved_opt, lambda update: 0.9**update).state_dict(),
        "step": 10 + env.number("step") % 90,
        "score": 0.0,
        "config": {},
    }
    model.eval()
    model.layers[3].train()  # mixed modes: a single `train()` or `eval()` cannot restore them
    with scratch_folder() as folder:
        torch.save(content, folder / "run.pt")
        recorder.watch(model)
        step = recorder.call(
            stage.student("resume"), folder / "run.pt", model=model, opt=opt, scheduler=scheduler
        )
    recorder.fact("반환값", as_fact(step))
    recorder.array("모델의 상태", flat_state(model.state_dict(), model))
    recorder.modes()
