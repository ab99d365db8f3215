"""The recipe: what an update was made of, recovered without any list of mistakes."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.exercises.five_line_step import EXERCISES
from grader.recipe import recover_recipe
from grader.runtime.play import Env, play
from grader.runtime.program import load_program

ACCUMULATE = """
import torch
def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    weights = {weights}
    batches = list(micro_batches)
    for start in range(0, len(batches), accum_steps):
        opt.zero_grad()
        for w, (x, y) in zip(weights, batches[start:start + accum_steps]):
            (w * loss_fn(model(x), y)).backward()
        opt.step()
    opt.zero_grad()
    return 0
"""


def recipe_of(source: str, update: int = 1, exercise: str = "accumulate", seed: int = 5):  # type: ignore[no-untyped-def]
    from grader.mistakes import solution_text

    driver = EXERCISES[exercise]
    runs = []
    for text in (source, solution_text("01")):
        program = load_program(text)
        runs.append(play(driver, program, seed=seed, only=["sgd"]).runs["sgd"])
        program.unload()
    env = Env(seed, torch.device("cpu"), "sgd")
    return recover_recipe(driver.scenario("sgd"), runs[0], runs[1], update, env)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-3, 3).filter(lambda w: abs(w) > 0.01), min_size=4, max_size=4))
def test_any_weights_are_recovered(weights: list[float]) -> None:
    """Whatever a learner multiplies the micro-batches with, the recipe reads it off the parameters."""
    recipe = recipe_of(ACCUMULATE.format(weights=weights))
    assert recipe.batches == (1, 2, 3, 4)
    assert recipe.got == pytest.approx(
        weights, abs=1e-9
    )  # float64 least squares of a well-conditioned system
    assert recipe.expected == pytest.approx([0.25] * 4, abs=1e-9)
    assert recipe.residual < 1e-9


def test_what_no_batch_explains_is_said() -> None:
    """Noise in the update is a residual, not an invented ingredient."""
    source = ACCUMULATE.format(weights=[0.25] * 4).replace(
        "        opt.step()",
        "        for p in model.parameters():\n"
        "            p.grad += torch.linspace(-1, 1, p.numel()).reshape(p.shape)\n"
        "        opt.step()",
    )
    assert recipe_of(source).residual > 0.05


def test_stale_gradients_are_seen_in_a_later_update() -> None:
    source = ACCUMULATE.format(weights=[0.25] * 4).replace("        opt.zero_grad()\n", "", 1)
    recipe = recipe_of(source, update=2)
    assert recipe.batches == tuple(range(1, 9))
    assert np.allclose(recipe.got, 0.25)
    assert np.allclose(recipe.expected, [0] * 4 + [0.25] * 4)


def test_an_update_that_never_happened_has_no_recipe() -> None:
    assert recipe_of(ACCUMULATE.format(weights=[0.25] * 4).replace("        opt.step()\n", "")) is None
