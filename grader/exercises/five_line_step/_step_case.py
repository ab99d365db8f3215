"""Make what `mend_step`, `train_step` and `train_step_extras` are called with: model, batches, loss and optimizer.

The drivers of these three exercises call `step_case` in each scenario. A scenario with plain SGD also names
`step_problem`, which makes equal parts for the recipe of its updates (`judging/recipe.py`).
"""

from grader.exercises.fixtures.classifiers import (
    Batch,
    MakeOptimizer,
    batches,
    loss_function,
    mlp,
    sgd,
)
from grader.exercises.fixtures.usual import Case
from grader.observe.play import Env, Problem, Stage

_SIZES = (4, 3, 5, 2, 4)
"""Samples in each batch. They differ, so that a loss that is divided by a fixed batch size shows."""

_LARGE_BATCH_INDEX = 1
"""Index of the batch whose size follows from the seed instead: 9 to 40 samples. A function that reads only the first
few samples, as in `xb[:8]`, differs there. No scenario clips at this batch, except to 0.0: a larger batch has a smaller
gradient, which may stay below another limit.
"""


def _step_batches(env: Env) -> list[Batch]:
    """Return five batches of uneven sizes, one of them large."""
    sizes = list(_SIZES)
    sizes[_LARGE_BATCH_INDEX] = 9 + env.number("large") % 32
    return batches(env, sizes)


def step_problem(env: Env) -> Problem:
    """Return model, batches and loss as in a `step_case` with the default salt, for the recipe of its updates."""
    return Problem(mlp(env), _step_batches(env), loss_function(env))


def step_case(stage: Stage, name: str, make_optimizer: MakeOptimizer = sgd, *, salt: str = "model") -> Case:
    """Return a case with an `mlp` and five batches, for the learner's function `name`; `salt` decides the weights."""
    model = mlp(stage.env, salt)
    data = _step_batches(stage.env)
    return Case(stage, name, model, make_optimizer(model), loss_function(stage.env), data)
