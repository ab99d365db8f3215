"""Which line of the clinic's code is a right answer, and what is said of the others."""

import random

import pytest

from grader.course.reading import load_course
from grader.practice.case import Case, draw
from grader.practice.culprits import find_culprits
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
        ("a b c c d", [], {4, 5}, "wrong"),
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


def _code(case: Case) -> list[str]:
    lines = case.text.splitlines()
    return [lines[line - 1].split(".")[-1].strip() for line in sorted(case.lines)]


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        ("step-before-backward", ["step()", "backward()"]),  # `zero_grad()` below them got points
        ("step-after-clearing", ["zero_grad()", "step()"]),
        ("missing-zero-grad", ["step()"]),
        ("step-twice", ["step()", "step()"]),
    ],
)
def test_the_lines_that_the_mistake_names_are_the_answer(mistake: str, code: list[str]) -> None:
    assert _code(_case(mistake)) == code


def test_of_a_wrong_line_something_true_and_helpful_is_said() -> None:
    case = _case("step-before-backward")
    last = len(case.text.splitlines())
    visit = Visit(case, random.Random(1))
    assert visit.question is None
    first = visit.marked(last)
    assert first.lines == (
        f"{last}번째 줄 때문은 아니에요.",
        "`opt.zero_grad()`는 정답에도 있는 줄이에요. 볼 곳은 더 위예요. 다시 골라 보세요.",
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
