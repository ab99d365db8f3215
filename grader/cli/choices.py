"""Let a learner choose one of several lines in the terminal: by two clicks, by arrows, or by typing its key."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.mouse_events import MouseEvent, MouseEventType
from prompt_toolkit.styles import Style

from grader.notebook.terminal_keys import latin
from grader.report.plain_text import split_code

_Key = TypeVar("_Key", int, str)
_HINT = "앞의 {what}를 쓰거나 화살표로 고르고 Enter. 마우스로는 같은 줄을 두 번 눌러요. 돌아가려면 q"
_STYLE = Style.from_dict(
    {"chosen": "reverse bold", "hint": "ansibrightblack", "question": "bold", "code": "ansicyan"}
)


def choose(question: str, options: Mapping[_Key, str]) -> _Key | None:
    """Return the key of the chosen line; None if the learner chose none.

    Args:
        question: shown above the lines.
        options: key that is shown and can be typed -> its line.
    """
    return _Choice(question, options).run()


class _Choice(Generic[_Key]):
    """The lines on the screen, one of them marked."""

    def __init__(self, question: str, options: Mapping[_Key, str]) -> None:
        self._question = question
        self._options: dict[_Key, str] = dict(options)
        self._keys: list[_Key] = list(options)
        self._at: int | None = None  # Enter alone must not answer with a line that nobody chose
        self._typed = ""
        window = Window(FormattedTextControl(self._text, focusable=True, show_cursor=False), wrap_lines=True)
        self._application: Application[_Key | None] = Application(
            Layout(window), key_bindings=self._bindings(), style=_STYLE, mouse_support=True
        )

    def run(self) -> _Key | None:
        return self._application.run()

    def _text(self) -> StyleAndTextTuples:
        width = max(len(str(key)) for key in self._keys)
        what = "번호" if isinstance(self._keys[0], int) else "글자"
        found: StyleAndTextTuples = [
            ("class:question", f"{self._question}\n"),
            ("class:hint", f"{_HINT.format(what=what)}\n"),
        ]
        for at, (key, line) in enumerate(self._options.items()):
            style = "class:chosen" if at == self._at else ""
            for piece, is_code in split_code(f" {key:>{width}}  {line} "):
                found.append((f"{style} class:code" if is_code else style, piece, self._clicked(at)))
            found.append(("", "\n"))
        missing = f" (없는 {what}예요)" if self._typed and self._at is None else ""
        return [*found, ("class:question", f"고른 것: {self._typed or self._chosen()}{missing}")]

    def _chosen(self) -> str:
        """Return the chosen key as text; empty if none is chosen yet."""
        return "" if self._at is None else str(self._keys[self._at])

    def _clicked(self, at: int) -> Callable[[MouseEvent], None]:
        def handle(event: MouseEvent) -> None:
            if event.event_type != MouseEventType.MOUSE_UP:
                return
            if self._at == at:
                self._leave(self._keys[at])
            # The first click may only be meant to go to the terminal's window.
            self._at, self._typed = at, ""

        return handle

    def _leave(self, key: _Key | None) -> None:
        self._application.exit(result=key)

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        def move(by: int) -> Callable[[KeyPressEvent], None]:
            def handle(_event: KeyPressEvent) -> None:
                start = self._at if self._at is not None else min(0, -by)
                self._at, self._typed = (start + by) % len(self._keys), ""

            return handle

        keys.add("up")(move(-1))
        keys.add("down")(move(1))

        @keys.add("enter")
        @keys.add("c-j")  # what was typed before this screen came up ends in a line feed
        def _(_event: KeyPressEvent) -> None:
            if self._at is not None:
                self._leave(self._keys[self._at])

        @keys.add("c-c")
        @keys.add("c-d")
        def _(_event: KeyPressEvent) -> None:
            self._leave(None)

        @keys.add("backspace")
        def _(_event: KeyPressEvent) -> None:
            self._type(self._typed[:-1])

        @keys.add(Keys.Any)
        @keys.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            names, typed = [str(key) for key in self._keys], latin(event.data.strip().lower())
            if typed == "q" and typed not in names:  # as everywhere else in the terminal
                return self._leave(None)
            longer = self._typed + typed
            # A number that leads nowhere is begun anew.
            self._type(longer if any(name.startswith(longer) for name in names) else typed)

        return keys

    def _type(self, text: str) -> None:
        """Take the typed text, and choose the line whose key it is."""
        names = [str(key) for key in self._keys]
        self._typed = text
        self._at = names.index(text) if text in names else None
