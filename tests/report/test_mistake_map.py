"""The map of a class's mistakes."""

from dataclasses import replace

from grader.course.feedback import Diagnosis, Feedback, SubmissionResult
from grader.report.class_facts import count_raised, exercises_of, lessons_of
from grader.report.mistake_map import RAISED, STOPPED, LessonMap, mistake_maps
from tests.report import samples


def map_of(*feedbacks_of_students: tuple[Feedback, ...]) -> LessonMap:
    students = [SubmissionResult(f"s{i}", own) for i, own in enumerate(feedbacks_of_students)]
    (made,) = mistake_maps(students, lessons_of(exercises_of(students, samples.course()), samples.course()))
    return made


def test_a_cell_knows_who_and_where() -> None:
    elsewhere = replace(
        samples.MISSING_ZERO_GRAD, line=2, cell=None, source_line="loss.backward()", before=True
    )
    other = replace(
        samples.named_mistake(), diagnosis=replace(samples.named_mistake().diagnosis, mistakes=(elsewhere,))
    )
    made = map_of((samples.named_mistake(),), (samples.passed(),), (other,), (samples.named_mistake(),))
    (row,) = made.named
    assert (row.title, row.students, made.students) == ("`opt.zero_grad()`를 부르지 않았어요", 3, 4)
    cell = row.cells["train_step"]
    assert [(s.student, s.place) for s in cell.sightings] == [
        (0, "7번째 줄 · 코드 셀 3"),
        (2, "2번째 줄보다 앞"),
        (3, "7번째 줄 · 코드 셀 3"),
    ]
    assert cell.examples == [
        ("opt.step() # 한 걸음", "", 2),
        ("loss.backward()", "이 줄보다 앞에 빠진 것이 있어요", 1),
    ]
    assert cell.explain.startswith("두 번째 스텝부터")


def test_one_mistake_in_two_exercises_is_one_row() -> None:
    """Whoever makes it in both is one student of that row."""
    fit = replace(samples.named_mistake(), exercise="fit")
    made = map_of((samples.named_mistake(), fit), (fit,))
    (row,) = made.named
    assert row.students == 2
    assert {name: len(cell.sightings) for name, cell in row.cells.items()} == {"train_step": 1, "fit": 2}
    assert made.most == 2


def test_what_has_no_name_is_counted_too() -> None:
    """Nobody who wrote an answer and did not pass is left out; whoever wrote none is."""
    made = map_of(
        (samples.unknown(),), (samples.raised(),), (samples.stopped("timeout"),), (samples.stopped("memory"),),
        (samples.not_begun(),), (samples.stopped("missing"),), (samples.stopped("unreadable"),),
    )  # fmt: skip
    assert made.named == ()
    assert {row.title: row.students for row in made.others} == {
        "처음 보는 실수예요": 1,
        RAISED: 1,
        STOPPED: 2,
    }
    assert made.students == 4
    stopped = next(row for row in made.others if row.title == STOPPED).cells["autograd_nodes"]
    assert [s.place for s in stopped.sightings] == ["시간 초과", "메모리 초과"]
    raised = next(row for row in made.others if row.title == RAISED).cells
    (cell,) = raised.values()
    assert samples.raised().error in cell.examples[0][0]


def test_all_who_raised_are_in_the_row_of_exceptions() -> None:
    """The page counted 10 above, 3 + 6 in sections, and 2 in the map: those whose mistakes have names were missing."""
    named = replace(samples.raised(), diagnosis=Diagnosis((samples.MISSING_ZERO_GRAD,)))
    made = map_of((samples.raised(),), (named,), (samples.named_mistake(),))
    assert [row.students for row in made.named] == [2]
    (row,) = made.others
    assert (row.title, row.students) == (RAISED, 2)
    counted = count_raised([SubmissionResult("a", (samples.raised(),)), SubmissionResult("b", (named,))])
    assert counted is not None
    assert counted.students == row.students


def test_every_cell_has_a_number_of_its_own() -> None:
    students = samples.large_class(12).submissions
    lessons = lessons_of(exercises_of(students, samples.course()), samples.course())
    keys = [
        cell.key
        for made in mistake_maps(students, lessons)
        for row in (*made.named, *made.others)
        for cell in row.cells.values()
    ]
    assert sorted(keys) == list(range(len(keys)))
    assert len(keys) >= 6


def test_one_syntax_error_in_two_files_is_one_example() -> None:
    """The message begins with file and line, which differ; the map has the place of each student beside the name."""

    def broken(file: str, line: int) -> Feedback:
        message = f"{file} {line}번째 줄을 읽을 수 없어요. 문법 오류예요: 괄호를 닫지 않았어요."
        return replace(
            samples.named_mistake(),
            status="error",
            diagnosis=Diagnosis(),
            message=message,
            line=line,
            cell=None,
            source_line="f(x",
        )

    (row,) = map_of((broken("a.py", 3),), (broken("b.py", 7),)).others
    cell = row.cells["train_step"]
    assert cell.examples == [("f(x  → 문법 오류예요: 괄호를 닫지 않았어요.", "", 2)]
    assert [s.place for s in cell.sightings] == ["3번째 줄", "7번째 줄"]
