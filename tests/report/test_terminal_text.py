"""Sentences with code in them, on terminals with colours and without."""

import io

import pytest
from rich.console import Console

from grader.cli import terminal
from grader.report.text import print_indented, print_standing

LINE = "`opt.step()`가 `backward()`보다 먼저예요."
PLAIN = LINE.replace("`", "")


def console(*, colours: bool) -> Console:
    """A terminal, or a file."""
    system = "standard" if colours else None
    return Console(file=io.StringIO(), width=80, force_terminal=colours, color_system=system, no_color=False)  # type: ignore[arg-type]


def shown(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


@pytest.mark.parametrize("printed", [print_indented, lambda on, line: print_standing(on, [line])])
def test_code_has_a_colour_or_its_backticks(printed) -> None:  # type: ignore[no-untyped-def]
    plain, coloured = console(colours=False), console(colours=True)
    printed(plain, LINE)
    printed(coloured, LINE)
    assert LINE in shown(plain)
    assert "`" not in shown(coloured)
    assert "\x1b[36mopt.step()\x1b[0m" in shown(coloured)


@pytest.mark.parametrize("colours", [True, False])
def test_what_commands_say_too(colours: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drill, clinic and watch showed backticks on a terminal."""
    out = console(colours=colours)
    monkeypatch.setattr(terminal, "out", out)
    terminal.say(LINE)
    assert ("`" in shown(out)) is not colours


def test_a_console_that_wants_no_colour_keeps_the_backticks() -> None:
    out = console(colours=True)
    out.no_color = True
    print_indented(out, LINE)
    assert LINE in shown(out)
