"""Lay out sentences and source code for a terminal: code stands in colours, and in backticks where there are none."""

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.syntax import Syntax
from rich.text import Text

from grader.report.plain_text import clean, split_code

_CODE = "cyan"


class Prose:
    """A text whose code stands in backticks: a terminal shows the code in a colour instead of the backticks."""

    def __init__(self, text: str, style: str = "", *, label: str = "") -> None:
        """Keep the text.

        Args:
            text: the text; shown as it is.
            style: of all of it.
            label: dim text before it.
        """
        self._text, self._style, self._label = text, style, label

    def on(self, console: Console) -> Text:
        """Return the text as the console shows it."""
        in_colours = console.color_system is not None and not console.no_color
        shown = Text(style=self._style)
        shown.append(self._label, "dim")
        for piece, is_code in split_code(self._text):
            shown.append(piece if in_colours or not is_code else f"`{piece}`", _CODE if is_code else None)
        return shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.on(console)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return self.on(console).__rich_measure__(console, options)


def prose(text: str, style: str = "", *, label: str = "") -> Prose:
    """Return a text as `Prose`, without anything in it that could steer a terminal."""
    return Prose(clean(text), style, label=label)


def code_of(source: str, *, start: int = 1, numbers: bool = True) -> Syntax:
    """Return source code in colours that can be read on light and dark terminals alike; line numbers begin at `start`.

    Rich's themes are made for one of the two: on the other, names are of the ground's colour. Here all that is not
    listed has the terminal's own colour.
    """
    from pygments.token import Comment, Keyword, Name, Number, Operator, String
    from rich.style import Style
    from rich.syntax import ANSISyntaxTheme

    theme = ANSISyntaxTheme(
        {
            Comment: Style(dim=True),
            Keyword: Style(color="magenta"),
            Operator.Word: Style(color="magenta"),
            Name.Builtin: Style(color="cyan"),
            Name.Function: Style(bold=True),
            Name.Class: Style(bold=True),
            Number: Style(color="cyan"),
            String: Style(color="green"),
        }
    )
    return Syntax(source, "python", theme=theme, line_numbers=numbers, start_line=start, word_wrap=True)
