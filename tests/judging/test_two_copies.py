"""A mistake in one of two copies of the same code: one copy for full windows, one for a short last one."""

import pytest

from grader.course.course import Cases
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.compare_runs import differing_fields
from grader.judging.edits import combination_source, variant_source, variants_of
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.two_copies import two_copies
from grader.observe.play import play
from grader.observe.program import load_program

RIGHT = '''def f(items, n):
    """Doc."""
    total = 0
    while window := items[:n]:
        # one after another
        for one in window:
            total += one / 2
        items = items[n:]
    return total
'''
CASES = Cases(
    condition="len(window) == n",
    first="처음이에요.",
    second="다음이에요.",
    mistakes=(),
    inside="while window := items[:n]:",
)

LEARNER = """import torch

def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError(accum_steps)

    def clip():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    count, waiting = 0, []
    opt.zero_grad()
    for pair in micro_batches:
        waiting.append(pair)
        if len(waiting) == accum_steps:
            for xb, yb in waiting:
                (loss_fn(model(xb), yb) / accum_steps).backward()
            clip()
            opt.step()
            opt.zero_grad()
            count, waiting = count + 1, []
    if waiting:
        for xb, yb in waiting:
            loss_fn(model(xb), yb).backward()
        clip()
        opt.step()
        opt.zero_grad()
        count += 1
    return count
"""


def run(source: str, items: list[int], n: int) -> float:
    program = load_program(source)
    result = program.names["f"](items, n)
    assert isinstance(result, float)
    return result


def test_each_copy_is_executed_in_its_case() -> None:
    source = two_copies(RIGHT.replace("/ 2", "/ 4"), RIGHT, CASES)
    assert source is not None
    assert run(source, [4, 4, 4], 2) == 1 + 1 + 2
    assert run(source, [4, 4], 4) == 4
    assert source.count('"""Doc."""') == source.count("return total") == 1


def test_a_whole_body_is_copied_without_its_docstring() -> None:
    whole = Cases(condition="n > 2", first="가", second="나", mistakes=())
    source = two_copies(RIGHT, RIGHT.replace("/ 2", "/ 4"), whole)
    assert source is not None
    assert (run(source, [4, 4], 3), run(source, [4, 4], 2)) == (4, 2)
    assert source.count('"""Doc."""') == 1
    assert source.count("return total") == 2


@pytest.mark.parametrize(
    "broken", ["def f(:", RIGHT.replace("total = 0", "total = 1"), RIGHT.replace("[:n]:", "[: n]:")]
)
def test_programs_that_differ_outside_of_the_block_have_no_copies(broken: str) -> None:
    assert two_copies(RIGHT, broken, CASES) is None


@pytest.mark.parametrize("name", [n for n, e in load_course().exercises.items() if e.cases])
def test_a_mistake_in_both_copies_is_the_mistake(name: str) -> None:
    """Two right copies play like the solution, and a mistake of one copy differs from it somewhere."""
    exercise, its = load_course().exercise(name), cached_reference(name, SEED)
    right = combination_source(exercise, (), in_two_copies=True)
    assert right is not None
    for scenario in exercise.driver.scenarios:
        copied, solution = its.complete_run(right, scenario.name), its.solution_run(scenario.name)
        assert not differing_fields(copied, solution, 0.0), scenario.name
    in_one = [variant for variant in variants_of(exercise) if variant.copy]
    assert {variant.mistake.id for variant in in_one} == set(
        exercise.cases.mistakes if exercise.cases else ()
    )
    assert len({variant_source(exercise, variant) for variant in in_one}) == len(in_one)
    for variant in in_one:
        assert any(its.behaviour(variant, scenario.name) for scenario in exercise.driver.scenarios), (
            variant.name
        )


def test_a_mistake_in_the_code_for_the_last_window_is_named_and_told_where() -> None:
    exercise = load_course().exercise("accumulate")
    trace = play(exercise.driver, load_program(LEARNER), seed=SEED)
    feedback = assess(exercise, trace, cached_reference("accumulate", SEED), LearnerCode(LEARNER))
    (named,) = feedback.diagnosis.mistakes
    assert named.id == "no-division"
    assert named.explain.startswith("이 실수는 짧은 마지막 구간에만 나와요. ")
    assert named.titles[0].endswith(" (짧은 마지막 구간)")
    assert named.line == LEARNER.splitlines().index("            loss_fn(model(xb), yb).backward()") + 1
