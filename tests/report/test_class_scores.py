"""An average says which students and which scores it is of; sections are compared by the same scores."""

import re
from dataclasses import replace

from grader.course.feedback import Absent, ClassResult, Person, Unread
from grader.course.marks import Mark
from grader.report.class_scores import scores_of, sections_of
from tests.report import samples
from tests.report.test_class_page import page_of, parsed

PASSED = samples.passed_all("가")
FULL = PASSED.max_score
ZERO = samples.all_of("나", "missing")
BROKEN = replace(samples.all_of("다", "unreadable"), unread=(Unread("a.7z", "7-Zip 압축 파일이에요."),))
NOBODY = Absent(Person("9", "라", "B"))


def test_measured_scores_of_those_who_could_be_graded() -> None:
    scores = scores_of((PASSED, ZERO, BROKEN), (NOBODY,))
    assert scores.values == (0.0, FULL)
    assert scores.mean == scores.median == FULL / 2
    assert scores.whose == "낸 학생 2명의 채점 점수예요. 내지 않은 1명과 채점하지 못한 1명은 뺐어요."


def test_final_marks_where_there_are_any() -> None:
    students = (
        replace(PASSED, mark=Mark(80.0, 100.0)),
        replace(ZERO, mark=Mark(20.0, 100.0)),
        replace(ZERO, mark=Mark(None, 100.0)),
        BROKEN,
    )
    scores = scores_of(students)
    assert (scores.values, scores.full) == ((20.0, 80.0), 100.0)
    assert scores.whose == "낸 학생 2명의 최종 점수예요. 면제한 1명과 채점하지 못한 1명은 뺐어요."
    assert scores_of(students, final=False).values == (0.0, 0.0, FULL)


def test_everybody_counted_is_said_shortly() -> None:
    assert scores_of((PASSED,)).whose == "낸 학생 1명의 채점 점수예요."


def a_class() -> ClassResult:
    of_a = [replace(samples.typical(f"가{i}"), person=Person(str(i), f"가{i}", "A")) for i in range(3)]
    of_b = [replace(samples.passed_all(f"나{i}"), person=Person(f"b{i}", f"나{i}", "B<b>")) for i in range(2)]
    nobody = replace(samples.passed_all("다"), person=Person("c", "다"))
    return ClassResult(7, "cpu", "bwrap", (*of_a, *of_b, nobody), (NOBODY,))


def test_sections_are_compared() -> None:
    a, b, other = sections_of(a_class())
    assert [one.name for one in (a, b, other)] == ["A", "B", "B<b>"]
    assert (len(a.scores.values), a.passed, a.absent) == (3, 0, 0)
    assert a.raised == 3
    assert a.worst is not None
    assert a.worst.students == 3
    assert (b.scores.values, b.absent) == ((), 1)
    assert (len(other.scores.values), other.passed, other.worst) == (2, 2, None)


def test_one_section_is_nothing_to_compare() -> None:
    result = ClassResult(7, "cpu", "bwrap", a_class().submissions[:3])
    assert sections_of(result) == []
    page = page_of(result)
    assert 'id="sections"' not in page
    assert 'class="section" hidden' in page


def test_the_page_compares_and_filters_them() -> None:
    page = page_of(a_class())
    text = parsed(page).text
    assert "분반 비교" in text
    assert "B<b>" not in page
    for key, students in (("s0", 3), ("s2", 2)):
        assert len(re.findall(rf'<tr [^>]*data-section="{key}"', page)) == students
        assert page.count(f'<button class="plain scripted-only" data-section="{key}"') == 1
    assert '<option value="s2">B&lt;b&gt;</option>' in page
    assert "평균과 중앙값은 낸 학생 6명의 채점 점수예요. 내지 않은 1명은 뺐어요." in text


def test_what_is_nobodys_in_the_roster_is_shown_and_not_counted() -> None:
    """Somebody from outside, and two of one name: named on the page, out of the class's numbers."""
    strangers = (
        replace(samples.typical("외부인"), person=Person(name="외부인"), unmatched="명단에 없어요"),
        replace(samples.passed_all("송유준"), unmatched="명단에 이름이 같은 학생이 여럿이에요"),
    )
    alone = a_class()
    result = replace(alone, submissions=(*strangers, *alone.submissions))
    page = page_of(result)
    text = parsed(page).text
    assert "명단과 짝짓지 못한 제출물 2개" in text
    assert re.search("외부인 *명단에 없어요", text)
    assert re.search("송유준 *명단에 이름이 같은 학생이 여럿이에요", text)
    assert "낸 학생 6명의 채점 점수예요. 내지 않은 1명과 명단과 짝짓지 못한 2명은 뺐어요." in text
    assert "명단과 짝짓지 못한 학생 (2명)" in text
    assert page.count('data-kinds="unmatched"') == 2

    tiles = r'<dl class="tiles">.*?</dl>'
    sections = r'<table class="compare".*?</table>'
    maps = r'<table class="map".*?</table>'
    for part in (tiles, sections, maps):
        mine, theirs = (re.search(part, one, re.DOTALL) for one in (page, page_of(alone)))
        assert mine is not None
        assert theirs is not None
        assert mine.group() == theirs.group()
