"""Let a learner choose one of several lines in the terminal: by a click, by arrows, or by typing its key."""

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

_Key = TypeVar("_Key", int, str)
_HINT = "누르거나, 화살표와 Enter로 고르세요. 그만두려면 Ctrl-C"
_STYLE = Style.from_dict({"chosen": "reverse bold", "hint": "ansibrightblack", "question": "bold"})


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
        self._at, self._typed = 0, ""
        window = Window(FormattedTextControl(self._text, focusable=True, show_cursor=False), wrap_lines=True)
        self._application: Application[_Key | None] = Application(
            Layout(window), key_bindings=self._bindings(), style=_STYLE, mouse_support=True
        )

    def run(self) -> _Key | None:
        return self._application.run()

    def _text(self) -> StyleAndTextTuples:
        width = max(len(str(key)) for key in self._keys)
        found: StyleAndTextTuples = [("class:question", f"{self._question}\n"), ("class:hint", f"{_HINT}\n")]
        for at, (key, line) in enumerate(self._options.items()):
            style = "class:chosen" if at == self._at else ""
            found.append((style, f" {key:>{width}}  {line} ", self._clicked(at)))
            found.append(("", "\n"))
        return found[:-1]

    def _clicked(self, at: int) -> Callable[[MouseEvent], None]:
        def handle(event: MouseEvent) -> None:
            if event.event_type == MouseEventType.MOUSE_UP:
                self._at = at
                self._leave(self._keys[at])

        return handle

    def _leave(self, key: _Key | None) -> None:
        self._application.exit(result=key)

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        def move(by: int) -> Callable[[KeyPressEvent], None]:
            def handle(_event: KeyPressEvent) -> None:
                self._at, self._typed = (self._at + by) % len(self._keys), ""

            return handle

        keys.add("up")(move(-1))
        keys.add("down")(move(1))

        @keys.add("enter")
        def _(_event: KeyPressEvent) -> None:
            self._leave(self._keys[self._at])

        @keys.add("c-c")
        @keys.add("c-d")
        def _(_event: KeyPressEvent) -> None:
            self._leave(None)

        @keys.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            names = [str(key) for key in self._keys]
            typed = next(
                (t for t in (self._typed + event.data, event.data) if any(n.startswith(t) for n in names)), ""
            )
            self._typed = typed
            if typed:
                exact = [at for at, name in enumerate(names) if name == typed]
                self._at = (exact or [at for at, name in enumerate(names) if name.startswith(typed)])[0]

        return keys
