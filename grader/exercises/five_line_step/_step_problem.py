"""The model, batches and loss that `train_step` and `train_step_extras` are called with."""

from grader.exercises.fixtures.classifiers import batches, loss_function, mlp
from grader.observe.play import Env, Problem

STEP_SIZES = (4, 3, 5, 2, 4)
LARGE = 1
"""Index of the batch whose size follows from the seed instead (9 to 40 rows). A function that looks at its first few
rows only, as in `xb[:8]`, differs there. It is none of the batches at which a clip is active: a larger batch has a
smaller gradient, which may stay below the limit.
"""


def step_problem(env: Env) -> Problem:
    """Return a model, a loss and five batches of uneven sizes, one of them large."""
    sizes = list(STEP_SIZES)
    sizes[LARGE] = 9 + env.number("large") % 32
    return Problem(mlp(env), batches(env, sizes), loss_function(env))
