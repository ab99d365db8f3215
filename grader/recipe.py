"""What a wrong update was made of: least squares of the update onto the batches' own gradients.

At each update of plain SGD, (before - after) / lr = sum_j c_j * g_j, where g_j is the gradient of batch j at
the parameters that batch saw. The vector c reads 1/4 1/4 1/4 1/4 for right accumulation, 1 1 1 1 for a
forgotten division, and needs no list of mistakes.
"""

from dataclasses import dataclass

import numpy as np
import torch

from grader.feedback import Recipe
from grader.runtime.play import Env, Problem, Scenario
from grader.runtime.trace import Array, Run

_MAX_COLUMNS = 16
_SHOWN = 5e-4  # coefficients below this are rounding, not ingredients


@dataclass(frozen=True)
class _Ingredients:
    coefficients: dict[int, float]
    residual: float


def recover_recipe(scenario: Scenario, run: Run, solution: Run, update: int, env: Env) -> Recipe | None:
    """The recipe of `run`'s update number `update` (from 1) beside the solution's.

    None when the scenario is not plain SGD, or the run never came to that update.
    """
    if scenario.problem is None:
        return None
    problem = scenario.problem(env)
    got = _ingredients(run, problem, update)
    expected = _ingredients(solution, problem, update)
    if got is None or expected is None:
        return None
    mixed = {**got.coefficients, **expected.coefficients}
    batches = sorted(
        b
        for b in mixed
        if abs(got.coefficients.get(b, 0.0)) > _SHOWN or abs(expected.coefficients.get(b, 0.0)) > _SHOWN
    )
    if not batches:
        return None
    return Recipe(
        update=update,
        batches=tuple(b + 1 for b in batches),
        got=tuple(got.coefficients.get(b, 0.0) for b in batches),
        expected=tuple(expected.coefficients.get(b, 0.0) for b in batches),
        residual=got.residual,
    )


def _ingredients(run: Run, problem: Problem, update: int) -> _Ingredients | None:
    theta, rates = run.arrays.get("theta"), run.evidence.get("lr")
    if theta is None or rates is None or theta.shape != rates.shape or not 0 < update < len(theta):
        return None
    held = rates[update] > 0
    if not held.any() or not np.isfinite(theta[: update + 1]).all():
        return None
    combined = ((theta[update - 1] - theta[update])[held]) / rates[update][held]
    columns = _columns(run, len(problem.batches), update)
    gradients = np.stack([_gradient(problem, theta[state], batch)[held] for state, batch in columns], axis=1)
    solved, *_ = np.linalg.lstsq(gradients, combined, rcond=1e-10)
    size = float(np.linalg.norm(combined))
    residual = float(np.linalg.norm(combined - gradients @ solved)) / size if size > 0 else 0.0
    coefficients: dict[int, float] = {}
    for (_, batch), value in zip(columns, solved, strict=True):
        coefficients[batch] = coefficients.get(batch, 0.0) + float(value)
    return _Ingredients(coefficients, residual)


def _columns(run: Run, batches: int, update: int) -> list[tuple[int, int]]:
    """(state, batch) of the forward passes before the update; every batch, where none was recognised."""
    seen = []
    for event in run.events:
        known = event.kind == "forward" and event.batch is not None and 0 <= event.batch < batches
        if known and 0 <= event.state < update and event.batch is not None:
            seen.append((event.state, event.batch))
    unique = list(dict.fromkeys(seen))
    return unique[-_MAX_COLUMNS:] or [(update - 1, batch) for batch in range(min(batches, _MAX_COLUMNS))]


def _gradient(problem: Problem, theta: Array, batch: int) -> Array:
    parameters = list(problem.model.parameters())
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(
            torch.from_numpy(theta.copy()).to(parameters[0].device), parameters
        )
    xb, yb = problem.batches[batch]
    gradients = torch.autograd.grad(problem.loss_fn(problem.model(xb), yb), parameters)
    flat: Array = torch.cat([g.ravel() for g in gradients]).double().cpu().numpy()
    return flat
