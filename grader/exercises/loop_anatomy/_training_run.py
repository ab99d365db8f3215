"""The scenarios that `train` and `train_accelerate` share: each about one aspect of a training run, `run` about many.

Both drivers call `add_run_scenarios` with a function that calls the learner's function (`CallTrain`). The other public
functions are for scenarios of one driver only. To add a shared scenario, write a function here and a line in
`add_run_scenarios`, and name it beside a promise in the docstrings of `train.py` and `train_accelerate.py`. The TOML
files of both exercises must have its check.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from grader.exercises.fixtures.checkpoints import as_fact, read_checkpoint, scratch_folder
from grader.exercises.fixtures.classifiers import flat_buffers, gradient_norm
from grader.exercises.fixtures.memory import record_loop_memory
from grader.exercises.fixtures.stand_ins import restored_backends
from grader.exercises.fixtures.training import Settings
from grader.exercises.loop_anatomy._checkpoint_file import (
    read_and_record_content,
    record_score,
    record_training_state,
    saved_epoch_in_words,
    watched_replacement,
)
from grader.exercises.loop_anatomy._training_case import (
    STEADY_SETTINGS,
    TrainingCase,
    deep_layers,
    dropout_layers,
    norm_layers,
    training_case,
)
from grader.observe.construction import watched_construction
from grader.observe.play import Driver, Env, Stage

TRAIN_ATOL = 1e-5
"""Absolute tolerance of parameters. In runs that clip, torch divides by norm + 1e-6, and a hand-written clip may divide
by the norm alone. In runs with `STEADY_SETTINGS`, wrong steps of the scheduler change less than this, and so cost only
the check about them."""

EVENTFUL_SETTINGS = replace(STEADY_SETTINGS, weight_decay=0.1, warmup_steps=2, total_steps=5, max_norm=0.6)
"""Settings whose schedule rises, falls and ends within three epochs of two updates, nearly all of which are clipped."""


class CallTrain(Protocol):
    """A function that calls the learner's function with a case, and returns its result.

    It calls `caller(function, arguments …)`, by default `Recorder.call`, so that a scenario can call in another way.
    """

    def __call__(
        self, stage: Stage, case: TrainingCase, path: str | Path, *, caller: Callable[..., Any] | None = None
    ) -> Any: ...


def add_run_scenarios(driver: Driver, call_train: CallTrain) -> None:
    """Add the shared scenarios to a driver; `call_train` calls the learner's function of its exercise."""

    def add(name: str, title: str, check: str, play: Callable[[Stage, CallTrain], None]) -> None:
        driver.scenario(name, title, check=check, atol=TRAIN_ATOL)(lambda stage: play(stage, call_train))

    add("epochs", "에폭마다 배치 하나", "updates", _epochs)
    add("clipping", "그레이디언트가 큰 학습", "updates", _clipping)
    add("ended", "total_steps를 넘긴 학습", "ended", _ended)
    add("seed", "드롭아웃이 있는 모델", "modes", _seed)
    add("modes", "배치 정규화가 있는 모델", "modes", _modes)
    add("returns", "반환값", "returns", _returns)
    add("raises", "읽다가 예외를 내는 로더", "returns", _raises)
    add("checkpoint", "체크포인트의 내용", "checkpoint", _checkpoint)
    add("ties", "정확도가 같은 두 에폭", "checkpoint", _ties)
    add("zero", "정확도가 0인 에폭", "checkpoint", _zero)
    add("old-file", "체크포인트 파일이 이미 있을 때", "checkpoint", partial(_old_file, name=driver.name))
    add("run", "모두 합친 학습", "run", _run)


def run_watched(
    stage: Stage, call_train: CallTrain, case: TrainingCase, path: str | Path | None = None
) -> Any:
    """Run the learner's function, record the parameters, and return its result.

    Args:
        stage: the scenario's stage.
        call_train: calls the learner's function.
        case: what it is called with.
        path: where it is to save the checkpoint; None: a file that is removed afterwards.
    """
    stage.recorder.watch(case.model)
    with watched_construction(stage.recorder, case.model):
        return run_unwatched(stage, call_train, case, path)


def run_unwatched(
    stage: Stage, call_train: CallTrain, case: TrainingCase, path: str | Path | None = None
) -> Any:
    """Run the learner's function as `run_watched` does, but without recording the parameters."""
    with ExitStack() as stack:
        stack.enter_context(restored_backends())
        folder = stack.enter_context(scratch_folder())
        return call_train(stage, case, folder / "best.pt" if path is None else path)


def first_gradient_norm(case: TrainingCase) -> float:
    """Return the joint L2 norm of the first batch's gradient, and leave the case as it was; for `plain_layers` only.

    (Of other layers, the pass would change running statistics or draw random numbers.)
    """
    data = DataLoader(case.train_loader.dataset, case.settings.batch_size, generator=torch.Generator())
    batches_seen = case.model.seen.clone()
    norm = gradient_norm(case.model, nn.functional.cross_entropy, next(iter(data)))
    case.model.seen.copy_(batches_seen)
    case.model.notes.clear()
    return norm


def record_autocast(stage: Stage, case: TrainingCase) -> None:
    """Record the precisions to which autocast was set in training, validation and backward passes."""
    notes = case.model.notes
    for name in ("학습 순전파", "검증 순전파", "역전파"):
        stage.recorder.claim(f"{name}의 autocast", notes.fact(name), notes.witness(name))


def record_memory(stage: Stage, call_train: CallTrain) -> None:
    """Run the learner's function, and record whether graphs pile up batch by batch.

    A program that keeps training losses, or outputs of validation, with their graphs shows here.
    """
    settings = replace(STEADY_SETTINGS, batch_size=1)
    case = training_case(stage.env, settings, (3, 5), samples=7, validation_batch_size=1)
    stage.recorder.watch(case.model, states=False)
    meter = stage.recorder.measure_memory(case.model)
    run_unwatched(stage, call_train, case)
    record_loop_memory(stage, meter)


def _best_first(count: int) -> tuple[int, ...]:
    """Return the number of correct answers after each of `count` epochs: 7 after the first, fewer after the others.

    So a program that stops when nothing has improved for some epochs ends early, and shows.
    """
    return (7, *(1 + number % 6 for number in range(count, 1, -1)))


def _epochs(stage: Stage, call_train: CallTrain) -> None:
    """Train for several epochs; how many follows from the seed.

    A program that trains one epoch, stops early or steps twice a batch leaves other weights.
    """
    count = stage.env.draw("epochs").whole(6, 8)
    run_watched(stage, call_train, training_case(stage.env, STEADY_SETTINGS, _best_first(count)))


def _clipping(stage: Stage, call_train: CallTrain) -> None:
    """Train with a `max_norm` below the norm of the first gradient, so that at least the first update is clipped.

    A program that does not clip, or clips by value, leaves other weights.
    """
    case = training_case(stage.env, STEADY_SETTINGS, (3,), samples=9)
    settings = replace(case.settings, max_norm=0.7 * first_gradient_norm(case))
    run_watched(stage, call_train, replace(case, settings=settings))


def _ended(stage: Stage, call_train: CallTrain) -> None:
    """Train for more updates than the schedule has.

    A program whose learning rate does not stay 0 after `total_steps` moves the weights further.
    """
    settings = replace(STEADY_SETTINGS, warmup_steps=2, total_steps=stage.env.draw("total_steps").whole(4, 5))
    run_watched(stage, call_train, training_case(stage.env, settings, (2, 4), samples=9))


def _seed(stage: Stage, call_train: CallTrain) -> None:
    """Train a model with dropout for one epoch, first with the case's seed, which is drawn, then with seed 0.

    A program that does not seed, or tests `if cfg.seed:`, gets other dropout masks.
    """
    for with_seed_0 in (False, True):
        case = training_case(stage.env, STEADY_SETTINGS, (3,), samples=6, make_layers=dropout_layers)
        if with_seed_0:
            case = replace(case, settings=replace(case.settings, seed=0))
        run_watched(stage, call_train, case)


def _modes(stage: Stage, call_train: CallTrain) -> None:
    """Hand over a model in eval mode, and record updates, running statistics and the modes afterwards.

    A program that trains or ends in eval mode, or validates in train mode, leaves other running statistics or modes.
    """
    case = training_case(stage.env, STEADY_SETTINGS, (2, 4), make_layers=norm_layers)
    case.model.eval()
    run_watched(stage, call_train, case)
    stage.recorder.array("이동 통계량", flat_buffers(case.model.layers))
    stage.recorder.modes("끝난 뒤의 모드")


def _best_in_the_middle(env: Env) -> tuple[int, int, int]:
    """Return the numbers of correct answers after three epochs, which the seed decides; the second is highest."""
    return (
        env.draw("first").whole(2, 3),
        env.draw("best").whole(5, 7),
        env.draw("last").whole(1, 4),
    )


def _returns(stage: Stage, call_train: CallTrain) -> None:
    """Record the returned accuracy; the best epoch is the second of three.

    A program that returns the last accuracy returns another number. So does one that returns the mean of the batches'
    accuracies, because the last of the validation batches (of 5 samples) has only 4.
    """
    count = 4 + 5 * stage.env.draw("validation").whole(2, 6)
    wrong_at_best = stage.env.draw("best").whole(1, 2)
    correct = (
        stage.env.draw("first").whole(2, 7),
        count - wrong_at_best,
        count - stage.env.draw("last").whole(wrong_at_best + 1, 3),
    )
    case = training_case(
        stage.env, STEADY_SETTINGS, correct, validation_samples=count, validation_batch_size=5
    )
    stage.recorder.returned(run_unwatched(stage, call_train, case))


class _UnreadableDataset(Dataset[Any]):
    """A dataset whose second batch cannot be read."""

    def __init__(self, whole: Dataset[Any], batch_size: int) -> None:
        self.whole, self.batch_size = whole, batch_size

    def __len__(self) -> int:
        return 2 * self.batch_size

    def __getitem__(self, index: int) -> Any:
        if index >= self.batch_size:
            raise OSError("읽을 수 없는 파일")
        return self.whole[index]


def _raises(stage: Stage, call_train: CallTrain) -> None:
    """Let the loader raise an OSError at its second batch, and record which exception comes out.

    A program that catches exceptions hides that a data file could not be read.
    """
    case = training_case(stage.env, STEADY_SETTINGS, (3, 4))
    loader: DataLoader[Any] = DataLoader(
        _UnreadableDataset(case.train_loader.dataset, 3), 3, generator=torch.Generator()
    )
    caller = partial(stage.recorder.record_raised, OSError, "로더가 오류(OSError)를 냈을 때")
    run_unwatched(stage, partial(call_train, caller=caller), replace(case, train_loader=loader))


def _record_saved_epoch(stage: Stage, call_train: CallTrain, correct: Sequence[int]) -> None:
    """Run the learner's function, and record which epoch's weights are in the file afterwards.

    `correct` has the number of correct answers after each epoch.
    """
    case = training_case(stage.env, STEADY_SETTINGS, correct)
    with scratch_folder() as folder:
        run_unwatched(stage, call_train, case, str(folder / "best.pt"))
        content, outcome = read_checkpoint(folder / "best.pt", allowed_classes=[Settings])
    stage.recorder.fact("파일", outcome)
    stage.recorder.fact("저장된 가중치", saved_epoch_in_words(case.model, content))


def _ties(stage: Stage, call_train: CallTrain) -> None:
    """Record which of two epochs with the same accuracy is saved.

    A program that compares by `>=` saves the second one.
    """
    correct = stage.env.draw("right").whole(1, 7)
    _record_saved_epoch(stage, call_train, (correct, correct))


def _zero(stage: Stage, call_train: CallTrain) -> None:
    """Record whether the only epoch is saved, whose accuracy is 0.

    A program that starts with a best accuracy of 0 does not save it.
    """
    _record_saved_epoch(stage, call_train, (0,))


def _checkpoint(stage: Stage, call_train: CallTrain) -> None:
    """Record what is in the saved file; the best epoch is the second of three.

    A program that saves the last epoch, or leaves out what a later run needs to go on, writes another file.
    """
    recorder = stage.recorder
    case = training_case(stage.env, STEADY_SETTINGS, _best_in_the_middle(stage.env), samples=6)
    with scratch_folder() as folder:
        run_unwatched(stage, call_train, case, str(folder / "best.pt"))
        content = read_and_record_content(recorder, folder / "best.pt")
    weights = content.get("model")
    names = sorted(str(name) for name in weights) if isinstance(weights, dict) else []
    recorder.fact("가중치의 이름", as_fact(names))
    recorder.fact("저장된 가중치", saved_epoch_in_words(case.model, content))
    recorder.fact("step", as_fact(content.get("step")))
    record_score(recorder, content)
    recorder.fact("config", as_fact(content.get("config")))
    record_training_state(recorder, content)


def _old_file(stage: Stage, call_train: CallTrain, *, name: str) -> None:
    """Train where the checkpoint of an earlier, better run is in the file already; record how it is replaced.

    A program that compares its accuracy with that in the file saves nothing. One that writes over the file has half a
    file there for a moment (`watched_replacement`).

    Args:
        stage: the scenario's stage.
        call_train: calls the learner's function.
        name: name of the learner's function.
    """
    case = training_case(stage.env, STEADY_SETTINGS, (stage.env.draw("right").whole(1, 7),))
    old = {
        "model": {},
        "optimizer": {},
        "scheduler": {},
        "step": 9,
        "score": 1.0,
        "config": Settings().to_dict(),
    }
    with scratch_folder() as folder:
        path = folder / "best.pt"
        torch.save(old, path)
        with watched_replacement(stage.recorder, stage.student(name), path):
            run_unwatched(stage, call_train, case, path)
        stage.recorder.fact(
            "저장된 가중치",
            saved_epoch_in_words(case.model, read_checkpoint(path, allowed_classes=[Settings]).content),
        )


def _run(stage: Stage, call_train: CallTrain) -> None:
    """Combine new data each epoch, clipping, the schedule, BatchNorm, dropout, and a model in mixed modes.

    A program that fails only where these meet, such as clipping at a falling rate, leaves other weights.
    """
    correct = _best_in_the_middle(stage.env)
    case = training_case(
        stage.env, EVENTFUL_SETTINGS, correct, samples=5, new_data_each_epoch=True, make_layers=deep_layers
    )
    case.model.layers[1].eval()
    run_watched(stage, call_train, case)
