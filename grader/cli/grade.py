"""Define `grader grade`: grade a folder of submissions and write the report."""

import os
import secrets
import shlex
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from grader.base.errors import CommandError
from grader.base.names import listed
from grader.cli.class_inputs import (
    COMMENTS,
    EXTENSIONS,
    GROUPS,
    OVERRIDES,
    POLICY,
    named_rosters,
    receive_class,
    require_inputs,
    tell_marks,
)
from grader.cli.own_names import ClassNames, exercises_by_own_name
from grader.cli.progress_shown import Pulse, announced
from grader.cli.terminal import complain, err, out, say
from grader.cli.terminal import device as device_for
from grader.grading.warm import without_gc_for_good

if TYPE_CHECKING:
    from grader.classroom.journal import EarlierChoice, Journal
    from grader.course.course import Course, Lesson
    from grader.grading.grading_run import GradingRun
    from grader.intake.receive import Received
    from grader.submission.submission import Submission

_MOST_JOBS = 10_000  # upper limit with Ray, meaning "as many as the cluster has processors"


def grade(
    submissions: Annotated[
        Path, typer.Argument(help="학생마다 폴더나 파일 하나씩 있는 폴더, LMS에서 받은 폴더나 zip")
    ],
    out_dir: Annotated[Path, typer.Option("--out", help="결과를 쓸 폴더")] = Path("report"),
    lesson: Annotated[list[str] | None, typer.Option(help="이 레슨만. 예: 01이나 01,02")] = None,
    exercise: Annotated[
        list[str] | None, typer.Option(help="이 연습만. 예: train_step이나 train_step,fit")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="동시에 채점할 제출물 수. 주지 않으면 CPU 코어 수", min=1)
    ] = None,
    device: Annotated[
        str, typer.Option(help="cpu, cuda, auto(GPU가 있으면 cuda). cpu의 결과는 어느 컴퓨터에서나 같아요")
    ] = "cpu",
    sandbox: Annotated[str, typer.Option(help="auto, bwrap, none")] = "auto",
    package: Annotated[
        list[str] | None,
        typer.Option(help="제출물이 더 써도 되는 설치된 패키지 (여러 번 쓸 수 있어요). 예: pandas"),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="난수 시드. 같은 시드는 같은 결과를 내요", min=0)] = None,
    resume: Annotated[bool, typer.Option("--resume", help="멈춘 채점을 이어서 해요")] = False,
    changed_only: Annotated[
        bool,
        typer.Option(
            "--changed-only", help="지난 채점 뒤에 새로 냈거나 바뀐 것만 채점하고 나머지는 그대로 둬요"
        ),
    ] = False,
    roster: Annotated[
        list[Path] | None,
        typer.Option(help="명단(CSV, xlsx): 학번, 이름, 분반, 조. 여러 번 주면 학번·이메일·이름으로 합쳐요"),
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(help="모둠(CSV, xlsx): 학번, 조. 명단에 조가 없을 때")
    ] = None,
    policy: Annotated[Path | None, typer.Option(help="점수 정책(policy.toml)")] = None,
    override: Annotated[Path | None, typer.Option(help="직접 준 점수(overrides.csv)")] = None,
    extensions: Annotated[
        Path | None, typer.Option(help="마감을 늘려 주었거나 면제한 학생(CSV): 학번, 마감, 면제, 까닭")
    ] = None,
    comments: Annotated[
        Path | None, typer.Option(help="학생에게 하는 말(comments.csv): 학번, 연습, 코멘트")
    ] = None,
    own_names: ClassNames = None,
    ray: Annotated[
        str | None, typer.Option(help="Ray 클러스터의 주소: auto, 10.0.0.5:6379, local(이 컴퓨터)")
    ] = None,
) -> None:
    """반 전체를 채점하고 결과표와 피드백 페이지를 만들어요."""
    if not hasattr(os, "fork"):
        raise CommandError(
            f"이 운영 체제({sys.platform})에서는 반을 채점할 수 없어요. Linux나 WSL 2에서 실행해 주세요. "
            "내 파일 하나는 여기서도 확인할 수 있어요: grader check 내파일.ipynb"
        )
    given = {
        **named_rosters(roster or ()),
        GROUPS: groups,
        POLICY: policy,
        OVERRIDES: override,
        EXTENSIONS: extensions,
        COMMENTS: comments,
    }
    require_inputs(submissions, given.values())
    from grader.course.reading import load_course

    course = load_course()
    asked = _asked_for(out_dir, lesson, exercise, resume=resume, changed_only=changed_only)
    lessons, only = _chosen(course, asked.lessons, asked.only)
    names = {**dict(asked.own_names), **exercises_by_own_name(own_names or (), course, for_class=True)}
    chosen_device = device_for(device)  # before starting anything that would see a GPU
    _start_processes(ray, sandbox)
    with without_gc_for_good():
        from grader.classroom.folder_lock import locked_folder
        from grader.classroom.journal import Journal, refuse_inside
        from grader.gradebook.marking import marked
        from grader.gradebook.regrades import with_regrades
        from grader.grading.grading_run import GradingRun
        from grader.intake.receive import enrolled
        from grader.report.class_table import class_table
        from grader.report.results import results_before
        from grader.report.write_report import write_report
        from grader.submission.class_folder import hidden_entries_note
    refuse_inside(out_dir, submissions)
    with locked_folder(out_dir, "끝나기를 기다리거나, --out으로 다른 폴더를 알려 주세요.") as note:
        run = GradingRun(
            course,
            lessons,
            _check_options(sandbox, seed, package or ()),
            chosen_device,
            sandbox,
            jobs or (_MOST_JOBS if ray not in (None, "local") else os.cpu_count() or 1),
            only=only,
            added_packages=tuple(package or ()),
            own_names=tuple(names.items()),
            ray=ray,
        )
        received, rules = receive_class(submissions, out_dir, given, run)
        students = [submission.student for submission in received.submissions]
        journal, run = Journal.open(
            out_dir,
            run,
            "none" if sandbox == "none" else "bwrap",
            resume=resume,
            changed_only=changed_only,
            seed_given=seed is not None,
        )
        described = (submissions, out_dir, run)
        question = _names_question(received, *described)
        if question:
            say(question)
        with _explain_resuming(_command_again("--resume", *described)):
            todo = deque(submission for submission in received.submissions if not journal.has(submission))
            # Frees each submission's text as soon as it is graded.
            received = replace(received, submissions=())
            _grade_all(run, todo, journal, len(students), note)
            result = journal.result(students)
            # It names the results folder, so it stands only where it is needed: runs of one class are compared.
            again = _command_again("--changed-only", *described) if result.ungraded else ""
            result = with_regrades(replace(result, regrade=again), results_before(out_dir))
            result = marked(enrolled(result, received), rules, tuple(course.exercises))
            write_report(out_dir, announced(result), course)
            journal.close()
        out.print(class_table(result, width=out.width))
        if unread := hidden_entries_note(submissions):
            say(unread)
        tell_marks(out_dir, result, rules, has_told_command=True)
        if question:
            say(question)
        say(f"결과: {out_dir / 'index.html'}  ·  시드 {run.seed}")


def _start_processes(ray: str | None, sandbox: str) -> None:
    """Move into a temporary folder of our own, and start what workers are forked from; a cluster needs neither."""
    from grader.classroom import workers

    # Only here: with another address, Ray looks for its cluster in the usual temporary folder.
    if ray in (None, "local") and os.name == "posix":
        from grader.classroom.own_temporary_folder import move_into_own_temporary_folder

        move_into_own_temporary_folder()
    if ray is None and sandbox != "none":
        from grader.sandbox import cgroups

        cgroups.enter_prepared_parent(
            cgroups.own_cgroup()
        )  # before starting anything that would occupy the group
    if ray is None:
        workers.start_fork_server()  # they start while this process reads the submissions


def _asked_for(
    out: Path,
    lessons: Sequence[str] | None,
    exercises: Sequence[str] | None,
    *,
    resume: bool,
    changed_only: bool,
) -> "EarlierChoice":
    """Return what is asked for; a run that continues another one need not name lessons, exercises and names again."""
    from grader.classroom.journal import EarlierChoice, earlier_choice

    given = EarlierChoice(tuple(_listed(lessons)), tuple(_listed(exercises)))
    if not (resume or changed_only):
        return given
    earlier = earlier_choice(out, changed_only=changed_only)
    return replace(given, own_names=earlier.own_names) if given.lessons or given.only else earlier


def _listed(values: Sequence[str] | None) -> list[str]:
    """Return the values of an option that is given several times, or once with commas."""
    return [part.strip() for value in values or () for part in value.split(",") if part.strip()]


def _chosen(
    course: "Course", lessons: Sequence[str], exercises: Sequence[str]
) -> "tuple[tuple[Lesson, ...], tuple[str, ...]]":
    """Return the lessons to grade, and the names of the only exercises in them that are; empty for all.

    Args:
        course: the course.
        lessons: ids of lessons; empty for those of the exercises, or else for all.
        exercises: names of exercises.

    Raises:
        CourseError: there is no such lesson or exercise.
        CommandError: some exercises give no points, or are in none of the lessons; all of them are named.
    """
    named = [course.exercise(name) for name in dict.fromkeys(exercises)]
    keys = [course.lesson(key).id for key in lessons] or list(dict.fromkeys(one.lesson for one in named))
    if extra := [one for one in named if one.kind != "exercise"]:
        where = dict.fromkeys(one.lesson for one in extra)
        counted = "; ".join(
            f"레슨 {key} {', '.join(one.name for one in course.lesson(key).counted)}" for key in where
        )
        raise CommandError(
            f"점수에 들지 않는 과제(몸풀기, 보너스)라서 --exercise로 고를 수 없어요: "
            f"{', '.join(one.name for one in extra)}. 점수에 드는 연습: {counted}"
        )
    if outside := [one for one in named if one.lesson not in keys]:
        told = "; ".join(f"'{one.name}' 연습은 레슨 {one.lesson}에 있어요" for one in outside)
        inside = [one.name for one in named if one.lesson in keys]
        whole = inside or [one.name for key in keys for one in course.lesson(key).counted]
        raise CommandError(
            f"{told}. --exercise는 --lesson으로 고른 레슨 안에서 고르고, 다른 레슨의 연습을 더하지는 않아요. "
            "--lesson을 빼고 채점할 연습을 모두 적어 주세요: "
            f"--exercise {','.join((*whole, *(one.name for one in outside)))}"
        )
    graded = tuple(course.lesson(key) for key in keys) or course.lessons
    return graded, tuple(one.name for one in named)


def _check_options(sandbox: str, seed: int | None, packages: Sequence[str]) -> int:
    """Check the options and return the seed, drawn at random if none is given.

    Raises:
        CommandError: an option has an invalid value.
    """
    from grader.classroom.grade_class import MAX_SEED
    from grader.sandbox.packages import editable_source, is_installed

    if sandbox not in ("auto", "bwrap", "none"):
        raise CommandError(f"--sandbox에는 auto, bwrap, none 가운데 하나를 주세요. 받은 값: '{sandbox}'")
    if seed is not None and seed > MAX_SEED:
        raise CommandError(f"--seed에는 {MAX_SEED} 이하의 수를 주세요. 받은 값: {seed}")
    for name in packages:
        if not is_installed(name):
            raise CommandError(
                f"설치되지 않은 패키지예요: '{name}'. 먼저 설치해 주세요: pip install {shlex.quote(name)}"
            )
        source = None if sandbox == "none" else editable_source(name)
        if source is not None:
            raise CommandError(
                f"제출물이 import할 수 없는 패키지예요: '{name}'. `pip install -e`로 설치해서 코드가 "
                f"격리된 곳 밖에 있어요. -e 없이 다시 설치해 주세요: pip install {shlex.quote(source)}"
            )
    return secrets.randbelow(MAX_SEED) if seed is None else seed


def _names_question(received: "Received", submissions: Path, out_dir: Path, run: "GradingRun") -> str:
    """Return one Korean question on all answers that have other names, with the command; empty if there are none."""
    from grader.intake.other_names import shared_names

    once = (one for one in received.submissions if one.student not in received.copies)
    shared = shared_names(once, run.exercises, run.course.exercises)
    if not shared:
        return ""
    shown = listed([f"{one.own} → {one.exercise} {one.students:,}개" for one in shared])
    renamed = {**dict(run.own_names), **{one.own: one.exercise for one in shared if one.own.isidentifier()}}
    again = _command_again(
        "--changed-only", submissions, out_dir, replace(run, own_names=tuple(renamed.items()))
    )
    return (
        f"연습과 이름이 다른 함수가 있어서 그 연습은 내지 않은 것으로 채점해요: {shown}. "
        f"그 연습의 답이 맞다면 이 명령 하나로 모두 채점해요(아닌 것은 --as를 빼세요): {again}"
    )


def _command_again(how: str, submissions: Path, out_dir: Path, run: "GradingRun") -> str:
    """Return the command that continues this run (`--resume`), or grades what has changed since (`--changed-only`)."""
    chosen = ["--out", str(out_dir), how]
    chosen += ["--device", run.device] if run.device != "cpu" else []
    lessons = [] if len(run.lessons) == len(run.course.lessons) else [lesson.id for lesson in run.lessons]
    chosen += ["--lesson", ",".join(lessons)] if lessons and not run.only else []
    chosen += ["--exercise", ",".join(run.only)] if run.only else []
    chosen += [word for own, name in run.own_names for word in ("--as", f"{own}={name}")]
    chosen += [word for name in run.added_packages for word in ("--package", name)]
    chosen += ["--sandbox", run.sandbox] if run.sandbox != "auto" else []
    chosen += ["--ray", run.ray] if run.ray else []
    return shlex.join(["grader", "grade", str(submissions), *chosen])


@contextmanager
def _explain_resuming(again: str) -> Iterator[None]:
    """If grading stops early, print the command that continues from there."""
    try:
        yield
    except KeyboardInterrupt:
        complain(f"\n멈췄어요. 이어서 하려면: {again}")
        raise typer.Exit(130) from None
    except OSError as error:  # a full disk, most likely
        where = f"{error.filename}: " if error.filename is not None else ""
        raise CommandError(
            f"{where}파일을 읽거나 쓰지 못해서 멈췄어요 ({error.strerror or error}). 채점한 것은 남아 있어요. "
            f"남은 디스크 공간(df -h)과 권한을 확인하고 이어서 채점해 주세요: {again}"
        ) from error


def _grade_all(
    run: "GradingRun",
    todo: "deque[Submission]",
    journal: "Journal",
    total: int,
    note: Callable[[str], None],
) -> None:
    """Grade the submissions in `todo`; show a progress bar up to `total`, and note how far it is for other commands."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from grader.classroom.grade_class import grade_class

    if len(todo) < total:
        say(f"새로 채점할 학생 {len(todo):,}명, 지난 결과를 그대로 둘 학생 {total - len(todo):,}명")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bar, _acknowledge_interrupt():
        task = bar.add_task("채점", total=total, completed=total - len(todo))

        pulse = Pulse()

        def finished(result: Any) -> None:
            journal.add(result)
            bar.update(task, advance=1)
            done = int(bar.tasks[0].completed)
            pulse.beat("채점", done, total)
            note(f"채점 {done:,}/{total:,}")

        grade_class(run, todo, finished)


@contextmanager
def _acknowledge_interrupt() -> Iterator[None]:
    """Acknowledge Ctrl-C immediately: workers, and the machines of a cluster, need a moment to end."""

    def answer(number: int, frame: Any) -> NoReturn:
        complain("멈추는 중이에요.")
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
