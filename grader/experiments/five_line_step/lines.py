"""Runs of lines of code: the five lines of a step in any order, with lines left out or added."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any

import torch
from torch import Tensor, nn

from grader.experiments.five_line_step.data import Batch, digits, loss_fn, make_batches, make_model
from grader.experiments.vectors import flat

LINES = {
    "지우기": "opt.zero_grad()",
    "순전파": "logits = model(xb)",
    "손실": "loss = loss_fn(logits, yb)",
    "역전파": "loss.backward()",
    "업데이트": "opt.step()",
}
"""The five lines by what they do, in the usual order."""


@dataclass
class Run:
    """A model that was trained by lines of code."""

    model: nn.Sequential
    start: Tensor
    """Its weights before, as one vector."""
    rates: list[float] = field(default_factory=list)
    """Learning rate that each `opt.step()` read."""
    norms: list[float] = field(default_factory=list)
    """Norm of all gradients that each `opt.step()` read; 0.0 where there were none."""

    @cached_property
    def weights(self) -> Tensor:
        """Its weights after the run, as one vector."""
        return flat(self.model.parameters())

    @cached_property
    def moved(self) -> float:
        """Largest distance that a single weight moved."""
        return (self.weights - self.start).abs().max().item()

    @cached_property
    def loss(self) -> float:
        """Mean loss over all training data after the run."""
        x_train, y_train, _, _ = digits()
        with torch.no_grad():
            return float(loss_fn(self.model(x_train), y_train).item())


def run_lines(
    lines: Iterable[str],
    batches: Sequence[Batch] | None = None,
    *,
    seed: int = 1,
    lr: float = 0.1,
    hidden: int | None = 32,
    before: str = "",
    first: Iterable[str] | None = None,
) -> Run:
    """Execute lines of code for each batch, and return what came of it.

    Args:
        lines: keys of `LINES`, or code that uses `model`, `opt`, `loss_fn`, `xb`, `yb` and `torch`.
        batches: what to train on; None for five mini-batches of 32.
        seed: of the model's weights.
        lr: learning rate of the SGD.
        hidden: size of the hidden layer; None for a model of one layer.
        before: code that is executed once, before the first batch.
        first: lines for the first batch, if they differ.

    Raises:
        Exception: whatever a line raises, with the batch's number as a note.
    """
    model = make_model(seed, hidden=hidden)
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    run = Run(model, flat(model.parameters()))
    opt.register_step_pre_hook(lambda *_: _look(run, opt))
    names = {"torch": torch, "model": model, "opt": opt, "loss_fn": loss_fn}
    _execute([before], names)
    code = list(lines)
    for number, (xb, yb) in enumerate(make_batches(seed)[:5] if batches is None else batches, start=1):
        names.update(xb=xb, yb=yb)
        try:
            _execute(list(first) if first and number == 1 else code, names)
        except Exception as error:
            error.add_note(f"{number}번째 배치에서")
            raise
    return run


def _execute(lines: list[str], names: dict[str, Any]) -> None:
    for line in lines:
        exec(LINES.get(line, line), names)


def _look(run: Run, opt: torch.optim.Optimizer) -> None:
    """Record what `opt.step()` is going to read."""
    grads = [p.grad for p in run.model.parameters() if p.grad is not None]
    run.rates.append(opt.param_groups[0]["lr"])
    run.norms.append(flat(grads).norm().item() if grads else 0.0)


def sorted_orders() -> dict[str, list[str]]:
    """Run each of the 120 orders of the five lines on five batches; return the orders by their outcome."""
    right, batches = run_lines(LINES), make_batches(seed=1)[:5]
    one_short = run_lines(LINES, batches[:-1]).weights
    outcomes: dict[str, list[str]] = {}
    for order in permutations(LINES):
        try:
            weights = run_lines(order, batches).weights
        except NameError:
            outcome = "오류: 아직 없는 이름을 읽음"
        except RuntimeError:
            outcome = "오류: backward에서 멈춤"
        else:
            if torch.allclose(weights, right.weights, rtol=0, atol=1e-6):
                outcome = "바른 가중치"
            elif torch.equal(weights, right.start):
                outcome = "조금도 움직이지 않음"
            elif torch.allclose(weights, one_short, rtol=0, atol=1e-6):
                outcome = "마지막 업데이트만 빠짐"
            else:
                outcome = "그 밖의 가중치"
        outcomes.setdefault(outcome, []).append(" → ".join(order))
    return dict(sorted(outcomes.items(), key=lambda entry: len(entry[1])))


def clears_before_use(order: str) -> bool:
    """Return True if gradients are cleared between being computed and being used, as steps follow each other."""
    names = order.split(" → ")
    after_backward = names[names.index("역전파") :] + names
    return after_backward.index("지우기") < after_backward.index("업데이트")


def symptom(lines: Iterable[str], *, first: Iterable[str] | None = None) -> str:
    """Run lines on five batches; return the first sentence of the error, or how far the weights moved."""
    try:
        moved = run_lines(lines, first=first).moved
    except (NameError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).split('(')[0].split('.')[0].strip()}"
    return f"{moved:.3f}만큼 움직임" if moved else "움직이지 않음"
