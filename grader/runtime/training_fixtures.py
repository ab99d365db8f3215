"""What the drivers of whole training runs share: a config, loaders with another epoch each time, a net that notes
autocast, checkpoints read back with suspicion."""

import math
import os
import tempfile
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from torch.utils.data import DataLoader, Sampler, TensorDataset

from grader.runtime.fixtures import Batch, LossFn, Net, loss_function, mlp, moody_mlp, two_groups
from grader.runtime.play import Env
from grader.runtime.trace import Array, Fact

MAX_CHECKPOINT_BYTES = 4 * 2**20
"""A right checkpoint of a fixture model is below 50 kB."""


# ---- configuration -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What `train` gets as `cfg`: the fields of the contract's TrainConfig, of the driver's own making."""

    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {field: getattr(self, field) for field in Settings.__dataclass_fields__}

    def __reduce__(self) -> Any:
        # Whatever class it has been given, it can be pickled: a checkpoint that keeps the object itself is
        # written like any other, and only `weights_only=True` refuses it.
        return Settings, tuple(self.to_dict().values())


def settings_for(function: Callable[..., Any], settings: Settings) -> Settings:
    """The settings as an instance of the submission's own TrainConfig too, where it has one.

    `isinstance(config, TrainConfig)` is a right way to tell a config from a dict. Fields and `to_dict` stay
    the driver's, so that a mistake in TrainConfig costs nothing here.
    """
    own = _globals_of(function).get("TrainConfig")
    if not isinstance(own, type) or own is Settings:
        return settings
    try:
        both: Any = type(own.__name__, (Settings, own), {"__reduce__": Settings.__reduce__})
        found: Settings = both(**asdict(settings))
    except Exception:  # a final class, another metaclass, slots that do not fit
        return settings
    return found


def _globals_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The module namespace of a function, or of a class's first method, its own or inherited."""
    if isinstance(function, type):
        attributes = (value for cls in function.__mro__ for value in vars(cls).values())
        return next((a.__globals__ for a in attributes if isinstance(a, types.FunctionType)), {})
    namespace: dict[str, Any] = getattr(function, "__globals__", {})
    return namespace


# ---- data ----------------------------------------------------------------------------------------


class _EpochSampler(Sampler[int]):
    """Goes through the first `size` samples in the first epoch, the next `size` in the second, and so on.

    The epoch counts on when one has been gone through to its end: a look at the first batch costs nothing.
    """

    def __init__(self, size: int, epochs: int) -> None:
        self.size, self.epochs = size, epochs
        self.epoch = 0

    def __iter__(self) -> Iterator[int]:
        start = (self.epoch % self.epochs) * self.size
        yield from range(start, start + self.size)
        self.epoch += 1

    def __len__(self) -> int:
        return self.size


def epoch_loader(epochs: Sequence[Batch], batch_size: int) -> "DataLoader[Any]":
    """A DataLoader that gives `epochs[0]` in the first epoch, `epochs[1]` in the second … in small batches.

    Its own generator: going through it draws nothing from the global one, however often it is done.
    """
    inputs = torch.cat([xb for xb, _ in epochs])
    labels = torch.cat([yb for _, yb in epochs])
    sampler = _EpochSampler(len(epochs[0][0]), len(epochs))
    generator = torch.Generator().manual_seed(0)
    return DataLoader(TensorDataset(inputs, labels), batch_size, sampler=sampler, generator=generator)


# ---- mixed precision -----------------------------------------------------------------------------


class AutocastNotes:
    """In which precision forward passes, losses and backward passes were run."""

    def __init__(self) -> None:
        self.seen: dict[str, set[str]] = {}

    def note(self, what: str, device_type: str) -> None:
        """Write down the precision that autocast asks for at this moment."""
        on = torch.is_autocast_enabled(device_type)
        name = str(torch.get_autocast_dtype(device_type)).removeprefix("torch.") if on else "꺼짐"
        self.seen.setdefault(what, set()).add(name)

    def fact(self, what: str) -> Fact:
        """All that was seen, however often."""
        return [*sorted(self.seen.get(what, {"없음"}))]

    def __deepcopy__(self, memo: dict[int, Any]) -> "AutocastNotes":
        return self


class AutocastNet(Net):
    """Notes autocast, and computes in float64, which autocast leaves alone, forward as well as backward.

    Rounding to 8 bits would magnify the last bit of a float32 weight a hundred thousand times: right
    programs that add in another order would end far apart.
    """

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__(layers)
        self.notes = AutocastNotes()

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits of shape (batch, classes), in float64."""
        kind = inputs.device.type
        self.notes.note("순전파" if self.training else "평가 모드의 순전파", kind)
        outputs = super().forward(inputs.double())
        if outputs.requires_grad:
            outputs.register_hook(lambda _: self.notes.note("역전파", kind))
        return outputs


def noting_loss(loss_fn: LossFn, notes: AutocastNotes) -> LossFn:
    """The same loss, noting whether it is computed under autocast."""

    def noted(output: Tensor, target: Tensor) -> Tensor:
        notes.note("손실", output.device.type)
        return loss_fn(output, target)

    return noted


def in_half_steps(batches: Sequence[Batch]) -> list[Batch]:
    """Inputs rounded to multiples of 1/8, exact in every precision: casting them early is no mistake."""
    return [((xb.clamp(-4, 4) * 8).round() / 8, yb) for xb, yb in batches]


# ---- files ---------------------------------------------------------------------------------------


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hanstep-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], str]:
    """What a submission saved, and how that went in Korean (`열림`).

    Only tensors and plain values are unpickled.
    """
    try:
        if not path.is_file():
            return {}, "파일이 없음"
        if path.stat().st_size > MAX_CHECKPOINT_BYTES:
            return {}, "파일이 너무 큼"
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:
        return {}, "weights_only=True로 열리지 않음"
    return (content, "열림") if isinstance(content, dict) else ({}, "dict가 아님")


def whose_weights(state: object, model: nn.Module, moments: Sequence[Array]) -> int | None:
    """Which of the moments (parameters as one vector, in order) a saved `state_dict` holds to the last bit."""
    if not isinstance(state, Mapping):
        return None
    names = [name for name, _ in model.named_parameters()]
    saved = [value for name in names if isinstance(value := state.get(name), Tensor)]
    if len(saved) != len(names):
        return None
    vector = torch.cat([value.detach().double().cpu().ravel() for value in saved]).numpy()
    return next((n for n, moment in enumerate(moments) if np.array_equal(vector, moment)), None)


def flat_state(state: object, like: nn.Module) -> Tensor:
    """A saved `state_dict` as one vector in the order of `like`'s own; NaN where something is missing."""
    parts = []
    for name, value in like.state_dict().items():
        saved = state.get(name) if isinstance(state, Mapping) else None
        if not isinstance(saved, Tensor) or saved.shape != value.shape:
            saved = torch.full(value.shape, torch.nan)
        parts.append(saved.detach().double().cpu().ravel())
    return torch.cat(parts)


def plain(value: object, depth: int = 4) -> Fact:
    """A saved value as a fact: numbers, strings, lists and dicts as they are, anything else by its type's name."""
    if value is None or type(value) in (bool, int):
        return value  # type: ignore[return-value]
    if type(value) is float:
        return value if math.isfinite(value) else str(value)  # NaN would differ from itself
    if type(value) is str:
        return value[:200]
    if type(value) in (list, tuple) and depth > 0:
        return [plain(item, depth - 1) for item in list(value)[:50]]  # type: ignore[call-overload]
    if type(value) is dict and depth > 0:
        items = sorted(((str(k), v) for k, v in value.items()), key=lambda item: item[0])
        return [[key[:200], plain(item, depth - 1)] for key, item in items[:50]]
    return f"<{type(value).__name__}>"


# ---- standing in ---------------------------------------------------------------------------------


@contextmanager
def replaced(function: Callable[..., Any], owner: Any, name: str, stand_in: Any) -> Iterator[None]:
    """`owner.name` is `stand_in` while it lasts, also where the submission of `function` imported it by name."""
    original = getattr(owner, name)
    names = _globals_of(function)
    imported = [key for key, value in list(names.items()) if value is original]
    setattr(owner, name, stand_in)
    try:
        for key in imported:
            names[key] = stand_in
        yield
    finally:
        setattr(owner, name, original)
        for key in imported:
            names[key] = original


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Environment variables, as they were afterwards."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def untouched_backends() -> Iterator[None]:
    """The process's deterministic-algorithm switches, which a student may rightly set, as they were afterwards."""
    cudnn = torch.backends.cudnn
    before = torch.are_deterministic_algorithms_enabled(), cudnn.deterministic, cudnn.benchmark
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        cudnn.deterministic, cudnn.benchmark = before[1], before[2]


# ---- a run to save and continue ------------------------------------------------------------------


class TrainingRun:
    """A small training run of the driver's own, which the student's code saves or continues."""

    def __init__(self, env: Env, *, adamw: bool = False, moody: bool = False, salt: str = "model") -> None:
        self.model: Net = moody_mlp(env, salt) if moody else mlp(env, salt)
        groups = two_groups(self.model, (0.02, 0.01) if adamw else (0.3, 0.2))
        self.opt: Optimizer = torch.optim.AdamW(groups) if adamw else torch.optim.SGD(groups, momentum=0.9)
        self.scheduler: LRScheduler = LambdaLR(self.opt, lambda k: 0.9**k)
        self.loss_fn: LossFn = loss_function(env)

    def train(self, data: list[Batch]) -> None:
        """One update a batch."""
        parameters = list(self.model.parameters())
        for xb, yb in data:
            grads = torch.autograd.grad(self.loss_fn(self.model(xb), yb), parameters)
            for parameter, grad in zip(parameters, grads, strict=True):
                parameter.grad = grad
            self.opt.step()
            self.scheduler.step()

    def weights(self) -> Tensor:
        """A copy of all weights, as `flat_state` orders them."""
        return flat_state(self.model.state_dict(), self.model)

    def state(self) -> dict[str, Any]:
        """What a checkpoint of it holds."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.opt.state_dict(),
            "scheduler": self.scheduler.state_dict(),
        }
