"""`grader build`: a learner gets no answer, a rebuild changes nothing, every slip is named."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import pytest

from grader import paths
from grader.authoring import build as building
from grader.authoring.build import BuildError, build, build_all, learner_notebook, solution_notebook
from grader.authoring.execute import NotebookFailed, execute
from grader.authoring.strip_solutions import starter_text
from grader.course.course import Course, Exercise, Lesson, Part
from grader.course.exercise_cell import answer
from grader.course.reading import load_course
from grader.observe.play import Driver

SOURCE = '''\
# ---
# jupyter:
#   jupytext:
#     cell_markers: '"""'
# ---

# %% [markdown]
r"""
# 더하기

`# BEGIN SOLUTION` 같은 글이 본문에 있어도 괜찮습니다.
# BEGIN SOLUTION
"""

# %%
rate = 0.1  # 이것은 답이 아닙니다

# %% tags=["exercise:add"]
def add(a, b):
    """두 수를 더합니다."""
    # BEGIN SOLUTION
    secret = a + b
    return secret
    # END SOLUTION

# %% tags=["check"]
print("통과" if add(1, 2) == 3 else "실패")
'''
EXERCISE = """# %% tags=["exercise:add"]
def add(a, b):
    # BEGIN SOLUTION
    return a + b
    # END SOLUTION
"""


@pytest.fixture
def lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lesson:
    """A lesson with one exercise in a course of its own."""
    monkeypatch.setattr(paths, "course_root", lambda: tmp_path)
    (tmp_path / "lessons").mkdir()
    exercise = Exercise("add", "77", "더하기", (), ("",), (), Driver("add"), "")
    part = Part("77_add", "1_add", "더하기", 1, ("add",))
    part.source.parent.mkdir(parents=True)
    part.source.write_text(SOURCE, encoding="utf-8")
    return Lesson("77", "77_add", "add", "더하기", 1, (exercise,), parts=(part,))


def course_of(*lessons: Lesson) -> Course:
    """A course of these lessons."""
    return Course("시험", "시험", lessons)


def cell(notebook: Any, cell_id: str) -> Any:
    """The cell with this id."""
    return next(c for c in notebook.cells if c["id"] == cell_id)


def test_the_learner_gets_a_place_to_write_instead_of_the_answer(lesson: Lesson) -> None:
    notebook = learner_notebook(lesson, lesson.parts[0])
    assert cell(notebook, "exercise-add").source.splitlines() == [
        "def add(a, b):",
        '    """두 수를 더합니다."""',
        "    # 여기에 코드를 쓰세요",
        "    raise NotImplementedError",
    ]
    code = [c.source for c in notebook.cells if c.cell_type == "code"]
    assert not any("secret" in source or "SOLUTION" in source for source in code)
    assert "rate = 0.1  # 이것은 답이 아닙니다" in code


def test_markers_in_prose_are_prose(lesson: Lesson) -> None:
    assert "# BEGIN SOLUTION" in learner_notebook(lesson, lesson.parts[0]).cells[0].source


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("x = 0.1  # SOLUTION", "x = ...  # 여기에 코드를 쓰세요"),
        ("    학습률: float = 0.1 # SOLUTION", "    학습률: float = ...  # 여기에 코드를 쓰세요"),
        ("total += f(a == b)  # SOLUTION", "total += ...  # 여기에 코드를 쓰세요"),
        ("opt.step()  # SOLUTION", "...  # 여기에 코드를 쓰세요"),
        ("return loss  # SOLUTION", "return ...  # 여기에 코드를 쓰세요"),
    ],
)
def test_a_single_line_keeps_its_name_and_loses_its_value(line: str, left: str) -> None:
    assert starter_text(line, "x.py") == left + "\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# %%\n# BEGIN SOLUTION\nx = 1\n", "2번째"),
        ("# %%\nx = 1\n# END SOLUTION\n", "3번째"),
        ("# %%\n# BEGIN SOLUTION\n# BEGIN SOLUTION\n# END SOLUTION\n", "3번째"),
        ("# %%\n# BEGIN SOLUTION\nx = 1\n# %%\n# END SOLUTION\n", "2번째"),
        ("# %%\nfor x in y:  # SOLUTION\n    pass\n", "2번째"),
    ],
)
def test_unbalanced_and_nested_markers_name_their_line(text: str, line: str) -> None:
    with pytest.raises(BuildError, match=line):
        starter_text(text, "07.py")


def test_an_indented_region_keeps_its_indentation() -> None:
    text = "if x:\n        # BEGIN SOLUTION\n        y = 1\n        # END SOLUTION\n"
    assert starter_text(text, "x.py").splitlines()[1:] == [
        "        # 여기에 코드를 쓰세요",
        "        raise NotImplementedError",
    ]


def test_a_line_left_out_leaves_no_trace() -> None:
    text = "def f(opt):\n    # 움직입니다\n    opt.step()  # SOLUTION: left out\n    opt.zero_grad()\n"
    assert starter_text(text, "x.py") == "def f(opt):\n    # 움직입니다\n    opt.zero_grad()\n"
    cell = f'# %% [markdown]\n# x = 1  # SOLUTION: left out\n# %% tags=["exercise:f"]\n{text}'
    assert "left out" in starter_text(cell, "x.py"), "in prose it is prose"
    assert answer(cell, "f") == "def f(opt):\n    opt.step()\n    opt.zero_grad()"


def test_a_hint_cell_follows_each_check_unless_the_author_put_one(lesson: Lesson) -> None:
    assert cell(learner_notebook(lesson, lesson.parts[0]), "hint-add").source.endswith('# hint("add")')
    lesson.parts[0].source.write_text(SOURCE + '\n# %%\n# hint("add")\n', encoding="utf-8")
    assert not any(c["id"] == "hint-add" for c in learner_notebook(lesson, lesson.parts[0]).cells)


def test_no_hint_cell_follows_the_check_of_a_bonus_task(lesson: Lesson) -> None:
    bonus = replace(lesson, exercises=tuple(replace(e, kind="bonus", clues=()) for e in lesson.exercises))
    assert not any(c["id"] == "hint-add" for c in learner_notebook(bonus, bonus.parts[0]).cells)


def test_a_rebuild_is_byte_identical_and_carries_nothing_of_the_machine(lesson: Lesson) -> None:
    build(lesson, check=False)
    first = lesson.parts[0].notebook.read_bytes()
    build(lesson, check=False)
    assert lesson.parts[0].notebook.read_bytes() == first
    document = json.loads(first)
    assert set(document["metadata"]) == {"kernelspec", "language_info", "title"}
    assert document["metadata"]["title"] == "더하기"
    assert all(set(c["metadata"]) <= {"tags", "jupyter"} for c in document["cells"])
    assert not any(c.get("outputs") or c.get("execution_count") for c in document["cells"])
    nbformat.validate(nbformat.from_dict(document))


def test_the_solution_is_executed_and_its_outputs_kept(lesson: Lesson) -> None:
    build(lesson, check=False)
    notebook = nbformat.read(lesson.parts[0].executed, as_version=4)
    assert "통과" in cell(notebook, "check-add").outputs[0].text
    assert "execution" not in cell(notebook, "check-add").metadata


@pytest.mark.parametrize("which", ["learner", "executed", "missing", "outputs", "error", "orphan"])
def test_check_tells_what_is_stale_and_writes_nothing(lesson: Lesson, which: str) -> None:
    build(lesson, check=False)
    executed = lesson.parts[0].executed
    assert build(lesson, check=True) == []
    document = json.loads(executed.read_text(encoding="utf-8"))
    if which == "learner":
        learner = lesson.parts[0].notebook
        learner.write_text(learner.read_text(encoding="utf-8") + " ", encoding="utf-8")
    elif which == "missing":
        lesson.parts[0].notebook.unlink()
    elif which == "executed":
        lesson.parts[0].source.write_text(SOURCE.replace("secret", "answer"), encoding="utf-8")
    elif which == "outputs":
        document["cells"][1]["execution_count"] = None
    elif which == "error":
        error = {"output_type": "error", "ename": "ValueError", "evalue": "", "traceback": []}
        document["cells"][1]["outputs"] = [error]
    elif which == "orphan":
        lesson.parts[0].notebook.with_name("99_gone.ipynb").write_text("{}", encoding="utf-8")
    if which in ("outputs", "error"):
        executed.write_text(json.dumps(document), encoding="utf-8")
    before = {p: p.read_bytes() for p in paths.course_root().rglob("*.*")}
    said: list[str] = []
    assert build_all(course_of(lesson), check=True, report=said.append) is False
    assert len(said) == 2, said
    assert {p: p.read_bytes() for p in paths.course_root().rglob("*.*")} == before


def test_other_outputs_are_not_stale(lesson: Lesson) -> None:
    """Timings differ at every run: only sources and errors count."""
    build(lesson, check=False)
    executed = lesson.parts[0].executed
    executed.write_text(
        executed.read_text(encoding="utf-8").replace("통과\\n", "통과, 0.3초\\n"), encoding="utf-8"
    )
    assert build(lesson, check=True) == []


def test_a_failing_claim_fails_the_build_at_its_line(lesson: Lesson) -> None:
    lesson.parts[0].source.write_text(SOURCE + '\n# %%\nassert rate == 0.2, "주장"\n', encoding="utf-8")
    line = SOURCE.count("\n") + 2
    with pytest.raises(BuildError, match=rf"{line}번째 줄.*AssertionError: 주장"):
        build(lesson, check=False)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (SOURCE.replace("exercise:add", "exercise:sub"), "sub.*add"),
        (SOURCE + "\n" + EXERCISE, "add.*add.*add"),
        (
            SOURCE.replace("    # BEGIN SOLUTION\n    secret", "    secret").replace(
                "    # END SOLUTION\n", ""
            ),
            "add",
        ),
    ],
)
def test_exercise_cells_and_the_course_file_must_agree(lesson: Lesson, source: str, names: str) -> None:
    lesson.parts[0].source.write_text(source, encoding="utf-8")
    with pytest.raises(BuildError, match=names):
        build(lesson, check=True)


def test_a_source_in_another_encoding_is_named(lesson: Lesson) -> None:
    lesson.parts[0].source.write_bytes(SOURCE.encode("cp949", errors="replace"))
    with pytest.raises(BuildError, match="UTF-8"):
        solution_notebook(lesson.parts[0])


def test_a_cell_that_never_ends_meets_the_deadline_of_the_whole_notebook(lesson: Lesson) -> None:
    lesson.parts[0].source.write_text(SOURCE + "\n# %%\nwhile True:\n    pass\n", encoding="utf-8")
    with pytest.raises(NotebookFailed, match="제한 시간"):
        execute(solution_notebook(lesson.parts[0]), whole=6)


def test_a_kernel_that_dies_is_a_failure_not_a_hang(lesson: Lesson) -> None:
    lesson.parts[0].source.write_text(SOURCE + "\n# %%\nimport os\nos._exit(3)\n", encoding="utf-8")
    with pytest.raises(NotebookFailed, match="커널"):
        execute(solution_notebook(lesson.parts[0]))


def test_outputs_do_not_tell_where_they_were_made(lesson: Lesson) -> None:
    """A warning names its file; the repository must not hold anybody's paths."""
    talk = "import json, warnings, torch\nwarnings.warn('주의')\nprint(json.__file__, torch.__file__)\n"
    lesson.parts[0].source.write_text(SOURCE + "\n# %%\n" + talk, encoding="utf-8")
    notebook = solution_notebook(lesson.parts[0])
    execute(notebook)
    text = "".join(output.get("text", "") for output in notebook.cells[-1].outputs)
    assert "주의" in text
    assert "site-packages/torch" in text
    assert not any(word in text for word in ("/home/", "/root", "/opt", "/tmp", "/usr"))


def test_the_parts_of_a_build_are_public() -> None:
    parts = ("BuildError", "Stale", "build", "build_all", "learner_notebook", "solution_notebook")
    assert all(hasattr(building, name) for name in parts)


def test_a_near_that_is_no_statement_is_refused_with_the_tables_too() -> None:
    """A part of a dict passed `grader build --tables`, and then no answer with that mistake could be graded."""
    lesson = load_course().lesson("02")
    exercise = next(e for e in lesson.exercises if e.name == "Snapshot")
    first, *others = exercise.mistakes
    broken = replace(
        exercise,
        mistakes=(msgspec.structs.replace(first, near='"numpy": (name, keys.tolist(), *rest),'), *others),
    )
    with pytest.raises(BuildError, match=f"{first.id}.*near"):
        building.build_behaviours(replace(lesson, exercises=(broken,)), check=False)
