"""Drivers of lesson 02, last part: a whole training run, by hand and through Accelerate."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from grader.observe.construction import watched_construction
from grader.observe.fixtures.classifiers import CLASSES, FEATURES, HIDDEN, Batch, batches, initialised
from grader.observe.fixtures.training import (
    AutocastNet,
    Settings,
    environment,
    epoch_loader,
    flat_state,
    plain,
    read_checkpoint,
    scratch_folder,
    settings_for,
    untouched_backends,
    whose_weights,
)
from grader.observe.play import Driver, Env, Scenario, Stage

TRAIN_ATOL = 1e-5
"""Every run clips: torch divides by norm + 1e-6, a clip written by hand may not."""

_SIZE, _BATCH, _BATCHES = 14, 6, 3
"""Samples an epoch, a batch, and batches an epoch; the last one has two samples."""
_EPOCHS = 4
_VALIDATION, _VALIDATION_BATCH = 21, 8
_RIGHT = (6, 0, 15, 9)
"""Of the 16 validation samples whose answers the fixture sets, those right after each epoch. Whatever becomes
of the other five, the third epoch is best, the second worst, and neither is the first or the last."""
_SET = 16


# ---- fixture -------------------------------------------------------------------------------------


class TrainedNet(AutocastNet):
    """A net that counts its training batches, and in eval mode answers marked samples by that count alone.

    So an epoch in the middle is best for every seed, while the other samples depend on the weights.
    """

    seen: Tensor
    answers: Tensor

    def __init__(self, layers: Sequence[nn.Module], answers: Tensor) -> None:
        super().__init__(layers)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("answers", answers, persistent=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits (batch, classes) for inputs (batch, features + 1); the last column is a sample's mark."""
        logits = super().forward(inputs[:, :-1])
        if self.training:
            self.seen += 1
            return logits
        epoch = (int(self.seen) // _BATCHES - 1) % _EPOCHS
        marks = inputs[:, -1].long()
        told = nn.functional.one_hot(self.answers[epoch][marks - 1], CLASSES) * 50.0
        return torch.where((marks > 0)[:, None], told.to(logits.dtype), logits)


@dataclass(frozen=True)
class Case:
    """What one training run is given."""

    model: TrainedNet
    train_loader: "DataLoader[Any]"
    val_loader: "DataLoader[Any]"
    settings: Settings


def _layers(*, moody: bool) -> list[nn.Module]:
    if not moody:
        return [nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)]
    # The layer before BatchNorm has no bias: its true gradient would be zero, and AdamW would make it noise.
    first = [nn.Linear(FEATURES, HIDDEN, bias=False), nn.BatchNorm1d(HIDDEN), nn.Tanh(), nn.Dropout(0.4)]
    return [*first, nn.Linear(HIDDEN, CLASSES)]


def _case(env: Env, settings: Settings, *, moody: bool = False) -> Case:
    epochs = [_unmarked(batch) for batch in batches(env, (_SIZE,) * _EPOCHS, "train")]
    (held_out,) = batches(env, (_VALIDATION,), "validation")
    inputs, labels = _unmarked(held_out)
    inputs[:_SET, -1] = torch.arange(1, _SET + 1)
    order = torch.randperm(_VALIDATION, generator=env.generator("order"))
    answers = torch.stack([_answers(labels[:_SET], right) for right in _RIGHT])
    model = TrainedNet(_layers(moody=moody), answers)
    initialised(model, env, "model")
    loader: DataLoader[Any] = DataLoader(
        TensorDataset(inputs[order], labels[order]), _VALIDATION_BATCH, generator=torch.Generator()
    )
    settings = replace(settings, seed=env.number("seed") % 1000)
    return Case(model.cpu(), epoch_loader(epochs, _BATCH), loader, settings)


def _unmarked(batch: Batch) -> Batch:
    inputs = batch[0].cpu()
    return torch.cat([inputs, inputs.new_zeros(len(inputs), 1)], dim=1), batch[1].cpu()


def _answers(labels: Tensor, right: int) -> Tensor:
    wrong = (labels + 1) % CLASSES
    return torch.where(torch.arange(len(labels)) < right, labels, wrong)


# Twelve updates: the schedule is still falling at the end, or has ended long before.
_LONG = Settings(0.05, 0.1, _EPOCHS, _BATCH, 3, 18, 0.6)
_SHORT = Settings(0.05, 0.1, _EPOCHS, _BATCH, 2, 7, 0.6)
_BF16, _FP16 = replace(_LONG, amp_dtype="bfloat16"), replace(_LONG, amp_dtype="float16")

Call = Callable[[Stage, Case, "str | Path"], float]
"""Calls the student's function and returns what it returned."""


# ---- what is asked of both -----------------------------------------------------------------------


def _played(stage: Stage, call: Call, case: Case, path: str | Path | None = None) -> float:
    stage.recorder.watch(case.model)
    with ExitStack() as stack:
        stack.enter_context(untouched_backends())
        stack.enter_context(watched_construction(stage.recorder, case.model))
        folder = stack.enter_context(scratch_folder())
        return call(stage, case, folder / "best.pt" if path is None else path)


def _run(stage: Stage, call: Call) -> None:
    _played(stage, call, _case(stage.env, _LONG))


def _ended(stage: Stage, call: Call) -> None:
    _played(stage, call, _case(stage.env, _SHORT))


def _modes(stage: Stage, call: Call) -> None:
    """BatchNorm and dropout; the model is handed over in eval mode, and the seed decides the dropout."""
    case = _case(stage.env, _LONG, moody=True)
    case.model.eval()
    _played(stage, call, case)
    stage.recorder.array("이동 통계량", flat_state(case.model.state_dict(), case.model))
    stage.recorder.modes("끝난 뒤의 모드")


def _returns(stage: Stage, call: Call) -> None:
    stage.recorder.returned(_played(stage, call, _case(stage.env, _LONG)))


_KEYS = ("config", "model", "optimizer", "scheduler", "score", "step")


def _checkpoint(stage: Stage, call: Call) -> None:
    """What the file holds after the run: the best epoch's weights, not the last one's."""
    recorder = stage.recorder
    case = _case(stage.env, _LONG)
    with scratch_folder() as folder:
        path = folder / "best.pt"
        _played(stage, call, case, str(path))
        content, how = read_checkpoint(path)
    recorder.fact("파일", how)
    recorder.fact("키", plain([key for key in _KEYS if key in content]))
    weights = content.get("model")
    names = sorted(str(name) for name in weights) if isinstance(weights, dict) else []
    recorder.fact("가중치의 이름", plain(names))
    update = whose_weights(weights, case.model, recorder.states)
    recorder.fact(
        "저장된 가중치", "어느 때의 것도 아님" if update is None else f"{update}번째 업데이트 뒤의 것"
    )
    score = content.get("score")
    recorder.fact("score", round(score, 6) if isinstance(score, float) else plain(score))
    recorder.fact("config", plain(content.get("config")))
    state = content.get("optimizer")
    moments = state.get("state") if isinstance(state, dict) else None
    recorder.fact("옵티마이저의 상태가 있는 매개변수", len(moments) if isinstance(moments, dict) else 0)


# ---- train ---------------------------------------------------------------------------------------


def _train(stage: Stage, case: Case, path: str | Path) -> float:
    student, device = stage.student("train"), stage.env.device
    extra = (
        {}
        if device.type == "cpu" and case.settings.total_steps == _LONG.total_steps
        else {"device": str(device)}
    )
    result: float = stage.recorder.call(
        student,
        *(case.model, case.train_loader, case.val_loader, settings_for(student, case.settings)),
        **extra,
        checkpoint_path=path,
    )
    return result


def _train_amp(stage: Stage) -> None:
    """bfloat16: training under autocast, backward and validation outside of it.

    Of float16 only the forward pass is asked: its weights depend on whether a scaler hides an older gradient.
    """
    case = _case(stage.env, _BF16)
    _played(stage, _train, case)
    names = {"순전파": "학습 순전파", "평가 모드의 순전파": "검증 순전파", "역전파": "역전파"}
    for what, name in names.items():
        stage.recorder.fact(f"{name}의 autocast", case.model.notes.fact(what))
    half = _case(stage.env, _FP16)
    with untouched_backends(), scratch_folder() as folder:
        _train(stage, half, folder / "half.pt")
    stage.recorder.fact("float16을 청한 학습 순전파의 autocast", half.model.notes.fact("순전파"))


# ---- train_accelerate ----------------------------------------------------------------------------


class _Wrapped(nn.DataParallel[nn.Module]):
    """What `prepare` makes of a model when there are several processes: names in its state begin with `module.`"""

    def __init__(self, module: nn.Module) -> None:
        nn.Module.__init__(self)
        self.module = module

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's own."""
        return self.module(*inputs, **kwargs)


@dataclass
class _Calls:
    """Calls of Accelerator's methods."""

    backward: int = 0
    train_loader_prepared: bool = False


@contextmanager
def _accelerate(env: Env, case: Case) -> Iterator[_Calls]:
    """Accelerator as if started by several processes, as far as one process shows it, and watched.

    On one process a run goes right without preparing or unwrapping anything; on several it does not.
    """
    from accelerate import Accelerator

    calls = _Calls()
    backward, prepare_model = Accelerator.backward, Accelerator.prepare_model
    prepare_loader = Accelerator.prepare_data_loader

    def noted_backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.backward += 1
        return backward(self, *args, **kwargs)

    def wrapping(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _Wrapped(prepare_model(self, *args, **kwargs))

    def noted_loader(self: Any, data_loader: Any, *args: Any, **kwargs: Any) -> Any:
        calls.train_loader_prepared |= data_loader is case.train_loader
        return prepare_loader(self, data_loader, *args, **kwargs)

    use_cpu = {"ACCELERATE_USE_CPU": "true"} if env.device.type == "cpu" else {}
    with environment(**use_cpu), _fresh_accelerate_state():
        Accelerator.backward = noted_backward
        Accelerator.prepare_model = wrapping
        Accelerator.prepare_data_loader = noted_loader
        try:
            yield calls
        finally:
            Accelerator.backward = backward
            Accelerator.prepare_model = prepare_model
            Accelerator.prepare_data_loader = prepare_loader


@contextmanager
def _fresh_accelerate_state() -> Iterator[None]:
    """Accelerate keeps device and precision in the process: a run chooses its own, and a notebook's stay."""
    from accelerate.state import AcceleratorState, GradientState, PartialState

    shared = [cls._shared_state for cls in (PartialState, AcceleratorState, GradientState)]
    before = [dict(state) for state in shared]
    try:
        for state in shared:
            state.clear()
        yield
    finally:
        for state, content in zip(shared, before, strict=True):
            state.clear()
            state.update(content)


def _train_accelerate(stage: Stage, case: Case, path: str | Path) -> float:
    student = stage.student("train_accelerate")
    with _accelerate(stage.env, case):
        result: float = stage.recorder.call(
            student,
            *(case.model, case.train_loader, case.val_loader, settings_for(student, case.settings)),
            checkpoint_path=path,
        )
    return result


def _accelerate_calls(stage: Stage) -> None:
    """What only shows on several processes: how gradients are gathered and data shared out."""
    case = _case(stage.env, _LONG)

    def call(stage: Stage, case: Case, path: str | Path) -> float:
        student = stage.student("train_accelerate")
        settings = settings_for(student, case.settings)
        with _accelerate(stage.env, case) as calls:
            result: float = stage.recorder.call(
                student, case.model, case.train_loader, case.val_loader, settings, checkpoint_path=path
            )
        stage.recorder.fact("accelerator.backward를 부른 횟수", calls.backward)
        stage.recorder.fact("prepare를 거친 train_loader", calls.train_loader_prepared)
        return result

    _played(stage, call, case)


def _scenarios(call: Call) -> tuple[Scenario, ...]:
    """The five situations that both runs are put through."""

    def with_call(play: Callable[[Stage, Call], None]) -> Callable[[Stage], None]:
        return lambda stage: play(stage, call)

    return (
        Scenario("run", "네 에폭 학습", with_call(_run), TRAIN_ATOL),
        Scenario("ended", "total_steps를 넘긴 학습", with_call(_ended), TRAIN_ATOL),
        Scenario("modes", "드롭아웃과 배치 정규화가 있는 모델", with_call(_modes), TRAIN_ATOL),
        Scenario("returns", "반환값", with_call(_returns), TRAIN_ATOL),
        Scenario("checkpoint", "체크포인트", with_call(_checkpoint), TRAIN_ATOL),
    )


DRIVERS = (
    Driver(
        "train",
        (*_scenarios(_train), Scenario("amp", "bfloat16과 float16 autocast", _train_amp, TRAIN_ATOL)),
    ),
    Driver(
        "train_accelerate",
        (
            *_scenarios(_train_accelerate),
            Scenario("calls", "Accelerator에 맡긴 일", _accelerate_calls, TRAIN_ATOL),
        ),
    ),
)
