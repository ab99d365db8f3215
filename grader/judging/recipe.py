"""Recover which batches' gradients a wrong update was made of, by least squares.

At each update of plain SGD, (before - after) / lr = sum_j c_j * g_j, where g_j is the gradient of batch j at the
parameters that this batch saw. The model and batches can be rebuilt from the seed, so the g_j are computed here;
solving for c gives the recipe. It needs no list of known mistakes and works for several mistakes at once. The share
of the update that no mixture of the gradients explains is reported as the residual.

Example: for four micro-batches of equal size, c is 1/4 1/4 1/4 1/4 for right accumulation and 1 1 1 1 for a forgotten
division. If gradients are never cleared, the second update has 1/4 for all eight batches so far.
"""

from dataclasses import dataclass

import numpy as np
import torch

from grader.course.feedback import Recipe
from grader.observe.play import Env, Problem, Scenario
from grader.observe.trace import Array, Event, Run

_MAX_COLUMNS = 16
"""Maximum number of gradients in the mixture; the last forward passes before the update count."""
_SHOWN = 5e-4
"""Minimum size of a coefficient that counts; smaller ones are rounding and not ingredients."""


@dataclass(frozen=True)
class _Ingredients:
    """The solved mixture of one update."""

    coefficients: dict[tuple[bool, int], float]
    """Coefficient by (away, batch); batches count from 0.

    `away` is True if the gradient was taken at a point that is no parameter state, such as SAM's w + e.
    """
    residual: float
    """Share of the update, 0 to 1, that the mixture does not explain."""


def recover_recipe(scenario: Scenario, run: Run, solution: Run, update: int, env: Env) -> Recipe | None:
    """Return the recipe of one of the learner's updates beside the solution's.

    None if the scenario is not plain SGD, a run has no such update or is not finite there, or both recipes are the
    same.

    Args:
        scenario: the scenario that was played.
        run: the learner's run.
        solution: the solution's run.
        update: number of the update, from 1.
        env: what the scenario was built from, to build its model and batches again.
    """
    if scenario.problem is None:
        return None
    problem = scenario.problem(env)
    got = _ingredients(run, problem, update)
    expected = _ingredients(solution, problem, update)
    if got is None or expected is None:
        return None
    mixed = {**got.coefficients, **expected.coefficients}
    shown = sorted(
        key
        for key in mixed
        if abs(got.coefficients.get(key, 0.0)) > _SHOWN or abs(expected.coefficients.get(key, 0.0)) > _SHOWN
    )
    same = all(
        abs(got.coefficients.get(key, 0.0) - expected.coefficients.get(key, 0.0)) <= _SHOWN for key in shown
    )
    if same and got.residual <= _SHOWN:
        return None  # the mixture is right: something else is wrong, such as the point w + e itself
    moved = tuple(away for away, _ in shown)
    return Recipe(
        update=update,
        batches=tuple(batch + 1 for _, batch in shown),
        got=tuple(got.coefficients.get(key, 0.0) for key in shown),
        expected=tuple(expected.coefficients.get(key, 0.0) for key in shown),
        residual=got.residual,
        moved=moved if any(moved) else (),
    )


def _ingredients(run: Run, problem: Problem, update: int) -> _Ingredients | None:
    """Solve for the mixture of an update (from 1); None if the run lacks it or its numbers are not usable."""
    theta, rates = run.arrays.get("theta"), run.evidence.get("lr")
    if theta is None or rates is None or theta.shape != rates.shape or not 0 < update < len(theta):
        return None
    held = rates[update] > 0
    width = sum(p.numel() for p in problem.model.parameters())
    if theta.shape[1] != width or not held.any():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        combined = ((theta[update - 1] - theta[update])[held]) / rates[update][held]
    if not np.isfinite(theta[: update + 1]).all() or not np.isfinite(combined).all():
        return None
    columns = _columns(run, len(problem.batches), update)
    gradients = np.stack([_gradient(problem, where, batch)[held] for where, _, batch in columns], axis=1)
    if not np.isfinite(gradients).all():
        return None
    solved, *_ = np.linalg.lstsq(gradients, combined, rcond=1e-10)
    with np.errstate(over="ignore", invalid="ignore"):
        size = float(np.linalg.norm(combined))
        residual = float(np.linalg.norm(combined - gradients @ solved)) / size if size > 0 else 0.0
    coefficients: dict[tuple[bool, int], float] = {}
    for (_, away, batch), value in zip(columns, solved, strict=True):
        coefficients[away, batch] = coefficients.get((away, batch), 0.0) + float(value)
    return _Ingredients(coefficients, residual)


def _columns(run: Run, batches: int, update: int) -> list[tuple[Array, bool, int]]:
    """Return (parameters, away, batch) for each forward pass before the update; see `_Ingredients` for `away`.

    If no batch was recognised, return every batch at the last parameter state.
    """
    theta = run.arrays["theta"]
    seen = {}
    for event in run.events:
        known = event.kind == "forward" and event.batch is not None and 0 <= event.batch < batches
        if known and 0 <= event.state < update and event.batch is not None:
            where = _parameters_at(run, event)
            if where is not None:
                away = event.point is not None
                seen[event.state, event.point, event.batch] = (where, away, event.batch)
    columns = list(seen.values())[-_MAX_COLUMNS:]
    return columns or [(theta[update - 1], False, b) for b in range(min(batches, _MAX_COLUMNS))]


def _parameters_at(run: Run, event: Event) -> Array | None:
    """Return the parameters at a forward pass: a state, or a point between two states; None if unknown."""
    theta, points = run.arrays["theta"], run.evidence.get("points")
    if event.point is None:
        where: Array = theta[event.state]
        return where
    if points is None or points.ndim != 2 or points.shape[1] != theta.shape[1]:
        return None
    known = 0 <= event.point < len(points) and bool(np.isfinite(points[event.point]).all())
    return points[event.point] if known else None


def _gradient(problem: Problem, theta: Array, batch: int) -> Array:
    """Return the gradient of one batch's loss at these parameters, shape (elements of all parameters,)."""
    parameters = list(problem.model.parameters())
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(
            torch.from_numpy(theta.copy()).to(parameters[0].device), parameters
        )
    xb, yb = problem.batches[batch]
    gradients = torch.autograd.grad(problem.loss_fn(problem.model(xb), yb), parameters)
    flat: Array = torch.cat([g.ravel() for g in gradients]).double().cpu().numpy()
    return flat
