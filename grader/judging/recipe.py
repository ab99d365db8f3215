"""Recover how much of which batch's gradient went into a wrong update, by least squares.

In each update of plain SGD, (before - after) / lr = sum_j c_j * g_j, where g_j is the gradient of batch j at the
parameters with which this batch went forward. The model and the batches can be built again from the seed, so the g_j
can be computed here, and solving for the coefficients c_j gives the recipe. This needs no list of known mistakes and
works for several mistakes at once. The share of the update that no mixture of the gradients explains is the residual.
Where parameters have different learning rates, an update may also hold gradients that were not multiplied by them; if
these explain what is left, the recipe says that they are there (`Recipe.has_unscaled_part`).

Example: with updates from four micro-batches of equal size each, the coefficients are 1/4 1/4 1/4 1/4 for right
accumulation and 1 1 1 1 for a forgotten division. If gradients are never cleared, the second update has 1/4 eight
times, for its own four batches and for those of the first update.

In this module, a *state* is a row of `theta`: all parameters, flattened to one vector, at the start or after one of the
updates. Parameters at which a forward pass runs between two states, such as SAM's w + e, are *perturbed*.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from grader.course.feedback import Recipe
from grader.observe.play import Env, Problem, Scenario
from grader.observe.trace import Array, Event, Run

_MAX_GRADIENTS = 16
"""Maximum number of gradients in the mixture: those of the last forward passes before the update.

Each costs a backward pass here, and a wrong loop may run very many forward passes.
"""
_NEGLIGIBLE = 5e-4
"""Coefficients, differences of coefficients, and residuals up to this size count as 0: they come from rounding."""


class _Ingredient(NamedTuple):
    """What a coefficient of the recipe belongs to: a batch, at states or at perturbed parameters.

    Gradients of one batch at several states are one ingredient, and so are those at several perturbed parameters.
    """

    is_perturbed: bool
    """True if the gradient was taken at perturbed parameters."""
    batch: int
    """Index of the batch, from 0."""


class _CandidateGradient(NamedTuple):
    """A gradient that may have gone into the update, before it is computed."""

    parameters: Array
    """The parameters at which the gradient is taken, flattened."""
    ingredient: _Ingredient


@dataclass(frozen=True)
class _Mixture:
    """The mixture of gradients that was found for one update."""

    coefficients: dict[_Ingredient, float]
    """The c_j; those of gradients with the same ingredient are added up."""
    residual: float
    """Share of the update, 0 to 1, that the mixture does not explain."""
    has_unscaled_part: bool = False
    """See `Recipe.has_unscaled_part`."""

    def coefficient(self, ingredient: _Ingredient) -> float:
        """Return the coefficient of an ingredient; 0 if the mixture lacks it."""
        return self.coefficients.get(ingredient, 0.0)


def recover_recipe(scenario: Scenario, run: Run, solution: Run, update: int, env: Env) -> Recipe | None:
    """Return the recipe of one of the learner's updates beside the solution's.

    None if:

    - the scenario is not plain SGD (it has no `problem`), or the learner's loop takes the update back;
    - one of the runs lacks the update, or records the model's parameters in another shape;
    - no element has a learning rate above 0;
    - a state up to the update, or one of the gradients, has infinite numbers or NaN;
    - both mixtures are the same, and the learner's explains the whole update.

    Args:
        scenario: the scenario that was played.
        run: the learner's run.
        solution: the solution's run.
        update: number of the update, counted from 1.
        env: the seed and device that the scenario was built from, to build its model and batches again.
    """
    if scenario.problem is None or _is_taken_back(run, update):
        return None
    problem = scenario.problem(env)
    got = _solve_mixture(run, problem, update)
    expected = _solve_mixture(solution, problem, update)
    if got is None or expected is None:
        return None
    shown = sorted(
        ingredient
        for ingredient in got.coefficients.keys() | expected.coefficients.keys()
        if abs(got.coefficient(ingredient)) > _NEGLIGIBLE
        or abs(expected.coefficient(ingredient)) > _NEGLIGIBLE
    )
    is_same = all(
        abs(got.coefficient(ingredient) - expected.coefficient(ingredient)) <= _NEGLIGIBLE
        for ingredient in shown
    )
    if is_same and got.residual <= _NEGLIGIBLE and not got.has_unscaled_part:
        return None  # the mixture is right: something else is wrong, such as the point w + e itself
    is_perturbed = tuple(ingredient.is_perturbed for ingredient in shown)
    return Recipe(
        update=update,
        batches=tuple(ingredient.batch + 1 for ingredient in shown),
        got=tuple(map(got.coefficient, shown)),
        expected=tuple(map(expected.coefficient, shown)),
        residual=got.residual,
        moved=is_perturbed if any(is_perturbed) else (),
        has_unscaled_part=got.has_unscaled_part,
    )


def _is_taken_back(run: Run, update: int) -> bool:
    """Return True if the state after the update's is exactly the one before it, and the update was no optimizer's step.

    Then nothing is left of the update, as in SAM with a `second_step` that writes w back after the base optimizer's
    `step`.
    """
    theta = run.arrays.get("theta")
    if theta is None or not 0 < update < len(theta) - 1:
        return False
    is_step = any(event.kind == "step" and event.state == update for event in run.events)
    return not is_step and bool(np.array_equal(theta[update + 1], theta[update - 1]))


def _solve_mixture(run: Run, problem: Problem, update: int) -> _Mixture | None:
    """Return the mixture of an update, counted from 1; None if the run lacks it or its numbers are not usable."""
    theta, rates = run.arrays.get("theta"), run.evidence.get("lr")  # each of shape (states, elements)
    if theta is None or rates is None or theta.shape != rates.shape or not 0 < update < len(theta):
        return None
    is_updated = rates[update] > 0  # elements that no optimizer holds have the learning rate 0
    element_count = sum(parameter.numel() for parameter in problem.model.parameters())
    if theta.shape[1] != element_count or not is_updated.any():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        used = (theta[update - 1] - theta[update])[is_updated] / rates[update][is_updated]
    if not np.isfinite(theta[: update + 1]).all() or not np.isfinite(used).all():
        return None
    candidates = _candidate_gradients(run, len(problem.batches), update)
    gradients = np.stack(
        [
            _compute_gradient(problem, candidate.parameters, candidate.ingredient.batch)[is_updated]
            for candidate in candidates
        ],
        axis=1,
    )
    if not np.isfinite(gradients).all():
        return None
    coefficients, residual = _least_squares(gradients, used)
    has_unscaled_part = False
    if residual > _NEGLIGIBLE:
        both = np.concatenate([gradients, gradients / rates[update][is_updated][:, None]], axis=1)
        fitted, rest = _least_squares(both, used)
        scaled, unscaled = np.split(fitted, 2)
        # A gradient with both coefficients was rather scaled by another number in each group, as by clipping per group.
        is_either = bool(((np.abs(scaled) <= _NEGLIGIBLE) | (np.abs(unscaled) <= _NEGLIGIBLE)).all())
        if rest <= _NEGLIGIBLE and is_either:
            coefficients, residual, has_unscaled_part = scaled, rest, True
    by_ingredient: dict[_Ingredient, float] = {}
    for candidate, value in zip(candidates, coefficients, strict=True):
        by_ingredient[candidate.ingredient] = by_ingredient.get(candidate.ingredient, 0.0) + float(value)
    return _Mixture(by_ingredient, residual, has_unscaled_part)


def _candidate_gradients(run: Run, batch_count: int, update: int) -> list[_CandidateGradient]:
    """Return the gradients that may have gone into an update: those of the forward passes before it.

    Two forward passes of one batch at the same parameters give one gradient. If no forward pass with known parameters
    saw a batch of the scenario, return the gradient of every batch at the state before the update. At most
    `_MAX_GRADIENTS` are returned.
    """
    by_forward_pass: dict[tuple[int, int | None, int], _CandidateGradient] = {}
    for event in run.events:
        if event.kind != "forward" or event.batch is None or not 0 <= event.batch < batch_count:
            continue
        parameters = _parameters_at(run, event) if 0 <= event.state < update else None
        if parameters is not None:
            ingredient = _Ingredient(event.point is not None, event.batch)
            by_forward_pass[event.state, event.point, event.batch] = _CandidateGradient(
                parameters, ingredient
            )
    if by_forward_pass:
        return list(by_forward_pass.values())[-_MAX_GRADIENTS:]
    state = run.arrays["theta"][update - 1]
    return [
        _CandidateGradient(state, _Ingredient(False, batch))
        for batch in range(min(batch_count, _MAX_GRADIENTS))
    ]


def _parameters_at(run: Run, event: Event) -> Array | None:
    """Return the parameters at a forward pass: a state, or perturbed parameters.

    None if the trace, which may be forged, lacks these perturbed parameters, or holds infinite numbers or NaN there.
    """
    theta, points = run.arrays["theta"], run.evidence.get("points")
    if event.point is None:
        state: Array = theta[event.state]
        return state
    if points is None or points.ndim != 2 or points.shape[1] != theta.shape[1]:
        return None
    is_usable = 0 <= event.point < len(points) and bool(np.isfinite(points[event.point]).all())
    return points[event.point] if is_usable else None


def _compute_gradient(problem: Problem, values: Array, batch: int) -> Array:
    """Return the gradient of one batch's loss, flattened. This sets the model's parameters to the given values."""
    parameters = list(problem.model.parameters())
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(
            torch.from_numpy(values.copy()).to(parameters[0].device), parameters
        )
    xb, yb = problem.batches[batch]
    gradients = torch.autograd.grad(problem.loss_fn(problem.model(xb), yb), parameters)
    flat: Array = torch.cat([g.ravel() for g in gradients]).double().cpu().numpy()
    return flat


def _least_squares(gradients: Array, used: Array) -> tuple[Array, float]:
    """Return the coefficients with which the gradients come nearest to the gradient used, and the residual.

    Args:
        gradients: shape (elements, gradients).
        used: shape (elements,): the mixed gradient that the update used.
    """
    # With rcond, gradients that are parallel up to rounding share a coefficient instead of getting huge opposite ones.
    coefficients, *_ = np.linalg.lstsq(gradients, used, rcond=1e-10)
    with np.errstate(over="ignore", invalid="ignore"):
        size = float(np.linalg.norm(used))
        residual = float(np.linalg.norm(used - gradients @ coefficients)) / size if size > 0 else 0.0
    return coefficients, residual
