"""Define commands for learners: copy the lessons, check a file, watch it, show hints, update, start over.

No command reads its `data_dir`: the option's callback applies it before the command runs.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from grader.base.errors import CommandError, NothingToCheck
from grader.base.files import require_file
from grader.cli.own_names import OwnNames, exercises_by_own_name
from grader.cli.progress import DataDir
from grader.cli.terminal import device as device_for
from grader.cli.terminal import out, say
from grader.grading import SEED
from grader.grading.warm import without_gc_for_good
from grader.observe.wording import particle

if TYPE_CHECKING:
    from grader.course.course import Exercise
    from grader.grading.own_file import OwnFile


def start(
    folder: Annotated[Path, typer.Argument(help="레슨을 담을 폴더")] = Path("hanstep"),
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="브라우저를 열어요. 열지 않으면 주소만 알려 줘요")
    ] = True,
    data_dir: DataDir = None,
) -> None:
    """레슨을 폴더에 복사하고 JupyterLab을 열어요."""
    from grader.workspace.start import open_lab, prepare

    prepare(folder, say)
    open_lab(folder, say, browser=browser)


def check(
    file: Annotated[
        Path,
        typer.Argument(help="확인할 .ipynb 또는 .py 파일. 예: hanstep/01_five_line_step/1_five_lines.ipynb"),
    ],
    exercise: Annotated[str | None, typer.Option(help="이 연습 문제만")] = None,
    seed: Annotated[int, typer.Option(help="난수 시드", min=0, show_default=False)] = SEED,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda")] = "cpu",
    own_names: OwnNames = None,
    data_dir: DataDir = None,
) -> None:
    """내 파일을 확인해요. 종료 코드는 확인한 것을 모두 통과하면 0, 아니면 1, 명령을 잘못 주었으면 2예요."""
    from grader.course.reading import require_exercise

    # All three before anything slow is imported.
    require_file(file)
    if exercise is not None:
        require_exercise(exercise)
    chosen_device = device_for(device)
    raise typer.Exit(0 if _check_file(file, exercise, seed, chosen_device, own_names or ()) else 1)


def watch(
    file: Annotated[
        Path | None,
        typer.Argument(help="지켜볼 .ipynb 또는 .py 파일. 주지 않으면 다음에 할 노트북", show_default=False),
    ] = None,
    own_names: OwnNames = None,
    data_dir: DataDir = None,
) -> None:
    """저장할 때마다 지금 풀 연습 문제 하나를 다시 확인해요. 통과하면 다음으로 넘어가요."""
    file = _next_notebook() if file is None else file
    require_file(file)
    from grader.cli.terminal import say_nothing_when_slow
    from grader.notebook.terminal_keys import pressed_keys
    from grader.notebook.warming_up import EarlyKeys

    say_nothing_when_slow()
    with pressed_keys() as pressed:
        keys = EarlyKeys(pressed)
        with keys.while_loading(out), without_gc_for_good():
            from grader.course.reading import load_course

            exercises = exercises_by_own_name(own_names or (), load_course())
            from grader.grading import grade_submission  # noqa: F401  (else it is loaded in the first check)
            from grader.notebook.watch import watch_file
        if not keys.quit:
            watch_file(file, out, exercises, keys)


def _next_notebook() -> Path:
    """Return the learner's notebook with the exercise that `grader next` opens; raise `CommandError` without one."""
    from grader.course.reading import load_course
    from grader.learner.next_section import next_exercise, notebook_of
    from grader.learner.progress import Progress

    course = load_course()
    folder, place = notebook_of(course, next_exercise(course, Progress.load().passed))
    if folder is None:
        raise CommandError(
            f"지켜볼 파일을 찾지 못했어요: hanstep/{place}. 파일을 적어 주거나, 먼저 레슨을 받아 주세요: grader start"
        )
    return folder / place


def _names_with_example() -> str:
    """Return Korean sentences with the names of all exercises, and the command for the next one."""
    from grader.course.reading import load_course
    from grader.learner.next_section import next_exercise
    from grader.learner.progress import Progress

    course = load_course()
    following = next_exercise(course, Progress.load().passed)
    example = following.name if following is not None else next(iter(course.exercises))
    return f"예: grader hint {example}\n이름: {', '.join(course.exercises)}"


def _check_file(file: Path, exercise: str | None, seed: int, device: str, own_names: Sequence[str]) -> bool:
    """Check the file's exercises, or one of them; record and print the results, and return True if all passed.

    Raises:
        HanstepError: nothing was checked, because of the options or of what the file holds.
    """
    with without_gc_for_good():
        from grader.course.reading import load_course
        from grader.grading.own_file import OwnFile, proposal
        from grader.learner.earned import added, recorded_check
        from grader.learner.progress import Progress
        from grader.learner.settings import as_chosen, repair_setting
        from grader.report.hint_ladder import without_clues
        from grader.report.text import print_feedback, print_standing

        course = load_course()
    wanted = None if exercise is None else course.exercise(exercise)
    exercises = exercises_by_own_name(own_names, course)
    own = OwnFile(file, course, exercises)
    options = _given_options(exercises, exercise, seed, device)
    if wanted is not None and wanted not in own.exercises:
        raise NothingToCheck(_not_in_file(wanted, own, file, options))
    feedbacks = own.check(
        own.exercises if wanted is None else (wanted,),
        seed=seed,
        device=device,
        meanwhile=lambda: out.status("확인하는 중이에요"),
    )
    if not feedbacks:  # only warm-ups and bonus tasks that were not begun
        empty = f"{file}의 연습 문제를 아직 시작하지 않았어요. 함수 안을 채운 다음 다시 확인해 보세요."
        raise NothingToCheck(" ".join((*own.notes, empty)))
    learner = Progress.load()
    repair, _ = repair_setting(file.parent)
    gains = []
    for feedback in feedbacks:
        gains.append(recorded_check(learner, feedback, own.source(feedback.exercise), repair))
        print_feedback(out, without_clues(as_chosen(feedback, file.parent)))
        if feedback.diagnosis.mistakes:
            say(f"막히면 힌트가 하나씩 알려 줘요: grader hint {feedback.exercise}")
    print_standing(out, added(gains).lines)
    proposed = proposal(file, own.close_names, options) if wanted is None else ""
    for notice in (*own.notes, *([proposed] if proposed else []), *learner.take_notices()):
        say(notice)
    return all(feedback.status == "passed" for feedback in feedbacks)


def _given_options(exercises: Mapping[str, str], exercise: str | None, seed: int, device: str) -> str:
    """Return the options of a `check` that decide what it says, if they are not the defaults, as written in a shell."""
    given = [f"--as {own}={name}" for own, name in exercises.items()]
    given += [] if exercise is None else [f"--exercise {exercise}"]
    given += [] if seed == SEED else [f"--seed {seed}"]
    given += [] if device == "cpu" else [f"--device {device}"]
    return " ".join(given)


def _not_in_file(exercise: "Exercise", own: "OwnFile", file: Path, options: str) -> str:
    """Return Korean sentences that the file does not hold this exercise, and what to do.

    Args:
        exercise: the exercise.
        own: the file's content.
        file: the file.
        options: the options of this check, for the command that is proposed.
    """
    from grader.grading.own_file import proposal

    name = exercise.name
    close_names = [pairing for pairing in own.close_names if pairing.exercise == name]
    found = ", ".join(one.name for one in own.exercises)
    remedy = proposal(file, close_names, options) or f"들어 있는 연습 문제: {found}"
    return " ".join((f"{file}에는 `{name}`{particle(name, '이/가')} 없어요.", *own.notes, remedy))


def hint(
    name: Annotated[str | None, typer.Argument(help="연습 문제 이름", show_default=False)] = None,
    answer: Annotated[bool, typer.Option("--answer", help="정답만 남았으면 정답을 봐요")] = False,
    data_dir: DataDir = None,
) -> None:
    """다음 힌트를 하나 보여 줘요. 마지막 힌트가 정답이에요."""
    if name is None:
        raise CommandError(f"어느 연습 문제의 힌트인지 적어 주세요. {_names_with_example()}")
    from grader.course.reading import require_exercise

    require_exercise(name)  # before anything slow is imported
    from grader.notebook.check import hint as next_hint
    from grader.report.text import print_indented

    command = f"grader hint {name}"
    ask = f"실행하세요: {command} --answer"
    print_indented(out, next_hint(name, answer=answer, again=command, ask=ask).text)


def update(folder: Annotated[Path, typer.Argument(help="레슨이 있는 폴더")] = Path("hanstep")) -> None:
    """강의의 새 판을 내 노트북에 합쳐요. 내가 쓴 셀은 그대로 남아요."""
    from grader.workspace.update import update as merge_new_editions

    merge_new_editions(folder, say)


def reset(
    name: Annotated[
        str, typer.Argument(help="연습 문제, 노트북 또는 레슨. 예: train_step, 1_five_lines, 01")
    ],
    folder: Annotated[Path, typer.Option(help="레슨이 있는 폴더")] = Path("."),
    data_dir: DataDir = None,
) -> None:
    """연습 문제, 노트북, 레슨을 처음 상태로 되돌려요. 쓰던 것은 백업으로 남겨요."""
    from grader.workspace.start import reset as start_over

    start_over(folder, name, say)
