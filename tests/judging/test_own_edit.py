"""The edit that mends the first named mistake, and the line that the card then points at."""

from dataclasses import replace

import pytest

from grader.course.feedback import Diagnosis, Feedback, NamedMistake
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging import own_edit
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.own_edit import with_own_edit
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.report import words
from grader.report.hint_ladder import hints_by_mistake
from tests.notebook.test_hint_counts import InTheLesson
from tests.sample_programs import sample

ASKS_ITS_HELPER_WRONGLY = sample("first_tries", "baseline_loss", "z_second").text


def test_the_card_points_at_the_line_that_the_played_edit_changes() -> None:
    """No word of the call tells that it passes the wrong number, so the text alone leads elsewhere."""
    exercise, its = load_course().exercise("baseline_loss"), cached_reference("baseline_loss", SEED)
    learner_code = LearnerCode(ASKS_ITS_HELPER_WRONGLY)
    trace = play(exercise.driver, load_program(ASKS_ITS_HELPER_WRONGLY), seed=SEED)
    before = assess(exercise, trace, its, learner_code)
    after = with_own_edit(before, exercise, trace.runs, its, learner_code, InTheLesson(its))
    (mistake,) = after.diagnosis.mistakes
    call = ASKS_ITS_HELPER_WRONGLY.splitlines().index("    return _entropy(counts, len(targets))") + 1
    assert mistake.id == "divides-by-all"
    assert after.diagnosis.mistakes[0].own_edit is not None
    assert before.line != call
    assert (after.diagnosis.mistakes[0].own_edit.first, mistake.line, after.line) == (call, call, call)
    assert mistake.source_line == after.source_line == "return _entropy(counts, len(targets))"


def _checked(exercise_name: str, text: str) -> tuple[Feedback, Feedback]:
    """Return the feedback on a program, before and after its edit was searched."""
    exercise, its = load_course().exercise(exercise_name), cached_reference(exercise_name, SEED)
    learner_code = LearnerCode(text)
    trace = play(exercise.driver, load_program(text), seed=SEED)
    before = assess(exercise, trace, its, learner_code)
    return before, with_own_edit(before, exercise, trace.runs, its, learner_code, InTheLesson(its))


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine find the same edits."""
    monkeypatch.setattr(own_edit, "_MAX_SECONDS", 600.0)
    monkeypatch.setattr(own_edit, "_MAX_SECONDS_UNDOING", 600.0)
    monkeypatch.setattr(own_edit, "_MAX_SECONDS_AT_THE_CARD", 600.0)


@pytest.mark.parametrize("name", ["w_blog_copy", "z_first"])
def test_what_is_missing_is_missing_at_one_place(name: str) -> None:
    """`zero_grad()` may stand in several places: the card names one, and the hint inserts it there."""
    text = sample("first_tries", "train_step", name).text
    before, after = _checked("train_step", text)
    mistake, edit = after.diagnosis.mistakes[0], after.diagnosis.mistakes[0].own_edit
    assert mistake.id == "missing-zero-grad"
    assert edit is not None
    assert (mistake.line, mistake.before) == (before.diagnosis.mistakes[0].line, True)
    assert edit.first == mistake.line == after.line
    lines = text.split("\n")
    mended = [*lines[: edit.first - 1], *edit.new, *lines[edit.first - 1 :]]
    assert mended[edit.first - 1].strip() == "opt.zero_grad()"
    (_, (idea, place, last)), *_ = hints_by_mistake(after, "at-once")
    assert idea.startswith(mistake.hint)
    assert "번째 줄" not in idea + place, "the card has told the place"
    assert last == "", "the card has told what is missing where"
    (_, (_, place, last)), *_ = hints_by_mistake(after, "after-hint")
    assert f"{mistake.line}번째 줄 앞에 `opt.zero_grad()`를 넣어요." in last
    assert lines[edit.first - 1].strip() in last
    assert place.startswith(f"{mistake.line}번째 줄 앞을 보세요.")
    assert words.mistake_place(mistake) == f"{mistake.line}번째 줄보다 앞"


def test_where_the_edit_does_not_mend_at_the_cards_place_the_card_moves() -> None:
    """A likeness that leads behind `backward()`: clearing there would lose the new gradients."""
    text = sample("first_tries", "train_step", "loss_afterwards").text
    exercise, its = load_course().exercise("train_step"), cached_reference("train_step", SEED)
    learner_code = LearnerCode(text)
    trace = play(exercise.driver, load_program(text), seed=SEED)
    found = assess(exercise, trace, its, learner_code)
    backward = text.split("\n").index("    error.backward()") + 1
    first, *others = found.diagnosis.mistakes
    wrong = replace(first, line=backward, before=False, after=True)
    misled = replace(found, line=backward, diagnosis=replace(found.diagnosis, mistakes=(wrong, *others)))
    after = with_own_edit(misled, exercise, trace.runs, its, learner_code, InTheLesson(its))
    mistake, edit = after.diagnosis.mistakes[0], after.diagnosis.mistakes[0].own_edit
    assert edit is not None
    assert edit.behind < backward
    assert (mistake.line, mistake.after, mistake.before) == (edit.behind, True, False)
    assert mistake.source_line == after.source_line == edit.line_behind.strip()
    (_, (_, _, last)), *_ = hints_by_mistake(after, "after-hint")
    assert f"{mistake.line}번째 줄 뒤에 " in last


def test_a_line_that_is_wrong_is_rewritten_and_not_followed_by_a_right_one() -> None:
    """`sam.first_step()` lacks an argument: a second call above it would mend the runs, too."""
    _, after = _checked("sam_step", sample("first_tries", "sam_step", "w2_two_backwards").text)
    mistake, edit = after.diagnosis.mistakes[0], after.diagnosis.mistakes[0].own_edit
    assert edit is not None
    assert (edit.effect, edit.first, edit.old) == ("rewrites", mistake.line, ("    sam.first_step()",))


def test_each_mistake_has_its_own_edit() -> None:
    """The hints about the second mistake end with its line as well."""
    text = sample("accepted", "train_step", "clears_at_the_end").text
    text = text.replace(".step()", ".step()\n    opt.step()", 1).replace(
        "float(loss)", "loss.detach().numpy()"
    )
    _, after = _checked("train_step", text)
    edits = {mistake.id: mistake.own_edit for mistake in after.diagnosis.mistakes}
    assert edits["step-twice"] is not None
    assert edits["returns-tensor"] is not None
    assert ".item()" in edits["returns-tensor"].new[-1]


def test_without_time_for_a_play_the_hint_tells_in_words_how_to_mend_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_edit, "_MAX_SECONDS", 0.0)
    monkeypatch.setattr(own_edit, "_MAX_SECONDS_UNDOING", 0.0)
    monkeypatch.setattr(own_edit, "_MAX_SECONDS_AT_THE_CARD", 0.0)
    source = (
        "def train_step(net, opt, criterion, x, y):\n    opt.zero_grad()\n    error = criterion(net(x), y)\n"
    )
    source += "    error.backward()\n    opt.step()\n    return error\n"
    _, after = _checked("train_step", source)
    (mistake,) = after.diagnosis.mistakes
    assert mistake.own_edit is None
    ((_, (_, _, last)),) = hints_by_mistake(after, "at-once")
    assert last == mistake.mend
    assert ".item()" in last


HIDES_ONE_BEHIND_THE_OTHER = """def zero_gradients(params):
    def wipe(grad):
        grad.sub_(grad)

    for parameter in params:
        if parameter.grad is None:
            return
        wipe(parameter.grad)
"""


def test_beside_others_edits_are_told_that_together_make_the_program_right() -> None:
    """None of them takes its mistake back as the course knows it; each alone could hide what it seems to mend."""
    _, after = _checked("zero_gradients", HIDES_ONE_BEHIND_THE_OTHER)
    first, second = after.diagnosis.mistakes
    assert first.own_edit is not None
    assert first.own_edit.new == ("            continue",)
    assert second.own_edit is not None


def test_no_whole_loop_is_inserted_beside_the_learners_own() -> None:
    source = "def sgd_update(params, lr):\n    for p in params:\n        p = p + lr * p.grad\n"
    _, after = _checked("sgd_update", source)
    edits = [mistake.own_edit for mistake in after.diagnosis.mistakes if mistake.own_edit is not None]
    assert not any("for " in line for edit in edits for line in edit.new)


CLIPS_AND_SCHEDULES_EARLY = """import torch


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    loss.backward()
    if scheduler is not None:
        scheduler.step()
    opt.step()
    return loss.item()
"""


def test_edits_of_several_mistakes_name_no_line_that_another_moves() -> None:
    """`opt.step()` could go behind `loss.backward()`, too, but the first edit moves that line."""
    _, after = _checked("train_step_extras", CLIPS_AND_SCHEDULES_EARLY)
    hints = dict(hints_by_mistake(after, "at-once"))
    assert "9번째 줄을 7번째 줄 앞으로" in hints["clip-before-backward"][2]
    assert "12번째 줄을 10번째 줄 앞으로" in hints["scheduler-before-step"][2]


REPLACES_AND_STOPS = """def sgd_update(params, lr):
    for p in params:
        p = p - lr * p.grad
"""


def test_no_edit_takes_away_what_another_mistake_hides() -> None:
    """A bare `continue` mends the None only because the line behind it changes nothing as it is."""
    _, after = _checked("sgd_update", REPLACES_AND_STOPS)
    first, second = after.diagnosis.mistakes
    assert {first.id, second.id} == {"touches-none", "replaces-tensor"}
    assert not [one for one in (first, second) if one.own_edit and "continue" in one.own_edit.new[-1]]


@pytest.mark.parametrize(
    ("hint", "is_inside"),
    [("`step()` 직전에 `.grad`를 찍어 보세요.", True), ("함수를 부른 뒤 `.grad`를 찍어 보세요.", False)],
)
def test_only_a_print_inside_the_function_is_read_below_the_check(hint: str, is_inside: bool) -> None:
    named = NamedMistake(("a",), ("a",), "", hint)
    feedback = Feedback("01", "train_step", "", "failed", (), "", diagnosis=Diagnosis(mistakes=(named,)))
    ((_, (first, _, _)),) = hints_by_mistake(feedback, "at-once")
    assert ("확인한 결과 아래에 나와요" in first) == is_inside
