"""The drill's editor in a terminal: keys, what stays after a slip, and the clock below it."""

from collections.abc import Callable

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from grader.cli.drill import clock_line
from grader.cli.drill_editor import _KEYS, edit

STEP = "loss = loss_fn(model(xb), yb)\nloss.backward()\nreturn loss.item()"
DOWN, LEFT, CTRL_C, CTRL_D = "\x1b[B", "\x1b[D", "\x03", "\x04"


def typed(
    keys: str, text: str = "", at: int | None = None, clock: Callable[[], str] = lambda: ""
) -> str | None:
    """The text that is handed in after these keys."""
    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        with create_app_session(input=pipe, output=DummyOutput()):
            return edit(text, first_line=9, clock=clock, at=at)


@pytest.mark.parametrize(
    ("keys", "written"),
    [
        ("a = 1\rreturn a\r\r", "a = 1\nreturn a\n"),
        ("for x in y:\rx()\r\x7freturn\r\r", "for x in y:\n    x()\nreturn\n"),
        ("\r\ra = 1\r\r", "a = 1\n"),
        ("\x1b[200~a = 1\n\n\nb = 2\n\x1b[201~\r", "a = 1\n\n\nb = 2\n"),
        (f"a = 1{CTRL_D}", "a = 1\n"),
        ("\tif a:\rb", None),
    ],
    ids=("empty line", "indentation", "nothing yet", "pasted", "ctrl-d", "left"),
)
def test_what_is_typed_is_handed_in(keys: str, written: str | None) -> None:
    assert typed(keys if written else keys + CTRL_C) == written


def test_what_hands_in_is_what_the_keys_say() -> None:
    """An empty line in the middle is one more line: the hint said that Enter hands in there."""
    assert "맨 아래 빈 줄에서 Enter" in _KEYS
    assert "어디서나 Ctrl-D" in _KEYS
    assert typed(f"\r\rb = 2{CTRL_D}", "a = 1\nc = 3", at=1) == "a = 1\n\nb = 2\nc = 3\n"
    assert typed(f"{DOWN}\r\r", "a = 1\nc = 3", at=1) == "a = 1\nc = 3\n"


def test_what_was_typed_stays_to_be_mended() -> None:
    """The cursor stands at the end of the line that was named; only what is missing is typed."""
    assert typed(f"\ropt.step(){CTRL_D}", STEP, at=2) == STEP.replace("return", "opt.step()\nreturn") + "\n"
    assert typed(CTRL_D, STEP) == STEP + "\n"
    assert typed(CTRL_D) is None, "nothing written: the learner leaves"


def test_the_clock_is_asked_while_one_writes() -> None:
    asked: list[str] = []
    typed(f"a{CTRL_D}", clock=lambda: asked.append("") or "12초")  # type: ignore[func-returns-value]
    assert asked


def test_the_clock_says_time_and_record() -> None:
    assert clock_line(42.34, None) == "0:42 · 첫 기록에 도전해요"
    assert clock_line(83.0, 61.2) == "1:23 · 최고 기록 1분 1.2초"
