"""`grader start` and `grader reset`: a learner's work is never lost, and every refusal is a Korean line."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from grader import paths
from grader.course.course import Course, CourseError, Exercise, Lesson, Part
from grader.learner.progress import Progress
from grader.observe.play import Driver
from grader.workspace.start import WorkspaceError, lab_command, open_lab, prepare, reset

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def notebook(*sources: tuple[str, str]) -> str:
    """A notebook with a code cell for each (tag, source)."""
    cells = [
        {
            "cell_type": "code", "id": f"c{n}", "source": source, "metadata": {"tags": [tag]},
            "outputs": [], "execution_count": None,
        }
        for n, (tag, source) in enumerate(sources)
    ]  # fmt: skip
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


def sources(path: Path) -> list[str]:
    """Source of each cell."""
    return ["".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"]]


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """Two lessons with an exercise each."""
    monkeypatch.setattr(paths, "course_root", lambda: tmp_path / "course")
    (tmp_path / "course" / "lessons").mkdir(parents=True)

    def lesson(number: str, name: str) -> Lesson:
        exercise = Exercise(name, number, name, (), ("",), (), Driver(name), "")
        part = Part(f"{number}_{name}", f"1_{name}", name, 1, (name,))
        part.notebook.parent.mkdir()
        part.notebook.write_text(notebook((f"exercise:{name}", "처음"), ("check", "check")), encoding="utf-8")
        return Lesson(number, f"{number}_{name}", name, name, 1, (exercise,), parts=(part,))

    made = Course("시험", "시험", (lesson("01", "add"), lesson("02", "sub")))
    monkeypatch.setattr("grader.workspace.start.load_course", lambda: made)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the learner works: a name with a space and Hangul."""
    return tmp_path / "내 폴더"


def told(action: Any) -> tuple[Any, str]:
    """What an action returns and what it reports."""
    said: list[str] = []
    return action(said.append), "\n".join(said)


def test_lessons_are_copied_and_told(course: Course, folder: Path) -> None:
    copied, said = told(lambda report: prepare(folder, report))
    assert [p.relative_to(folder).as_posix() for p in copied] == ["01_add/1_add.ipynb", "02_sub/1_sub.ipynb"]
    assert all(
        p.read_bytes() == one.notebook.read_bytes() for p, one in zip(copied, course.parts, strict=True)
    )
    assert said == f"2개를 복사했어요: {folder}", "one line, not one for each of 32 files"


def test_templates_come_along_and_are_kept_when_filled(course: Course, folder: Path) -> None:
    """Python files beside the notebooks; they are no notebook to open."""
    template = paths.lessons_path("02_sub", "loop_template.py")
    template.write_text("...  # 빈칸 1\n", encoding="utf-8")
    copied, said = told(lambda report: prepare(folder, report))
    mine = folder / "02_sub" / "loop_template.py"
    assert mine.read_bytes() == template.read_bytes()
    assert mine not in copied
    assert "복사했어요" in said
    mine.write_text("채운 것", encoding="utf-8")
    prepare(folder, lambda _: None)
    assert mine.read_text(encoding="utf-8") == "채운 것"


def test_a_folder_below_a_file_is_refused(course: Course, tmp_path: Path) -> None:
    (tmp_path / "hw.py").write_text("", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"폴더가 아니라 파일이에요: .*hw\.py\. 다른 폴더"):
        prepare(tmp_path / "hw.py" / "안", lambda _: None)


def test_a_second_start_leaves_work_alone(course: Course, folder: Path) -> None:
    work, untouched = prepare(folder, lambda _: None)
    work.write_text("내 답", encoding="utf-8")
    _, said = told(lambda report: prepare(folder, report))
    assert work.read_text(encoding="utf-8") == "내 답"
    assert "쓰던 것을 그대로 둬요" in said
    assert said.count("이미 있") == 1, "a line for each of 49 files told nothing"
    assert f"이미 있는 파일 1개는 그대로 두었어요: {folder}" in said
    assert str(untouched) not in said


def test_a_new_edition_replaces_only_what_nobody_changed(course: Course, folder: Path) -> None:
    """What was changed waits for `grader update`; a template, which has no cells, gets its new edition beside it."""
    template = paths.lessons_path("02_sub", "loop_template.py")
    template.write_text("1", encoding="utf-8")
    work, untouched = prepare(folder, lambda _: None)
    work.write_text("내 답", encoding="utf-8")
    (folder / "02_sub" / template.name).write_text("내 것", encoding="utf-8")
    for part in course.parts:
        part.notebook.write_text(notebook(("", "새 판")), encoding="utf-8")
    template.write_text("2", encoding="utf-8")
    _, said = told(lambda report: prepare(folder, report))
    beside = folder / "02_sub" / "loop_template-새판.py"
    assert work.read_text(encoding="utf-8") == "내 답"
    assert sources(untouched) == ["새 판"]
    assert beside.read_text(encoding="utf-8") == "2"
    assert str(beside) in said
    _, again = told(lambda report: prepare(folder, report))
    assert "옆에" not in again, "told once"
    assert f"grader update '{folder}'" in said
    assert "grader update" in again, "told until it is done"
    assert len(list(folder.rglob("*.ipynb"))) == 2


def test_files_that_are_not_from_here_stay(course: Course, folder: Path) -> None:
    """Somebody's own file of that name, and no manifest."""
    (folder / "01_add").mkdir(parents=True)
    (folder / "01_add" / "1_add.ipynb").write_text("남의 것", encoding="utf-8")
    (folder / ".hanstep.json").write_text("[broken", encoding="utf-8")
    prepare(folder, lambda _: None)
    assert (folder / "01_add" / "1_add.ipynb").read_text(encoding="utf-8") == "남의 것"
    assert (folder / "01_add" / "1_add-새판.ipynb").is_file()


def test_a_file_instead_of_a_folder_is_refused(course: Course, folder: Path) -> None:
    folder.write_text("", encoding="utf-8")
    with pytest.raises(WorkspaceError, match="파일이에요"):
        prepare(folder)
    with pytest.raises((WorkspaceError, NotADirectoryError)):
        prepare(folder / "안쪽")


@pytest.mark.skipif(AS_ROOT, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(course: Course, folder: Path) -> None:
    folder.mkdir(mode=0o500)
    with pytest.raises(WorkspaceError, match="권한"):
        prepare(folder)


def test_a_denied_write_is_a_korean_line(
    course: Course, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(self: Path, *_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(WorkspaceError, match=r"권한이 없어요.*grader start"):
        prepare(folder)


def test_lab_opens_at_the_first_unfinished_lesson(course: Course, folder: Path) -> None:
    with pytest.raises(WorkspaceError, match="grader start"):
        lab_command(folder, course)
    prepare(folder, lambda _: None)
    assert "--LabApp.default_url=/lab/tree/01_add/1_add.ipynb" in lab_command(folder, course)
    Progress.load().record_check("add", True)
    command = lab_command(folder, course)
    assert "--LabApp.default_url=/lab/tree/02_sub/1_sub.ipynb" in command
    assert f"--ServerApp.root_dir={folder.resolve()}" in command
    assert command[:3] == [sys.executable, "-m", "grader.workspace.jupyterlab"]
    assert ("--allow-root" in command) == AS_ROOT


@pytest.mark.parametrize("browser", [True, False])
def test_a_lab_that_serves_the_folder_already_is_used(
    course: Course, folder: Path, monkeypatch: pytest.MonkeyPatch, browser: bool
) -> None:
    """Two would write over each other's notebooks."""
    prepare(folder, lambda _: None)
    elsewhere = {"root_dir": str(folder.parent), "url": "http://localhost:8888/", "token": "theirs"}
    here = {"root_dir": str(folder.resolve()), "url": "http://localhost:8889/", "token": "mine"}
    monkeypatch.setattr("jupyter_server.serverapp.list_running_servers", lambda: iter([elsewhere, here]))
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    _, said = told(lambda report: open_lab(folder, report, browser=browser))
    address = "http://localhost:8889/lab/tree/01_add/1_add.ipynb?token=mine"
    assert said == f"이 폴더를 연 JupyterLab이 이미 있어요: {address}"
    assert opened == [address] * browser


@pytest.mark.parametrize("place", ["folder", "file", "parent"])
def test_an_exercise_goes_back_to_its_start_and_the_old_one_is_kept(
    course: Course, folder: Path, place: str
) -> None:
    folder = folder / "hanstep"
    work, _ = prepare(folder, lambda _: None)
    work.write_text(notebook(("exercise:add", "내 답"), ("check", "내 메모")), encoding="utf-8")
    Progress.load().record_check("add", True)
    where = {"folder": folder, "file": work, "parent": folder.parent}[place]
    (backup,), said = told(lambda report: reset(where, "add", report))
    assert sources(work) == ["처음", "내 메모"]
    assert sources(backup) == ["내 답", "내 메모"]
    assert backup.parent == work.parent / "백업"
    assert str(backup) in said
    assert "add" not in Progress.load().exercises


@pytest.mark.parametrize("name", ["01", "1", "01_add", "1_add", "01_add/1_add.ipynb"])
def test_a_lesson_goes_back_as_a_whole(course: Course, folder: Path, name: str) -> None:
    work, _ = prepare(folder, lambda _: None)
    work.write_text("{깨진 노트북", encoding="utf-8")
    (backup,) = reset(folder, name, lambda _: None)
    assert sources(work) == ["처음", "check"]
    assert backup.read_text(encoding="utf-8") == "{깨진 노트북"
    assert reset(folder, name, lambda _: None) != [backup], "a second backup never replaces the first"


def test_resets_that_cannot_be_done_say_why_and_change_nothing(course: Course, folder: Path) -> None:
    with pytest.raises(WorkspaceError, match="grader start"):
        reset(folder, "add")
    work, _ = prepare(folder, lambda _: None)
    with pytest.raises((WorkspaceError, CourseError), match="없는것"):
        reset(folder, "없는것")
    work.write_text(notebook(("check", "연습 칸을 지웠다")), encoding="utf-8")
    with pytest.raises(WorkspaceError, match="grader reset 1_add"):
        reset(folder, "add")
    work.write_text("{깨진 노트북", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"읽을 수 없어요.*grader reset 1_add --folder"):
        reset(folder, "add")
    python = folder / "add.py"
    python.write_text("x", encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"\.ipynb"):
        reset(python, "add")
    other = folder / "other.ipynb"
    other.write_text(notebook(("check", "내 것")), encoding="utf-8")
    with pytest.raises(WorkspaceError, match=r"레슨 01의 노트북이 아니에요.*1_add"):
        reset(other, "01")
    assert sources(other) == ["내 것"], "part 1 was written over it"
    assert work.read_text(encoding="utf-8") == "{깨진 노트북"
    assert not list(folder.glob("*백업*"))
