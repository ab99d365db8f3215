"""Driver of `BestCheckpoint`, which keeps the training state of the best score in one file.

Promises of the exercise, and the scenarios that check them:
    it saves when a score is higher than every one before: `best`, `ties`; the first one whatever it is: `zero`,
    `negative`, `again`; but a NaN never: `nan`, `nan-unsaved`
    `update` returns whether it saved: `returns`, `nan-unsaved`
    the file holds the states of that moment, and all that a training needs to go on: `best`, `content`
    the path may be a text: `text-path`
    it opens with `weights_only=True`, with the promised keys and plain values: `content`, `plain`, `numpy`, `dict`
    a crash while saving leaves the old file or the new one whole: `crash`; files do not pile up: `folder`

What is saved is a `DriverTraining`, which the driver trains itself. "Weights" are its whole `state_vector`.

A scenario decides the check that `check=` names, or that of its name. To add a scenario or a promise, see
grader/ADDING.md; known mistakes are in solutions/02_loop_anatomy/BestCheckpoint.toml.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from grader.exercises.fixtures.checkpoints import as_fact, flat_state, read_checkpoint, scratch_folder
from grader.exercises.fixtures.classifiers import batches
from grader.exercises.fixtures.training import DriverTraining, Settings, settings_for
from grader.exercises.loop_anatomy._checkpoint_file import (
    read_and_record_content,
    score_in,
    watched_replacement,
)
from grader.exercises.loop_anatomy._full_disk import full_disk
from grader.exercises.loop_anatomy._saved_moment import (
    Moment,
    load_momentum_and_rates,
    load_step_count,
    moment_of,
    record_other_moments,
)
from grader.observe.play import Driver, Env, Stage
from grader.observe.recorder import Recorder
from grader.observe.trace import Fact
from grader.observe.wording import ordinal, yes_or_no

driver = Driver("BestCheckpoint")


class _Update(NamedTuple):
    """One call of `update`, just after it."""

    training: DriverTraining
    """The training whose state it was given."""
    moments: tuple[Moment, ...]
    """The training's states at each call of `update` so far, this one included."""
    returned: Fact


def _update_for_each(
    stage: Stage,
    path: Path,
    scores: list[Any],
    *,
    as_text: bool = False,
    norm_dropout: bool = False,
) -> Iterator[_Update]:
    """Call `update` once for each score, after one more batch of training each time; yield after each call.

    Args:
        stage: the scenario's stage.
        path: the checkpoint's path.
        scores: what each call of `update` is given as its score.
        as_text: give the path as str; otherwise as Path.
        norm_dropout: train a model with BatchNorm and dropout, and put BatchNorm into eval mode for each call of
            `update`, so that a program shows which calls `model.train()` after saving.
    """
    recorder, env = stage.recorder, stage.env
    student = stage.student("BestCheckpoint")
    training = DriverTraining(env, norm_dropout=norm_dropout)
    data = batches(env, (4,) * len(scores))
    config = settings_for(student, Settings(epochs=len(scores), amp_dtype="bfloat16"))
    checkpoint = recorder.call(student, str(path) if as_text else path)
    moments: tuple[Moment, ...] = ()
    for number, (score, step) in enumerate(zip(scores, _step_numbers(env, len(scores)), strict=True)):
        if norm_dropout:
            training.model.layers[1].train()
        training.train(data[number : number + 1])
        if norm_dropout:
            training.model.layers[1].eval()
        moments = (*moments, moment_of(training))
        returned = recorder.call(
            lambda score=score, step=step: checkpoint.update(
                score,
                model=training.model,
                opt=training.opt,
                scheduler=training.scheduler,
                step=step,
                config=config,
            )
        )
        # A program that compares by NumPy returns a NumPy bool.
        answer = bool(returned) if isinstance(returned, np.bool_) else returned
        yield _Update(training, moments, as_fact(answer))


def _rising_scores(env: Env, count: int) -> list[float]:
    """Return different scores in rising order, which follow from the seed and are exact in float32."""
    numbers = torch.randperm(1000, generator=env.generator("scores"))[:count].sort().values
    return [(int(number) + 10) / 1024 for number in numbers]


def _step_numbers(env: Env, count: int) -> list[int]:
    """Return a `step` for each call of `update`: rising numbers that follow from the seed."""
    return torch.randint(1, 50, (count,), generator=env.generator("steps")).cumsum(0).tolist()


def _record_file(
    stage: Stage,
    path: Path,
    training: DriverTraining,
    moments: Sequence[Moment],
    name: str,
    *,
    with_all_entries: bool = False,
) -> None:
    """Record whether the file opens, the weights in it, and from which call of `update` they are.

    The config in the file may be a `Settings` object: the scenario `plain` judges that it must be plain values.

    Args:
        stage: the scenario's stage.
        path: the checkpoint's path.
        training: the training that was saved.
        moments: its states at each call of `update` so far.
        name: Korean phrase with which the names of the facts begin.
        with_all_entries: record score and step too, and whether the states of optimizer and scheduler are from the
            same call as the weights.
    """
    recorder = stage.recorder
    content, outcome = read_checkpoint(path, allowed_classes=[Settings])
    weights = flat_state(content.get("model"), training.model)
    matching_calls = [n for n, then in enumerate(moments, start=1) if torch.equal(weights, then.weights)]
    recorder.fact(f"{name}의 파일", outcome)
    if not content:
        return
    words = "어느 때의 것도 아님"
    if matching_calls:
        words = f"update()를 {ordinal(matching_calls[-1])}로 부를 때의 것"
    recorder.claim(f"{name}의 파일에 든 가중치", words, weights)
    if with_all_entries:
        recorder.fact(f"{name}의 파일에 든 score", score_in(content))
        recorder.fact(f"{name}의 파일에 든 step", as_fact(content.get("step")))
        if matching_calls:
            record_other_moments(stage, content, moments[matching_calls[-1] - 1], name)


def _record_each_update(
    stage: Stage, scores: list[Any], *, as_text: bool = False, with_all_entries: bool = False
) -> None:
    """Call `update` once for each score, and record the file after each call.

    Args:
        stage: the scenario's stage.
        scores: what each call of `update` is given as its score.
        as_text: give the path as str; otherwise as Path.
        with_all_entries: see `_record_file`.
    """
    with scratch_folder() as folder:
        path = folder / "best.pt"
        for training, moments, _ in _update_for_each(stage, path, scores, as_text=as_text):
            name = f"{len(moments)}번째 update() 뒤"
            _record_file(stage, path, training, moments, name, with_all_entries=with_all_entries)


# ---- which scores are saved ----------------------------------------------------------------------


@driver.scenario("best", "오르내리는 점수")
def _best(stage: Stage) -> None:
    """Record the file after each of six scores that rise and fall; their order follows from the seed.

    Best, worst and last are three different moments, and some score is higher than the one before it without being the
    best so far. A program that saves the first, last or worst score, or whenever a score rises, has other weights in
    the file. One that keeps some states by reference, and writes the file later, has those of different moments there.
    """
    worst, low, middle, high, higher, highest = _rising_scores(stage.env, 6)
    orders = (
        [low, high, middle, highest, worst, higher],
        [middle, worst, low, high, highest, higher],
        [high, higher, worst, low, highest, middle],
        [middle, higher, high, highest, worst, low],
    )
    _record_each_update(stage, orders[stage.env.number("order") % len(orders)], with_all_entries=True)


@driver.scenario("text-path", "경로가 str일 때", check="best")
def _text_path(stage: Stage) -> None:
    """Give the path as str, and two scores that rise.

    A program that calls a method of `Path` on what it was given raises an AttributeError.
    """
    _record_each_update(stage, _rising_scores(stage.env, 2), as_text=True)


@driver.scenario("folder", "저장할 때마다 폴더에 남는 파일", check="best")
def _folder(stage: Stage) -> None:
    """Record the checkpoint after each call, and whether files pile up in its folder.

    The first three scores are to be saved, the fourth is too low, and must not add a file either. A program that writes
    a file of another name at each save fills the folder. Two files are right, because a program may keep the checkpoint
    before the best. So the numbers of files are compared from the second save on.
    """
    worst, *rising = _rising_scores(stage.env, 4)
    file_counts: list[int] = []
    with scratch_folder() as folder:
        path = folder / "best.pt"
        for training, moments, _ in _update_for_each(stage, path, [*rising, worst]):
            file_counts.append(_file_count(folder))
            _record_file(stage, path, training, moments, f"{len(moments)}번째 update() 뒤")
    stage.recorder.fact("저장할수록 파일이 늘어남", yes_or_no(file_counts[2] > file_counts[1]))
    stage.recorder.fact("저장하지 않아도 파일이 늘어남", yes_or_no(file_counts[3] > file_counts[2]))


def _file_count(folder: Path) -> int:
    """Return the number of files in a folder and its subfolders."""
    return sum(1 for found in folder.rglob("*") if found.is_file())


@driver.scenario("returns", "update()의 반환값", check="best")
def _returns(stage: Stage) -> None:
    """Record what `update` returns for a first score, a lower and a higher one.

    A program that returns nothing, or always True, does not say whether it saved.
    """
    low, middle, high = _rising_scores(stage.env, 3)
    with scratch_folder() as folder:
        updates = _update_for_each(stage, folder / "best.pt", [middle, low, high])
        returned = [update.returned for update in updates]
    stage.recorder.fact("update()의 반환값", returned)


@driver.scenario("again", "파일이 이미 있을 때", check="best")
def _again(stage: Stage) -> None:
    """Begin a second training where the file of an earlier, better one is.

    A program that reads the best score from that file does not save the first score of the new training. Both have the
    same weights and step at their first call, so the score in the file tells which of them has saved it.
    """
    low, middle, high, highest = _rising_scores(stage.env, 4)
    with scratch_folder() as folder:
        path = folder / "best.pt"
        for name, scores in (("앞선 학습: ", [highest]), ("새 학습: ", [middle, low, high])):
            for training, moments, _ in _update_for_each(stage, path, scores):
                when = f"{name}{len(moments)}번째 update() 뒤"
                _record_file(stage, path, training, moments, when, with_all_entries=True)


@driver.scenario("ties", "같은 점수")
def _ties(stage: Stage) -> None:
    """Give scores that are equal, and a last one that is higher by only 2**-20.

    A program that compares by `>=` saves ties; one that asks for, say, 1e-4 more misses the last score.
    """
    low, high = _rising_scores(stage.env, 2)
    _record_each_update(stage, [low, low, high, low, high, high + 2.0**-20])


@driver.scenario("zero", "0점")
def _zero(stage: Stage) -> None:
    """Give a first score of 0, then a negative one.

    A program that starts with a best score of 0, or tests `if score:`, does not save 0.0. One that tests `if best:`
    takes a best score of 0 for none, and saves the lower second one.
    """
    _record_each_update(stage, [0.0, -_rising_scores(stage.env, 1)[0]])


@driver.scenario("negative", "음수 점수", check="zero")
def _negative(stage: Stage) -> None:
    """Give negative scores only.

    A program that starts with a best score of 0 or -1 does not save them; negated losses may be so low.
    """
    low, middle, high = _rising_scores(stage.env, 3)
    _record_each_update(stage, [-2.0 - middle, -2.0 - high, -2.0 - low])


@driver.scenario("nan", "NaN 점수", check="zero")
def _nan(stage: Stage) -> None:
    """Give NaN as the first score and in the middle.

    A program that saves its first score without a look keeps a NaN as its best, and no later score is higher than NaN.
    """
    low, middle, high = _rising_scores(stage.env, 3)
    _record_each_update(stage, [math.nan, middle, math.nan, low, high])


@driver.scenario("nan-unsaved", "NaN 점수의 반환값과 폴더", check="zero")
def _nan_unsaved(stage: Stage) -> None:
    """Give NaN as the second score; record whether `update` returns True then, and whether there are more files.

    A program that says it has saved shows here, and one that leaves a temporary file, because it writes before it
    compares. What `update` returns for the first score is not judged.
    """
    with scratch_folder() as folder:
        scores = [*_rising_scores(stage.env, 1), math.nan]
        returned_and_file_counts = [
            (update.returned, _file_count(folder))
            for update in _update_for_each(stage, folder / "best.pt", scores)
        ]
    (_, before), (returned, after) = returned_and_file_counts
    stage.recorder.fact("NaN을 저장했다고 함", yes_or_no(returned is True))
    stage.recorder.fact("NaN을 저장하지 않아도 파일이 늘어남", yes_or_no(after > before))


# ---- what the file holds -------------------------------------------------------------------------


@driver.scenario("content", "이어서 학습할 수 있는 내용")
def _content(stage: Stage) -> None:
    """Record what the file of the last of three rising scores holds, and the modes after the last save.

    Recorded are the keys, the step, the model's state, and what a fresh optimizer and scheduler load from the file. A
    program that leaves out a key or state, saves only parameters or other buffers, or changes the modes shows.
    """
    recorder, env = stage.recorder, stage.env
    fresh = DriverTraining(env, norm_dropout=True, salt="fresh")
    modes: list[Fact] = []
    with scratch_folder() as folder:
        path = folder / "best.pt"
        for update in _update_for_each(stage, path, _rising_scores(env, 3), norm_dropout=True):
            modes = [m.training for m in update.training.model.modules()]
        content = read_and_record_content(recorder, path, allowed_classes=[Settings])
    recorder.fact("step", as_fact(content.get("step")))
    recorder.array("모델의 상태", flat_state(content.get("model"), fresh.model))
    recorder.fact("저장한 뒤의 모드", modes)
    recorder.array("옵티마이저", load_momentum_and_rates(fresh.opt, content.get("optimizer")))
    recorder.fact("스케줄러", load_step_count(fresh.scheduler, content.get("scheduler")))


class _Save(NamedTuple):
    """What one call of `update` is given beside the training."""

    name: str
    """Korean phrase with which the names of its facts begin."""
    score: Any
    config: Any


def _record_content(stage: Stage, saves: Sequence[_Save], *, with_config: bool = True) -> None:
    """Save a training several times, and record whether the file opens after each time, and the score in it.

    Args:
        stage: the scenario's stage.
        saves: what each call of `update` is given.
        with_config: record the config in the file, too; otherwise it is not judged, and may be a `Settings` object.
    """
    training = DriverTraining(stage.env)
    training.train(batches(stage.env, (4,)))
    allowed_classes = () if with_config else (Settings,)
    recorder = stage.recorder
    with scratch_folder() as folder:
        checkpoint = recorder.call(stage.student("BestCheckpoint"), folder / "best.pt")
        for name, score, config in saves:
            recorder.call(
                lambda score=score, config=config: checkpoint.update(
                    score,
                    model=training.model,
                    opt=training.opt,
                    scheduler=training.scheduler,
                    step=1,
                    config=config,
                )
            )
            content, outcome = read_checkpoint(folder / "best.pt", allowed_classes)
            recorder.fact(f"{name}: 파일", outcome)
            recorder.fact(f"{name}: score", score_in(content))
            if with_config:
                saved = content.get("config")
                plain = dict(saved) if isinstance(saved, dict) else saved  # an OrderedDict is a dict, too
                recorder.fact(f"{name}: config", as_fact(plain))


@driver.scenario("plain", "파일에 담긴 값")
def _plain(stage: Stage) -> None:
    """Give a config object, and record whether the file opens, and score and config in it.

    A program that saves the object itself writes a file that `weights_only=True` does not open.
    """
    env, student = stage.env, stage.student("BestCheckpoint")
    (score,) = _rising_scores(env, 1)
    settings = settings_for(student, Settings(lr=score, seed=env.number("config") % 1000))
    _record_content(stage, [_Save("TrainConfig", score, settings)])


@driver.scenario("numpy", "NumPy로 계산한 점수", check="plain")
def _numpy(stage: Stage) -> None:
    """Give scores computed by NumPy, and record whether the files open, and the scores in them.

    A program that saves a NumPy score as it is writes a file that `weights_only=True` does not open. A config that was
    saved as an object is judged in `plain`.
    """
    env, student = stage.env, stage.student("BestCheckpoint")
    scores = _rising_scores(env, 2)
    settings = settings_for(student, Settings(seed=env.number("config") % 1000))
    saves = (
        _Save("NumPy 점수(float64)", np.float64(scores[0]), settings),
        _Save("NumPy 점수(float32)", np.float32(scores[1]), settings),
    )
    _record_content(stage, saves, with_config=False)


@driver.scenario("dict", "config가 dict일 때", check="plain")
def _dict_config(stage: Stage) -> None:
    """Give the config as a dict, and record whether the file opens, and score and config in it.

    A program that calls `config.to_dict()` without a look at the type raises when the config is a dict.
    """
    (score,) = _rising_scores(stage.env, 1)
    _record_content(stage, [_Save("dict", score, {"lr": score, "amp_dtype": None})])


# ---- a crash while saving ------------------------------------------------------------------------


@driver.scenario("crash", "저장하다 끊길 때")
def _crash(stage: Stage) -> None:
    """Let the disk fill up during the first and the third of four saves, and record the file after each save.

    A program that writes over the old file leaves half a file if the disk fills up in the middle of saving. During the
    last save, record how the old file is replaced.
    """
    recorder, student = stage.recorder, stage.student("BestCheckpoint")
    training = DriverTraining(stage.env)
    data = batches(stage.env, (4, 4, 4, 4))
    scores, steps = _rising_scores(stage.env, 4), _step_numbers(stage.env, 4)
    config = settings_for(student, Settings(lr=scores[0]))
    moments: list[Moment] = []
    with scratch_folder() as folder:
        path = folder / "best.pt"
        checkpoint = recorder.call(student, path)

        def save() -> None:
            number = len(moments)
            training.train(data[number : number + 1])
            moments.append(moment_of(training))
            parts = {"model": training.model, "opt": training.opt, "scheduler": training.scheduler}
            checkpoint.update(scores[number], **parts, step=steps[number], config=config)

        with full_disk(student):
            _call_allowing_os_error(recorder, save)
        recorder.fact("첫 저장이 끊긴 뒤의 파일", read_checkpoint(path).outcome)
        recorder.call(save)
        _record_file(stage, path, training, moments, "다시 저장한 뒤")
        with full_disk(student):
            _call_allowing_os_error(recorder, save)
        _record_file(stage, path, training, moments, "두 번째로 저장이 끊긴 뒤")
        with watched_replacement(recorder, student, path):
            recorder.call(save)
        _record_file(stage, path, training, moments, "마지막 저장 뒤")


def _call_allowing_os_error(recorder: Recorder, action: Callable[[], object]) -> None:
    """Call `action`, and go on if it raises an OSError: the learner's code may catch it or not."""

    def call_and_catch() -> None:
        try:
            action()
        except OSError:
            return

    recorder.call(call_and_catch)
