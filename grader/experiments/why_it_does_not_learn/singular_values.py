"""Singular values: of gradients and of what AdamW and Muon make of them, and one value in Muon's polynomial."""

from collections.abc import Iterable, Sequence
from time import process_time
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from grader.experiments.bells_and_whistles.data import batch_stream, short_train
from grader.experiments.bells_and_whistles.gpt import make_gpt, token_loss
from grader.experiments.bells_and_whistles.training import train_with

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Muon's; a, b and c."""

CLASSIC = (1.5, -0.5, 0.0)
"""Coefficients that lead every value from 0 to 1 to exactly 1, slowly."""

SHOWN = "blocks.1.mlp.2.weight"
"""The matrix in the figure: 64 × 256. Muon does not scale the update of a matrix that is wider than tall."""


class Spectra(NamedTuple):
    """Singular values of one matrix, largest first."""

    gradient: Tensor
    adamw: Tensor
    muon: Tensor


def singular_values(matrix: Tensor) -> Tensor:
    """Return the singular values in double precision, largest first."""
    values: Tensor = torch.linalg.svdvals(matrix.detach().double())
    return values


def share_of_largest(values: Tensor, count: int) -> float:
    """Return what the `count` largest values have of the sum of squares."""
    return float(values[:count].square().sum() / values.square().sum())


def block_matrices(model: nn.Module) -> dict[str, nn.Parameter]:
    """Return the matrices of the blocks by their names."""
    named = model.named_parameters()
    return {name: p for name, p in named if p.ndim == 2 and name.startswith("blocks.")}


def spectra_after(steps: int, seed: int) -> tuple[Spectra, dict[str, Tensor]]:
    """Train a GPT with AdamW, and look at the gradient of the next batch and at the update that comes of it.

    Returns:
        Three spectra of the matrix `SHOWN`, and the singular values of the gradient of each matrix of the blocks.
    """
    model = make_gpt(seed)
    opt = torch.optim.AdamW(model.parameters(), weight_decay=0.0)
    stream = batch_stream(short_train, seed)
    train_with([3e-3] * steps, model, opt, stream)
    opt.zero_grad()
    token_loss(model, next(stream)).backward()
    matrices = block_matrices(model)
    gradients = {name: p.grad.clone() for name, p in matrices.items() if p.grad is not None}
    before = matrices[SHOWN].detach().clone()
    opt.step()
    adamw = matrices[SHOWN].detach() - before
    spectra = Spectra(*map(singular_values, (gradients[SHOWN], adamw, muon_update(gradients[SHOWN]))))
    return spectra, {name: singular_values(gradient) for name, gradient in gradients.items()}


def muon_update(gradient: Tensor) -> Tensor:
    """Return how far `torch.optim.Muon` moves a matrix by this gradient alone, at rate 1."""
    parameter = nn.Parameter(torch.zeros_like(gradient))
    parameter.grad = gradient.clone()
    torch.optim.Muon([parameter], lr=1.0, momentum=0.0, nesterov=False, weight_decay=0.0).step()
    return -parameter.detach()


def repeated(value: Tensor, times: int, coefficients: Sequence[float] = COEFFICIENTS) -> Tensor:
    """Return the singular values after `times` steps of the polynomial."""
    a, b, c = coefficients
    for _ in range(times):
        value = a * value + b * value**3 + c * value**5
    return value


def batch_flops() -> int:
    """Return the floating-point operations in the matrix products of a forward and backward pass of one batch."""
    model = make_gpt(0)
    with FlopCounterMode(display=False) as counter:
        token_loss(model, short_train[:16]).backward()
    return int(counter.get_total_flops())


def muon_flops() -> int:
    """Return those of one step of Muon for the matrices of the blocks."""
    matrices = _with_gradients()
    with FlopCounterMode(display=False) as counter:
        torch.optim.Muon(matrices).step()
    return int(counter.get_total_flops())


def step_times(rounds: int = 10) -> dict[str, float]:
    """Return the milliseconds of a step for the matrices of the blocks, AdamW and Muon taking turns.

    It is the least processor time of all rounds: on a busy machine, clock time is that of other programs, too.
    """
    matrices = _with_gradients()
    optimizers: dict[str, torch.optim.Optimizer] = {
        "AdamW": torch.optim.AdamW(matrices),
        "Muon": torch.optim.Muon(matrices),
    }
    times: dict[str, list[float]] = {name: [] for name in optimizers}
    for _ in range(rounds):
        for name, opt in optimizers.items():
            start = process_time()
            opt.step()
            times[name].append(1000 * (process_time() - start))
    return {name: min(seen) for name, seen in times.items()}


def _with_gradients() -> list[nn.Parameter]:
    """Return the matrices of the blocks with the gradients of one batch."""
    model = make_gpt(0)
    token_loss(model, short_train[:16]).backward()
    return list(block_matrices(model).values())


def spread(values: Iterable[float], digits: int = 2) -> str:
    """Return the smallest and the largest value as a text."""
    ordered = sorted(values)
    return f"{ordered[0]:.{digits}f} ~ {ordered[-1]:.{digits}f}"
