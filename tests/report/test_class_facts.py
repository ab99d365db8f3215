"""What the results of a class say, counted."""

from dataclasses import replace

import pytest

from grader.course.feedback import SubmissionResult
from grader.report.class_facts import (
    ExerciseFacts,
    also_stuck,
    count_mistakes,
    count_raised,
    exercises_of,
    feedback_to_read_first,
    hardest_first,
    lessons_of,
    reteach,
    score_bins,
    tried,
)
from tests.report import samples


def test_mistakes_are_counted_once_a_student() -> None:
    """Whoever forgets zero_grad in two exercises is still one student."""
    twice = SubmissionResult(
        "x", (samples.named_mistake(), replace(samples.named_mistake(), exercise="fit"), samples.unknown())
    )
    counts = count_mistakes([twice, SubmissionResult("y", (samples.named_mistake(),))])
    assert [(c.id, c.students, c.exercises) for c in counts] == [
        ("missing-zero-grad", 2, ("train_step", "fit")),
        ("", 1, ("fit",)),
    ]
    assert count_mistakes([samples.passed_all("z")]) == []


def test_most_telling_is_a_named_mistake() -> None:
    """A name helps more than a lost point: it stands before an exception that costs more."""
    feedbacks = (samples.raised(), samples.passed(), samples.joined())
    assert feedback_to_read_first(SubmissionResult("x", feedbacks)) == samples.joined()
    assert (
        feedback_to_read_first(samples.all_of("x", "missing")) == samples.all_of("x", "missing").feedbacks[0]
    )
    assert feedback_to_read_first(samples.passed_all("x")) is None
    absent = samples.all_of("x", "missing").feedbacks[0]
    begun = (
        replace(absent, lesson="00"),
        replace(samples.passed(), lesson="01"),
        replace(absent, lesson="01"),
    )
    assert feedback_to_read_first(SubmissionResult("x", begun)) == begun[2]


def test_of_equally_frequent_mistakes_the_one_of_fewer_students_who_could_comes_first() -> None:
    """Two of two is more than two of a hundred."""
    rare = replace(
        samples.named_mistake(),
        exercise="fit",
        diagnosis=replace(samples.pair().diagnosis, mistakes=(samples.DROPS_LEFTOVER,)),
    )
    both = SubmissionResult("x", (samples.named_mistake(), rare))
    right = SubmissionResult("y", (replace(samples.passed(), exercise="train_step"),))
    counts = count_mistakes([both, both, right])
    assert [(c.id, c.students, c.tried) for c in counts] == [
        ("drops-leftover", 2, 2),
        ("missing-zero-grad", 2, 3),
    ]


def test_an_answer_is_what_somebody_wrote() -> None:
    """Neither an absent function, nor a broken file, nor the starter as it was handed out."""
    assert tried(samples.named_mistake())
    assert tried(samples.stopped("timeout"))
    assert not tried(samples.stopped("missing"))
    assert not tried(samples.stopped("unreadable"))
    assert not tried(samples.not_begun())


def test_an_exercise_parts_its_students_in_four() -> None:
    students = samples.large_class(8).submissions
    by_name = {e.name: e for e in exercises_of(students, samples.course())}
    first = by_name["train_step"]
    assert (first.passed, first.partly, first.nothing, first.untried) == (2, 4, 0, 2)
    assert (first.tried, first.share) == (6, pytest.approx(1 / 3))
    assert by_name["autograd_nodes"].nothing == 2  # timeouts
    assert by_name["amp_step"].untried == 8
    hardest = hardest_first(by_name.values())
    assert hardest[0].name == "train_step"
    assert [e.share for e in hardest] == sorted(e.share for e in hardest)
    assert "amp_step" not in [e.name for e in hardest]


def test_lessons_know_whether_anybody_began_them() -> None:
    course = samples.course()
    lessons = lessons_of(exercises_of(samples.large_class(8).submissions, course), course)
    assert [(lesson.id, lesson.title, lesson.begun) for lesson in lessons] == [
        ("01", "한 train step", True),
        ("02", "", False),
    ]


@pytest.mark.parametrize("most", [0.5, 1, 4, 7, 28, 99.5, 152, 1000])
def test_bins_hold_everybody_once(most: float) -> None:
    """Also zero, full marks, and marks on the border between two bins."""
    scores = [most * i / 20 for i in range(21)]
    bins = score_bins(scores, most)
    assert len(bins) <= 10
    assert sum(b.students for b in bins) == len(scores)
    assert (bins[0].low, bins[-1].high) == (0, most)
    for one in bins:
        inside = [s for s in scores if one.low <= s and (s < one.high or one.last)]
        assert one.students == len(inside)
    assert score_bins([0.0, 0.0], 0.0) == []


# ---- what to teach again ------------------------------------------------------------------------------


def facts(name: str, passed: int, nothing: int) -> ExerciseFacts:
    return ExerciseFacts(name, name, "01", 4, passed, 0, nothing, 0)


def test_the_most_frequent_mistake_is_taught_first() -> None:
    students = samples.large_class(8).submissions
    told = reteach(count_mistakes(students), exercises_of(students, samples.course()))
    assert told == (
        "`train_step`의 답안을 쓴 6명 가운데 4명이 한 실수인 ‘`opt.zero_grad()`를 부르지 않았어요’부터 "
        "다시 설명해 보세요."
    )


def test_without_a_shared_mistake_the_exercise_that_most_fail_is_taught_first() -> None:
    told = reteach([], [facts("fit", 5, 3), facts("evaluate", 0, 2)])
    assert told == "답안을 쓴 8명 가운데 3명이 통과하지 못한 `fit`부터 다시 설명해 보세요."


def test_nothing_in_common_is_told_as_that() -> None:
    """One student's mistake is nothing to teach a class; and nobody's answers say nothing at all."""
    one = count_mistakes([SubmissionResult("x", (samples.named_mistake(),))])
    assert "여러 명이 함께 막힌 곳은 없으니" in reteach(one, [facts("train_step", 3, 1)])
    assert "여러 명이 함께 막힌 곳은 없으니" in reteach([], [facts("train_step", 3, 0)])
    assert reteach([], [facts("train_step", 0, 0)]) == ""


def test_exceptions_come_first_where_most_students_have_one() -> None:
    """219 of 300 raised an exception, and the headline spoke of 4 who made the same mistake."""
    raising = [SubmissionResult(str(n), (samples.raised(),)) for n in range(4)]
    students = [*raising, *(SubmissionResult(f"m{n}", (samples.named_mistake(),)) for n in range(2))]
    exercises = exercises_of(students, samples.course())
    told = reteach(count_mistakes(students), exercises, count_raised(students))
    kind = str(samples.raised().error).partition(":")[0]
    assert told == (
        "답안을 쓴 6명 가운데 4명의 코드에서 예외가 났어요. "
        f"가장 많은 `{samples.raised().exercise}`({kind}, 4명)부터 다시 설명해 보세요."
    )
    assert "예외" not in reteach(count_mistakes(students[3:]), exercises, count_raised(students[3:]))


def test_scattered_exceptions_do_not_hide_a_mistake_that_many_make() -> None:
    """Five exceptions of five kinds are nothing to explain again; three who make one mistake are."""
    kinds = [
        replace(samples.raised(), error=f"{kind}Error: x")
        for kind in ("Type", "Name", "Value", "Key", "Index")
    ]
    raising = [SubmissionResult(f"r{n}", (one,)) for n, one in enumerate(kinds)]
    named = [SubmissionResult(f"m{n}", (samples.named_mistake(),)) for n in range(3)]
    passed = [SubmissionResult(f"p{n}", (samples.passed(),)) for n in range(4)]
    students = [*raising, *named, *passed]
    exercises = exercises_of(students, samples.course())
    told = reteach(count_mistakes(students), exercises, count_raised(students))
    assert "3명이 한 실수인" in told
    assert (
        also_stuck(count_mistakes(students), count_raised(students))
        == "코드에서 예외가 난 학생 5명도 있어요."
    )


def test_mistakes_without_a_name_come_first_where_most_students_make_one() -> None:
    students = [SubmissionResult(str(n), (samples.unknown(),)) for n in range(3)]
    told = reteach(count_mistakes(students), exercises_of(students, samples.course()), count_raised(students))
    assert "3명 가운데 3명이 목록에 없는 방식으로 틀렸어요" in told


def test_those_whom_no_named_mistake_describes_are_counted_beside_the_headline() -> None:
    named = [SubmissionResult(f"n{i}", (samples.named_mistake(),)) for i in range(3)]
    syntax = replace(samples.named_mistake(), status="error", error=None, diagnosis=samples.Diagnosis())
    others = [SubmissionResult("a", (syntax,)), SubmissionResult("b", (samples.unknown(),))]

    def told(students: list[SubmissionResult]) -> str:
        return also_stuck(count_mistakes(students), count_raised(students))

    assert (
        told([*named, *others]) == "코드에서 예외가 난 학생 1명, 목록에 없는 방식으로 틀린 학생 1명도 있어요."
    )
    assert told(named) == ""
    raised = [SubmissionResult(f"r{i}", (syntax,)) for i in range(4)]
    assert told([*named, *raised, others[1]]) == "목록에 없는 방식으로 틀린 학생 1명도 있어요."
    said = reteach(count_mistakes(raised), exercises_of(raised, samples.course()), count_raised(raised))
    assert "`train_step`(문법 오류, 4명)" in said
