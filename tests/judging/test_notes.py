"""A note that names a line of the program names the learner's cell and line in the feedback."""

from grader.course.reading import load_course
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source
from grader.observe.trace import Trace
from grader.submission.source_file import Place


def test_a_failed_import_is_said_of_its_cell() -> None:
    exercise, text = load_course().exercise("sgd_update"), "import pandas\n"
    source = text + exercise_source(load_course().exercise("sgd_update"))
    places = tuple(Place(2 + (line > 0), line + 3) for line in range(source.count("\n") + 1))
    trace = Trace(warnings=["1번째 줄: pandas를 불러오지 못했어요 (…)", "`lr_at`이 아직 맞지 않아요."])
    feedback = assess(
        exercise, trace, cached_reference(exercise.name, 3), LearnerCode(source, places, "kim.ipynb")
    )
    assert feedback.notes == (
        "코드 셀 2의 3번째 줄: pandas를 불러오지 못했어요 (…)",
        "`lr_at`이 아직 맞지 않아요.",
    )
