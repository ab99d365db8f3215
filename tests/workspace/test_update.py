"""`grader update`: the new edition comes in, and what a learner wrote stays."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader import paths
from grader.course.course import Course, Lesson, Part
from grader.workspace.folder import CELLS, MANIFEST, WorkspaceError
from grader.workspace.merge_notebooks import can_merge, digests, merge
from grader.workspace.start import prepare
from grader.workspace.update import update


def cell(name: str, source: str, *tags: str, kind: Any = new_code_cell) -> Any:
    """A cell whose id is its name."""
    return kind(source, id=name, metadata={"tags": list(tags)})


def edition(*cells: Any) -> Any:
    """A notebook with copies of these cells."""
    return new_notebook(cells=[nbformat.from_dict(c.copy()) for c in cells])


TEXT, TRY, ANSWER = (
    cell("text", "첫 글", kind=new_markdown_cell),
    cell("try", "x = 1"),
    cell("answer", "def add(): ...", "exercise:add"),
)
FIRST = edition(TEXT, TRY, ANSWER)


def merged(mine: Any, new: Any, *, began: bool = True) -> tuple[list[tuple[str, str]], Any]:
    """Ids and sources of what comes out."""
    found = merge(mine, new, digests(FIRST) if began else None)
    nbformat.validate(found.notebook)
    return [(c.id, c.source) for c in found.notebook.cells], found


def test_each_cell_goes_its_own_way() -> None:
    """Changed by nobody, by the course, by the learner, by both."""
    new_text, new_try = cell("text", "새 글", kind=new_markdown_cell), cell("try", "x = 2")
    mine = edition(TEXT, cell("try", "x = 7"), cell("answer", "def add(): return 3", "exercise:add"))
    cells, found = merged(mine, edition(new_text, new_try, ANSWER))
    assert cells == [("text", "새 글"), ("try", "x = 7"), ("answer", "def add(): return 3")]
    assert (found.kept, found.renewed, found.behind) == (2, 1, ("try",))


def test_many_drills_do_not_make_it_another_notebook() -> None:
    """The front end gives their cells ids that the course does not know."""
    drills = [cell(f"drill{n}", "def add():\n    pass\n\n\ndrill(add)") for n in range(5)]
    mine = edition(TEXT, TRY, ANSWER, *drills)
    assert can_merge(mine, FIRST)
    cells, _ = merged(mine, FIRST)
    assert [name for name, _ in cells] == ["text", "try", "answer", *(d.id for d in drills)]


def test_outputs_and_new_tags_come_along() -> None:
    mine = edition(TEXT, TRY, ANSWER)
    mine.cells[1].outputs = [nbformat.v4.new_output("stream", text="1")]
    tagged = cell("try", "x = 1", "experiment")
    found = merge(mine, edition(TEXT, tagged, ANSWER), digests(FIRST)).notebook.cells[1]
    assert found.outputs
    assert found.metadata["tags"] == ["experiment"]


def test_cells_that_came_or_went() -> None:
    """The learner's own stay behind their neighbour; what they took out stays out, but for an exercise."""
    note, other = cell("note", "내 메모"), cell("other", "맨 앞 메모")
    mine = edition(other, TEXT, note)
    more = cell("more", "새 절", kind=new_markdown_cell)
    cells, _ = merged(mine, edition(TEXT, more, TRY, ANSWER))
    assert [i for i, _ in cells] == ["other", "text", "note", "more", "answer"]


def test_what_the_course_took_out_goes_unless_it_was_changed() -> None:
    assert [i for i, _ in merged(edition(TEXT, TRY, ANSWER), edition(TEXT, ANSWER))[0]] == ["text", "answer"]
    changed = edition(TEXT, cell("try", "x = 7"), ANSWER)
    assert [i for i, _ in merged(changed, edition(TEXT, ANSWER))[0]] == ["text", "try", "answer"]


def test_where_the_first_edition_is_not_known_code_counts_as_the_learners() -> None:
    mine = edition(cell("text", "옛 글", kind=new_markdown_cell), cell("try", "x = 0"), ANSWER)
    cells, found = merged(mine, FIRST, began=False)
    assert cells == [("text", "첫 글"), ("try", "x = 0"), ("answer", "def add(): ...")]
    assert found.behind == ("try",)


def test_merging_again_changes_nothing() -> None:
    mine = edition(cell("note", "메모"), TEXT, cell("try", "x = 7"), ANSWER)
    new = edition(cell("text", "새 글", kind=new_markdown_cell), TRY, ANSWER)
    once = merge(mine, new, digests(FIRST)).notebook
    before = [(c.id, c.source) for c in once.cells]
    twice = merge(once, new, digests(new)).notebook
    assert [(c.id, c.source) for c in twice.cells] == before


def test_cells_without_ids_of_their_own_cannot_be_merged() -> None:
    """Some editors drop the ids or make new ones. (A copied cell that has another one's gets its own from nbformat.)"""
    renamed = edition(*(cell(f"other-{n}", "x") for n in range(3)))
    without = edition(TEXT, TRY, ANSWER)
    del without.cells[0]["id"]
    assert not any(can_merge(mine, FIRST) for mine in (renamed, without))
    assert can_merge(edition(cell("note", "메모"), TEXT), FIRST)


# ---- in a folder -----------------------------------------------------------------------------------


@pytest.fixture
def lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lesson:
    """The only lesson of a course, in its first edition."""
    monkeypatch.setattr(paths, "course_root", lambda: tmp_path / "course")
    (tmp_path / "course" / "lessons").mkdir(parents=True)
    part = Part("01_add", "1_add", "add", 1)
    part.notebook.parent.mkdir()
    made = Lesson("01", "01_add", "add", "add", 1, (), parts=(part,))
    course = Course("시험", "시험", (made,))
    for module in ("start", "update"):
        monkeypatch.setattr(f"grader.workspace.{module}.load_course", lambda: course)
    publish(made, FIRST)
    return made


def publish(lesson: Lesson, notebook: Any) -> None:
    """Make this the course's edition."""
    lesson.parts[0].notebook.write_text(nbformat.writes(notebook), encoding="utf-8")


def written(path: Path) -> list[str]:
    """Source of each cell."""
    return [c.source for c in nbformat.read(path, as_version=4).cells]


def answered(mine: Path) -> None:
    """The learner writes an answer, and JupyterLab saves the file its own way."""
    document = nbformat.read(mine, as_version=4)
    document.cells[2].source = "def add(): return 3"
    mine.write_text(json.dumps(document, indent=2), encoding="utf-8")


NEW_TEXT = cell("text", "새 글", kind=new_markdown_cell)
NEW = edition(NEW_TEXT, TRY, cell("answer", "def add(a): ...", "exercise:add"))


def test_an_answer_survives_two_new_editions(lesson: Lesson, tmp_path: Path) -> None:
    folder, said = tmp_path / "내 폴더", list[str]()
    (mine,) = prepare(folder, lambda _: None)
    answered(mine)
    before = mine.read_bytes()
    publish(lesson, NEW)
    update(folder, said.append)
    assert written(mine) == ["새 글", "x = 1", "def add(): return 3"]
    (backup,) = (folder / "01_add" / "백업").iterdir()
    assert backup.read_bytes() == before
    assert "새로 온 셀 1개, 그대로 둔 내 셀 1개" in said[0]
    assert "add" in said[1], "the exercise's new starter is named"
    update(folder, said.append)
    assert "새 판 그대로예요" in said[-1]
    publish(lesson, edition(cell("text", "셋째 글", kind=new_markdown_cell), TRY, ANSWER))
    update(folder, said.append)
    assert written(mine) == ["셋째 글", "x = 1", "def add(): return 3"]


def test_what_nobody_changed_is_replaced(lesson: Lesson, tmp_path: Path) -> None:
    (mine,) = prepare(tmp_path / "f", lambda _: None)
    publish(lesson, NEW)
    update(tmp_path / "f", lambda _: None)
    assert mine.read_bytes() == lesson.parts[0].notebook.read_bytes()
    assert not (tmp_path / "f" / "01_add" / "백업").exists()


@pytest.mark.parametrize("content", ["{깨진", "[]", "1", '{"nbformat": 4}', '{"cells": [1]}'])
def test_a_broken_notebook_stays_as_it_is(lesson: Lesson, tmp_path: Path, content: str) -> None:
    (mine,) = prepare(tmp_path / "f", lambda _: None)
    mine.write_text(content, encoding="utf-8")
    publish(lesson, NEW)
    said: list[str] = []
    update(tmp_path / "f", said.append)
    assert mine.read_text(encoding="utf-8") == content
    assert "읽을 수 없어요" in said[0]


@pytest.mark.parametrize("content", ["[broken", '"text"', '{"01_add/1_add.ipynb": 3}'])
def test_broken_notes_about_the_folder_lose_no_answer(lesson: Lesson, tmp_path: Path, content: str) -> None:
    (mine,) = prepare(tmp_path / "f", lambda _: None)
    answered(mine)
    for name in (MANIFEST, CELLS):
        (tmp_path / "f" / name).write_text(content, encoding="utf-8")
    publish(lesson, NEW)
    update(tmp_path / "f", lambda _: None)
    assert written(mine) == ["새 글", "x = 1", "def add(): return 3"]


def test_ids_that_are_gone_are_told_and_both_editions_stay(lesson: Lesson, tmp_path: Path) -> None:
    (mine,) = prepare(tmp_path / "f", lambda _: None)
    document = nbformat.read(mine, as_version=4)
    for number, one in enumerate(document.cells):
        one["id"] = f"new-{number}"
    mine.write_text(nbformat.writes(document), encoding="utf-8")
    before = mine.read_bytes()
    publish(lesson, NEW)
    said: list[str] = []
    update(tmp_path / "f", said.append)
    assert mine.read_bytes() == before
    assert (tmp_path / "f" / "01_add" / "1_add-새판.ipynb").read_bytes() == lesson.parts[
        0
    ].notebook.read_bytes()
    assert "합칠 수 없어요" in said[0]


def test_a_folder_without_lessons_is_refused(lesson: Lesson, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="grader start"):
        update(tmp_path, lambda _: None)
