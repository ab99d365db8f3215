"""Build what goes under the microscope: a model of four numbers, three small batches and an optimizer, from a fixed
seed.

All exercises name their arguments alike (`model`, `opt`, `loss_fn`, `micro_batches`, …). So a function's signature
tells how to call it, and no exercise needs code of its own here.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

FEATURES = 3
NAMES = (*(f"w{number}" for number in ("₁", "₂", "₃")), "b")
"""Names of the model's numbers, in the order of its parameters."""
SEED = 11
RATE, MAX_NORM, RHO, SCALE = 0.1, 0.5, 0.5, 8.0
"""Learning rate, `max_norm`, SAM's rho and the GradScaler's initial scale. Those that multiply gradients are powers of
two, so that the numbers on both sides stay the same to the last bit.
"""

OPTIMIZERS: Mapping[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": torch.optim.SGD,
    "모멘텀": torch.optim.SGD,
    "AdamW": torch.optim.AdamW,
}
_EXTRA_SETTINGS: Mapping[str, Mapping[str, float]] = {"모멘텀": {"momentum": 0.5}}
TAUGHT_IN: Mapping[str, str] = {
    "모멘텀": "01_five_line_step/5_one_epoch.ipynb",
    "AdamW": "01_five_line_step/7_two_lines_by_hand.ipynb",
}
"""Situation -> place of the part that explains its optimizer; what is in none is known from the first part on."""
CLIPPED = "클리핑"
"""Name of the situation that passes `max_norm`; its optimizer is plain SGD."""

ONLY_GRADIENTS = "업데이트 없이"
"""Name of the situation for a function that adds to `.grad` and updates nothing."""
WEIGHTS = (0.5, 0.25)
"""`weight` of its calls."""

Batch = tuple[Tensor, Tensor]


class FourNumbers(nn.Module):
    """A linear layer in float64 that calls `observer` at each forward pass. Autocast does not touch float64."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()
        self.linear = nn.Linear(FEATURES, 1).double()
        self.observer: Callable[[Tensor], None] | None = None
        with torch.no_grad():
            for parameter in self.linear.parameters():
                parameter.copy_(_round(0.6 * _normal(parameter.shape, generator)))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return predictions of shape (batch,) for inputs of shape (batch, 3)."""
        if self.observer is not None:
            self.observer(inputs)
        outputs: Tensor = self.linear(inputs.double()).squeeze(-1)
        return outputs


def mean_square(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the loss: the mean of the squared errors."""
    return F.mse_loss(outputs, targets)


@dataclass
class Bench:
    """One situation: the objects that a program works on. Built anew for each program that is recorded."""

    model: FourNumbers
    optimizer: torch.optim.Optimizer
    """The optimizer that holds the state; for SAM, its base optimizer."""
    batches: Sequence[Batch]
    calls: Sequence[tuple[list[Any], dict[str, Any]]]
    """Positional and keyword arguments of each call of the function."""
    noted: Sequence[tuple[Any, str, str]]
    """(object, method name, kind): calls that become a moment of this kind."""
    scaler: Any = None
    wrap_loss: Callable[[Callable[[Tensor, Tensor], Tensor]], None] = field(default=lambda _: None)


class NothingToSee(Exception):
    """The function makes no update that these situations could show."""


def can_be_seen(function: Callable[..., Any]) -> bool:
    """Return True if some situation can show this function or class."""
    try:
        situation_names(inspect.signature(function.__init__ if inspect.isclass(function) else function))
    except (NothingToSee, TypeError, ValueError):
        return False
    return True


def situation_names(signature: inspect.Signature) -> list[str]:
    """Return the situations for a function of this signature, the plainest first.

    Raises:
        NothingToSee: the function does not take a model, a loss and an optimizer (or, in its place, the weight of a
            gradient), or requires an unknown argument.
    """
    wanted = signature.parameters
    required = {name for name, p in wanted.items() if p.default is inspect.Parameter.empty}
    takes = {"model", "loss_fn"} <= set(wanted) and {"opt", "sam", "weight"} & set(wanted)
    if not takes or not required <= _KNOWN:
        raise NothingToSee
    if not {"opt", "sam"} & set(wanted):
        return [ONLY_GRADIENTS]
    return [*OPTIMIZERS, *([CLIPPED] if "max_norm" in wanted else [])]


_KNOWN = {
    *("model", "opt", "sam", "loss_fn", "xb", "yb", "micro_batches", "accum_steps", "loader", "epochs"),
    *("dtype", "scaler", "scheduler", "max_norm", "target", "max_steps", "weight"),
}


def build_bench(signature: inspect.Signature, situation: str, sam: Callable[..., Any] | None = None) -> Bench:
    """Build one situation.

    Args:
        signature: signature of the exercise's function, as the solution defines it.
        situation: one of `situation_names`.
        sam: the course's SAM class, if the function takes a SAM.
    """
    generator = torch.Generator().manual_seed(SEED)
    model = FourNumbers(generator)
    batches = [_batch(generator) for _ in range(3)]
    of = "SGD" if situation in (CLIPPED, ONLY_GRADIENTS) else situation
    settings = {"lr": RATE, **_EXTRA_SETTINGS.get(of, {})}
    noted: list[tuple[Any, str, str]] = [(model, "zero_grad", "zero_grad")]
    given: dict[str, Any] = {"model": model, "accum_steps": 2, "epochs": 2, "target": 0.0, "max_steps": 3}
    if "sam" in signature.parameters:
        assert sam is not None
        given["sam"] = climber = sam(model.parameters(), OPTIMIZERS[of], rho=RHO, **settings)
        noted += [(climber, name, name) for name in ("zero_grad", "first_step", "second_step")]
        optimizer = climber.base_optimizer
    else:
        given["opt"] = optimizer = OPTIMIZERS[of](model.parameters(), **settings)
        noted.append((optimizer, "zero_grad", "zero_grad"))
    if "scheduler" in signature.parameters:
        given["scheduler"] = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        noted.append((given["scheduler"], "step", "scheduler"))
    if "scaler" in signature.parameters:
        scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
        given.update(scaler=scaler, dtype=torch.float16)
        noted += [(scaler, "unscale_", "unscale"), (scaler, "update", "update")]
    if situation == CLIPPED:
        given["max_norm"] = MAX_NORM
    bench = Bench(model, optimizer, batches, (), tuple(noted), given.get("scaler"))

    def wrap_loss(loss_fn: Callable[[Tensor, Tensor], Tensor]) -> None:
        given["loss_fn"] = loss_fn
        bench.calls = [_arguments(signature, {**given, **call}) for call in _data(signature, batches)]

    bench.wrap_loss = wrap_loss
    return bench


def _data(signature: inspect.Signature, batches: Sequence[Batch]) -> list[dict[str, Any]]:
    """Return the data arguments of each call: a batch, a list of micro-batches, or a loader."""
    names = signature.parameters
    if "max_steps" in names:
        return [{"xb": batches[0][0], "yb": batches[0][1]}]
    if "weight" in names:
        return [{"xb": xb, "yb": yb, "weight": w} for (xb, yb), w in zip(batches, WEIGHTS, strict=False)]
    if "xb" in names:
        return [{"xb": xb, "yb": yb} for xb, yb in batches[:2]]
    if "loader" in names:
        return [{"loader": batches[:2]}]
    if "accum_steps" in names:
        return [{"micro_batches": batches}]
    return [{"micro_batches": batches[:2]}, {"micro_batches": batches[2:]}]


def _arguments(signature: inspect.Signature, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments, by position where the solution takes them so: a learner may have renamed parameters."""
    positional, keywords = [], {}
    for name, parameter in signature.parameters.items():
        if name not in given:
            continue
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            keywords[name] = given[name]
        else:
            positional.append(given[name])
    return positional, keywords


def _batch(generator: torch.Generator) -> Batch:
    return _round(_normal((2, FEATURES), generator), 1), _round(_normal((2,), generator), 1)


def _normal(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _round(values: Tensor, decimals: int = 2) -> Tensor:
    return values.mul(10**decimals).round().div(10**decimals)
