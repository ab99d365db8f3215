"""Copy lessons from the installed package into a learner's folder: `grader start` and `grader reset`.

Grading does not use this module. What a learner wrote stays: only a copy that nobody has changed is overwritten.
"""

import importlib
import importlib.util
import os
import shlex
import subprocess
import sys
import webbrowser
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from grader.base.files import write_whole
from grader.base.menus import REOPEN
from grader.course.course import Course, Exercise, Part, unknown_exercise
from grader.course.exercise_cell import exercise_of
from grader.course.reading import load_course
from grader.learner.next_section import next_exercise
from grader.learner.progress import Progress
from grader.paths import asset_path, lessons_path
from grader.workspace import update
from grader.workspace.folder import CopyRecord, Report, WorkspaceError, back_up, file_digest, free_name, load
from grader.workspace.split_notebook import bring_over


def prepare(folder: Path, report: Report = print) -> list[Path]:
    """Copy the lessons, and the templates beside them, into `folder`.

    A lesson that the learner has changed stays. If the course has a newer edition of it, the new one is put beside it,
    or the report says how to merge it.

    Returns:
        The learner's notebooks in the course's order.

    Raises:
        WorkspaceError: the folder is a file or cannot be written.
    """
    in_the_way = next((path for path in (folder, *folder.parents) if path.is_file()), None)
    if in_the_way is not None:
        raise WorkspaceError(
            f"폴더가 아니라 파일이에요: {in_the_way}. 다른 폴더 이름을 적어 주세요: grader start 내폴더"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _copy_lessons(load_course(), folder, report)
    except PermissionError as error:
        raise WorkspaceError(
            f"{error.filename or folder}에 쓸 권한이 없어요. 쓸 수 있는 폴더를 주세요: grader start ~/hanstep"
        ) from error
    except FileExistsError as error:
        raise WorkspaceError(
            f"폴더가 아니라 파일이에요: {error.filename}. 다른 폴더 이름을 적어 주세요: grader start 내폴더"
        ) from error


def open_lab(folder: Path, report: Report = print, *, browser: bool = True) -> None:
    """Replace this process by JupyterLab on `folder`, opened at the first lesson that is not finished.

    If a JupyterLab serves the folder already, open the lesson there: two would overwrite each other's notebooks.

    Args:
        folder: the learner's folder.
        report: gets a Korean line on what is done.
        browser: open a browser; otherwise only print the address.

    Raises:
        WorkspaceError: JupyterLab is not installed, or the folder has no lesson.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise WorkspaceError(
            f"JupyterLab이 없어요. 설치해 주세요: {sys.executable} -m pip install jupyterlab"
        )
    course = load_course()
    running = _address_of_running(folder, _first_page(folder, course))
    if running is not None:
        report(f"이 폴더를 연 JupyterLab이 이미 있어요: {running}")
        if browser:
            webbrowser.open(running)
        return
    command = [*lab_command(folder, course), *([] if browser else ["--no-browser"])]
    os.environ.setdefault("PYTHONSTARTUP", str(asset_path("jupyterlab", "startup.py")))  # kernels inherit it
    report("JupyterLab을 열어요. 10초쯤 걸려요. 끝내려면 이 창에서 Ctrl-C를 두 번 누르세요.")
    if sys.platform == "win32":  # on Windows, exec would return to the prompt while the server still runs
        raise SystemExit(subprocess.call(command))
    os.execv(command[0], command)


def _address_of_running(folder: Path, page: str) -> str | None:
    from jupyter_server.serverapp import list_running_servers

    with suppress(OSError, ValueError, LookupError):  # left over from a server that was killed
        for server in list_running_servers():  # lists this user's servers only
            if server["root_dir"] == str(folder.resolve()):
                return f"{server['url'].rstrip('/')}{page}?token={quote(server['token'])}"
    return None


def _first_page(folder: Path, course: Course) -> str:
    """Return the path at which JupyterLab shows the first notebook with an exercise that is not passed.

    Raises:
        WorkspaceError: the folder has no lesson.
    """
    there = [part for part in course.parts if (folder / part.place).is_file()]
    if not there:
        raise WorkspaceError(f"{folder}에 레슨이 없어요. 먼저 복사해 주세요: grader start {folder}")
    here = {name for part in there for name in part.exercises}
    following = next_exercise(course, Progress.load().passed, among=here)
    part = there[0] if following is None else course.lesson(following.lesson).part_of(following.name)
    return f"/lab/tree/{quote(part.place)}"


def lab_command(folder: Path, course: Course) -> list[str]:
    """Return the command that opens JupyterLab on `folder`.

    Raises:
        WorkspaceError: the folder has no lesson.
    """
    page = _first_page(folder, course)
    command = [
        sys.executable,
        "-m",
        "grader.workspace.jupyterlab",  # JupyterLab, with Korean lines in the terminal
        f"--ServerApp.root_dir={folder.resolve()}",
        f"--LabApp.default_url={page}",  # also appears in the address printed if there is no browser
        # Korean menus; a learner's own settings take precedence.
        f"--LabApp.app_settings_dir={asset_path('jupyterlab')}",
        # A style sheet for this server alone. Not `custom/custom.css`: JupyterLab reads that only in a learner's own
        # configuration folder, and replacing that folder would lose their settings.
        f"--LabApp.extra_labextensions_path={asset_path('jupyterlab', 'labextensions')}",
        "--LabApp.news_url=None",  # no question about Jupyter's news before the first lesson
        "--Application.log_level=WARN",  # shows its address and errors, but no line per kernel
        "--ServerApp.log_format=%(color)s%(message)s%(end_color)s",  # without time and component
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Containers often have only root; the server listens on localhost, with a token.
        command.append("--allow-root")
    return command


def reset(place: Path, name: str, report: Report = print) -> list[Path]:
    """Put an exercise, a notebook or a whole lesson back to its start; old notebooks are kept as backups.

    Args:
        place: the learner's folder, or one notebook.
        name: an exercise (`train_step`), a notebook (`1_five_lines`) or a lesson (`01`).
        report: gets Korean lines on what was done.

    Returns:
        Paths of the backups.

    Raises:
        WorkspaceError: there is no such notebook, or it has no such cell.
        CourseError: there is no such exercise or lesson.
    """
    course = load_course()
    exercise = course.exercises.get(name)
    parts = _parts_to_reset(course, name, place)
    notebooks = {part: _find_notebook(place, part) for part in parts}
    backups = []
    for part, notebook in notebooks.items():
        try:
            fresh = None if exercise is None else _with_fresh_cell(notebook, part, exercise)
            backups.append(back_up(notebook))
            write_whole(notebook, part.notebook.read_bytes() if fresh is None else fresh)
        except PermissionError as error:
            raise WorkspaceError(
                f"{error.filename or notebook}에 쓸 권한이 없어요. 파일과 폴더의 권한을 확인해 주세요."
            ) from error
        if exercise is None and notebook.parent.name == part.lesson:
            copied = CopyRecord(notebook.parent.parent)
            copied.note_base(part.place, part.notebook)
            copied.save()
    progress = Progress.load()
    for forgotten in [name] if exercise else [one for part in parts for one in part.exercises]:
        progress.forget(forgotten)
    titles = [exercise.title] if exercise else [part.title for part in parts]
    report(f"처음 상태로 되돌렸어요: {', '.join(titles)}")
    for backup in backups:
        report(f"쓰던 것은 여기 있어요: {backup}")
    report(REOPEN)
    return backups


def _parts_to_reset(course: Course, name: str, place: Path) -> list[Part]:
    """Return the notebooks that `grader reset NAME` changes.

    Raises:
        CourseError: the name is neither an exercise nor a notebook nor a lesson.
        WorkspaceError: it is a lesson, and `place` is a notebook of another name than its parts.
    """
    if (exercise := course.exercises.get(name)) is not None:
        return [course.lesson(exercise.lesson).part_of(name)]
    stem = name.removesuffix(".ipynb").rpartition("/")[2]
    if named := [part for part in course.parts if part.name == stem]:
        return named
    lesson = course.lesson(_lesson_key(course, stem))
    if not place.is_file():
        return list(lesson.parts)
    if place.suffix == ".ipynb" and place.stem not in {part.name for part in lesson.parts}:
        raise WorkspaceError(
            f"레슨 {lesson.id}의 노트북이 아니에요: {place}. 되돌릴 노트북의 이름을 적어 주세요: "
            f"{', '.join(part.name for part in lesson.parts)}"
        )
    return [part for part in lesson.parts if part.name == place.stem] or list(lesson.parts[:1])


def _copy_lessons(course: Course, folder: Path, report: Report) -> list[Path]:
    copied = CopyRecord(folder)
    bring_over(course, folder, copied, report)
    sources = {part.place: part.notebook for part in course.parts}
    templates = {f"{path.parent.name}/{path.name}": path for path in sorted(lessons_path().glob("*/*.py"))}
    done: Counter[_Copied] = Counter()
    for name, source in {**sources, **templates}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        done[_copy(source, folder / name, name, copied, report)] += 1
    if done["new"]:
        report(f"{done['new']}개를 복사했어요: {folder}")
    if done["as it was"]:
        report(f"이미 있는 파일 {done['as it was']}개는 그대로 두었어요: {folder}")
    copied.save()
    return [folder / name for name in sources]


_Copied = Literal["new", "as it was", "reported"]
"""What became of a file; the first two are reported as numbers."""


def _copy(source: Path, target: Path, name: str, copied: CopyRecord, report: Report) -> _Copied:
    """Copy one file, unless the learner has changed it since the last copy."""
    newest, last = file_digest(source), copied.last_edition(name)
    there = file_digest(target) if target.exists() else None
    copied.note_edition(name, newest)
    if there in (None, newest, last):
        copied.note_base(name, source)
    if there is None:
        write_whole(target, source.read_bytes())
        return "new"
    if there == newest:
        return "as it was"
    if there == last:
        write_whole(target, source.read_bytes())
        report(f"새 판으로 바꿨어요 (고친 곳이 없었어요): {target}")
    elif newest == last:
        report(f"쓰던 것을 그대로 둬요: {target}")
    elif source.suffix == ".ipynb" and last is not None:
        report(f"쓰던 것을 그대로 둬요: {target}")
        report(f"강의의 새 판이 있어요. 내가 쓴 셀을 지키며 합치려면: {update.command(target.parent.parent)}")
        copied.note_edition(name, last)  # keep reporting the new edition until it has been merged
    else:
        beside = free_name(target, "새판")
        write_whole(beside, source.read_bytes())
        report(f"쓰던 것을 그대로 두고, 강의의 새 판은 옆에 뒀어요: {beside}")
    return "reported"


def _lesson_key(course: Course, name: str) -> str:
    """Return the lesson's id or name.

    Raises:
        CourseError: it is none.
    """
    known = {key for one in course.lessons for key in (one.id, one.id.lstrip("0"), one.name)}
    stem = name.removesuffix(".ipynb")
    if stem in known:
        return stem
    raise unknown_exercise(name, course.exercises)


def _find_notebook(place: Path, part: Part) -> Path:
    if place.is_file():
        if place.suffix != ".ipynb":
            raise WorkspaceError(f"노트북(.ipynb)만 되돌릴 수 있어요: {place}")
        return place
    for found in (place / part.place, place / "hanstep" / part.place, place / f"{part.name}.ipynb"):
        if found.is_file():
            return found
    raise WorkspaceError(
        f"{place}에 {part.place}가 없어요. 레슨이 있는 폴더를 알려 주세요: --folder 폴더 "
        "(없으면 grader start가 만들어요)"
    )


def _with_fresh_cell(notebook: Path, part: Part, exercise: Exercise) -> bytes:
    """Return the learner's notebook with the exercise's cell replaced by the starter."""
    nbformat: Any = importlib.import_module("nbformat")  # nbformat is only partly typed
    try:
        document = load(notebook)
    except WorkspaceError as error:
        raise WorkspaceError(f"{error} {_whole_notebook(part, notebook)}") from error
    cells, starters = _cells(document, exercise), _cells(load(part.notebook), exercise)
    if not cells or not starters:
        raise WorkspaceError(
            f"{notebook}에 {exercise.name} 연습 셀이 없어요. {_whole_notebook(part, notebook)}"
        )
    for cell in cells:
        cell.source = starters[0].source
        cell.outputs, cell.execution_count = [], None
    return f"{nbformat.writes(document)}\n".encode()


def _whole_notebook(part: Part, notebook: Path) -> str:
    command = f"grader reset {part.name} --folder {shlex.quote(str(notebook))}"
    return f"노트북 전체를 되돌리려면 (쓰던 것은 백업으로 남아요): {command}"


def _cells(document: Any, exercise: Exercise) -> Sequence[Any]:
    return [c for c in document.cells if exercise_of(c) == exercise.name and c.cell_type == "code"]
