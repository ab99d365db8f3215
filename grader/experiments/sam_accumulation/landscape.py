"""Sharpness of trained digit models: climbs inside a radius, random directions, and the steepest curvature."""

import torch
from torch import Tensor

from grader.experiments.sam_accumulation.digits import device, loss_fn
from grader.experiments.sam_accumulation.fits import Fitted
from grader.experiments.sam_accumulation.vectors import set_weights
from grader.experiments.vectors import flat


def _gradient(fitted: Fitted) -> Tensor:
    loss = loss_fn(fitted.model(fitted.inputs), fitted.targets)
    return flat(torch.autograd.grad(loss, list(fitted.model.parameters())))


def gradient_norm(fitted: Fitted) -> float:
    """Return the length of the training loss's gradient."""
    return float(_gradient(fitted).norm())


def climb(fitted: Fitted, rho: float, steps: int) -> Tensor:
    """Search the radius `rho` for a high loss and return the way there; one step is the climb of SAM."""
    w = flat(fitted.model.parameters())
    e = torch.zeros_like(w)
    for _ in range(steps):
        set_weights(fitted.model, w + e)
        g = _gradient(fitted)
        e = e + (1.0 if steps == 1 else 0.3) * rho * g / g.norm()
        e = e * min(1.0, rho / e.norm().item())  # back to the border of the radius
    set_weights(fitted.model, w)
    return e


def random_direction(fitted: Fitted, seed: int) -> Tensor:
    """Return a random vector of length 1 in the space of the model's weights."""
    size = sum(p.numel() for p in fitted.model.parameters())
    generator = torch.Generator().manual_seed(seed)
    direction = torch.randn(size, generator=generator, dtype=torch.float64).to(device)
    unit: Tensor = direction / direction.norm()
    return unit


def rise_along(fitted: Fitted, e: Tensor) -> float:
    """Return by how much the training loss grows when the weights move by `e`."""
    w = flat(fitted.model.parameters())
    return fitted.loss_at(w + e) - fitted.loss_at(w)


def hessian_times(fitted: Fitted, v: Tensor) -> Tensor:
    """Return the product of the training loss's Hessian and `v`; the matrix is not built."""
    parameters = list(fitted.model.parameters())
    loss = loss_fn(fitted.model(fitted.inputs), fitted.targets)
    grads = torch.autograd.grad(loss, parameters, create_graph=True)
    slope_along_v = torch.cat([g.flatten() for g in grads]) @ v.to(grads[0].dtype)
    return flat(torch.autograd.grad(slope_along_v, parameters))


def steepest(fitted: Fitted, rounds: int = 30) -> tuple[float, Tensor]:
    """Return the largest eigenvalue of the Hessian and its eigenvector, by Lanczos's method.

    Eigenvalues are taken in the small space that v, Hv, H²v, … span; `rounds` products are computed.
    """
    basis: list[Tensor] = [random_direction(fitted, seed=0)]
    images: list[Tensor] = []
    for _ in range(rounds):
        images.append(hessian_times(fitted, basis[-1]))
        rest, known = images[-1], torch.stack(basis)
        for _ in range(2):  # the second time takes away what rounding left
            rest = rest - known.T @ (known @ rest)
        basis.append(rest / rest.norm())
    known = torch.stack(basis[:rounds])
    small = known @ torch.stack(images).T
    values, vectors = torch.linalg.eigh((small + small.T) / 2)
    return values[-1].item(), known.T @ vectors[:, -1]


def plane_around(fitted: Fitted, steep: Tensor, ticks: list[float]) -> Tensor:
    """Return the training loss above its lowest, on a grid along `steep` (columns) and a random direction (rows)."""
    w, other = flat(fitted.model.parameters()), random_direction(fitted, 1)
    other = other - (other @ steep) * steep
    other = other / other.norm()
    grid = torch.tensor([[fitted.loss_at(w + x * steep + y * other) for x in ticks] for y in ticks])
    return grid - grid.min()
