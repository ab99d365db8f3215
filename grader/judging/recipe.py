"""Recover how much of which batch's gradient went into a wrong update, by least squares.

In each update of plain SGD, (before - after) / lr = sum_j c_j * g_j. The left side is called the *applied gradient*;
g_j is the gradient of batch j at the parameters with which this batch went forward. The model and the batches can be
built again from the seed, so the g_j can be computed here, and solving for the coefficients c_j gives the recipe. This
needs no list of known mistakes and works for several mistakes at once. The share of the applied gradient that no
mixture of the g_j explains is the residual. Where parameters have different learning rates, an update may also hold
gradients that were not multiplied by them. If these explain what is left, and each g_j is in one of the two parts only,
the recipe says that they are there (`Recipe.has_unscaled_part`).

Example: with updates from four micro-batches of equal size each, the coefficients are 1/4 1/4 1/4 1/4 for right
accumulation and 1 1 1 1 for a forgotten division. If gradients are never cleared, the second update has 1/4 eight
times, for its own four batches and for those of the first update.

What is read of a run: the array `theta` and the events, and of its evidence the learning rates `lr` and the `points`
(see `Run`). A *state* is a row of `theta`: all parameters, flattened to one vector, at the start (row 0) or after an
update (row u after update u). Parameters at which a forward pass runs between two states, such as SAM's w + e, are
*perturbed*: a row of `points`.

`evidence.py` calls `recover_recipe` for the first wrong update of a scenario; `report/formulas.py` words the recipe. To
tell another kind of ingredient apart: `_Ingredient` and `_candidate_gradients`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from grader.course.feedback import Recipe
from grader.judging.event_orders import call_of_update
from grader.observe.play import Env, Problem, Scenario
from grader.observe.trace import Array, Event, Run

_MAX_GRADIENTS = 16
"""Maximum number of gradients in the mixture: those of the last forward passes before the update.

A pass that repeats an earlier one, of the same batch at the same parameters, counts as that one. Each gradient costs a
backward pass here, and a wrong loop may run very many forward passes.
"""
_NEGLIGIBLE = 5e-4
"""Coefficients, differences of coefficients, and residuals up to this size count as 0: they come from rounding."""


class _Ingredient(NamedTuple):
    """What a coefficient of the recipe belongs to: a batch, at states or at perturbed parameters.

    The gradients of one batch at several states are one ingredient. Those at several perturbed parameters are another.
    """

    is_perturbed: bool
    """True if the gradient was taken at perturbed parameters; `Recipe.moved` passes it on."""
    batch: int
    """Index of the batch, from 0."""


class _Update(NamedTuple):
    """What one update of plain SGD did to the elements of `theta` whose learning rate is above 0."""

    is_updated: Array
    """For each element of `theta`, True if its learning rate is above 0. It is 0 if no optimizer holds the element."""
    rates: Array
    """Learning rates of these elements."""
    applied_gradient: Array
    """(before - after) / lr of these elements."""


class _LeastSquares(NamedTuple):
    """The mixture of given gradients that comes nearest to an applied gradient."""

    coefficients: Array
    """One for each of the gradients, in their order."""
    residual: float
    """As in `_Mixture`."""


class _CandidateGradient(NamedTuple):
    """A gradient that may have gone into the update: which one it is, not its numbers."""

    parameters: Array
    """The parameters at which the gradient is taken, flattened."""
    ingredient: _Ingredient
    """The batch whose gradient it is, and whether the parameters are perturbed."""


@dataclass(frozen=True)
class _Mixture:
    """The mixture of gradients that was found for one update."""

    coefficients: dict[_Ingredient, float]
    """The c_j; those of gradients with the same ingredient are added up."""
    residual: float
    """Share of the applied gradient, 0 to 1, that the mixture does not explain."""
    has_unscaled_part: bool = False
    """See `Recipe.has_unscaled_part`."""

    def coefficient(self, ingredient: _Ingredient) -> float:
        """Return the coefficient of an ingredient; 0 if the mixture lacks it."""
        return self.coefficients.get(ingredient, 0.0)


def recover_recipe(scenario: Scenario, run: Run, solution: Run, update: int, env: Env) -> Recipe | None:
    """Return the recipe of one of the learner's updates beside the solution's.

    None if:

    - the scenario is not plain SGD: it has no `problem`;
    - the learner's loop takes the update back (`_is_taken_back`);
    - the two runs make the update in different calls (`_is_of_another_call`);
    - one of the runs lacks the update, or records the model's parameters in another shape;
    - no parameter has a learning rate above 0 in the update;
    - a state up to the update, or one of the gradients, has infinite numbers or NaN;
    - both mixtures are the same, and the learner's explains the whole update.

    Args:
        scenario: the scenario that was played.
        run: the learner's run.
        solution: the solution's run.
        update: number of the update, counted from 1.
        env: the seed and device that the scenario was built from, to build its model and batches again.
    """
    if scenario.problem is None or _is_taken_back(run, update) or _is_of_another_call(run, solution, update):
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
    """Return True if the next update exactly restores the state before this one, and is not made by a `step`.

    Then nothing is left of this update, as in SAM with a `second_step` that writes w back after the base optimizer's
    `step`.
    """
    theta = run.arrays.get("theta")
    if theta is None or not 0 < update < len(theta) - 1:
        return False
    next_is_step = any(event.kind == "step" and event.state == update for event in run.events)
    return not next_is_step and bool(np.array_equal(theta[update + 1], theta[update - 1]))


def _is_of_another_call(run: Run, solution: Run, update: int) -> bool:
    """Return True if the update belongs to different calls in the two runs.

    Then they are made of different batches, even if each is right for its call: the learner's earlier call made fewer
    updates or more.
    """
    calls = call_of_update(run, update), call_of_update(solution, update)
    return None not in calls and calls[0] != calls[1]


def _solve_mixture(run: Run, problem: Problem, update_number: int) -> _Mixture | None:
    """Return the mixture of one update; None if the run lacks the update or its numbers are not usable."""
    update = _read_update(run, problem, update_number)
    if update is None:
        return None
    candidates = _candidate_gradients(run, len(problem.batches), update_number)
    gradients = np.stack(
        [
            _compute_gradient(problem, candidate.parameters, candidate.ingredient.batch)[update.is_updated]
            for candidate in candidates
        ],
        axis=1,
    )
    if not np.isfinite(gradients).all():
        return None
    solved = _least_squares(gradients, update.applied_gradient)
    with_unscaled = _solve_with_unscaled_part(gradients, update) if solved.residual > _NEGLIGIBLE else None
    solved = with_unscaled or solved
    by_ingredient: dict[_Ingredient, float] = {}
    for candidate, coefficient in zip(candidates, solved.coefficients, strict=True):
        sum_so_far = by_ingredient.get(candidate.ingredient, 0.0)
        by_ingredient[candidate.ingredient] = sum_so_far + float(coefficient)
    return _Mixture(by_ingredient, solved.residual, has_unscaled_part=with_unscaled is not None)


def _read_update(run: Run, problem: Problem, update_number: int) -> _Update | None:
    """Return one update, counted from 1; None if the run lacks it or its numbers are not usable."""
    theta, rates = run.arrays.get("theta"), run.evidence.get("lr")  # each of shape (states, elements)
    if theta is None or rates is None or theta.shape != rates.shape or not 0 < update_number < len(theta):
        return None
    is_updated = rates[update_number] > 0
    element_count = sum(parameter.numel() for parameter in problem.model.parameters())
    if theta.shape[1] != element_count or not is_updated.any():
        return None
    update_rates = rates[update_number][is_updated]
    with np.errstate(over="ignore", invalid="ignore"):
        applied_gradient = (theta[update_number - 1] - theta[update_number])[is_updated] / update_rates
    if not np.isfinite(theta[: update_number + 1]).all() or not np.isfinite(applied_gradient).all():
        return None
    return _Update(is_updated, update_rates, applied_gradient)


def _solve_with_unscaled_part(gradients: Array, update: _Update) -> _LeastSquares | None:
    """Return a mixture beside which there is a part that was not multiplied by the learning rates.

    The coefficients of that part are left out. None if the two parts together do not explain the whole update, or
    if a gradient is in both.

    Args:
        gradients: shape (elements, gradients).
        update: the update.
    """
    with np.errstate(over="ignore"):  # a learning rate may be as small as 1e-310
        unscaled_gradients = gradients / update.rates[:, None]
    if not np.isfinite(unscaled_gradients).all():
        return None
    both = np.concatenate([gradients, unscaled_gradients], axis=1)
    solved = _least_squares(both, update.applied_gradient)
    scaled, unscaled = np.split(solved.coefficients, 2)
    # A gradient that needs both coefficients was more likely multiplied by another number in each group of parameters,
    # as when each group is clipped on its own.
    is_in_one_part = bool(((np.abs(scaled) <= _NEGLIGIBLE) | (np.abs(unscaled) <= _NEGLIGIBLE)).all())
    is_explained = solved.residual <= _NEGLIGIBLE
    return _LeastSquares(scaled, solved.residual) if is_explained and is_in_one_part else None


def _candidate_gradients(run: Run, batch_count: int, update_number: int) -> list[_CandidateGradient]:
    """Return the gradients that may have gone into an update: those of the forward passes before it.

    Further forward passes of one batch at the same parameters give no further gradient. If no forward pass with known
    parameters saw a batch of the scenario, return the gradient of every batch at the state before the update. At most
    `_MAX_GRADIENTS` are returned.
    """
    by_forward_pass: dict[tuple[int, int | None, int], _CandidateGradient] = {}
    for event in run.events:
        if event.kind != "forward" or event.batch is None or not 0 <= event.batch < batch_count:
            continue
        parameters = _parameters_at(run, event) if 0 <= event.state < update_number else None
        if parameters is not None:
            ingredient = _Ingredient(event.point is not None, event.batch)
            by_forward_pass[event.state, event.point, event.batch] = _CandidateGradient(
                parameters, ingredient
            )
    if by_forward_pass:
        return list(by_forward_pass.values())[-_MAX_GRADIENTS:]
    before_update = run.arrays["theta"][update_number - 1]
    return [
        _CandidateGradient(before_update, _Ingredient(False, batch))
        for batch in range(min(batch_count, _MAX_GRADIENTS))
    ]


def _parameters_at(run: Run, event: Event) -> Array | None:
    """Return the parameters at a forward pass: those of its state, or perturbed ones.

    None if the trace, which may be forged, lacks the perturbed parameters or has infinite numbers or NaN among them.
    """
    theta, points = run.arrays["theta"], run.evidence.get("points")
    if event.point is None:
        parameters: Array = theta[event.state]
        return parameters
    if points is None or points.ndim != 2 or points.shape[1] != theta.shape[1]:
        return None
    is_usable = 0 <= event.point < len(points) and bool(np.isfinite(points[event.point]).all())
    return points[event.point] if is_usable else None


def _compute_gradient(problem: Problem, flat_parameters: Array, batch: int) -> Array:
    """Return the gradient of one batch's loss, flattened; leaves the given parameters in the problem's model."""
    parameters = list(problem.model.parameters())
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(
            torch.from_numpy(flat_parameters.copy()).to(parameters[0].device), parameters
        )
    xb, yb = problem.batches[batch]
    gradients = torch.autograd.grad(problem.loss_fn(problem.model(xb), yb), parameters)
    flat: Array = torch.cat([gradient.ravel() for gradient in gradients]).double().cpu().numpy()
    return flat


def _least_squares(gradients: Array, applied_gradient: Array) -> _LeastSquares:
    """Return the mixture of the gradients that comes nearest to the applied gradient.

    Args:
        gradients: shape (elements, gradients).
        applied_gradient: shape (elements,).
    """
    # With `rcond`, gradients that are parallel but for rounding share a coefficient; else they get huge opposite ones.
    coefficients, *_ = np.linalg.lstsq(gradients, applied_gradient, rcond=1e-10)
    with np.errstate(over="ignore", invalid="ignore"):
        size = float(np.linalg.norm(applied_gradient))
        unexplained = float(np.linalg.norm(applied_gradient - gradients @ coefficients))
        residual = unexplained / size if size > 0 else 0.0
    return _LeastSquares(coefficients, residual)
