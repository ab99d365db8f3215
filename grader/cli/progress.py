"""Define commands about a learner's way through the course: `progress` and `next`."""

import os
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from grader.base.errors import CommandError
from grader.cli.terminal import out, say


def _use(folder: Path | None) -> Path | None:
    if folder is not None:
        if folder.is_file():
            raise CommandError(
                f"폴더가 아니라 파일이에요: {folder}. 진도를 둘 폴더를 주세요: --data-dir 폴더"
            )
        os.environ["HANSTEP_HOME"] = str(folder.absolute())  # JupyterLab and its kernels inherit it
    return folder


DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="진도를 둘 폴더 (환경 변수 HANSTEP_HOME과 같아요)", callback=_use),
]
"""Option `--data-dir` of every command that reads or writes progress."""


def progress(
    export: Annotated[Path | None, typer.Option("--export", help="진도를 파일로 내보내요")] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="다른 컴퓨터에서 내보낸 진도를 합쳐요")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """어디까지 왔는지 보여 줘요. 레벨, 레슨, 다음에 할 것, 실수, 업적."""
    from grader.learner.exchange import export_progress, import_progress
    from grader.learner.overview import overview
    from grader.learner.progress import Progress
    from grader.practice.progress_page import practice_lines, print_progress

    if import_ is not None:
        new = import_progress(import_)
        say(f"새 기록 {new:,}개를 합쳤어요: {import_}" if new else f"이미 모두 들어 있어요: {import_}")
    if export is not None:
        say(f"기록 {export_progress(export):,}개를 내보냈어요: {export}")
        say(f"다른 컴퓨터에서 합치는 명령: grader progress --import {export.name}")
    if export is None and import_ is None:
        content = overview(Progress.load())
        print_progress(out, content, practice_lines(date.today(), "grader clinic", "grader drill {}"))
        if content.following is not None:  # said above, too, but that may have scrolled away
            say("\n이어서 하려면: grader next")


def next_(
    folder: Annotated[
        Path | None,
        typer.Argument(help="레슨이 있는 폴더. 주지 않으면 hanstep이나 지금 폴더", show_default=False),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="브라우저를 열어요. 열지 않으면 주소만 알려 줘요")
    ] = True,
    data_dir: DataDir = None,
) -> None:
    """다음에 할 것을 열어요. 아직 통과하지 못한 첫 연습 문제가 있는 레슨이에요."""
    from grader.course.reading import load_course
    from grader.learner.earned import describe
    from grader.learner.next_section import next_exercise, notebook_of
    from grader.learner.overview import locate_exercise
    from grader.learner.progress import Progress
    from grader.workspace.start import open_lab, prepare

    course = load_course()
    following = next_exercise(course, Progress.load().passed)
    if following is None:
        say("모든 연습 문제를 통과했어요. 첫 레슨을 열어요.")
    else:
        say(f"다음: {describe(locate_exercise(course, following))}")
    place = notebook_of(course, following, folder)[0]
    if place is None:
        place = folder or Path("hanstep")
        prepare(place, say)
    open_lab(place, say, browser=browser)
