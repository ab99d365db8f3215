"""Print `--help` in Korean, with the commands grouped by audience."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

_WORDS = (
    ("Usage:", "쓰는 법:"),
    ("[OPTIONS]", "[옵션]"),
    ("COMMAND [ARGS]...", "명령 [인자]..."),
    ("Arguments:", "인자:"),
    ("Options:", "옵션:"),
    ("[required]", "[꼭 필요]"),
    ("[default: ", "[기본값: "),
    ("Show this message and exit.", "이 도움말을 보여 줘요."),
)
"""Translations of typer's help texts; gettext looks for translations in system folders only."""


class KoreanCommand(TyperCommand):
    """A command whose help is entirely in Korean."""

    def get_help(self, ctx: Any) -> str:
        """Return the help as it is printed."""
        return _in_korean(super().get_help(ctx))


class KoreanGroup(TyperGroup):
    """The command `grader` itself, which lists its commands under their `rich_help_panel`s."""

    def get_help(self, ctx: Any) -> str:
        """Return the help as it is printed."""
        return _in_korean(super().get_help(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each panel, in the order of `commands`; `ctx` and `formatter` are click's."""
        panels: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.commands))
        for name, command in self.commands.items():
            line = command.get_short_help_str(formatter.width)
            panels.setdefault(str(getattr(command, "rich_help_panel", "")), []).append(
                (name.ljust(width), line)
            )
        for panel, lines in panels.items():
            with formatter.section(panel):
                formatter.write_dl(lines)


def _in_korean(text: str) -> str:
    for english, korean in _WORDS:
        text = text.replace(english, korean)
    return text
