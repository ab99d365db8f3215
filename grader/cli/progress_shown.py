"""Show how far reading and grading are: as a bar on a terminal, else by a line every few seconds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.terminal import complain, err

if TYPE_CHECKING:
    from grader.course.feedback import ClassResult
    from grader.intake.upload_receiver import Progress

_PULSE_SECONDS = 15.0
"""Time between two lines, where there is no terminal."""
_LARGE_CLASS = 200
"""Students from whom on a line says that the report is being written."""
_LARGE_BYTES = 10 * 2**20
"""Size of an archive from which on a line says at once that reading takes time."""


def announced(result: "ClassResult") -> "ClassResult":
    """Say that the report of a large class is being written, which takes a while; return the results as they are."""
    if len(result.submissions) >= _LARGE_CLASS:
        complain(f"{len(result.submissions):,}명의 페이지를 쓰고 있어요.")
    return result


class Pulse:
    """Without a terminal, where no bar is drawn, says every few seconds how far it is."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def beat(self, what: str, done: int, total: int, *, last_too: bool = True) -> None:
        """Say how many of all are done if some time has passed, or if it is the last one."""
        now = time.monotonic()
        if not err.is_terminal and (now - self._last >= _PULSE_SECONDS or (last_too and done == total)):
            self._last = now
            complain(f"{what} {done:,}/{total:,}")


@contextmanager
def reading_shown(submissions: Path) -> Iterator["Progress"]:
    """Show that submissions are being read; yields what is to be called on the way."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    size = submissions.stat().st_size if submissions.is_file() else 0
    if size >= _LARGE_BYTES:
        complain(f"압축 파일을 풀고 제출물을 읽어요({size / 2**20:.0f} MB). 사람이 많으면 몇 분 걸려요.")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task, pulse = bar.add_task("제출물 꺼내기", total=None), Pulse()

        def shown(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)
            pulse.beat(what, done, total, last_too=False)

        yield shown
