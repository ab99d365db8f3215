"""Commands for learners: copy the lessons, check one's own file, show hints, start over."""

from pathlib import Path
from typing import Annotated

import typer

from grader.cli.road import DataDir
from grader.cli.terminal import device as device_for
from grader.cli.terminal import out, say
from grader.errors import CommandError, NothingToCheck
from grader.learning import SEED


def start(
    folder: Annotated[Path, typer.Argument(help="레슨을 담을 폴더")] = Path("hanstep"),
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="브라우저를 열어요. 열지 않으면 주소만 알려 줘요")
    ] = True,
    data_dir: DataDir = None,
) -> None:
    """레슨을 폴더에 복사하고 JupyterLab을 열어요."""
    from grader.learning.start import open_lab, prepare

    prepare(folder, say)
    open_lab(folder, browser=browser)


def check(
    file: Annotated[Path, typer.Argument(help="확인할 .ipynb 또는 .py 파일")],
    exercise: Annotated[str | None, typer.Option(help="이 연습 문제만")] = None,
    seed: Annotated[int, typer.Option(help="난수 시드", min=0, show_default=False)] = SEED,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "cpu",
    data_dir: DataDir = None,
) -> None:
    """내 파일을 확인해요. 종료 코드는 모두 통과하면 0, 아니면 1이에요."""
    raise typer.Exit(0 if _check_file(file, exercise, seed, device) else 1)


def watch(file: Annotated[Path, typer.Argument(help="지켜볼 .ipynb 또는 .py 파일")]) -> None:
    """파일을 저장할 때마다 다시 확인해요."""
    from watchfiles import watch as changes

    seen = _content(file)
    _check_file(file, None, SEED, "cpu")
    # Watch the folder, not the file: most editors save a new file under the old name. Also look once a second without
    # being told of a change, so that a save during a check is not missed.
    for _ in changes(file.resolve().parent, recursive=False, rust_timeout=1000, yield_on_timeout=True):
        now = _content(file)
        if now is not None and now != seen:
            seen = now
            out.rule()
            _check_file(file, None, SEED, "cpu")


def _content(file: Path) -> bytes | None:
    """The file's content; None while an editor is replacing the file."""
    try:
        return file.read_bytes()
    except OSError:
        return None


def _check_file(file: Path, exercise: str | None, seed: int, device: str) -> bool:
    from grader.classroom.grading import grade_one
    from grader.classroom.run import GradingRun
    from grader.course_files import load_course
    from grader.learning.gain import recorded_check
    from grader.learning.progress import Progress
    from grader.report.text import print_feedback, print_standing
    from grader.submission.submission import read_submission

    course = load_course()
    if file.is_dir():
        raise CommandError(f"폴더예요: {file}. 파일 하나를 주세요. 반 전체는 grader grade {file}로 채점해요.")
    if not file.is_file():
        raise CommandError(f"파일이 없어요: {file}. 경로를 확인해 주세요.")
    if exercise is not None:
        course.exercise(exercise)
    submission = read_submission(file, tuple(course.exercises))
    if submission.unreadable:
        raise NothingToCheck(f"{submission.unreadable[0].name}: {submission.unreadable[0].message}")
    handed_in = {name for name in course.exercises if submission.source_for(name) is not None}
    if not handed_in:
        listed = ", ".join(course.exercises)
        raise NothingToCheck(f"{file}에서 연습 문제를 찾지 못했어요. 있는 연습 문제: {listed}")
    if exercise is not None and exercise not in handed_in:
        found = ", ".join(name for name in course.exercises if name in handed_in)
        raise NothingToCheck(f"{file}에는 {exercise} 함수가 없어요. 들어 있는 연습 문제: {found}")
    lessons = tuple(lesson for lesson in course.lessons if any(e.name in handed_in for e in lesson.exercises))
    # One's own file needs no isolation. A process of its own is enough: an endless loop or a crash then ends only
    # that process.
    run = GradingRun(course, lessons, seed, device_for(device), "none")
    result = grade_one(run, submission, lambda: out.status("확인하는 중이에요"))
    shown = [f for f in result.told if (f.exercise == exercise if exercise else f.status != "missing")]
    if not shown:  # warm-ups and bonus tasks that were not begun
        raise NothingToCheck(f"{file}의 연습 문제는 아직 비어 있어요. 채운 다음 다시 확인해 보세요.")
    learner = Progress.load()
    for feedback in shown:
        source = submission.source_for(feedback.exercise)
        gain = recorded_check(learner, feedback, "" if source is None else source.text)
        print_feedback(out, feedback)
        print_standing(out, gain.lines)
    for notice in learner.take_notices():
        say(notice)
    return all(f.status == "passed" for f in shown)


def hint(name: Annotated[str, typer.Argument(help="연습 문제 이름")], data_dir: DataDir = None) -> None:
    """다음 힌트를 하나 보여 줘요. 마지막 힌트가 정답이에요."""
    from grader.course_files import load_course
    from grader.learning import notebook

    load_course().exercise(name)
    out.print(notebook.hint(name).text, markup=False, highlight=False)


def reset(
    name: Annotated[str, typer.Argument(help="연습 문제 이름 또는 레슨 번호")],
    folder: Annotated[Path, typer.Option(help="레슨이 있는 폴더")] = Path("."),
    data_dir: DataDir = None,
) -> None:
    """연습 문제나 레슨을 처음 상태로 되돌려요. 쓰던 것은 백업으로 남겨요."""
    from grader.learning import start as starting

    starting.reset(folder, name, say)
