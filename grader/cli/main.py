"""Entry point of the command `grader`: its commands, and the one place that catches errors."""

import gc
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from io import TextIOWrapper
from typing import Any

import typer

from grader.base.errors import HanstepError
from grader.cli import author, clinic, desk, drill, grade, instructor, learner, progress, settings, xray
from grader.cli.help import KoreanCommand, KoreanGroup
from grader.cli.terminal import complain

app = typer.Typer(
    add_completion=False,
    cls=KoreanGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="한 스텝: PyTorch 학습 루프 강의와 채점기",
    epilog="처음이라면 grader start로 시작하세요.",
)
_COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "배우는 사람": (
        learner.start,
        progress.next_,
        learner.check,
        learner.watch,
        learner.hint,
        learner.reset,
        learner.update,
        progress.progress,
        drill.drill,
        clinic.clinic,
        xray.xray,
        settings.settings,
        author.doctor,
    ),
    "가르치는 사람": (
        grade.grade,
        desk.desk,
        instructor.mark,
        instructor.export,
        instructor.similar,
        instructor.autograder,
    ),
    "강의를 고치는 사람": (author.build, author.new, author.site),
}
"""Commands by audience, in the order in which the help shows them."""
_SETTINGS = {"xray": xray.SETTINGS}
for panel, commands in _COMMANDS.items():
    for command in commands:
        name = command.__name__.rstrip("_")
        app.command(name, cls=KoreanCommand, rich_help_panel=panel, context_settings=_SETTINGS.get(name))(
            command
        )

_INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells report it: 128 + SIGINT."""


def main() -> None:
    """Run the command of this process and exit with its status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a pipe on Korean Windows (cp949) cannot encode `g₁`
            stream.reconfigure(errors="replace")
    status = run(sys.argv[1:])
    gc.freeze()  # otherwise Python scans all of torch for garbage once more before it ends
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status; errors that a user can fix end in one line, not in a traceback."""
    # The tensors are small: one thread is fastest, and two threads on a busy two-core machine were 14 times slower.
    # `xray` runs a learner's script, whose sums would differ in the last bit.
    if list(arguments[:1]) != ["xray"]:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        status = app(list(arguments), prog_name="grader", standalone_mode=False)
    except HanstepError as error:
        complain(str(error))
        return error.status
    except OSError as error:  # a full disk, or a folder without permission to write
        where = f"{error.filename}: " if error.filename is not None else ""
        complain(
            f"{where}파일을 읽거나 쓰지 못했어요 ({error.strerror or error}). "
            "경로와 권한, 남은 디스크 공간을 확인해 주세요: df -h ."
        )
        return HanstepError.status
    except KeyboardInterrupt:
        return _stopped()
    except Exception as error:
        # Compare by name: different versions of typer import click's classes from different places.
        if type(error).__name__ == "Abort":
            return _stopped()
        if not hasattr(error, "format_message"):
            raise
        complain(_misuse(error, arguments))
        return HanstepError.status
    return status if isinstance(status, int) else 0


def _stopped() -> int:
    complain("\n멈췄어요.")
    return _INTERRUPTED


def _misuse(error: Any, arguments: Sequence[str]) -> str:
    """Return the message for invalid arguments; without any arguments, the help."""
    kind, context, param = type(error).__name__, getattr(error, "ctx", None), getattr(error, "param", None)
    if kind == "NoArgsIsHelpError":
        return str(error.format_message())
    known = getattr(getattr(context, "command", None), "commands", None)
    if kind == "NoSuchOption":
        what = f"없는 옵션이에요: {error.option_name}."
        if error.possibilities:
            what += f" 혹시 {', '.join(error.possibilities)}인가요?"
    elif kind == "MissingParameter" and param is not None:
        help_text = getattr(param, "help", None)
        what = f"필요한 값이 빠졌어요: {param.name}" + (f" ({help_text})." if help_text else ".")
    elif param is not None:
        what = f"값이 맞지 않아요: {' '.join(param.opts)}."
    elif known is not None:
        asked = next((argument for argument in arguments if not argument.startswith("-")), "")
        near = get_close_matches(asked, known, 1)
        what = "없는 명령이에요. " + (f"혹시 {near[0]}인가요?" if near else f"있는 명령: {', '.join(known)}.")
    else:
        what = "인자가 너무 많거나 모자라요."
    path = "grader" if context is None else context.command_path
    return f"{what} 받은 명령: {shlex.join(['grader', *arguments])}\n쓰는 법: {path} --help"
