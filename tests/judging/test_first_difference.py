"""Which difference is said first: a fact in words before the numbers that go with it."""

import numpy as np

from grader.judging.compare_runs import find_difference
from grader.judging.first_difference import describe_first_difference
from grader.judging.reference import cached_reference
from grader.observe.trace import Fact, Run


def _run(fact: Fact, mark: float, **arrays: float) -> Run:
    held = {name: np.array([value]) for name, value in {"모드": mark, **arrays}.items()}
    return Run(arrays=held, facts={"모드": fact})


def test_words_come_before_the_numbers_of_the_same_name() -> None:
    found = find_difference(_run("평가", 0.1), _run("학습", 0.7), 1e-9)
    assert found is not None
    assert (found.kind, found.name) == ("fact", "모드")


def test_right_words_do_not_hide_wrong_numbers() -> None:
    found = find_difference(_run("학습", 0.1), _run("학습", 0.7), 1e-9)
    assert found is not None
    assert (found.kind, found.name) == ("array", "모드")
    without = Run(facts={"모드": "학습"})
    assert find_difference(without, _run("학습", 0.7), 1e-9) is not None
    assert find_difference(_run("학습", 0.7), without, 1e-9) is not None


def test_other_numbers_still_come_before_words() -> None:
    found = find_difference(_run("평가", 0.1, 손실=1.0), _run("학습", 0.7, 손실=2.0), 1e-9)
    assert found is not None
    assert (found.kind, found.name) == ("array", "손실")


def test_what_was_changed_is_told_beside_nothing() -> None:
    scenario = cached_reference("gather_metrics", 0).exercise.driver["tensors"]
    run, solution = Run(facts={"받은 데이터에서 바뀐 것": "텐서의 값"}), Run()
    first = find_difference(run, solution, scenario.atol)
    assert first is not None
    described = describe_first_difference(scenario, first, run, solution)
    assert (described.got, described.expected) == ("텐서의 값", "없음")
