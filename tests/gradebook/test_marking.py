"""Marks: what a policy and marks by hand make of points, by examples whose result can be computed in the head."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.base.errors import HanstepError
from grader.cli.class_inputs import read_rules
from grader.course.feedback import Absent, ClassResult, Person
from grader.course.marks import Mark
from grader.gradebook.marking import Rules, marked, taken_as_in_time
from grader.gradebook.overrides import read_overrides
from grader.gradebook.policy import read_policy
from grader.report.results import from_json, to_json
from tests.gradebook import graded
from tests.places import ROOT

LONG = "9" * 5_000
"""Python reads no number of more than 4,300 digits."""


def rules(
    tmp_path: Path, policy: str | None = None, overrides: str | None = None, extensions: str | None = None
) -> Rules:
    used = {"policy.toml": policy, "overrides.csv": overrides, "extensions.csv": extensions}
    for name, text in used.items():
        if text is not None:
            (tmp_path / name).write_text(text, encoding="utf-8")
    return read_rules(*(None if text is None else tmp_path / name for name, text in used.items()))


def marks(result: ClassResult, used: Rules) -> dict[str, tuple[float, float]]:
    found = marked(result, used, graded.KNOWN).submissions
    return {s.student[:8]: (s.mark.score, s.mark.max_score) for s in found if s.mark is not None}


def mark(result: ClassResult, used: Rules, student: int = 0) -> Mark:
    found = marked(result, used, graded.KNOWN).submissions[student].mark
    assert found is not None
    return found


def test_without_rules_there_is_no_mark() -> None:
    result = graded.a_class()
    assert marked(result, Rules(), graded.KNOWN) == result


def test_an_empty_policy_gives_what_was_measured(tmp_path: Path) -> None:
    found = marks(graded.a_class(), rules(tmp_path, ""))
    assert found == {"20240001": (15, 20), "20240002": (12, 20), "누구": (20, 20)}


def test_points_replace_those_of_the_course(tmp_path: Path) -> None:
    found = marks(graded.a_class(), rules(tmp_path, "[points]\ntrain = 100\nfit = 0\n"))
    assert found["20240001"] == (4 + 50, 104)


def test_weights_of_lessons_and_what_the_full_mark_is_called(tmp_path: Path) -> None:
    found = marks(graded.a_class(), rules(tmp_path, 'out_of = 50\n[weights]\n"01" = 60\n"02" = 40\n'))
    assert found["20240001"] == (50 * (0.6 + 0.4 * 0.5), 50)
    assert found["20240002"] == (50 * (0.6 * 0.2 + 0.4) * 1, 50)


def test_drops_keep_the_full_mark_the_same_for_all(tmp_path: Path) -> None:
    found = marks(graded.a_class(), rules(tmp_path, "[drop]\nlowest = 1\n"))
    assert found["20240001"] == (20, 20), "train, the only one that is not right, is dropped"
    assert found["20240002"] == (pytest.approx(20 * 12 / 14, abs=1e-3), 20), "fit is dropped"
    found = marks(graded.a_class(), rules(tmp_path, '[drop]\nexercises = ["train"]\n'))
    assert found["20240001"] == (10, 10)
    assert marks(graded.a_class(), rules(tmp_path, "[drop]\nlowest = 99\n"))["누구"] == (20, 20), "one stays"


def test_what_the_system_subtracts_is_not_subtracted_twice(tmp_path: Path) -> None:
    ours = mark(graded.a_class(), rules(tmp_path, "[late]\nmarked = 25\n"), 1)
    assert ours.late_percent == 25
    theirs = mark(graded.a_class(), rules(tmp_path, "[late]\nby_system = true\n"), 1)
    assert (theirs.score, theirs.late_percent, theirs.reasons) == (12, 0, ())


def test_a_late_mark_of_the_system_costs_what_the_policy_says(tmp_path: Path) -> None:
    found = mark(graded.a_class(), rules(tmp_path, "[late]\nmarked = 25\n"), 1)
    assert (found.score, found.reasons) == (9, ("늦게 냈어요: 25%를 뺐어요.",))
    assert mark(graded.a_class(), rules(tmp_path, "[late]\nmarked = 25\n"), 0).score == 15


@pytest.mark.parametrize(
    ("at", "section", "score"),
    [
        ("2026-03-20T23:59:00+09:00", "A", 20),
        ("2026-03-20T15:09:00+00:00", "A", 20),  # ten minutes of grace
        ("2026-03-20T15:09:01+00:00", "A", 18),
        ("2026-03-22T00:00:00", "A", 16),  # without a zone: Seoul's
        ("2026-03-22T00:00:00", "B", 20),  # another deadline
        ("2026-03-26T12:00:00", "B", 15),  # a day late, at 25 % a day
        ("2026-04-01T12:00:00", "A", 12),  # at most 40 %
        ("2026-05-01T12:00:00", "A", 0),
        ("2026-03-22 0:00", "A", 16),  # as spreadsheets write it
    ],
)
def test_lateness_by_deadline_and_section(at: str, section: str, score: float, tmp_path: Path) -> None:
    policy = """
[late]
deadline = 2026-03-20T23:59:00
grace_minutes = 10
per_day = 10
most = 40
closed_after_days = 30
[late.sections.B]
deadline = 2026-03-26T00:00:00+09:00
per_day = 25
"""
    one = graded.student("s", (4, 6, 10), Person("1", "s", section), at=at)
    result = replace(graded.a_class(), submissions=(one,))
    assert mark(result, rules(tmp_path, policy)).score == score


@pytest.mark.parametrize("at", ["no time", "26/03/22 0:30", "2026-13-40 00:00", "2026-03-20", "2.021E+08"])
def test_a_time_that_cannot_be_read_is_not_taken_for_in_time(at: str, tmp_path: Path) -> None:
    one = graded.student("s", (4, 6, 10), Person("20240001", "s", "A"), at=at)
    result = replace(graded.a_class(), submissions=(one,))
    policy = "[late]\ndeadline = 2026-03-20T23:59:00\nper_day = 10\n"
    with pytest.raises(HanstepError) as error:
        marked(result, rules(tmp_path, policy), graded.KNOWN)
    said = str(error.value)
    assert at in said
    assert "20240001" in said
    assert "2026-03-20 23:50" in said, "it says what to write"
    assert marked(result, rules(tmp_path, ""), graded.KNOWN), "without a deadline it tells nothing"


def test_marks_by_hand_come_with_their_reason(tmp_path: Path) -> None:
    text = """학번,연습,점수,까닭
20240001,train,9.5,재채점
20240002,전체,20,구두 시험
누구,fit,0,직접 쓰지 않음
20240003,전체,7,병가
"""
    found = marked(graded.a_class(), rules(tmp_path, "[late]\nmarked = 50\n", text), graded.KNOWN)
    first, second, third = (s.mark for s in found.submissions)
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.score, first.reasons) == (19.5, ("train: 9.5/10점을 직접 주었어요. 재채점",))
    assert first.exercises[2].reason == "재채점"
    assert second.score == 20, "the whole mark by hand is the last word, also for who was late"
    assert second.reasons[-1] == "전체 20점을 직접 주었어요. 구두 시험"
    assert third.score == 14
    assert found.absent[0].mark == Mark(7, 20, reasons=("전체 7점을 직접 주었어요. 병가",))


def test_what_was_measured_stays(tmp_path: Path) -> None:
    """Another policy needs no regrade: the points are still there, in the file too."""
    text = "학번,연습,점수,까닭\n20240001,train,9.5,재채점\n"
    once = marked(graded.a_class(), rules(tmp_path, "out_of = 100\n", text), graded.KNOWN)
    again = from_json(to_json(once))
    assert again == once
    assert [s.score for s in again.submissions] == [15, 12, 20]
    assert marked(again, Rules(), graded.KNOWN) == graded.a_class()


def test_nothing_handed_in_is_zero_only_where_the_policy_says_so(tmp_path: Path) -> None:
    assert marked(graded.a_class(), rules(tmp_path, ""), graded.KNOWN).absent[0].mark is None
    zero = marked(graded.a_class(), rules(tmp_path, 'missing = "zero"\n'), graded.KNOWN).absent[0].mark
    assert zero == Mark(0, 20, reasons=("낸 것이 없어요.",))


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("[points]\ntrain_stap = 3\n", "없는 연습 문제예요: train_stap"),
        ('[drop]\nexercises = ["x"]\n', "없는 연습 문제예요: x"),
        ('[weights]\n"01" = 100\n', "채점한 레슨이 빠져 있어요: 02"),
        ("points = 3", "points의 값이 맞지 않아요"),
        ("[late]\nper_day = 120", "late.per_day의 값이 맞지 않아요"),
        ("[late]\nper_dey = 1", "모르는 키예요: late.per_dey"),
        ('[late.sections."A"]\nper_day = "x"', '[late.sections."A"]: per_day의 값이 맞지 않아요'),
        ('[late.sections."A"]\ndays = 3', "모르는 키가 있어요: days"),
        ("[late]\nper_day = 10", "[late]에 마감이 없어서 per_day = 10에 따라 점수를 뺄 수 없어요"),
        ("[late]\ngrace_minutes = 5\nmarked = 3", "grace_minutes = 5"),
        ("[late]\nmost = 50", "most = 50"),
        ('[late.sections."A"]\nper_day = 5', '[late.sections."A"]에 마감이 없어서 per_day = 5'),
        (
            "[late]\ndeadline = 2026-03-20T23:59:00\nby_system = true\nper_day = 5",
            "by_system = true와 per_day 값이 함께 있어요",
        ),
        ("[late]\nper_dya = 10", "모르는 키예요: late.per_dya. 혹시 per_day인가요?"),
        ('[weigths]\n"01" = 3', "모르는 키예요: weigths. 혹시 weights인가요?"),
        ('[weights]\n"01" = 0\n"02" = 0', '더하면 0이라서 모두 0점이 돼요 ("01" = 0, "02" = 0)'),
        ('[weights]\n"01" = 1\n"02" = 1\n"lesson" = 1', "레슨의 번호가 아니에요: lesson"),
        (
            "[late.sections.C]\ndeadline = 2026-03-20T23:59:00",
            "분반에 아무도 없어요: C. 명단에 있는 분반: A, B",
        ),
        (
            "[late]\ngrace_minutes = -5",
            "late.grace_minutes의 값이 맞지 않아요: -5. 늦어도 봐줄 시간을 분 단위로, 0 이상의 수로",
        ),
        ('[late]\ngrace_minutes = "ten"', "grace_minutes의 값이 맞지 않아요: ten. 늦어도 봐줄 시간을"),
        ("[late]\nclosed_after_days = 0", "closed_after_days의 값이 맞지 않아요: 0. 0보다 큰 일수로"),
        ("[drop]\nlowest = 1.5", "drop.lowest의 값이 맞지 않아요: 1.5. 0 이상의 정수로"),
        ("out_of = nan", "out_of의 값이 맞지 않아요"),
        ("out_of = inf", "out_of의 값이 맞지 않아요"),
        ("[points]\ntrain = nan", "points의 값이 맞지 않아요"),
        ("[late.sections.A]\nper_day = nan", "per_day의 값이 맞지 않아요"),
        ("out_of = 0", "out_of의 값이 맞지 않아요"),
        ('missing = "maybe"', "missing의 값이 맞지 않아요"),
        ('timezone = "../etc"', "모르는 시간대예요"),
        ("= 3", "TOML 문법이 틀렸어요"),
        ("x = " + "[" * 5000, "TOML 문법이 틀렸어요"),
        pytest.param(f"out_of = {LONG}", "수가 너무 길어요: 9999999999… (5,000자리)", id="long"),
        pytest.param(f"out_of = {LONG[:4000]}", "out_of의 값이 맞지 않아요", id="no float"),
        pytest.param(f"[late.sections.A]\nper_day = {LONG[:4000]}", "per_day의 값이", id="no float within"),
        pytest.param(f"timezone = '{LONG}'", "모르는 시간대예요: '999", id="long zone"),
        pytest.param(f"missing = '{LONG}'", "missing의 값이 맞지 않아요: '999", id="long missing"),
        pytest.param(f"{LONG} = 1", "모르는 키예요: 999", id="long key"),
        pytest.param(f"[drop]\nexercises = ['{LONG}']", "없는 연습 문제예요: 999", id="long exercise"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_said(policy: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(HanstepError) as error:
        marked(graded.a_class(), rules(tmp_path, policy), graded.KNOWN)
    assert said in str(error.value)
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    "policy",
    [
        "[late]\nmarked = 10\nmost = 50",
        "[late]\nper_day = 10\n[late.sections.B]\ndeadline = 2026-03-20T23:59:00",
        '[weights]\n"01" = 0\n"02" = 5\n"03" = 5',
        "[late]",
    ],
)
def test_a_policy_that_can_be_meant_is_taken(policy: str, tmp_path: Path) -> None:
    """`per_day` for all sections, whose deadlines differ; weights of lessons that are not graded yet."""
    assert marked(graded.a_class(), rules(tmp_path, policy), graded.KNOWN)


LATE = "[late]\ndeadline = 2026-03-20T23:59:00\nper_day = 10\n"


def late(tmp_path: Path, *at: str, policy: str = LATE, extensions: str | None = None) -> list[Mark | None]:
    """Marks of students 1, 2 … who are right and handed in at these times."""
    students = tuple(
        graded.student(f"s{n}", (4, 6, 10), Person(f"2024000{n}", f"s{n}", "A"), at=when)
        for n, when in enumerate(at, start=1)
    )
    result = replace(graded.a_class(), submissions=students)
    return [
        s.mark for s in marked(result, rules(tmp_path, policy, None, extensions), graded.KNOWN).submissions
    ]


def test_a_day_and_a_month_are_told_by_the_others_times(tmp_path: Path) -> None:
    """`04/03/2026` alone is refused; beside 18/03/2026 it is a day of March, beside 3/18/2026 one of April."""
    with pytest.raises(HanstepError) as error:
        late(tmp_path, "04/03/2026 10:00")
    assert "20240001 s1 '04/03/2026 10:00'" in str(error.value)
    assert 'date_order = "month-day"' in str(error.value)
    first, _ = late(tmp_path, "04/03/2026 10:00", "18/03/2026 10:00")
    assert first is not None
    assert first.score == 20
    first, _ = late(tmp_path, "04/03/2026 10:00", "3/18/2026 10:00")
    assert first is not None
    assert first.reasons == ("마감보다 14일 늦게 냈어요: 100%를 뺐어요.",)
    with pytest.raises(HanstepError, match="달과 날을 구별할 수 없어서"):
        late(tmp_path, "04/03/2026 10:00", "3/18/2026 10:00", "18/03/2026 10:00")
    (first,) = late(tmp_path, "04/03/2026 10:00", policy=f'date_order = "day-month"\n{LATE}')
    assert first is not None
    assert first.score == 20


def test_personal_deadlines_and_excuses(tmp_path: Path) -> None:
    table = "학번,마감,면제,까닭\n20240001,2026. 3. 22. 오후 11:59,,예비군\n20240002,,면제,병가\n"
    at = ("2026-03-22 10:00", "2026-03-22 10:00", "2026-03-22 10:00")
    first, second, third = late(tmp_path, *at, extensions=table)
    assert first == Mark(20, 20, first.exercises, ("늘려 준 마감(2026-03-22 23:59) 안에 냈어요.",))  # type: ignore[union-attr]
    assert second is not None
    assert (second.score, second.reasons) == (None, ("면제예요. 병가",)), "nothing is said of lateness"
    assert third is not None
    assert third.score == 16
    policy = f'{LATE}[[extensions]]\nstudent = 20240001\nuntil = 2026-03-21T12:00:00\nreason = "예비군"\n'
    first, second = late(tmp_path, "2026-03-22 10:00", "2026-03-22 10:00", policy=policy)
    assert first is not None
    assert first.score == 18
    assert "늘려 준 마감(2026-03-21 12:00)보다 1일 늦게 냈어요: 10%를 뺐어요." in first.reasons


def test_an_extension_without_a_time_of_handing_in_is_not_guessed(tmp_path: Path) -> None:
    """LATE of a download is late by the class's deadline, perhaps not by one's own."""
    table = "학번,마감,까닭\n20240002,2026-03-25 23:59,예비군\n"
    with pytest.raises(HanstepError) as error:
        marked(graded.a_class(), rules(tmp_path, "[late]\nmarked = 10\n", None, table), graded.KNOWN)
    assert "20240002 =1+1 (늘려 준 마감 2026-03-25 23:59)" in str(error.value)
    assert "'제출 시각' 열" in str(error.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("학번,마감,까닭\n20249999,2026-03-25 23:59,x\n", "2번째 줄: 이 학생을 찾지 못했어요: '20249999'"),
        ("학번,마감,까닭\n20240001,내일,x\n", "2번째 줄: 마감을 읽을 수 없어요: '내일'"),
        ("학번,마감,까닭\n20240001,,x\n", "2번째 줄: 마감도 면제도 적혀 있지 않아요"),
        ("학번,면제,까닭\n20240001,글쎄,x\n", "면제인지 알 수 없어요: '글쎄'"),
        ("학번,면제,까닭\n20240001,o,x\n20240001,o,y\n", "3번째 줄: 같은 학생이"),
        ("학번,까닭\n20240001,x\n", "학번과 마감(또는 면제) 열이 있어야 해요"),
        ("학번,마감\n20240001,04/03/2026 10:00\n", "마감을 읽을 수 없어요: '04/03/2026 10:00'"),
    ],
)
def test_an_extension_that_cannot_be_meant_is_said(table: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(HanstepError) as error:
        marked(graded.a_class(), rules(tmp_path, LATE, None, table), graded.KNOWN)
    assert said in str(error.value)


def test_marks_by_hand_that_add_take_away_and_excuse(tmp_path: Path) -> None:
    text = """학번,연습,점수,까닭
20240001,train,+1,질문에 답함
20240001,전체,+3점,발표
20240002,fit,면제,결석
20240002,train,-0.5,이름이 틀림
누구,전체,면제,청강
"""
    found = marked(graded.a_class(), rules(tmp_path, None, text), graded.KNOWN)
    first, second, third = (s.mark for s in found.submissions)
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.score == 19
    assert first.reasons == (
        "train: 1점을 더해 6/10점이에요. 질문에 답함",
        "전체: 3점을 더해 19/20점이에요. 발표",
    )
    assert second.score == pytest.approx((2 + 9.5) / 14 * 20, abs=1e-3), "the others count for it"
    assert "fit: 면제예요. 결석" in second.reasons
    assert "train: 0.5점을 빼서 9.5/10점이에요. 이름이 틀림" in second.reasons
    assert (third.score, third.reasons) == (None, ("전체: 면제예요. 청강",))
    assert from_json(to_json(found)) == found


def test_points_added_end_at_the_full_mark_and_taken_away_at_zero(tmp_path: Path) -> None:
    text = "학번,연습,점수,까닭\n20240002,train,+5,x\n20240001,train,-9,x\n"
    found = marked(graded.a_class(), rules(tmp_path, None, text), graded.KNOWN)
    first, second, _ = (s.mark for s in found.submissions)
    assert first is not None
    assert second is not None
    assert (first.score, second.score) == (10, 12)


def test_an_exercise_by_hand_for_one_who_handed_in_nothing(tmp_path: Path) -> None:
    text = "학번,연습,점수,까닭\n20240003,train,8,종이로 냄\n"
    found = marked(graded.a_class(), rules(tmp_path, "out_of = 100\n", text), graded.KNOWN)
    mark = found.absent[0].mark
    assert mark is not None
    assert (mark.score, mark.max_score) == (40, 100)
    assert mark.reasons == ("낸 것이 없어요.", "train: 8/10점을 직접 주었어요. 종이로 냄")
    excused = "학번,면제,까닭\n20240003,o,휴학\n"
    found = marked(graded.a_class(), rules(tmp_path, 'missing = "zero"\n', None, excused), graded.KNOWN)
    assert found.absent[0].mark == Mark(None, 20, reasons=("면제예요. 휴학",))


def test_nobody_who_may_be_in_a_group_gets_a_zero(tmp_path: Path) -> None:
    doubtful = replace(graded.a_class(), absent=(Absent(graded.JIWOO, in_doubt=True),))
    assert marked(doubtful, rules(tmp_path, 'missing = "zero"\n'), graded.KNOWN).absent[0].mark is None


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_the_first_and_the_last_day_that_there_is_end_nothing(when: str, tmp_path: Path) -> None:
    """Neither is within what Python can turn into UTC."""
    result = graded.a_class()
    first = replace(result.submissions[0], handed_in=when)
    found = mark(
        replace(result, submissions=(first,)), rules(tmp_path, f"[late]\nper_day = 10\ndeadline = {when}")
    )
    assert found.score == 15


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("20249999,train,1,x", "학생을 찾지 못했어요: '20249999'"),
        ("20240001,trian,1,x", "채점한 연습 문제가 아니에요: 'trian'"),
        ("20240001,train,--1,x", "0 이상의 수가 아니에요: '--1'"),
        ("20240001,train,+x,x", "0 이상의 수가 아니에요: '+x'"),
        ("20240001,train,+1e3,x", "0 이상의 수가 아니에요: '+1e3'"),
        ("20240001,train,nan,x", "0 이상의 수가 아니에요"),
        ("20240001,train,열,x", "0 이상의 수가 아니에요"),
        ("20240001,train,11,x", "만점 10점보다 커요"),
        ("20240001,전체,21,x", "만점 20점보다 커요"),
        ("20240001,train,1,", "까닭이 비어 있어요"),
        pytest.param(f"20240001,train,{LONG},x", "0 이상의 수가 아니에요: '999", id="long score"),
        pytest.param(f"{LONG},train,1,x", "학생을 찾지 못했어요: '999", id="long number"),
        pytest.param(f"20240001,{LONG},1,x", "채점한 연습 문제가 아니에요: '999", id="long exercise"),
        pytest.param("20240001,train,1e300,x", "만점 10점보다 커요", id="large score"),
    ],
)
def test_a_mark_by_hand_that_cannot_be_meant_is_said_with_its_line(
    line: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(HanstepError) as error:
        marked(graded.a_class(), rules(tmp_path, None, f"학번,연습,점수,까닭\n{line}\n"), graded.KNOWN)
    assert said in str(error.value)
    assert "2번째 줄" in str(error.value)
    assert len(str(error.value)) < 600


def test_two_marks_for_one_thing_and_two_students_of_one_name(tmp_path: Path) -> None:
    twice = "학번,연습,점수,까닭\n20240001,train,1,x\n20240001,train,2,y\n"
    with pytest.raises(HanstepError, match="2번째 줄에 같은 학생의 점수가 또 있어요"):
        marked(graded.a_class(), rules(tmp_path, None, twice), graded.KNOWN)
    twins = replace(graded.a_class(), submissions=(
        graded.student("a", (1, 1, 1), Person("1", "김하늘")), graded.student("b", (1, 1, 1), Person("2", "김하늘")),
    ))  # fmt: skip
    with pytest.raises(HanstepError, match="학생이 여럿이에요"):
        marked(twins, rules(tmp_path, None, "학생,연습,점수,까닭\n김하늘,train,1,x\n"), graded.KNOWN)


def test_marks_by_hand_as_excel_saves_them(tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_bytes("학번,연습,점수,사유\r\n20240001,,9,재채점\r\n".encode("cp949"))
    (one,) = read_overrides(tmp_path / "o.csv")
    assert (one.student, one.exercise, one.score, one.reason) == ("20240001", "", 9, "재채점")
    (tmp_path / "o.csv").write_text("학번,점수\n1,2\n", encoding="utf-8")
    with pytest.raises(HanstepError, match="열이 없어요: 까닭"):
        read_overrides(tmp_path / "o.csv")


def test_readmes_policy_is_one(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    policy = read_policy(tmp_path / "policy.toml")
    assert policy.lateness("B").deadline != policy.late.deadline
    assert policy.lateness("B").per_day == policy.late.per_day == 10


def test_who_is_taken_as_in_time_without_a_time_is_known(tmp_path: Path) -> None:
    """With a deadline and no time, nobody would be late: that is said, unless the system marks late work itself."""
    policy = rules(
        tmp_path, "[late]\nper_day = 10\n[late.sections.B]\ndeadline = 2026-03-20T23:59:00\n"
    ).policy
    class_ = graded.a_class()
    in_time = replace(class_, submissions=tuple(replace(s, late=False) for s in class_.submissions))
    assert [s.student for s in taken_as_in_time(in_time, policy)] == ["20240002_이서준"]
    assert taken_as_in_time(class_, policy) == (), "the system marks who is late"
    assert taken_as_in_time(in_time, None) == ()
    timed = tuple(replace(s, handed_in="2026-03-21 10:00") for s in in_time.submissions)
    assert taken_as_in_time(replace(in_time, submissions=timed), policy) == ()
    excused = tuple(replace(s, mark=Mark(None, 20.0)) for s in in_time.submissions)
    assert taken_as_in_time(replace(in_time, submissions=excused), policy) == ()
