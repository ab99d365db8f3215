"""The recipe: what an update was made of, recovered without any list of mistakes."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from grader.exercises import driver_modules, load_driver
from grader.judging.recipe import recover_recipe
from grader.judging.solution import solution_source
from grader.observe.play import Env, Scenario, play
from grader.observe.program import load_program
from grader.observe.trace import Run

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


def recipe_of(
    source: str, update: int = 1, exercise: str = "accumulate", seed: int = 5, scenario: str = "sgd"
):  # type: ignore[no-untyped-def]
    driver = load_driver(driver_modules("five_line_step")[exercise])
    runs = []
    for text in (source, solution_source("01")):
        program = load_program(text)
        runs.append(play(driver, program, seed=seed, only=[scenario]).runs[scenario])
        program.unload()
    env = Env(seed, torch.device("cpu"), scenario)
    return recover_recipe(driver[scenario], runs[0], runs[1], update, env)


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


def test_an_update_of_another_call_is_not_compared() -> None:
    """A program that returns after its first window makes in its second call what is the first's of the solution."""
    source = ACCUMULATE.format(weights=[0.25] * 4)
    assert (
        recipe_of(source, update=2, scenario="short") is not None
    )  # it takes the short window for a full one
    returns_early = source.replace("        opt.step()\n", "        opt.step()\n        return 0\n")
    assert recipe_of(returns_early, update=2, scenario="short") is None


SAM_ACCUMULATE = """
from itertools import islice
def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    stream = iter(micro_batches)
    while window := list(islice(stream, accum_steps)):
        for batches, step in ((window, sam.first_step), ({second}, sam.second_step)):
            for x, y in batches:
                (loss_fn(model(x), y) / len(batches)).backward()
            step({clear})
    return []
"""


def sam_recipe_of(second: str, clear: str = "True"):  # type: ignore[no-untyped-def]
    driver, runs = load_driver(driver_modules("sam_accumulation")["sam_accumulate"]), []
    for parts in ({"second": second, "clear": clear}, {"second": "window", "clear": "True"}):
        program = load_program(SAM_ACCUMULATE.format(**parts))
        runs.append(play(driver, program, seed=5, only=["sgd"]).runs["sgd"])
        program.unload()
    return recover_recipe(driver["sgd"], *runs, 1, Env(5, torch.device("cpu"), "sgd"))


def test_gradients_at_two_places_are_told_apart() -> None:
    """SAM looks at w and at w + e: the recipe says from where an update's gradients come."""
    last = sam_recipe_of("window[-1:]")
    assert last.moved == (True,) * 4
    assert np.allclose(last.got, [0, 0, 0, 1])
    assert np.allclose(last.expected, 0.25)
    kept = sam_recipe_of("window", "step == sam.second_step")
    assert kept.batches == (1, 2, 3, 4) * 2
    assert kept.moved == (False,) * 4 + (True,) * 4
    assert np.allclose(kept.got, 0.25)
    assert np.allclose(kept.expected, [0] * 4 + [0.25] * 4)


def test_the_right_mixture_is_not_shown_as_the_fault() -> None:
    assert sam_recipe_of("window") is None


def test_an_update_that_is_taken_back_has_no_recipe() -> None:
    """A sentence on what the update was made of would be about parameters that nobody sees."""
    source = ACCUMULATE.format(weights=[0.5] * 4).replace(
        "        opt.step()",
        "        before = [p.detach().clone() for p in model.parameters()]\n"
        "        opt.step()\n"
        "        with torch.no_grad():\n"
        "            for p, w in zip(model.parameters(), before):\n"
        "                p.copy_(w)",
    )
    assert recipe_of(source) is None


SAM_THAT_STAYS_UP = """
import torch
class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
    @torch.no_grad()
    def first_step(self, zero_grad=False):
        held = [(g, p) for g in self.param_groups for p in g["params"] if p.grad is not None]
        norm = torch.stack([p.grad.norm() for _, p in held]).norm()
        for group, p in held:
            p.add_(p.grad, alpha=float(group["rho"] / norm))
        if zero_grad:
            self.zero_grad()
    def second_step(self, zero_grad=False):
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()
"""


def runs_that_stay_up() -> tuple[Scenario, list[Run]]:
    """Parameters have two learning rates: e is a mixture of gradients, but not of gradients times those rates."""
    driver, runs = load_driver(driver_modules("sam_accumulation")["SAM"]), []
    scenario = next(s for s in driver.scenarios if s.problem is not None)
    for source in (SAM_THAT_STAYS_UP, solution_source("04")):
        program = load_program(source)
        runs.append(play(driver, program, seed=5, only=[scenario.name]).runs[scenario.name])
        program.unload()
    return scenario, runs


def test_a_climb_that_is_not_taken_back_is_no_unexplained_rest() -> None:
    scenario, runs = runs_that_stay_up()
    assert len(set(runs[0].evidence["lr"][1])) == 2
    recipe = recover_recipe(scenario, *runs, 1, Env(5, torch.device("cpu"), scenario.name))
    assert recipe.has_unscaled_part
    assert recipe.residual < 1e-9  # float64 least squares of a well-conditioned system
    assert np.allclose(recipe.got, recipe.expected)


def test_a_learning_rate_next_to_nothing_does_not_stop_the_search() -> None:
    """A gradient divided by it is infinite; a trace, which may be forged, may hold such a rate."""
    scenario, runs = runs_that_stay_up()
    theta, rates = runs[0].arrays["theta"], runs[0].evidence["lr"]
    is_slow = rates[1] == rates[1].min()
    theta[1, is_slow] = theta[0, is_slow]
    rates[:, is_slow] = 1e-320
    recipe = recover_recipe(scenario, *runs, 1, Env(5, torch.device("cpu"), scenario.name))
    assert not recipe.has_unscaled_part
    assert recipe.residual > 0.05


def test_groups_that_are_clipped_apart_are_no_move_without_the_learning_rate() -> None:
    """With two learning rates, another number for each group is a mixture of g and g / rate as well."""
    source = ACCUMULATE.format(weights=[0.25] * 4).replace(
        "        opt.step()",
        "        for group, factor in zip(opt.param_groups, (0.5, 0.9)):\n"
        "            for p in group['params']:\n"
        "                p.grad *= factor\n"
        "        opt.step()",
    )
    recipe = recipe_of(source)
    assert not recipe.has_unscaled_part
    assert recipe.residual > 0.05
