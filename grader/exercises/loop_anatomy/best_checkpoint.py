"""Driver of `BestCheckpoint`, which keeps the training state of the best score in one file.

Scenarios offer scores in many orders (ties, zero, negative, NaN) and read what the file holds after each. Others test
whether a run can go on from the file, whether it opens with `weights_only=True`, and whether it survives a disk that
fills up.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from grader.exercises.fixtures.checkpoints import flat_state, plain, read_checkpoint, scratch_folder
from grader.exercises.fixtures.classifiers import batches
from grader.exercises.fixtures.training import Settings, TrainingRun, settings_for
from grader.exercises.loop_anatomy._checkpoint_file import recorded_content, watched_replacement
from grader.exercises.loop_anatomy._full_disk import full_disk
from grader.observe.play import Driver, Env, Stage
from grader.observe.recorder import Recorder
from grader.observe.trace import Fact
from grader.observe.wording import ordinal, yes_or_no

driver = Driver("BestCheckpoint")


def _updates(
    stage: Stage,
    path: Path,
    scores: list[Any],
    *,
    as_text: bool = False,
    norm_dropout: bool = False,
) -> Iterator[tuple[TrainingRun, list[Tensor], Fact]]:
    """Call `update` once for each score, after one more batch of training each time.

    Yields after every `update`: the run, the weights at each `update` so far, and what this one returned.
    """
    recorder, env = stage.recorder, stage.env
    student = stage.student("BestCheckpoint")
    run = TrainingRun(env, norm_dropout=norm_dropout)
    if norm_dropout:
        run.model.layers[1].eval()  # frozen statistics: `model.train()` after saving would lose them
    data = batches(env, (4,) * (len(scores) + 1))
    config = settings_for(student, Settings(epochs=len(scores), amp_dtype="bfloat16"))
    best = recorder.call(student, str(path) if as_text else path)
    moments: list[Tensor] = []
    for number, (score, steps) in enumerate(zip(scores, _steps(env, len(scores)), strict=True)):
        run.train(data[number : number + 1])
        moments.append(run.weights())
        saved = recorder.call(
            lambda score=score, step=steps: best.update(
                score, model=run.model, opt=run.opt, scheduler=run.scheduler, step=step, config=config
            )
        )
        yield run, moments, plain(saved)


def _rising(env: Env, count: int) -> list[float]:
    """Return scores in rising order, exact in float32, which a learner cannot know beforehand."""
    drawn = torch.randperm(1000, generator=env.generator("scores"))[:count].sort().values
    return [(int(n) + 10) / 1024 for n in drawn]


def _steps(env: Env, count: int) -> list[int]:
    """Return the numbers of updates that each `update` call is told."""
    return torch.randint(1, 50, (count,), generator=env.generator("steps")).cumsum(0).tolist()


def _record_file(
    recorder: Recorder,
    path: Path,
    run: TrainingRun,
    moments: list[Tensor],
    name: str,
    *,
    beside: bool = False,
) -> None:
    """Record the weights in the file and which call of `update` they are from; with `beside`, also score and step.

    In this file, the config may be an object (`Settings`) instead of plain values.
    """
    content, how = read_checkpoint(path, known=[Settings])
    weights = flat_state(content.get("model"), run.model)
    found = [n for n, moment in enumerate(moments, start=1) if torch.equal(weights, moment)]
    recorder.fact(f"{name}의 파일", how)
    if content:
        whose = f"update()를 {ordinal(found[-1])}로 부를 때의 것" if found else "어느 때의 것도 아님"
        recorder.claim(f"{name}의 파일에 든 가중치", whose, weights)
        if beside:
            recorder.fact(f"{name}의 파일에 든 score", plain(content.get("score")))
            recorder.fact(f"{name}의 파일에 든 step", plain(content.get("step")))


def _after_each(stage: Stage, scores: list[Any], *, as_text: bool = False, beside: bool = False) -> None:
    with scratch_folder() as folder:
        path = folder / "best.pt"
        for run, moments, _ in _updates(stage, path, scores, as_text=as_text):
            name = f"{len(moments)}번째 update() 뒤"
            _record_file(stage.recorder, path, run, moments, name, beside=beside)


@driver.scenario("best", "오르내리는 점수")
def _best(stage: Stage) -> None:
    """Best, worst and last are three different moments, and between two bests comes something worse."""
    worst, low, middle, high, highest, best = _rising(stage.env, 6)
    orders = (
        [low, high, middle, best, worst, highest],
        [middle, low, high, worst, best, highest],
        [high, highest, low, worst, best, middle],
        [middle, highest, high, best, worst, low],
    )
    _after_each(stage, orders[stage.env.number("order") % len(orders)], beside=True)


@driver.scenario("folder", "저장할 때마다 폴더에 남는 파일", check="best")
def _folder(stage: Stage) -> None:
    """The third save must not add a file to the folder, and neither must a last score that is too low to be saved.

    Keeping two files is right: the second-best checkpoint, too.
    """
    worst, *rising = _rising(stage.env, 4)
    file_counts: list[int] = []
    with scratch_folder() as folder:
        path = folder / "best.pt"
        for run, moments, _ in _updates(stage, path, [*rising, worst]):
            file_counts.append(_file_count(folder))
            _record_file(stage.recorder, path, run, moments, f"{len(moments)}번째 update() 뒤")
    stage.recorder.fact("저장할수록 파일이 늘어남", yes_or_no(file_counts[2] > file_counts[1]))
    stage.recorder.fact("저장하지 않아도 파일이 늘어남", yes_or_no(file_counts[3] > file_counts[2]))


def _file_count(folder: Path) -> int:
    return sum(1 for found in folder.rglob("*") if found.is_file())


@driver.scenario("returns", "update()의 반환값", check="best")
def _returns(stage: Stage) -> None:
    """The values that `update` returns: whether it saved."""
    low, middle, high = _rising(stage.env, 3)
    with scratch_folder() as folder:
        outcomes = [outcome for *_, outcome in _updates(stage, folder / "best.pt", [middle, low, high])]
    stage.recorder.fact("update()의 반환값", outcomes)


@driver.scenario("again", "파일이 이미 있을 때", check="best")
def _again(stage: Stage) -> None:
    """The file of an earlier, better run exists already: the new run must still save its first score."""
    low, middle, high, highest = _rising(stage.env, 4)
    with scratch_folder() as folder:
        path = folder / "best.pt"
        for name, scores in (("앞선 학습: ", [highest]), ("새 학습: ", [middle, low, high])):
            for run, moments, _ in _updates(stage, path, scores):
                _record_file(stage.recorder, path, run, moments, f"{name}{len(moments)}번째 update() 뒤")


@driver.scenario("ties", "같은 점수")
def _ties(stage: Stage) -> None:
    """The last score is higher by only 2**-20: a program that asks for, say, 1e-4 more does not save it."""
    low, high = _rising(stage.env, 2)
    _after_each(stage, [low, low, high, low, high, high + 2.0**-20], as_text=True)


@driver.scenario("zero", "0점")
def _zero(stage: Stage) -> None:
    """0.0 is a score like any other."""
    _after_each(stage, [0.0, -_rising(stage.env, 1)[0]])


@driver.scenario("negative", "음수 점수", check="zero")
def _negative(stage: Stage) -> None:
    """A negated loss may be far below -1, with which some programs start as their best."""
    low, middle, high = _rising(stage.env, 3)
    _after_each(stage, [-2.0 - middle, -2.0 - high, -2.0 - low])


@driver.scenario("nan", "NaN 점수", check="zero")
def _nan(stage: Stage) -> None:
    """NaN as the first score, and NaN in the middle."""
    low, middle, high = _rising(stage.env, 3)
    _after_each(stage, [math.nan, middle, math.nan, low, high])


@driver.scenario("nan-unsaved", "NaN 점수의 반환값과 폴더", check="zero")
def _nan_unsaved(stage: Stage) -> None:
    """What `update` tells and leaves for a score that it does not save; what it returns for others is not judged."""
    with scratch_folder() as folder:
        scores = [*_rising(stage.env, 1), math.nan]
        seen = [(outcome, _file_count(folder)) for *_, outcome in _updates(stage, folder / "best.pt", scores)]
    (_, before), (outcome, after) = seen
    stage.recorder.fact("NaN을 저장했다고 함", yes_or_no(outcome is True))
    stage.recorder.fact("NaN을 저장하지 않아도 파일이 늘어남", yes_or_no(after > before))


@driver.scenario("content", "이어서 학습할 수 있는 내용")
def _content(stage: Stage) -> None:
    """The file holds all that a run needs to go on, BatchNorm's
    statistics included; it is loaded into fresh objects.
    """
    recorder, env = stage.recorder, stage.env
    fresh = TrainingRun(env, norm_dropout=True, salt="fresh")
    modes: list[Fact] = []
    with scratch_folder() as folder:
        path = folder / "best.pt"
        for run, *_ in _updates(stage, path, _rising(env, 3), norm_dropout=True):
            modes = [m.training for m in run.model.modules()]
        content = recorded_content(recorder, path, known=[Settings])
    recorder.fact("step", plain(content.get("step")))
    recorder.array("모델의 상태", flat_state(content.get("model"), fresh.model))
    recorder.fact("저장한 뒤의 모드", modes)
    recorder.array("옵티마이저", _loaded_momentum(fresh.opt, content.get("optimizer")))
    recorder.fact("스케줄러", _loaded_epoch(fresh.scheduler, content.get("scheduler")))


def _loaded_momentum(opt: Optimizer, state: Any) -> Tensor:
    """Return momentum and learning rates after loading; empty if the state cannot be loaded."""
    try:
        opt.load_state_dict(state)
        buffers = [
            opt.state[p]["momentum_buffer"].double().cpu().ravel()
            for g in opt.param_groups
            for p in g["params"]
        ]
        rates = torch.tensor([float(group["lr"]) for group in opt.param_groups], dtype=torch.float64)
        return torch.cat([*buffers, rates])
    except Exception:
        return torch.zeros(0)


def _loaded_epoch(scheduler: LRScheduler, state: Any) -> Fact:
    try:
        scheduler.load_state_dict(state)
        return plain(scheduler.last_epoch)
    except Exception:
        return "불러올 수 없음"


@driver.scenario("plain", "파일에 담긴 값")
def _plain(stage: Stage) -> None:
    """A TrainConfig as config: the file must open with `weights_only=True`."""
    env, student = stage.env, stage.student("BestCheckpoint")
    run = TrainingRun(env)
    run.train(batches(env, (4,)))
    (score,) = _rising(env, 1)
    settings = settings_for(student, Settings(lr=score, seed=env.number("config") % 1000))
    _record_content(stage, run, (("TrainConfig", score, settings),))


@driver.scenario("numpy", "NumPy로 계산한 점수", check="plain")
def _numpy(stage: Stage) -> None:
    """Scores as NumPy numbers. A config saved as an object is judged elsewhere, so such a file opens here."""
    env, student = stage.env, stage.student("BestCheckpoint")
    run = TrainingRun(env)
    run.train(batches(env, (4,)))
    scores = _rising(env, 2)
    settings = settings_for(student, Settings(seed=env.number("config") % 1000))
    cases = (
        ("NumPy 점수(float64)", np.float64(scores[0]), settings),
        ("NumPy 점수(float32)", np.float32(scores[1]), settings),
    )
    _record_content(stage, run, cases, known=[Settings])


@driver.scenario("dict", "config가 dict일 때", check="plain")
def _dict_config(stage: Stage) -> None:
    """A dict as config must come back as it was."""
    run = TrainingRun(stage.env)
    run.train(batches(stage.env, (4,)))
    (score,) = _rising(stage.env, 1)
    _record_content(stage, run, (("dict", score, {"lr": score, "amp_dtype": None}),))


def _record_content(
    stage: Stage, run: TrainingRun, cases: Sequence[tuple[str, Any, Any]], known: Sequence[type] = ()
) -> None:
    """Record what the file holds after each update with a name, a score and a config.

    With `known` classes, the config is left out.
    """
    recorder = stage.recorder
    with scratch_folder() as folder:
        best = recorder.call(stage.student("BestCheckpoint"), folder / "best.pt")
        for name, score, config in cases:
            recorder.call(
                lambda score=score, config=config: best.update(
                    score, model=run.model, opt=run.opt, scheduler=run.scheduler, step=1, config=config
                )
            )
            content, how = read_checkpoint(folder / "best.pt", known)
            recorder.fact(f"{name}: 파일", how)
            recorder.fact(f"{name}: score", plain(content.get("score")))
            if not known:
                recorder.fact(f"{name}: config", plain(content.get("config")))


@driver.scenario("crash", "저장하다 끊길 때")
def _crash(stage: Stage) -> None:
    """The disk fills up in the middle of saving; then there is room again."""
    recorder, student = stage.recorder, stage.student("BestCheckpoint")
    run = TrainingRun(stage.env)
    data = batches(stage.env, (4, 4, 4, 4))
    scores, steps = _rising(stage.env, 4), _steps(stage.env, 4)
    config = settings_for(student, Settings(lr=scores[0]))
    moments: list[Tensor] = []
    with scratch_folder() as folder:
        path = folder / "best.pt"
        best = recorder.call(student, path)

        def save() -> None:
            number = len(moments)
            run.train(data[number : number + 1])
            moments.append(run.weights())
            parts = {"model": run.model, "opt": run.opt, "scheduler": run.scheduler}
            best.update(scores[number], **parts, step=steps[number], config=config)

        with full_disk(student):
            _whatever_it_raises(recorder, save)
        recorder.fact("첫 저장이 끊긴 뒤의 파일", read_checkpoint(path)[1])
        recorder.call(save)
        _record_file(recorder, path, run, moments, "다시 저장한 뒤")
        with full_disk(student):
            _whatever_it_raises(recorder, save)
        _record_file(recorder, path, run, moments, "두 번째로 저장이 끊긴 뒤")
        with watched_replacement(recorder, student, path):
            recorder.call(save)
        _record_file(recorder, path, run, moments, "마지막 저장 뒤")


def _whatever_it_raises(recorder: Recorder, action: Any) -> None:
    """Call `action`; the student's code may let the `OSError` through or catch it."""

    def attempt() -> None:
        try:
            action()
        except OSError:
            return

    recorder.call(attempt)
