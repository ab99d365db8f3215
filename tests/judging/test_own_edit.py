"""The edit that mends the first named mistake, and the line that the card then points at."""

from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.origin import Origin
from grader.judging.own_edit import with_own_edit
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from tests.notebook.test_hint_counts import InTheLesson
from tests.sample_programs import sample

ASKS_ITS_HELPER_WRONGLY = sample("first_tries", "baseline_loss", "z_second").text


def test_the_card_points_at_the_line_that_the_played_edit_changes() -> None:
    """No word of the call tells that it passes the wrong number, so the text alone leads elsewhere."""
    exercise, its = load_course().exercise("baseline_loss"), cached_reference("baseline_loss", SEED)
    origin = Origin(None, ASKS_ITS_HELPER_WRONGLY)
    trace = play(exercise.driver, load_program(ASKS_ITS_HELPER_WRONGLY), seed=SEED)
    before = assess(exercise, trace, its, origin)
    after = with_own_edit(before, exercise, trace.runs, its, origin, InTheLesson(its))
    (mistake,) = after.diagnosis.mistakes
    call = ASKS_ITS_HELPER_WRONGLY.splitlines().index("    return _entropy(counts, len(targets))") + 1
    assert mistake.id == "divides-by-all"
    assert after.own_edit is not None
    assert before.line != call
    assert (after.own_edit.first, mistake.line, after.line) == (call, call, call)
    assert mistake.source_line == after.source_line == "return _entropy(counts, len(targets))"
