"""Combinations that explain as much are compared by what their programs do: by programs that can be made."""

from grader.judging.edits import Combination
from grader.judging.mistake_search import FoundMistakes
from grader.judging.reference import Reference, cached_reference
from grader.judging.tie_break import break_tie
from grader.observe.trace import Trace


def _combination(its: Reference, *names: str) -> Combination:
    return its.in_toml_order(variant for variant in its.variants if variant.name in names)


def _solution_trace(its: Reference) -> Trace:
    return Trace({s.name: its.solution_run(s.name) for s in its.exercise.driver.scenarios})


def test_what_cannot_be_combined_has_no_run() -> None:
    """It had the solution's."""
    its = cached_reference("train_step", 1)
    apart = _combination(its, "zero-grad-before-step", "repeats-the-step")
    assert its.source_with_mistakes(apart) is None
    assert its.run_with_mistakes(apart, its.exercise.driver.scenarios[0].name) is None


def test_a_variant_is_exchanged_only_if_the_program_can_be_made() -> None:
    """Otherwise the right program competed, and won against a learner who works like it."""
    its = cached_reference("train_step", 1)
    found = FoundMistakes(
        (
            _combination(its, "zero-grad-before-step/1", "repeats-the-step"),
            _combination(its, "zero-grad-before-step/1", "backward-twice"),
        )
    )
    kept = break_tie(found, _solution_trace(its), its)
    assert kept
    assert all(its.source_with_mistakes(combination) is not None for combination in kept)


def test_a_variant_is_exchanged_only_if_the_runs_stay_those_of_the_learner() -> None:
    """Two variants that behave alike alone may differ beside another mistake."""
    its = cached_reference("train_step", 1)
    learners = _combination(its, "softmax-before-loss", "swapped-loss-arguments")
    found = FoundMistakes((learners, _combination(its, "missing-zero-grad")), explained=("sgd",))
    source = its.source_with_mistakes(learners)
    assert source is not None
    run = its.complete_run(source, "sgd")
    kept = break_tie(found, Trace({"sgd": run}), its)
    assert learners in kept
    sources = [its.source_with_mistakes(combination) for combination in kept]
    assert all(source is not None and its.reproduces(source, "sgd", run) for source in sources)
