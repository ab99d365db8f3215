"""What cards and terminals say in the same words."""

from dataclasses import replace
from typing import get_args

import pytest

from grader.course.feedback import Diagnosis, FirstDifference, Status
from grader.judging import messages
from grader.report import words
from grader.report.html import feedback_html
from grader.report.text import feedback_text
from tests.report import samples
from tests.report.parsed import Parsed

KINDS = samples.every_kind()


def test_joined_mistakes_are_all_said() -> None:
    """Mistakes that behave the same are one diagnosis with several names: none may be left out."""
    for told in (
        Parsed(feedback_html(samples.joined())).text,
        feedback_text(samples.joined()).replace("`", ""),
    ):
        assert "다음 셋 가운데 하나예요" in told
        for title in samples.CLIP.titles:
            assert title.replace("`", "") in told


def test_pair_says_both_mistakes_with_their_reasons() -> None:
    for told in (Parsed(feedback_html(samples.pair())).text, " ".join(feedback_text(samples.pair()).split())):
        assert "실수를 두 가지 찾았어요" in told
        for named in (samples.NO_DIVISION, samples.DROPS_LEFTOVER):
            assert named.titles[0] in told
            assert named.explain in told
            assert named.hint in told


@pytest.mark.parametrize("status", samples.COULD_NOT_RUN)
def test_what_could_not_run_says_what_happened_and_what_to_do(status: str) -> None:
    """Each of these statuses has its own first line and a next step, in the card and in the terminal alike."""
    feedback = samples.stopped(status)
    head, step = words.headline(feedback), words.next_step(feedback)
    assert samples.COULD_NOT_RUN[status].startswith(head.text)
    assert step
    card, text = Parsed(feedback_html(feedback)).text, " ".join(feedback_text(feedback).split())
    for told in (head.text, step):
        assert told.replace("`", "") in card
        assert told in text
    assert "SGD 궤적" not in card  # a list of failed checks would say that they had been looked at


def test_only_code_that_ran_on_is_told_about_loops() -> None:
    for message, is_told in (
        (messages.time_limit_message(20), True),
        (messages.only_waited_message(20), False),
        (messages.no_time_left_message(20), False),
    ):
        step = words.next_step(replace(samples.stopped("timeout"), message=message))
        assert bool(step) == is_told, message


def test_code_that_was_cut_off_is_not_told_what_may_end_it() -> None:
    feedback = replace(samples.stopped("crashed"), message=messages.CUT_OFF_MESSAGE)
    assert words.next_step(feedback) == ""
    assert words.headline(feedback).text == "실행이 끝나기 전에 밖에서 멈췄어요"


@pytest.mark.parametrize(
    "message",
    [
        messages.TOO_MANY_THREADS_MESSAGE,
        messages.TOO_MANY_PROCESSES_MESSAGE,
        f"{messages.UNREADABLE_MESSAGE} (읽을 수 없는 답)",
    ],
)
def test_advice_on_another_crash_is_not_to_look_for_exit(message: str) -> None:
    feedback = replace(samples.stopped("crashed"), message=message)
    assert "확인해 보세요" in words.headline(feedback).body
    assert words.next_step(feedback) == ""
    assert "exit" in words.next_step(samples.stopped("crashed"))


def test_a_learners_own_not_implemented_error_is_no_placeholder() -> None:
    for text, is_told in (("", False), ("only SGD", True)):
        raised = replace(samples.raised(), error=f"NotImplementedError: {text}", raised=True)
        assert bool(words.next_step(raised)) == is_told


_LONG = f"RuntimeError: [enforce {'fail ' * 200}]"


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("RuntimeError: no memory", "RuntimeError: no memory"),
        ("MemoryError: ", "MemoryError"),
        (_LONG, _LONG),
    ],
    ids=["short", "no message", "long"],
)
def test_an_exception_is_told_once(error: str, shown: str) -> None:
    """It has a place of its own in the card; one without a message ends in no colon."""
    stopped = samples.stopped("memory")
    feedback = replace(stopped, error=error, message=f"{stopped.message} {error}")
    assert words.headline(feedback) == words.headline(stopped)
    assert words.error_text(feedback) == shown
    assert Parsed(feedback_html(feedback)).text.count(shown) == 1


def test_starter_is_not_called_wrong() -> None:
    """A learner who has not begun reads so, and no exception."""
    for told in (feedback_html(samples.not_begun()), feedback_text(samples.not_begun())):
        assert words.EMPTY in told
        assert "NotImplementedError" not in told


def test_only_begun_says_that_a_function_is_empty() -> None:
    """Not the message: a learner's exception may say anything, and a message may be worded anew."""
    raised = replace(samples.raised(), message=samples.not_begun().message)
    assert words.error_text(raised) == raised.error
    assert words.next_step(raised)
    assert words.headline(replace(samples.not_begun(), message="`pass`만 있어요.")).text == words.EMPTY


def test_results_and_pages_call_an_empty_function_the_same() -> None:
    assert f"{words.EMPTY}. {words.FILL_IN}" == messages.NOT_BEGUN_MESSAGE == samples.not_begun().message


def test_exception_is_shown_once() -> None:
    """The message repeats the exception; the card says it in one place."""
    assert feedback_html(samples.raised()).count("unsupported operand") == 1
    assert " ".join(feedback_text(samples.raised()).split()).count("unsupported operand") == 1
    error = str(samples.raised().error)
    first = FirstDifference("SGD", "첫 번째 호출", "예외 없이 끝남", error)
    again = replace(samples.raised(), diagnosis=Diagnosis(first_difference=first))
    assert feedback_html(again).count("unsupported operand") == 1
    other = replace(first, got="0.5")
    assert "예외 없이 끝남" in feedback_html(replace(again, diagnosis=Diagnosis(first_difference=other)))


def test_named_mistakes_are_said_to_cause_every_failed_check() -> None:
    named = samples.named_mistake()
    several = replace(named, checks=tuple(replace(c, passed=False) for c in named.checks))
    assert len(several.checks) > 1
    for shown in (feedback_text(several), feedback_html(several)):
        assert f"틀린 항목 {len(several.checks)}개를 이 실수로 모두 설명할 수 있어요" in shown
    one = replace(named, checks=tuple(replace(c, passed=bool(i)) for i, c in enumerate(named.checks)))
    for feedback in (one, replace(several, diagnosis=Diagnosis())):
        assert "모두 설명할 수 있어요" not in feedback_text(feedback)


def test_feedback_samples_cover_every_status() -> None:
    """The tests above speak of every status only as long as the samples have them all."""
    assert {f.status for f in KINDS.values()} == set(get_args(Status))


def test_several_titles_that_are_sentences_are_quoted() -> None:
    said = words.either(samples.CLIP)
    assert said == " 또는 ".join(f"「{title}」" for title in samples.CLIP.titles)


def test_what_the_sandbox_says_of_replaced_functions_is_not_taken_for_a_wrong_value() -> None:
    error = (
        "RuntimeError: 라이브러리의 함수와 클래스는 그대로 두고 쓰세요. 실행하는 동안 바뀐 것: `torch.relu`"
    )
    raised = replace(samples.raised(), error=error, raised=False)
    assert "다른 것으로 바꾸는 줄을 지우고" in words.next_step(raised)


def test_the_order_names_its_scenario_if_it_is_another_one() -> None:
    named = samples.named_mistake()
    assert words.order_title(named) == "실행 순서"
    other = replace(named, diagnosis=replace(named.diagnosis, order_scenario="드롭아웃이 있는 모델"))
    for shown in (feedback_text(other), feedback_html(other)):
        assert "실행 순서 · 드롭아웃이 있는 모델" in shown
