"""One file as the program that is graded: each line remembers its cell, what does not parse costs only itself."""

import subprocess
import sys

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from grader.submission.source_file import Place
from grader.submission.submission import read_submission
from tests.places import ROOT
from tests.submission.samples import EXERCISES, STEP, code, kept, markdown, notebook
from tests.submission.sources import FRAGMENTS


def test_each_line_remembers_its_cell(ipynb):
    """Feedback points at the line the learner sees; cells count as `[n]` does: no text, no blank cells."""
    file = ipynb(markdown("# 1"), code("import os\nprint(1)"), code("\n"), code(["%time 1\n", "LR = 1"]))
    assert file.text == "import os\n\n\nLR = 1\n"
    assert file.places == (Place(1, 1), Place(1, 2), Place(2, 1), Place(2, 2))
    assert file.nearest_place(4) == Place(2, 2)
    assert file.nearest_place(99) == Place(2, 2)
    assert file.nearest_place(-5) == Place(1, 1)


def test_lines_of_a_file_are_its_own(py):
    """In a .py file a line's number is the file's; there is no cell."""
    file = py("# %%\nimport os\n\n# %% tags=['exercise:train_step']\nx = f()\n")
    assert file.text.splitlines()[4] == "x = f()"
    assert file.nearest_place(5) == Place(None, 5)


def test_defines_names_the_last_definition(ipynb):
    """An exercise that was rewritten further down is graded, and shown, where it was rewritten."""
    file = ipynb(code(STEP), code("x: int\n" + STEP), code("from other import accumulate"))
    assert file.defines == {"train_step": 5}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_endings_do_not_shift_lines(py, newline):
    """Files from Windows and old Macs have as many lines as their authors see."""
    file = py(newline.join(["import os", "X = '''a", "b'''", "Y = 1", ""]).encode())
    assert file.text == "import os\nX = '''a\nb'''\nY = 1\n\n"


@pytest.mark.parametrize("character", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_only_newlines_end_lines(py, character):
    """Characters that `str.splitlines` takes for line ends do not shift the lines after them."""
    file = py(f"X = 'a{character}b'\nY = 1\n")
    assert file.text == f"X = 'a{character}b'\nY = 1\n\n"


def test_a_percent_marker_in_a_string_begins_no_cell(py):
    """Prose about tags does not tag the code below it."""
    assert kept(py('"""\n# %% tags=["exercise:train_step"]\n"""\nx = f()\n')) == []


@given(st.lists(st.tuples(FRAGMENTS, st.sampled_from(["code", "markdown"]), st.booleans()), max_size=5))
@settings(deadline=None)
def test_every_kept_line_is_the_learners(tmp_path_factory, cells):
    """The place of a kept line is where that very line stands in the notebook."""
    assume(all(";" not in text and "\0" not in text for text, _, _ in cells))
    path = tmp_path_factory.getbasetemp() / "lines.ipynb"
    path.write_text(
        notebook(
            *(
                code(text, *["exercise:x"] * tagged) if kind == "code" else markdown(text)
                for text, kind, tagged in cells
            )
        )
    )
    (file,) = read_submission(path, EXERCISES).files
    sources = [text.replace("\r\n", "\n") for text, kind, _ in cells if kind == "code" and text.strip()]
    for line, place in zip(file.text.split("\n"), file.places, strict=False):
        if line.strip() not in ("", "0"):
            assert line.strip() in sources[place.cell - 1].split("\n")[place.line - 1]


def test_a_broken_cell_costs_only_itself(ipynb):
    """A syntax error in one cell loses that cell's exercise, with its line, and no other."""
    file = ipynb(code("import os"), code("\ndef accumulate(:\n    pass"), code(STEP))
    assert file.text == "import os\n\n\n\n" + STEP + "\n"
    assert file.problem_for("train_step") is None
    problem = file.problem_for("accumulate")
    assert problem is not None
    assert file.nearest_place(problem.line) == Place(2, 2)
    assert "문법 오류" in problem.message


def test_a_broken_file_is_told_with_its_line(py):
    """A .py file that does not parse says where, for the exercises that it holds; the rest is read."""
    file = py("import os\ndef train_step(model)\n    return 1\n")
    problem = file.problem_for("train_step")
    assert problem is not None
    assert file.nearest_place(problem.line) == Place(None, 2)
    assert file.problem_for("accumulate") is None
    assert kept(file) == ["import os"]


def test_a_broken_percent_cell_costs_only_itself(py):
    """The cells of a `# %%` file are as independent as a notebook's."""
    file = py(
        "# %%\nimport os\n# %%\ndef accumulate(:\n# %% tags=['exercise:train_step']\n" + STEP + "x = f()\n"
    )
    assert kept(file) == ["import os", *STEP.splitlines(), "x = f()"]
    assert file.defines["train_step"] == 6
    assert file.problem_for("accumulate") is not None


@pytest.mark.parametrize(
    "broken", ["def train_step(:", "class train_step(:", "train_step = partial(", "  async  def train_step:"]
)
def test_the_cell_meant_to_define_is_to_blame(ipynb, broken):
    """A broken demo that mentions an exercise does not stand in for the exercise's own broken cell."""
    file = ipynb(code(broken), code("print(train_step"))
    problem = file.problem_for("train_step")
    assert problem is not None
    assert file.nearest_place(problem.line).cell == 1


def test_a_broken_cell_with_the_tag_is_found_without_its_name(ipynb):
    """Where the learner mangled the function's very name, the tag still says which exercise is broken."""
    file = ipynb(code("dfe trian_step(:", "exercise:train_step"))
    assert file.problem_for("train_step") is not None


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 10**5 + ")" * 10**5,
        "x = " + "-" * 10**5 + "1",
        "x = a" + ".b" * 10**5,
        "x = 1" + "+1" * 10**5,
        "x = " + "not " * 50_000 + "1",
        "if a: pass\n" + "elif a: pass\n" * 20_000,
        "x = 1" + "0" * 10_000,
        "x = '\0'",
        "x = `1`",
        "x = '\ud800' + \ud800",
    ],
    ids=lambda source: source[:12].encode("unicode_escape").decode(),
)
def test_hostile_source_is_a_problem(ipynb, source):
    """Source made to overwhelm the parser costs its own cell and nothing else."""
    file = ipynb(code(source), code(STEP))
    assert len(file.problems) == 1
    assert "train_step" in file.defines


def test_nothing_is_compiled(tmp_path):
    """CPython's compiler overflows the stack at this comprehension: the grader would die of one submission."""
    hostile = tmp_path / "hw.py"
    hostile.write_text(f"x = [1 {'for a in b ' * 25_000}]\n{STEP}")
    program = (
        "import sys, threading; from pathlib import Path; from grader.submission.submission import read_submission\n"
        "def read(): print(read_submission(Path(sys.argv[1]), ['train_step']).files[0].defines)\n"
        "threading.stack_size(2**20); thread = threading.Thread(target=read); thread.start(); thread.join()"
    )
    command = [sys.executable, "-c", program, hostile]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert "train_step" in done.stdout, f"exit status {done.returncode}: {done.stderr}"
