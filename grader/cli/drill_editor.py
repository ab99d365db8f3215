"""Let a learner write a function's body in the terminal, with a clock below it; `grader drill` asks for it."""

from collections.abc import Callable

from prompt_toolkit import PromptSession
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import AnyFormattedText, FormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.styles import Style

_INDENT = 4
_REFRESH_SECONDS = 0.25
_KEYS = "맨 아래 빈 줄에서 Enter 내기 · 어디서나 Ctrl-D 내기 · Ctrl-C 그만두기"
_STYLE = Style.from_dict({"number": "ansibrightblack", "bottom-toolbar": "reverse", "clock": "bold reverse"})


def edit(text: str, *, first_line: int, clock: Callable[[], str], at: int | None = None) -> str | None:
    """Return the text as the learner left it; None if the learner gave up or wrote nothing.

    Args:
        text: lines that are there already.
        first_line: number of the first line in its file.
        clock: asked for the words on the clock several times a second.
        at: line of `text`, from 1, at whose end the cursor stands; None for the end of the text.
    """

    def number(width: int, line: int, _soft_wrap: int) -> AnyFormattedText:
        return FormattedText([("class:number", f"{first_line + line:>4} ")])

    text = text.rstrip()
    session: PromptSession[str] = PromptSession(
        number(0, 0, 0),
        multiline=True,
        prompt_continuation=number,
        lexer=PygmentsLexer.from_filename("train_step.py"),
        bottom_toolbar=lambda: _toolbar(clock(), _KEYS),
        refresh_interval=_REFRESH_SECONDS,
        key_bindings=_bindings(),
        style=_STYLE,
    )
    try:
        written = session.prompt(default=Document(text, _end_of_line(text, at)))
    except (KeyboardInterrupt, EOFError):
        return None
    return f"{written.rstrip()}\n" if written.strip() else None


def wait(prompt: str, clock: Callable[[], str]) -> str | None:
    """Return the line that the learner types below a going clock, in lower case; None if the learner gave up."""
    session: PromptSession[str] = PromptSession(
        prompt, bottom_toolbar=lambda: _toolbar(clock(), ""), refresh_interval=_REFRESH_SECONDS, style=_STYLE
    )
    try:
        return session.prompt().strip().lower()
    except (KeyboardInterrupt, EOFError):
        return None


def _toolbar(time: str, keys: str) -> AnyFormattedText:
    """Return the clock, and the keys on a line of their own: beside it they would be cut off on 80 columns."""
    return FormattedText([("class:clock", f" {time} "), ("", keys and f"\n {keys}")])


def _end_of_line(text: str, line: int | None) -> int:
    """Return the cursor's position at the end of a line, counted from 1."""
    lines = text.split("\n")
    return len("\n".join(lines if line is None else lines[:line]))


def _bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer, document = event.current_buffer, event.current_buffer.document
        if not document.current_line.strip() and document.on_last_line:
            if document.text.strip():
                buffer.validate_and_handle()
            return
        before = document.current_line_before_cursor
        deeper = _INDENT if before.rstrip().endswith(":") else 0
        buffer.insert_text("\n" + " " * (len(before) - len(before.lstrip(" ")) + deeper))

    @keys.add("c-d")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("tab")
    def _(event: KeyPressEvent) -> None:
        column = event.current_buffer.document.cursor_position_col
        event.current_buffer.insert_text(" " * (_INDENT - column % _INDENT))

    @keys.add("backspace")
    def _(event: KeyPressEvent) -> None:
        before = event.current_buffer.document.current_line_before_cursor
        is_indentation = bool(before) and not before.strip(" ")
        event.current_buffer.delete_before_cursor((len(before) - 1) % _INDENT + 1 if is_indentation else 1)

    return keys
