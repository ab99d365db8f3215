"""Recover how much of which batch's gradient went into a wrong update, by least squares.

In each update of plain SGD, (before - after) / lr = sum_j c_j * g_j, where g_j is the gradient of batch j at the
parameters with which this batch went forward. The model and the batches can be rebuilt from the seed, so the g_j can be
computed here, and solving for the c_j gives the recipe. This needs no list of known mistakes and works for several
mistakes at once. The share of the update that no mixture of the gradients explains is the residual.

Example: for four micro-batches of equal size, c is 1/4 1/4 1/4 1/4 for right accumulation and 1 1 1 1 for a forgotten
division. If gradients are never cleared, the second update has 1/4 for all eight batches so far.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from grader.course.feedback import Recipe
from grader.observe.play import Env, Problem, Scenario
from grader.observe.trace import Array, Event, Run

_MAX_COLUMNS = 16
"""Maximum number of gradients in the mixture: those of the last forward passes before the update."""
_NEGLIGIBLE = 5e-4
"""Coefficients, differences of coefficients, and residuals up to this size are rounding."""


class _Ingredient(NamedTuple):
    """What a gradient in the mixture is called. Gradients of one batch at several states are one ingredient."""

    away: bool
    """True if the gradient was taken at parameters between two states, such as SAM's w + e."""
    batch: int
    """Index of the batch, from 0."""


class _Column(NamedTuple):
    """One gradient of the mixture, before it is computed."""

    parameters: Array
    """The parameters at which the gradient is taken, flattened."""
    ingredient: _Ingredient


@dataclass(frozen=True)
class _Mixture:
    """The solved mixture of one update."""

    coefficients: dict[_Ingredient, float]
    residual: float
    """Share of the update, 0 to 1, that the mixture does not explain."""

    def share(self, ingredient: _Ingredient) -> float:
        """Return the coefficient of an ingredient; 0 if the mixture lacks it."""
        return self.coefficients.get(ingredient, 0.0)


def recover_recipe(scenario: Scenario, run: Run, solution: Run, update: int, env: Env) -> Recipe | None:
    """Return the recipe of one of the learner's updates beside the solution's.

    None if the scenario is not plain SGD, if a run has no such update or is not finite there, or if both recipes are
    the same.

    Args:
        scenario: the scenario that was played.
        run: the learner's run.
        solution: the solution's run.
        update: number of the update, counted from 1.
        env: the seed and device that the scenario was built from, to build its model and batches again.
    """
    if scenario.problem is None:
        return None
    problem = scenario.problem(env)
    got = _solve(run, problem, update)
    expected = _solve(solution, problem, update)
    if got is None or expected is None:
        return None
    shown = sorted(
        ingredient
        for ingredient in got.coefficients.keys() | expected.coefficients.keys()
        if abs(got.share(ingredient)) > _NEGLIGIBLE or abs(expected.share(ingredient)) > _NEGLIGIBLE
    )
    same = all(abs(got.share(ingredient) - expected.share(ingredient)) <= _NEGLIGIBLE for ingredient in shown)
    if same and got.residual <= _NEGLIGIBLE:
        return None  # the mixture is right: something else is wrong, such as the point w + e itself
    moved = tuple(ingredient.away for ingredient in shown)
    return Recipe(
        update=update,
        batches=tuple(ingredient.batch + 1 for ingredient in shown),
        got=tuple(map(got.share, shown)),
        expected=tuple(map(expected.share, shown)),
        residual=got.residual,
        moved=moved if any(moved) else (),
    )


def _solve(run: Run, problem: Problem, update: int) -> _Mixture | None:
    """Return the mixture of an update, counted from 1; None if the run lacks it or its numbers are not usable."""
    theta, rates = run.arrays.get("theta"), run.evidence.get("lr")
    if theta is None or rates is None or theta.shape != rates.shape or not 0 < update < len(theta):
        return None
    updated = rates[update] > 0  # elements that no optimizer holds have the learning rate 0
    width = sum(parameter.numel() for parameter in problem.model.parameters())
    if theta.shape[1] != width or not updated.any():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        combined = ((theta[update - 1] - theta[update])[updated]) / rates[update][updated]
    if not np.isfinite(theta[: update + 1]).all() or not np.isfinite(combined).all():
        return None
    columns = _columns(run, len(problem.batches), update)
    gradients = np.stack(
        [_gradient(problem, column.parameters, column.ingredient.batch)[updated] for column in columns],
        axis=1,
    )
    if not np.isfinite(gradients).all():
        return None
    # With rcond, gradients that are parallel up to rounding share a coefficient instead of getting huge opposite ones.
    solved, *_ = np.linalg.lstsq(gradients, combined, rcond=1e-10)
    with np.errstate(over="ignore", invalid="ignore"):
        size = float(np.linalg.norm(combined))
        residual = float(np.linalg.norm(combined - gradients @ solved)) / size if size > 0 else 0.0
    coefficients: dict[_Ingredient, float] = {}
    for column, value in zip(columns, solved, strict=True):
        coefficients[column.ingredient] = coefficients.get(column.ingredient, 0.0) + float(value)
    return _Mixture(coefficients, residual)


def _columns(run: Run, batch_count: int, update: int) -> list[_Column]:
    """Return the gradients that may have gone into an update: those of the forward passes before it.

    If none of these saw a batch of the scenario, return the gradient of every batch at the state before the update.
    """
    by_forward_pass: dict[tuple[int, int | None, int], _Column] = {}
    for event in run.events:
        if event.kind != "forward" or event.batch is None or not 0 <= event.batch < batch_count:
            continue
        parameters = _parameters_at(run, event) if 0 <= event.state < update else None
        if parameters is not None:
            ingredient = _Ingredient(event.point is not None, event.batch)
            by_forward_pass[event.state, event.point, event.batch] = _Column(parameters, ingredient)
    if by_forward_pass:
        return list(by_forward_pass.values())[-_MAX_COLUMNS:]
    state = run.arrays["theta"][update - 1]
    return [_Column(state, _Ingredient(False, batch)) for batch in range(min(batch_count, _MAX_COLUMNS))]


def _parameters_at(run: Run, event: Event) -> Array | None:
    """Return the parameters at a forward pass: a state, or a point between two states.

    None if the trace does not say which; a forged one may not.
    """
    theta, points = run.arrays["theta"], run.evidence.get("points")
    if event.point is None:
        state: Array = theta[event.state]
        return state
    if points is None or points.ndim != 2 or points.shape[1] != theta.shape[1]:
        return None
    known = 0 <= event.point < len(points) and bool(np.isfinite(points[event.point]).all())
    return points[event.point] if known else None


def _gradient(problem: Problem, values: Array, batch: int) -> Array:
    """Return the gradient of one batch's loss, flattened, after giving the parameters these values."""
    parameters = list(problem.model.parameters())
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(
            torch.from_numpy(values.copy()).to(parameters[0].device), parameters
        )
    xb, yb = problem.batches[batch]
    gradients = torch.autograd.grad(problem.loss_fn(problem.model(xb), yb), parameters)
    flat: Array = torch.cat([g.ravel() for g in gradients]).double().cpu().numpy()
    return flat
