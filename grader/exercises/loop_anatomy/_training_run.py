"""The scenarios that `train` and `train_accelerate` share, each about one aspect of a training run."""

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
    epoch_of_weights,
    read_and_record_content,
    record_score,
    record_training_state,
    watched_replacement,
)
from grader.exercises.loop_anatomy._training_case import (
    STEADY,
    TrainingCase,
    deep_layers,
    dropout_layers,
    norm_layers,
    training_case,
)
from grader.observe.construction import watched_construction
from grader.observe.play import Driver, Env, Stage

TRAIN_ATOL = 1e-5
"""Absolute tolerance. In runs that clip, torch divides by norm + 1e-6 and a hand-written clip may not; in runs that do
not clip, the schedule of `STEADY` must not show."""

EVENTFUL = replace(STEADY, weight_decay=0.1, warmup_steps=2, total_steps=5, max_norm=0.6)
"""Settings with a schedule that moves and ends within three epochs of
two updates, and a norm limit that clips at times.
"""


class Call(Protocol):
    """A function that calls the student's function, through the
    recorder's `call` or `through`, and returns its result.
    """

    def __call__(
        self, stage: Stage, case: TrainingCase, path: str | Path, *, through: Callable[..., Any] | None = None
    ) -> Any: ...


def add_run_scenarios(driver: Driver, call: Call) -> None:
    """Add the shared scenarios to the driver of the function that `call` calls."""

    def add(name: str, title: str, check: str, play: Callable[[Stage, Call], None]) -> None:
        driver.scenario(name, title, check=check, atol=TRAIN_ATOL)(lambda stage: play(stage, call))

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


def run_watched(stage: Stage, call: Call, case: TrainingCase, path: str | Path | None = None) -> Any:
    """Run the student's function while the model is watched; the file is a temporary one unless `path` is given."""
    stage.recorder.watch(case.model)
    with watched_construction(stage.recorder, case.model):
        return run_unwatched(stage, call, case, path)


def run_unwatched(stage: Stage, call: Call, case: TrainingCase, path: str | Path | None = None) -> Any:
    """Run the student's function without recording the parameters, for scenarios that are about something else."""
    with ExitStack() as stack:
        stack.enter_context(restored_backends())
        folder = stack.enter_context(scratch_folder())
        return call(stage, case, folder / "best.pt" if path is None else path)


def first_gradient_norm(case: TrainingCase) -> float:
    """Return the joint norm of the first batch's gradient, without leaving a trace on the case."""
    data = DataLoader(case.train_loader.dataset, case.settings.batch_size, generator=torch.Generator())
    seen = case.model.seen.clone()
    norm = gradient_norm(case.model, nn.functional.cross_entropy, next(iter(data)))
    case.model.seen.copy_(seen)
    case.model.notes.seen.clear()
    return norm


def record_autocast(stage: Stage, case: TrainingCase) -> None:
    """Record the precision that autocast asked for in each part."""
    notes = case.model.notes
    for name in ("학습 순전파", "검증 순전파", "역전파"):
        stage.recorder.claim(f"{name}의 autocast", notes.fact(name), notes.witness(name))


def record_memory(stage: Stage, call: Call) -> None:
    """Record whether graphs pile up batch by batch.

    They do if the losses of training, or the outputs of validation, are kept with their graphs.
    """
    case = training_case(stage.env, replace(STEADY, batch_size=1), (3, 5), samples=7, validation=(8, 1))
    stage.recorder.watch(case.model, states=False)
    meter = stage.recorder.measure_memory(case.model)
    run_unwatched(stage, call, case)
    record_loop_memory(stage, meter)


def _falling(count: int) -> tuple[int, ...]:
    """Return the numbers of right answers after each epoch. The first is best, so no later epoch is saved.

    So a run that stops when nothing has improved for some epochs ends early, and shows it.
    """
    return (7, *(1 + n % 6 for n in range(count, 1, -1)))


def _epochs(stage: Stage, call: Call) -> None:
    count = stage.env.draw("epochs").whole(6, 8)
    run_watched(stage, call, training_case(stage.env, STEADY, _falling(count)))


def _clipping(stage: Stage, call: Call) -> None:
    """The first update is clipped, and in most cases some later one is not."""
    case = training_case(stage.env, STEADY, (3,), samples=9)
    settings = replace(case.settings, max_norm=0.7 * first_gradient_norm(case))
    run_watched(stage, call, replace(case, settings=settings))


def _ended(stage: Stage, call: Call) -> None:
    """A schedule that ends before the run does."""
    settings = replace(STEADY, warmup_steps=2, total_steps=stage.env.draw("total_steps").whole(4, 5))
    run_watched(stage, call, training_case(stage.env, settings, (2, 4), samples=9))


def _seed(stage: Stage, call: Call) -> None:
    """A drawn seed, then seed 0, which is a seed like any other.

    There is one epoch, in the mode that the run wants anyway, so only dropout decides.
    """
    for zero in (False, True):
        case = training_case(stage.env, STEADY, (3,), samples=6, layers=dropout_layers)
        run_watched(stage, call, replace(case, settings=replace(case.settings, seed=0)) if zero else case)


def _modes(stage: Stage, call: Call) -> None:
    """The model is handed over in eval mode, and only BatchNorm tells the modes apart."""
    case = training_case(stage.env, STEADY, (2, 4), layers=norm_layers)
    case.model.eval()
    run_watched(stage, call, case)
    stage.recorder.array("이동 통계량", flat_buffers(case.model.layers))
    stage.recorder.modes("끝난 뒤의 모드")


def _best_in_the_middle(env: Env) -> tuple[int, int, int]:
    """Return the numbers of right answers after three epochs, of which the second is best.

    From five right answers on, the mean of the batches' accuracies is not the accuracy.
    """
    return (
        env.draw("first").whole(2, 3),
        env.draw("best").whole(5, 7),
        env.draw("last").whole(1, 4),
    )


def _returns(stage: Stage, call: Call) -> None:
    """The last validation batch has four samples; in the last two epochs, at most three of all answers are wrong."""
    count = 4 + 5 * stage.env.draw("validation").whole(2, 6)
    best = stage.env.draw("best").whole(1, 2)
    right = (
        stage.env.draw("first").whole(2, 7),
        count - best,
        count - stage.env.draw("last").whole(best + 1, 3),
    )
    case = training_case(stage.env, STEADY, right, validation=(count, 5))
    stage.recorder.returned(run_unwatched(stage, call, case))


class _Unreadable(Dataset[Any]):
    """A dataset whose second batch cannot be read."""

    def __init__(self, whole: Dataset[Any], batch_size: int) -> None:
        self.whole, self.batch_size = whole, batch_size

    def __len__(self) -> int:
        return 2 * self.batch_size

    def __getitem__(self, index: int) -> Any:
        if index >= self.batch_size:
            raise OSError("읽을 수 없는 파일")
        return self.whole[index]


def _raises(stage: Stage, call: Call) -> None:
    """A data file cannot be read: the exception must reach whoever started the run."""
    case = training_case(stage.env, STEADY, (3, 4))
    loader: DataLoader[Any] = DataLoader(
        _Unreadable(case.train_loader.dataset, 3), 3, generator=torch.Generator()
    )
    through = partial(stage.recorder.record_raised, OSError, "로더가 오류(OSError)를 냈을 때")
    run_unwatched(stage, partial(call, through=through), replace(case, train_loader=loader))


def _saved(stage: Stage, call: Call, right: Sequence[int], *, samples: int = 3) -> None:
    """Record which epoch's weights are in the file after the run."""
    case = training_case(stage.env, STEADY, right, samples=samples)
    with scratch_folder() as folder:
        run_unwatched(stage, call, case, str(folder / "best.pt"))
        content, how = read_checkpoint(folder / "best.pt", allowed_classes=[Settings])
    stage.recorder.fact("파일", how)
    stage.recorder.fact("저장된 가중치", epoch_of_weights(case.model, content))


def _ties(stage: Stage, call: Call) -> None:
    right = stage.env.draw("right").whole(1, 7)
    _saved(stage, call, (right, right))


def _zero(stage: Stage, call: Call) -> None:
    _saved(stage, call, (0,))


def _checkpoint(stage: Stage, call: Call) -> None:
    """The file must hold the whole state at the end of the best epoch, and nothing of the last one."""
    recorder = stage.recorder
    case = training_case(stage.env, STEADY, _best_in_the_middle(stage.env), samples=6)
    with scratch_folder() as folder:
        run_unwatched(stage, call, case, str(folder / "best.pt"))
        content = read_and_record_content(recorder, folder / "best.pt")
    weights = content.get("model")
    names = sorted(str(name) for name in weights) if isinstance(weights, dict) else []
    recorder.fact("가중치의 이름", as_fact(names))
    recorder.fact("저장된 가중치", epoch_of_weights(case.model, content))
    recorder.fact("step", as_fact(content.get("step")))
    record_score(recorder, content)
    recorder.fact("config", as_fact(content.get("config")))
    record_training_state(recorder, content)


def _old_file(stage: Stage, call: Call, *, name: str) -> None:
    """A file of an earlier and better run exists: the first score is saved all the same, and never half of a file."""
    case = training_case(stage.env, STEADY, (stage.env.draw("right").whole(1, 7),))
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
            run_unwatched(stage, call, case, path)
        stage.recorder.fact(
            "저장된 가중치",
            epoch_of_weights(case.model, read_checkpoint(path, allowed_classes=[Settings])[0]),
        )


def _run(stage: Stage, call: Call) -> None:
    """Everything combined: new data each epoch, clipping, the schedule, BatchNorm, dropout, a model in mixed modes."""
    right = _best_in_the_middle(stage.env)
    case = training_case(stage.env, EVENTFUL, right, samples=5, new_data_each_epoch=True, layers=deep_layers)
    case.model.layers[1].eval()
    run_watched(stage, call, case)
