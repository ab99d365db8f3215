"""Drill and clinic cells are practice: whatever stands in them, the submission reads as if they were not there."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.submission.practice_cells import exercise_meant, own_name
from grader.submission.source_file import SourceFile
from grader.submission.submission import read_submission
from tests.submission.samples import EXERCISES, code, kept, notebook, read

STUB = (
    'def train_step(model):\n    """One step."""\n    # 여기에 코드를 쓰세요\n    raise NotImplementedError\n'
)
ANSWER = "def train_step(model):\n    return 'the answer'\n"
BLANK_DRILL = f"import torch\n\n\n{STUB}\n\ndrill(train_step)"
FILLED_DRILL = "import torch\n\n\ndef train_step(model):\n    return 'a drill'\n\n\ndrill(train_step)"
"""As 0.2.0 wrote it, and as learners fill it in."""
NEW_DRILL = FILLED_DRILL.replace("train_step", "train_step_drill")
CLINIC = "import torch\n\n\ndef train_step_clinic(model):\n    return 'broken'\n\n\nclinic(train_step_clinic)"


def percent(*cells: dict[str, object]) -> str:
    """As jupytext writes them."""
    heads = [f"# %% tags={json.dumps(c['metadata']['tags'])}" if tags(c) else "# %%" for c in cells]
    return "\n\n".join(f"{head}\n{c['source']}" for head, c in zip(heads, cells, strict=True)) + "\n"


def script(*cells: dict[str, object]) -> str:
    """As nbconvert writes them: no tags."""
    head = "#!/usr/bin/env python\n# coding: utf-8\n\n"
    return head + "\n\n".join(f"# In[{n or ' '}]:\n\n\n{c['source']}\n" for n, c in enumerate(cells))


def tags(cell: dict[str, object]) -> list[str]:
    return cell["metadata"]["tags"]  # type: ignore[index,no-any-return]


FORMS = {"ipynb": (notebook, ".ipynb"), "percent": (percent, ".py"), "script": (script, ".py")}


@pytest.fixture(params=FORMS)
def written(request: pytest.FixtureRequest, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Reads cells that were saved in one of the forms."""
    write, suffix = FORMS[request.param]
    return lambda *cells: read(tmp_path / f"hw{suffix}", write(*cells))


@pytest.mark.parametrize(
    "drill", [BLANK_DRILL, FILLED_DRILL, NEW_DRILL, CLINIC], ids=("blank", "filled", "new", "clinic")
)
def test_a_drill_below_the_answer_leaves_it(written, drill):
    file = written(code(ANSWER, "exercise:train_step"), code("check(train_step)"), code(drill))
    assert kept(file) == ANSWER.splitlines()
    assert file.problems == ()


def test_a_filled_drill_fills_no_exercise(written):
    file = written(code(STUB, "exercise:train_step"), code(FILLED_DRILL))
    assert "a drill" not in file.text
    assert "raise NotImplementedError" in file.text


def test_half_a_drill_is_no_broken_answer(written):
    """Somebody hands in while the clock goes on."""
    half = FILLED_DRILL.replace("return 'a drill'", "return (")
    file = written(code(ANSWER, "exercise:train_step"), code(half), code("def accumulate(): ..."))
    assert file.problems == ()
    assert set(file.defines) == {"train_step", "accumulate"}


@pytest.mark.parametrize(
    "call",
    [
        "grader.drill(train_step)",
        "drill(train_step);",
        "shown = drill(train_step)",
        "drill(exercise=train_step)",
        "print(drill(train_step))",
        "drill(train_step)  # 42초",
        "clinic(train_step)",
    ],
)
def test_however_it_is_handed_in(written, call):
    drill = FILLED_DRILL.replace("drill(train_step)", call)
    assert kept(written(code(ANSWER, "exercise:train_step"), code(drill))) == ANSWER.splitlines()


@pytest.mark.parametrize(
    "source",
    [
        f"{ANSWER}\n# drill(train_step)",
        f"{ANSWER}\ndrill('train_step')",
        f"{ANSWER}\ndrill()",
        f"{ANSWER}\nnote = '''\ndrill(train_step)\n'''",
        f"{ANSWER}\ndef again():\n    drill(train_step)",
        f"{ANSWER}\ndrill(accumulate)",
        f"{ANSWER}\ndef accumulate(): ...\n\n\ndrill(train_step)",
        "from functools import partial\ntrain_step = partial(print)\nclinic(line=3, symptom='a')",
    ],
)
def test_what_only_resembles_a_drill_counts(written, source):
    assert "train_step" in written(code(source)).defines


@pytest.mark.parametrize("form", ["ipynb", "percent"])
def test_an_exercise_cell_counts_whatever_it_ends_with(form, tmp_path):
    write, suffix = FORMS[form]
    cell = code(f"{ANSWER}\n\ndrill(train_step)", "exercise:train_step")
    assert "the answer" in read(tmp_path / f"hw{suffix}", write(cell)).text


@pytest.mark.parametrize("form", ["ipynb", "percent"])
def test_a_copied_exercise_cell_with_a_drill_is_a_drill(form, tmp_path):
    """Copying or splitting a cell copies its tags."""
    write, suffix = FORMS[form]
    cells = code(ANSWER, "exercise:train_step"), code(FILLED_DRILL, "exercise:train_step")
    assert kept(read(tmp_path / f"hw{suffix}", write(*cells))) == ANSWER.splitlines()


def test_a_file_without_cells(tmp_path):
    """Colab's download has no marks between cells: of two definitions, the one right above `drill` is the drill."""
    glued = f"{ANSWER}\ncheck(train_step)\n\n{FILLED_DRILL}\n\nLR = 0.1\n"
    file = read(tmp_path / "hw.py", glued)
    assert "the answer" in file.text
    assert "a drill" not in file.text
    assert "LR = 0.1" in file.text


def test_a_module_that_drills_its_only_function_has_an_answer(tmp_path):
    file = read(tmp_path / "hw.py", f"from grader import drill\n\n\n{ANSWER}\n\ndrill(train_step)\n")
    assert "the answer" in file.text


@pytest.mark.parametrize("others", [[], [code(STUB, "exercise:train_step")]], ids=["deleted", "empty"])
@pytest.mark.parametrize("drill", [FILLED_DRILL, NEW_DRILL], ids=["old", "new"])
def test_an_answer_that_stands_in_a_drill_cell_only_is_told(tmp_path, others, drill):
    """It does not count, but nobody has to find out why."""
    path = tmp_path / "hw.ipynb"
    path.write_text(notebook(code("import torch"), *others, code(drill)), encoding="utf-8")
    (note,) = read_submission(path, EXERCISES).notes
    assert "`train_step`" in note
    assert f"코드 셀 {2 + len(others)}" in note
    assert note.endswith("주세요.")


@pytest.mark.parametrize(
    "cells",
    [
        (code(ANSWER, "exercise:train_step"), code(FILLED_DRILL)),
        (code(STUB, "exercise:train_step"), code(BLANK_DRILL)),
        (code(STUB, "exercise:train_step"), code(CLINIC)),
    ],
    ids=["answered", "blank", "clinic"],
)
def test_nothing_is_told_of_practice_that_hides_no_answer(tmp_path, cells):
    path = tmp_path / "hw.ipynb"
    path.write_text(notebook(*cells), encoding="utf-8")
    assert read_submission(path, EXERCISES).notes == ()


def test_another_files_answer_is_an_answer(tmp_path):
    (tmp_path / "a.ipynb").write_text(notebook(code(ANSWER, "exercise:train_step")), encoding="utf-8")
    (tmp_path / "b.ipynb").write_text(notebook(code(FILLED_DRILL)), encoding="utf-8")
    submission = read_submission(tmp_path, EXERCISES)
    assert submission.source_for("train_step").name == "a.ipynb"
    assert submission.notes == submission.duplicates("train_step") == ()


# ---- anywhere in a notebook ------------------------------------------------------------------------------

OWN = st.sampled_from(
    [
        code("import torch\nfrom torch import nn"),
        code(ANSWER, "exercise:train_step"),
        code(STUB, "exercise:train_step"),
        code(ANSWER),
        code(f"{ANSWER}\n# drill(train_step)"),
        code("def accumulate(model):\n    return train_step(model)", "exercise:accumulate"),
        code("class Net:\n    pass\n\n\nLR = 0.1"),
        code("check(train_step)", "check"),
        code("drill()"),
        code("def accumulate(model:\n    pass"),
        code("note = '''\n# %%\ndrill(train_step)\n# In[3]:\n'''"),
    ]
)
BODY = st.sampled_from(
    ["return 1", "raise NotImplementedError", "pass\n\n    return [\n        2,\n    ]", "return ("]
)
HEAD = st.sampled_from(
    ["import torch\n\n\n", "", "import torch\nfrom torch import nn\n\n\n", "# 다시 써 보기\n"]
)
CALL = st.sampled_from(["{0}({1})", "{0}({1})\n", "grader.{0}({1})", "{0}({1}); check({1})"])


@st.composite
def practice(draw: st.DrawFn) -> dict[str, object]:
    """A drill or clinic cell of this version or the last."""
    tool = draw(st.sampled_from(["drill", "clinic"]))
    name = draw(st.sampled_from(EXERCISES)) + draw(st.sampled_from(["", f"_{tool}"]))
    definition = f"def {name}(model):\n    {draw(BODY)}\n"
    call = draw(CALL).format(tool, name)
    return code(f"{draw(HEAD)}{definition}\n\n{call}", *draw(st.sampled_from([(), ("folded",), ("drill",)])))


@dataclass(frozen=True)
class Seen:
    """What is read of a file, without the numbers that other cells shift."""

    lines: tuple[str, ...]
    defines: dict[str, str]
    problems: tuple[tuple[str, ...], ...]
    ends: tuple[int | None, ...]

    @classmethod
    def of(cls, file: SourceFile, numbers: dict[int, int] | None = None) -> "Seen":
        lines = file.text.split("\n")
        full = [n for n, line in enumerate(lines, start=1) if line]
        return cls(
            tuple(lines[n - 1] for n in full),
            {name: lines[n - 1] for name, n in file.defines.items()},
            tuple((re.sub(r"line \d+", "", p.message), *cls._code(p.text)) for p in file.problems),
            tuple((numbers or {}).get(c, c) if (c := file.nearest_place(n).cell) else None for n in full),
        )

    @staticmethod
    def _code(text: str) -> list[str]:
        """A whole script may be what cannot be read."""
        return [line for line in text.split("\n") if line and not line.startswith(("# In[", "# %%"))]


@given(st.lists(st.tuples(st.booleans(), OWN, practice()), max_size=8), st.sampled_from(sorted(FORMS)))
def test_a_submission_reads_as_if_practice_were_not_there(tmp_path_factory, drawn, form):
    """Before, after and between the learner's own cells, several of them, old and new, in notebooks and scripts."""
    write, suffix = FORMS[form]
    cells = [practice if is_practice else own for is_practice, own, practice in drawn]
    own = [own for is_practice, own, _ in drawn if not is_practice]
    places = [n for n, (is_practice, _, _) in enumerate(drawn, start=1) if not is_practice]
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    numbers = {place: n for n, place in enumerate(places, start=1)}
    assert Seen.of(read(path, write(*cells)), numbers) == Seen.of(read(path, write(*own)))


def test_an_exercise_that_ends_with_an_underscore():
    """Its cell was called `ema_update__clinic`; one that was handed out so is still a clinic's."""
    exercises = {"ema_update_", "train_step"}
    assert own_name("ema_update_", "clinic") == "ema_update_clinic"
    for name in ("ema_update_", "ema_update_clinic", "ema_update__drill"):
        assert exercise_meant(name, exercises) == "ema_update_"
    assert exercise_meant("train_step_drill", exercises) == "train_step"
    assert exercise_meant("ema_update", exercises) is None, "a function of the learner's own"
