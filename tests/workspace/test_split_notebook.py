"""A notebook of a whole lesson becomes the notebooks of its parts, and no character of an answer is lost."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as some
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader import paths
from grader.course.course import Course, Lesson, Part
from grader.workspace.folder import BACKUPS, CELLS
from grader.workspace.merge_notebooks import digests
from grader.workspace.split_notebook import split_notebook
from grader.workspace.start import prepare
from grader.workspace.update import update

EXERCISES = ("add", "sub", "mul")
STARTER = "def {0}(a, b):\n    raise NotImplementedError"


def cells_of(*names: str) -> list[Any]:
    """For each exercise a text, the starter, its check and its hint, as `grader build` makes them."""
    cells = []
    for name in names:
        cells += [
            new_markdown_cell(f"### 연습. `{name}`", id=f"markdown-{name}"),
            new_code_cell(
                STARTER.format(name), id=f"exercise-{name}", metadata={"tags": [f"exercise:{name}"]}
            ),
            new_code_cell(f"check({name})", id=f"check-{name}", metadata={"tags": ["check"]}),
            new_code_cell(f'# hint("{name}")', id=f"hint-{name}", metadata={"tags": ["hint"]}),
        ]
    return cells


PARTS = (
    Part("01_sums", "1_first", "첫째", 1, EXERCISES[:2]),
    Part("01_sums", "2_second", "둘째", 1, EXERCISES[2:]),
)


def whole() -> Any:
    """The notebook of the whole lesson, as it used to be handed out."""
    return new_notebook(cells=cells_of(*EXERCISES))


def new_parts() -> list[tuple[Part, Any]]:
    """The new notebooks; their starters have changed."""
    made = [(part, new_notebook(cells=cells_of(*part.exercises))) for part in PARTS]
    for _, notebook in made:
        for cell in notebook.cells:
            cell.source = cell.source.replace("(a, b)", "(a, b, /)")
    return made


def sources(notebooks: Sequence[Any]) -> list[str]:
    return [cell.source for notebook in notebooks for cell in notebook.cells]


text = some.text(some.characters(codec="utf-8"), min_size=1, max_size=60)
answers = some.dictionaries(some.sampled_from(EXERCISES), text.map("def f(): pass  # {}".format))
added = some.lists(
    some.tuples(some.integers(0, 12), text.map("메모 {}".format), some.sampled_from(("code", "markdown"))),
    max_size=6,
)


@given(answers, added, some.booleans(), some.booleans())
def test_nothing_that_was_written_is_lost(
    answers: dict[str, str], added: list[tuple[int, str, str]], known: bool, with_ids: bool
) -> None:
    """Answers stand in the cell of their exercise, and everything else that was added stands somewhere."""
    mine = whole()
    for name, answer in answers.items():
        next(c for c in mine.cells if c.id == f"exercise-{name}").source = answer
    for number, (place, note, kind) in enumerate(added):
        make = new_code_cell if kind == "code" else new_markdown_cell
        mine.cells.insert(place, make(note, id=f"random-{number}"))
        if not with_ids:
            del mine.cells[place]["id"]
    parted = split_notebook(mine, digests(whole()) if known else None, new_parts())
    for notebook in parted:
        nbformat.validate(notebook)
    found = {c.id: c.source for notebook in parted for c in notebook.cells}
    for name, answer in answers.items():
        assert found[f"exercise-{name}"] == answer
    for _, note, _ in added:
        assert note in sources(parted)
    for name in set(EXERCISES) - set(answers):
        assert found[f"exercise-{name}"] == STARTER.format(name).replace(
            "(a, b)", "(a, b, /)" if known else "(a, b)"
        )
    assert sum(map(len, (n.cells for n in parted))) == 4 * len(EXERCISES) + len(added)


def test_a_note_goes_with_the_exercise_that_it_followed() -> None:
    mine = whole()
    mine.cells.insert(2, new_code_cell("x = 1  # 나만의 시험", id="mine"))
    mine.cells.append(new_markdown_cell("끝에 적은 메모", id="end"))
    first, second = split_notebook(mine, digests(whole()), new_parts())
    assert [cell.id for cell in first.cells][:5] == [
        "markdown-add",
        "exercise-add",
        "check-add",
        "hint-add",
        "mine",
    ]
    assert [cell.id for cell in second.cells][-1] == "end"


def test_a_changed_experiment_comes_along_and_an_asked_hint_does_not() -> None:
    old = whole()
    old.cells.insert(0, new_code_cell("rate = 0.1", id="code-001"))
    mine = copy.deepcopy(old)
    mine.cells[0].source = "rate = 0.7"
    next(c for c in mine.cells if c.id == "hint-add").source = 'hint("add")'
    parted = split_notebook(mine, digests(old), new_parts())
    assert "rate = 0.7" in sources(parted)
    assert 'hint("add")' not in sources(parted)


def test_a_copy_of_an_answer_stays_beside_it() -> None:
    mine = whole()
    mine.cells.insert(2, new_code_cell("def add(): return 2", id="copy", metadata={"tags": ["exercise:add"]}))
    mine.cells[1].source = "def add(): return 1"
    first, _ = split_notebook(mine, digests(whole()), new_parts())
    assert [c.source for c in first.cells][1:3] == ["def add(): return 1", "def add(): return 2"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the course when a lesson was one notebook, with an answer in it; the course has parts now."""
    monkeypatch.setattr(paths, "course_root", lambda: tmp_path / "course")
    for part, notebook in new_parts():
        part.notebook.parent.mkdir(parents=True, exist_ok=True)
        part.notebook.write_text(nbformat.writes(notebook), encoding="utf-8")
    course = Course("시험", "시험", (Lesson("01", "01_sums", "sums", "셈", 1, (), parts=PARTS),))
    for module in ("start", "update"):
        monkeypatch.setattr(f"grader.workspace.{module}.load_course", lambda: course)
    folder = tmp_path / "내 폴더"
    folder.mkdir()
    mine = whole()
    mine.cells[1].source = "def add(a, b):\n    return a + b"
    (folder / "01_sums.ipynb").write_text(nbformat.writes(mine), encoding="utf-8")
    return folder


@pytest.mark.parametrize("command", [prepare, update])
def test_an_old_folder_is_brought_over_once(folder: Path, command: Any) -> None:
    before, said = (folder / "01_sums.ipynb").read_bytes(), list[str]()
    command(folder, said.append)
    assert "def add(a, b):\n    return a + b" in sources(
        [nbformat.read(folder / PARTS[0].place, as_version=4)]
    )
    assert (folder / PARTS[1].place).is_file()
    assert not (folder / "01_sums.ipynb").exists()
    (backup,) = (folder / BACKUPS).iterdir()
    assert backup.read_bytes() == before
    assert "노트북 2개로 옮겼어요" in said[0]
    after = (folder / PARTS[0].place).read_bytes()
    command(folder, said.append)
    assert (folder / PARTS[0].place).read_bytes() == after
    assert PARTS[0].place in (folder / CELLS).read_text(encoding="utf-8")


def test_an_old_notebook_that_cannot_be_read_stays(folder: Path) -> None:
    (folder / "01_sums.ipynb").write_text("{깨진", encoding="utf-8")
    said: list[str] = []
    prepare(folder, said.append)
    assert (folder / "01_sums.ipynb").read_text(encoding="utf-8") == "{깨진"
    assert "읽을 수 없어요" in said[0]
    assert (folder / PARTS[0].place).is_file(), "the course comes all the same"


def test_old_answers_never_replace_new_ones(folder: Path) -> None:
    """Somebody copies an old notebook into a folder that has the parts."""
    old = (folder / "01_sums.ipynb").read_bytes()
    prepare(folder, lambda _: None)
    (folder / PARTS[0].place).write_text("새 답", encoding="utf-8")
    (folder / "01_sums.ipynb").write_bytes(old)
    prepare(folder, lambda _: None)
    assert (folder / PARTS[0].place).read_text(encoding="utf-8") == "새 답"
    assert (folder / "01_sums.ipynb").read_bytes() == old
