"""The command line: reads arguments, calls one module for each command, says in Korean what came of it."""

import os
import secrets
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="한 스텝: PyTorch 학습 루프 강의와 채점기",
)
_MOST_JOBS = 10_000  # "as many as the cluster has processors"

out = Console()
err = Console(stderr=True)


def main() -> None:
    """Entry point. Ctrl-C ends with a line, not a traceback."""
    # Small tensors: one thread is fastest, and two on a busy two-core machine were 14 times slower.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        status = app(standalone_mode=False)
    except KeyboardInterrupt:
        _stopped()
    except Exception as error:
        # By name: each version of typer brings click's classes from another place.
        if type(error).__name__ == "Abort":
            _stopped()
        if not hasattr(error, "format_message"):
            raise
        err.print(_misuse(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    sys.exit(status if isinstance(status, int) else 0)


def _stopped() -> NoReturn:
    err.print("\n멈췄어요.")
    sys.exit(130)


def _misuse(error: Any) -> str:
    """What to say about words that make no command; without any words, the help."""
    kind, context, param = type(error).__name__, getattr(error, "ctx", None), getattr(error, "param", None)
    if kind == "NoArgsIsHelpError":
        return str(error.format_message())
    if kind == "NoSuchOption":
        what = f"없는 옵션이에요: {error.option_name}."
        if error.possibilities:
            what += f" 혹시 {', '.join(error.possibilities)}인가요?"
    elif kind == "MissingParameter" and param is not None:
        what = f"필요한 값이 빠졌어요: {param.name}."
    elif param is not None:
        what = f"값이 맞지 않아요: {' '.join(param.opts)}."
    elif hasattr(getattr(context, "command", None), "commands"):
        what = f"없는 명령이에요. 있는 명령: {', '.join(context.command.commands)}."
    else:
        what = "인자가 너무 많거나 모자라요."
    command = "grader" if context is None else context.command_path
    return f"{what} 받은 명령: {shlex.join(['grader', *sys.argv[1:]])}\n쓰는 법: {command} --help"


def _say(line: str) -> None:
    """A line as it is: paths may hold what rich would take for markup, and are not to be broken."""
    out.print(line, markup=False, highlight=False, soft_wrap=True)


def _stop(message: object, code: int = 2) -> NoReturn:
    err.print(str(message), markup=False, highlight=False)
    raise typer.Exit(code)


def _guarded(action: Callable[[], Any], *errors: type[Exception]) -> Any:
    """Run `action`; a known error becomes its Korean line and exit status 2."""
    try:
        return action()
    except errors as error:
        _stop(error)


def _course() -> Any:
    from grader.course import CourseError, load_course

    return _guarded(load_course, CourseError, FileNotFoundError)


@app.command()
def start(
    folder: Annotated[Path, typer.Argument(help="레슨을 담을 폴더")] = Path("hanstep"),
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="브라우저를 열어요. 열지 않으면 주소만 알려 줘요")
    ] = True,
) -> None:
    """레슨을 폴더에 복사하고 JupyterLab을 열어요."""
    from grader.learning import start as starting

    _guarded(lambda: starting.prepare(folder, _say), OSError, ValueError)
    _guarded(lambda: starting.open_lab(folder, browser=browser), OSError)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="확인할 .ipynb 또는 .py 파일")],
    exercise: Annotated[str | None, typer.Option(help="이 연습 문제만")] = None,
    seed: Annotated[int | None, typer.Option(help="난수 시드", min=0)] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "cpu",
) -> None:
    """내 파일을 확인해요. 종료 코드는 모두 통과하면 0, 아니면 1이에요."""
    passed = _check_file(file, exercise, seed, device)
    raise typer.Exit(0 if passed else 1)


@app.command()
def watch(file: Annotated[Path, typer.Argument(help="지켜볼 .ipynb 또는 .py 파일")]) -> None:
    """파일을 저장할 때마다 다시 확인해요."""
    from watchfiles import watch as changes

    seen = _content(file)
    _check_file(file, None, None, "cpu")
    # The folder, not the file: most editors save a new file under the old name. And once a second whatever the
    # system says: what was saved during a check is not missed.
    for _ in changes(file.resolve().parent, recursive=False, rust_timeout=1000, yield_on_timeout=True):
        now = _content(file)
        if now is not None and now != seen:
            seen = now
            out.rule()
            _check_file(file, None, None, "cpu")


def _content(file: Path) -> bytes | None:
    """What is in the file; None while an editor has it away."""
    try:
        return file.read_bytes()
    except OSError:
        return None


def _check_file(file: Path, exercise: str | None, seed: int | None, device: str) -> bool:
    from grader.classroom.grading import grade_one
    from grader.classroom.workers import Plan
    from grader.course import CourseError
    from grader.learning.progress import Progress as Learner
    from grader.report.text import print_feedback
    from grader.submission.folder import ClassFolderError, read_submission

    course = _course()
    if file.is_dir():
        _stop(f"폴더예요: {file}. 파일 하나를 주세요. 반 전체는 grader grade {file}로 채점해요.")
    if not file.is_file():
        _stop(f"파일이 없어요: {file}. 경로를 확인해 주세요.")
    if exercise is not None:
        _guarded(lambda: course.exercise(exercise), CourseError)
    submission = _guarded(lambda: read_submission(file, tuple(course.exercises)), ClassFolderError, OSError)
    if submission.unreadable:
        _stop(f"{submission.unreadable[0].name}: {submission.unreadable[0].message}", 1)
    handed_in = {name for name in course.exercises if submission.source_for(name) is not None}
    lessons = tuple(lesson for lesson in course.lessons if any(e.name in handed_in for e in lesson.exercises))
    # One's own file needs no walls, only that an endless loop or a crash costs nothing but itself.
    plan = Plan(course, lessons or course.lessons, seed or 1, _device(device), "none")
    with out.status("확인하는 중이에요"):
        result = _guarded(lambda: grade_one(plan, submission), CourseError)
    shown = [f for f in result.feedbacks if (f.exercise == exercise if exercise else f.status != "missing")]
    if not shown:
        _stop(f"{file}에서 연습 문제를 찾지 못했어요. 있는 연습 문제: {', '.join(course.exercises)}", 1)
    learner = Learner.load()
    for feedback in shown:
        learner.record_check(feedback.exercise, feedback.status == "passed")
        print_feedback(out, feedback)
    return all(f.status == "passed" for f in shown)


@app.command()
def hint(name: Annotated[str, typer.Argument(help="연습 문제 이름")]) -> None:
    """다음 힌트를 하나 보여 줘요. 마지막 힌트가 정답이에요."""
    from grader.course import CourseError
    from grader.learning import notebook

    _guarded(lambda: _course().exercise(name), CourseError)
    out.print(notebook.hint(name).text, markup=False, highlight=False)


@app.command()
def reset(
    name: Annotated[str, typer.Argument(help="연습 문제 이름 또는 레슨 번호")],
    folder: Annotated[Path, typer.Option(help="레슨이 있는 폴더")] = Path("."),
) -> None:
    """연습 문제나 레슨을 처음 상태로 되돌려요. 쓰던 것은 백업으로 남겨요."""
    from grader.learning import start as starting

    _guarded(lambda: starting.reset(folder, name, _say), OSError, ValueError)


@app.command()
def progress() -> None:
    """어디까지 통과했는지 보여 줘요."""
    from rich.table import Table

    from grader.learning.progress import Progress as Learner

    course, learner = _course(), Learner.load()
    table = Table(title="진도")
    for column in ("레슨", "연습 문제", "통과", "확인", "힌트"):
        table.add_column(column)
    for lesson in course.lessons:
        for exercise in lesson.exercises:
            entry = learner.exercises.get(exercise.name)
            row = ("통과", entry.checks, entry.hints) if entry and entry.passed else ("", 0, 0)
            if entry and not entry.passed:
                row = ("", entry.checks, entry.hints)
            table.add_row(lesson.id, f"{exercise.title} ({exercise.name})", *(str(v or "") for v in row))
    out.print(table)


@app.command()
def grade(
    submissions: Annotated[Path, typer.Argument(help="학생마다 폴더나 파일 하나씩 있는 폴더")],
    out_dir: Annotated[Path, typer.Option("--out", help="결과를 쓸 폴더")] = Path("report"),
    lesson: Annotated[list[str] | None, typer.Option(help="이 레슨만 (여러 번 쓸 수 있어요)")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="동시에 채점할 제출물 수. 주지 않으면 CPU 코어 수", min=1)
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "auto",
    sandbox: Annotated[str, typer.Option(help="auto, bwrap, none")] = "auto",
    seed: Annotated[int | None, typer.Option(help="난수 시드. 같은 시드는 같은 결과를 내요", min=0)] = None,
    resume: Annotated[bool, typer.Option("--resume", help="멈춘 채점을 이어서 해요")] = False,
    ray: Annotated[
        str | None, typer.Option(help="Ray 클러스터의 주소: auto, 10.0.0.5:6379, local(이 컴퓨터)")
    ] = None,
) -> None:
    """반 전체를 채점하고 결과표와 피드백 페이지를 만들어요."""
    from grader.classroom.cluster import ClusterError
    from grader.classroom.grading import MAX_SEED, grade_class
    from grader.classroom.journal import Journal, JournalError, refuse_inside
    from grader.classroom.workers import Plan
    from grader.course import CourseError
    from grader.report.gradebook import write_report
    from grader.report.text import class_table
    from grader.sandbox.sandbox import SandboxUnavailable
    from grader.submission.folder import ClassFolderError, read_class

    course = _course()
    if sandbox not in ("auto", "bwrap", "none"):
        _stop(f"--sandbox에는 auto, bwrap, none 가운데 하나를 주세요. 받은 값: '{sandbox}'")
    if seed is not None and seed > MAX_SEED:
        _stop(f"--seed에는 {MAX_SEED} 이하의 수를 주세요. 받은 값: {seed}")
    lessons = _guarded(lambda: tuple(course.lesson(key) for key in lesson or ()), CourseError)
    _guarded(lambda: refuse_inside(out_dir, submissions), JournalError, OSError)
    handed_in = _guarded(lambda: read_class(submissions, tuple(course.exercises)), ClassFolderError, OSError)
    plan = Plan(
        course,
        lessons or course.lessons,
        secrets.randbelow(MAX_SEED) if seed is None else seed,
        _device(device),
        sandbox,
        jobs or (_MOST_JOBS if ray not in (None, "local") else os.cpu_count() or 1),
        ray=ray,
    )
    walls = "none" if sandbox == "none" else "bwrap"
    journal, plan = _guarded(
        lambda: Journal.open(out_dir, plan, walls, resume=resume, seed_given=seed is not None),
        JournalError,
        OSError,
    )
    todo = [s for s in handed_in if not journal.has(s)]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=err, transient=True) as bar, _told_at_once():
            task = bar.add_task("채점", total=len(handed_in), completed=len(handed_in) - len(todo))

            def finished(result: Any) -> None:
                journal.add(result)
                bar.update(task, advance=1)

            grade_class(plan, todo, finished)
    except (SandboxUnavailable, ClusterError, CourseError) as error:
        _stop(error)
    except KeyboardInterrupt:
        again = [
            "grader",
            "grade",
            str(submissions),
            "--out",
            str(out_dir),
            "--resume",
            "--device",
            plan.device,
        ]
        again += [word for key in lesson or () for word in ("--lesson", key)]
        again += ["--sandbox", sandbox] if sandbox != "auto" else []
        again += ["--ray", ray] if ray else []
        err.print(f"\n멈췄어요. 이어서 하려면: {shlex.join(again)}", markup=False, soft_wrap=True)
        raise typer.Exit(130) from None
    result = journal.result(handed_in)
    _guarded(lambda: write_report(out_dir, result, course), OSError)
    journal.close()
    out.print(class_table(result, width=out.width))
    _say(f"결과: {out_dir / 'index.html'}  ·  시드 {plan.seed}")


@app.command()
def build(
    lesson: Annotated[
        list[str] | None, typer.Argument(help="만들 레슨의 번호 (예: 01 02). 비우면 모두 만들어요")
    ] = None,
    check_only: Annotated[
        bool, typer.Option("--check", help="다시 만들지 않고, 낡은 것이 있는지만 봐요")
    ] = False,
) -> None:
    """solutions/에서 lessons/의 노트북을 만들어요 (강의를 고치는 사람용)."""
    from grader.authoring.build import BuildError, build_all
    from grader.course import CourseError

    course = _course()
    only = _guarded(lambda: [course.lesson(key) for key in lesson or ()], CourseError)
    fresh = _guarded(lambda: build_all(course, check=check_only, report=_say, only=only), BuildError, OSError)
    raise typer.Exit(0 if fresh else 1)


@app.command()
def doctor() -> None:
    """이 컴퓨터에서 무엇이 되는지 확인해요."""
    from grader.doctor import diagnose_machine, render

    findings = diagnose_machine()
    out.print(render(findings))
    raise typer.Exit(0 if all(f.ok for f in findings) else 1)


@contextmanager
def _told_at_once() -> Iterator[None]:
    """Ctrl-C is answered as it comes: the exercises that run may need their whole time limit to end."""

    def answer(number: int, frame: Any) -> NoReturn:
        err.print(
            "멈추는 중이에요. 지금 실행하는 연습이 끝나거나 제한 시간이 지나면 멈춰요.", highlight=False
        )
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _device(wanted: str) -> str:
    import torch

    if wanted not in ("auto", "cpu", "cuda"):
        _stop(f"--device에는 auto, cpu, cuda 가운데 하나를 주세요. 받은 값: '{wanted}'")
    if wanted == "cuda" and not torch.cuda.is_available():
        _stop("CUDA를 쓸 수 없어요. `grader doctor`로 확인하거나 --device cpu로 채점해 주세요.")
    return "cuda" if wanted != "cpu" and torch.cuda.is_available() else "cpu"
