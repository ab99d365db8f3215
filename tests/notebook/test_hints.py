"""Hints come one at a time, those not seen yet in their order, and the counter counts each of them once."""

import re
from collections.abc import Sequence

import pytest

from grader.course.feedback import MOST_MISTAKES
from grader.course.reading import load_course
from grader.learner.progress import Progress
from grader.notebook.hints import Hints, hints_left, next_hints, total_hints
from grader.report.hint_ladder import STEP_NAMES

EXERCISE = load_course().exercise("train_step")
NAME = EXERCISE.name


def named(*mistakes: str, hinted: Sequence[str] | None = None) -> None:
    """Record a failed check that named these mistakes, with all steps about those that are `hinted`."""
    about = mistakes if hinted is None else hinted
    road = tuple((id_, (f"{id_} idea", f"{id_} place", f"{id_} line")) for id_ in about)
    Progress.load().record_check(NAME, False, mistakes, road=road)


def ask(*, answer: bool = False) -> Hints:
    hints = next_hints(EXERCISE, answer=answer, how_to_ask="A", how_to_see_the_answer="B")
    assert hints is not None
    return hints


def newest(hints: Hints) -> str:
    return hints.seen[-1][1]


def left() -> int:
    return hints_left(EXERCISE, Progress.load())


def headings(hints: Hints) -> list[str]:
    return re.findall(r"힌트 (\d+/\d+)", hints.text)


def test_each_hint_that_is_not_seen_counts_as_one() -> None:
    """The hints about `b` were seen before `a` was named, too: three steps and the answer are left, not seven."""
    named("b")
    seen = [newest(ask()) for _ in STEP_NAMES]
    named("a", "b")
    lefts = [left()]
    for number, step in enumerate(("idea", "place", "line"), start=len(STEP_NAMES) + 1):
        hints = ask()
        seen.append(f"a {step}")
        assert [text for _, text in hints.seen] == seen, "in the order in which they were shown"
        assert headings(hints)[-1] == f"{number}/7"
        lefts.append(left())
    assert lefts == [4, 3, 2, 1]
    assert ask().confirm
    assert left() == 1
    assert newest(ask(answer=True)) == EXERCISE.hints[-1]
    assert (left(), total_hints(EXERCISE, Progress.load())) == (0, 7)


def test_the_line_below_names_the_number_of_the_next_hint() -> None:
    named("b")
    for _ in STEP_NAMES:
        ask()
    named("a", "b")
    assert ask().next_line == "다음 힌트 (5/7): A"


def test_what_was_seen_of_a_mistake_stays_in_its_place() -> None:
    """The second mistake was begun before the first was named; asking goes on with the first, and then the second."""
    named("b")
    ask()
    named("a", "b")
    texts = [newest(ask()) for _ in range(5)]
    assert texts == ["a idea", "a place", "a line", "b place", "b line"]
    names = [name for name, _ in ask().seen]
    assert names[0] == f"{STEP_NAMES[0]} (2번 실수)"
    assert names[1] == f"{STEP_NAMES[0]} (1번 실수)"


@pytest.mark.parametrize(("number", "said"), [(1, ""), (2, " (1번 실수)"), (5, " (1번 실수)")])
def test_mistakes_without_hints_are_not_counted(number: int, said: str) -> None:
    """Of five named ones there are hints about the first three: after the third comes the answer, no fourth."""
    mistakes = [f"m{n}" for n in range(number)]
    named(*mistakes, hinted=mistakes[:MOST_MISTAKES])
    assert ask().seen == ((f"{STEP_NAMES[0]}{said}", "m0 idea"),)


def test_clues_are_asked_for_one_by_one_even_after_the_answer() -> None:
    """The answer came after hints about a mistake; the next check names none, and no clue was seen yet."""
    named("a")
    for _ in STEP_NAMES:
        ask()
    ask(answer=True)
    named()
    assert left() == len(EXERCISE.clues)
    for number, clue in enumerate(EXERCISE.clues, start=2):
        hints = ask()
        assert newest(hints) == clue
        assert headings(hints)[-1] == f"{number}/{len(EXERCISE.hints)}"
    assert left() == 0


def test_a_hint_that_is_shown_again_is_not_recorded_again() -> None:
    named("a")
    for _ in range(len(STEP_NAMES) + 1):
        ask(answer=True)
    before = len(Progress.load().events)
    assert ask().seen == ask().seen
    assert (ask().next_line, ask().confirm) == ("", "")
    assert len(Progress.load().events) == before


def test_a_reset_forgets_what_was_seen() -> None:
    named("a")
    ask()
    Progress.load().forget(NAME)
    assert left() == len(EXERCISE.hints)
    assert newest(ask()) == EXERCISE.clues[0]


@pytest.mark.parametrize("number", [0, -1, 4, 10**12, "1", None, 1.0])
def test_a_forged_number_shows_nothing(number: object) -> None:
    from grader.learner.event import happened

    named("a")
    Progress.load().record([happened("hint", NAME, number=number, mistake="a")])
    assert left() == len(STEP_NAMES) + 1
