"""Which line of the clinic's code is a right answer, and what is said of the others."""

import random
from itertools import pairwise

import pytest

from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.reference import cached_reference
from grader.observe.play import Scenario
from grader.practice.case import Case, draw
from grader.practice.culprits import find_culprits, lines_of_code
from grader.practice.pointing import on_wrong_line
from grader.practice.visit import Visit

RIGHT = "def f(x):\n    a(x)\n    b(x)\n    c(x)\n    d(x)\n    return x\n"


@pytest.mark.parametrize(
    ("broken", "mending", "lines", "fault"),
    [
        ("a c b d", ["a b c d"], {3, 4}, "moved"),  # either may be moved; `d` only follows
        ("c a b d", ["a b c d"], {2}, "moved"),  # moving `a` or `b` alone mends nothing
        ("c a b d", ["a b c d", "a c b d"], {2, 3}, "moved"),
        ("a b d", [], {3, 4}, "missing"),
        ("a b d", ["a b d c"], {3, 4, 5}, "missing"),  # `c` may stand in two places
        ("a b d", ["a b", "a b d", "a b d c"], {3, 4}, "missing"),  # `c` is not needed, wherever it stands
        ("a b c c d", ["a b c d"], {4, 5}, "wrong"),
        ("a b c d b", ["a c d b", "a b c d"], {3, 6}, "wrong"),  # either may be removed
        ("a b x d", [], {4}, "wrong"),
        ("a b c x d", [], {5}, "wrong"),
    ],
    ids=lambda one: one.replace(" ", "") if isinstance(one, str) else "",
)
def test_only_lines_that_mend_it_count(broken: str, mending: list[str], lines: set[int], fault: str) -> None:
    def program(calls: str) -> str:
        return "".join(["def f(x):\n", *(f"    {call}(x)\n" for call in calls.split()), "    return x\n"])

    found = find_culprits(RIGHT, program(broken), [program(one) for one in mending].__contains__)
    assert (found.lines, found.fault) == (lines, fault)


def test_what_stands_in_another_block_is_told_apart() -> None:
    right = "def f(x):\n    for y in x:\n        a(y)\n        b(y)\n    return x\n"
    found = find_culprits(right, right.replace("        b(y)", "    b(y)"), lambda _: False)
    assert (found.lines, found.fault) == ({4}, "indented")


def _case(mistake: str) -> Case:
    case = draw(load_course().exercise("mend_step"), [mistake], random.Random(1))
    assert case is not None
    return case


def driver_of(case: Case) -> tuple[Scenario, ...]:
    return case.exercise.driver.scenarios


def _code(case: Case) -> list[str]:
    lines = case.text.splitlines()
    return [lines[line - 1].split(".")[-1].strip() for line in sorted(case.lines)]


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        ("step-before-backward", ["step()", "backward()"]),  # `zero_grad()` below them got points
        ("step-after-clearing", ["zero_grad()", "step()"]),
        ("step-twice", ["step()", "step()"]),
    ],
)
def test_the_lines_that_the_mistake_names_are_the_answer(mistake: str, code: list[str]) -> None:
    assert _code(_case(mistake)) == code


@pytest.mark.parametrize(
    ("mistake", "asked"), [("missing-zero-grad", False), ("missing-step", True), ("step-twice", True)]
)
def test_where_most_lines_are_right_none_is_asked_for(mistake: str, asked: bool) -> None:
    """`zero_grad()` may stand nearly anywhere: whatever was pointed at would be an answer."""
    visit = Visit(_case(mistake), random.Random(1))
    assert visit.can_be_pointed_at is asked
    assert asked or visit.question is None, "choices without a line to point at"


@pytest.mark.parametrize("exercise", ["mend_step", "train_step", "accumulate"])
def test_beside_every_place_for_a_missing_line_is_an_answer(exercise: str) -> None:
    """Where `zero_grad()` may stand in four places, only the solution's was accepted.

    Each line of the solution's that the case lacks is put between all its lines, and the whole is played.
    """
    known = cached_reference(exercise, SEED)
    for mistake in known.exercise.mistakes:
        case = draw(known.exercise, [mistake.id], random.Random(1))
        if case is None or case.fault != "missing" or case.repair().count("\n"):
            continue
        lines, offset = case.program.splitlines(), case.text.count("\n") - case.program.count("\n")
        code = lines_of_code(case.program)
        for above, below in pairwise([*code, len(lines) + 1]):
            text = "\n".join([*lines[: below - 1], case.repair()[2:], *lines[below - 1 :]])
            if all(known.reproduces(text, s.name, known.solution_run(s.name)) for s in driver_of(case)):
                beside = {line + offset for line in (above, below) if line in code}
                assert beside <= case.lines, f"{mistake.id}\n{text}"
        for line in range(1, min(case.lines)):
            assert "더 아래예요" in on_wrong_line(case, line, kind=False)


def test_a_missing_zero_grad_is_found_at_each_of_its_four_places() -> None:
    case = _case("missing-zero-grad")
    offset = case.text.count("\n") - case.program.count("\n")
    assert {line + offset for line in lines_of_code(case.program)} == case.lines


def test_what_does_not_even_load_mends_nothing() -> None:
    """At a class's top, `self` is no name; the solution that lay there under the same name was played instead."""
    case = draw(load_course().exercise("Snapshot"), ["forgets-numpy-state"], random.Random(1))
    assert case is not None
    load = next(n for n, line in enumerate(case.text.splitlines(), 1) if "def load" in line)
    assert min(case.lines) > load


def test_of_a_wrong_line_something_true_and_helpful_is_said() -> None:
    case = _case("step-before-backward")
    last = len(case.text.splitlines())
    visit = Visit(case, random.Random(1))
    assert visit.question is None
    first = visit.marked(last)
    assert first.lines == (
        f"{last}번째 줄 때문은 아니에요.",
        "`opt.zero_grad()`는 정답에도 있는 줄이에요. 「SGD」에서 이 줄은 5번 실행됐고, 정답에서도 5번이에요. "
        "볼 곳은 더 위예요.",
        "다른 줄을 골라 보세요.",
    )
    assert "차례가 틀렸어요" in visit.marked(1).lines[1]
    told = [on_wrong_line(case, line, kind=False) for line in (1, 2, 4, 5)]
    assert [one.split(". ")[0].rstrip(".") for one in told] == [
        "import에는 틀린 것이 없어요",
        "빈 줄이에요",
        "함수의 이름과 인자는 맞아요",
        "docstring에는 틀린 것이 없어요",
    ]
    assert all("더 아래예요" in one for one in told)
    assert visit.marked(min(case.lines)).lines[0] == "찾았어요!"
