"""Both orders of events side by side."""

from dataclasses import replace

from grader.course.feedback import Moment
from grader.report import timeline
from grader.report.html import feedback_html
from grader.report.text import feedback_text
from tests.report import samples
from tests.report.parsed import Parsed


def kinds_of(pairs: list[timeline.Pair]) -> list[tuple[str | None, str | None]]:
    return [(p.yours and p.yours.kind, p.right and p.right.kind) for p in pairs]


def test_timelines_stand_in_columns() -> None:
    """Partners stand above each other; what only one side has stands alone; nothing is lost."""
    found = samples.unknown().diagnosis
    assert kinds_of(timeline.align(found.yours, found.right)) == [
        ("zero_grad", "zero_grad"),
        ("backward", None),
        ("forward", "forward"),
        (None, "backward"),
        ("step", "step"),
    ]


def test_the_end_of_a_window_is_no_difference() -> None:
    """Timelines are cut to a dozen moments each: what lies beyond the cut must not be called missing."""
    yours = (Moment("step", 1, None, True), Moment("zero_grad", 2, None, True), Moment("forward", 3, 1))
    right = (Moment("forward", None, 1), Moment("backward", None), Moment("step", None))
    pairs = timeline.align(yours, right)
    assert kinds_of(pairs) == [("step", None), ("zero_grad", None), ("forward", "forward"), ("…", "…")]
    began = (replace(right[0], goes_before=True), replace(right[1], goes_on=True))
    assert [first for first, _ in kinds_of(timeline.align(began, began))] == ["…", "forward", "backward", "…"]
    ended = (*right[:2], Moment("step", None, None, True))
    assert kinds_of(timeline.align(right[:2], ended))[-1] == (None, "step")


def test_the_names_of_both_programs_stand_once() -> None:
    """In the middle of a row they read like more boxes, wherever a phone would have wrapped the columns."""
    diagnosis = samples.unknown().diagnosis
    assert len(timeline.align(diagnosis.yours, diagnosis.right)) > 4
    assert feedback_html(samples.unknown()).count('line-height:1.4">내 코드</div>') == 1


def test_timelines_that_contradict_their_flags_lose_nothing() -> None:
    """A wrong flag may look odd but must not drop or pair different events."""
    yours = (Moment("forward", 1), Moment("step", 2))
    right = (Moment("backward", None), Moment("step", None), Moment("zero_grad", None, None, True))
    pairs = timeline.align(yours, right)
    assert [p.yours for p in pairs if p.yours] == list(yours)
    assert [p.right for p in pairs if p.right] == list(right)
    assert all(p.yours is None or p.right is None or p.yours.kind == p.right.kind for p in pairs)
    assert timeline.align((), ()) == []


def test_same_order_of_events_is_said_in_words() -> None:
    """Two equal timelines would make a learner look for a difference; nothing is said where mistakes explain all."""
    explained = samples.joined()
    assert "순서는 정답과 같아요" not in Parsed(feedback_html(explained)).text
    open_ = replace(explained, diagnosis=replace(explained.diagnosis, unexplained=("scenario",)))
    card = Parsed(feedback_html(open_)).text
    assert "zero_grad, forward, backward, step의 순서는 정답과 같아요." in card
    assert "backward()" in card
    assert "없음" not in card


def test_equal_events_of_one_kind_have_no_order_to_tell() -> None:
    found = replace(samples.unknown().diagnosis, unexplained=("scenario",))
    steps = (Moment("step", 3, None), Moment("step", 3, None))
    assert timeline.to_show(replace(found, yours=steps, right=steps)) == []
    steps = (Moment("backward", 2, None), *steps)
    assert timeline.to_show(replace(found, yours=steps, right=steps))


def test_code_that_did_nothing_is_told_in_a_sentence() -> None:
    """A dozen empty boxes beside the right order would say nothing more."""
    found = samples.named_mistake().diagnosis
    feedback = replace(samples.unknown(), diagnosis=replace(found, mistakes=(), yours=()))
    for told in (Parsed(feedback_html(feedback)).text, " ".join(feedback_text(feedback).split())):
        assert timeline.nothing_happened(found.right) in told
        assert "정답은 zero_grad, forward, backward, step을 실행하지만" in told
        assert "zero_grad → forward → backward → step" in told
        assert "≠ zero_grad" not in told
    assert timeline.order_in_words([Moment("step", None)] * 9, 2) == "step → step → …"


def test_an_order_that_begins_in_the_middle_says_so() -> None:
    order = [Moment("step", None, goes_before=True), Moment("zero_grad", None)]
    assert timeline.order_in_words(order) == "… → step → zero_grad"


def test_events_of_a_model_that_nobody_watched_are_not_shown() -> None:
    """Where an exception is expected, only `backward` is recorded: it would read as a program without steps."""
    found = replace(samples.unknown().diagnosis, right=())
    steps = (Moment("forward", 1, 1, True), Moment("backward", 2, None, True), Moment("step", 3, None, True))
    assert timeline.to_show(replace(found, yours=steps))
    assert timeline.to_show(replace(found, yours=steps[1:2])) == []
