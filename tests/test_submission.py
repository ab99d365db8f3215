"""Submissions: what is read out of the files of a class, and that no file can do harm."""

import ast
import json
import os
import subprocess
import sys
import time
import tracemalloc
import unicodedata
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from grader.classroom.grading import assess_submission
from grader.classroom.workers import Plan
from grader.course_files import load_course
from grader.report import plain_text
from grader.submission import folder as reader
from grader.submission.cells import MAX_CELLS, MAX_CODE_CHARS, as_python, without_magics
from grader.submission.class_folder import ClassFolderError, read_class
from grader.submission.decoding import MAX_FILE_BYTES, read_text
from grader.submission.file import Place, SourceFile
from grader.submission.statements import Block, parse, without_others
from grader.submission.submission import Submission, read_submission

EXERCISES = ("train_step", "accumulate")
STEP = "def train_step(model):\n    return 1\n"


def code(source: str | list[str], *tags: str) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}, "outputs": []}


def markdown(source: str) -> dict[str, object]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def notebook(*cells: dict[str, object]) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)})


def read(path: Path, content: str | bytes) -> SourceFile:
    """The only file of a submission that consists of it."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    submission = read_submission(path, EXERCISES)
    assert submission.unreadable == ()
    (file,) = submission.files
    return file


@pytest.fixture
def py(tmp_path):
    return lambda content: read(tmp_path / "hw.py", content)


@pytest.fixture
def ipynb(tmp_path):
    return lambda *cells: read(tmp_path / "hw.ipynb", notebook(*cells))


@pytest.fixture
def refused(tmp_path):
    """Message of a file that cannot be read."""

    def message(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        submission = read_submission(path, EXERCISES)
        assert submission.files == ()
        (unreadable,) = submission.unreadable
        assert unreadable.name == name
        return unreadable.message

    return message


def kept(file: SourceFile) -> list[str]:
    return [line for line in file.text.splitlines() if line]


# --- which statements are kept ----------------------------------------------------------------------------

KEPT = [
    "import torch.nn as nn",
    "from torch import nn",
    "from __future__ import annotations",
    "LR = 0.1",
    "A = B = (1, 'x', [2.0], {'k': None})",
    "LR: float = 0.1",
    "WARMUP = [i * i for i in (1, 2, 3)]",
    "square = lambda x: x.pow(2)",
    "class Net(object): layers = list()",
    "async def load(): return await get()",
    "if True: LR = 0.1",
    "try: import wandb\nexcept ImportError as error: wandb = error",
    "if True: A = 1; B = A",
    "try: import x\nfinally: pass",
    "train_step = compile_it(train_step)",
    "train_step, other = make()",
]
DROPPED = [
    "print('hi')",
    "model = Net()",
    "x = unknown + 1",
    "unknown += 1",
    "x = [f(i) for i in (1, 2)]",
    "x = y = await_me()",
    "for i in (1, 2): LR = i",
    "with open('x') as f: data = 1",
    "while True: pass",
    "assert False",
    "del LR",
    "opt.param_groups[0]['lr'] = 0.1",
    "if cuda(): device = 'cuda'",
    "if __name__ == '__main__': LR = 0.1",
    "if True: print('hi')",
    "raise SystemExit",
    "'a docstring'",
]


@pytest.mark.parametrize("statement", KEPT)
def test_keeps_imports_definitions_and_constants(ipynb, statement):
    """What an exercise may need from the other cells is there when it is graded."""
    assert kept(ipynb(code(statement))) == statement.split("\n")


@pytest.mark.parametrize("statement", DROPPED)
def test_drops_demos(ipynb, py, statement):
    """Nothing outside an exercise's cell runs while grading: not in a notebook, not in a file."""
    assert kept(ipynb(code(statement))) == []
    assert kept(py(statement)) == []


@pytest.mark.parametrize("statement", [*KEPT, *DROPPED])
def test_keeps_everything_in_a_tagged_cell(ipynb, py, statement):
    """A helper object made in the exercise's own cell is part of the answer."""
    assert kept(ipynb(code(statement, "exercise:train_step"))) == statement.split("\n")
    assert kept(py(f'# %% tags=["exercise:train_step"]\n{statement}')) == statement.split("\n")


def test_a_constant_that_reads_what_was_dropped_is_dropped(ipynb):
    """A constant computed from a demo's result would raise NameError where no demo ran."""
    file = ipynb(code("BASE = 2\nlosses = run()\nBEST = losses[0]\nTWICE = BASE * 2\nWORST = BEST"))
    assert kept(file) == ["BASE = 2", "TWICE = BASE * 2"]


def test_a_star_import_may_bind_anything(ipynb):
    """After `from x import *` a constant cannot be known to lean on a demo."""
    assert kept(ipynb(code("from math import *\nTAU = 2 * pi"))) == ["from math import *", "TAU = 2 * pi"]


def test_a_module_keeps_what_the_exercise_leans_on(py):
    """In a .py file the objects an exercise uses are made, through helpers, defaults and other objects."""
    file = py(
        "table = dict(x=1)\n"
        "def pick(): return table['x']\n"
        "device = pick()\n"
        "if pick(): config = dict(device=device)\n"
        "default = pick()\n"
        "def helper(): return config\n"
        "def train_step(model, rate=default): return helper()\n"
    )
    assert {"device", "config", "default", "table"} <= file.defines.keys()


def test_a_module_drops_what_only_its_script_uses(py):
    """A file's data loading and training run, which need the network, do not run while grading."""
    file = py(
        "loader = download()\n"
        "model = Net()\n"
        "def train_step(model): return [loader for loader in model]\n"
        "def main(): train_step(loader)\n"
    )
    assert file.defines.keys() == {"train_step", "main"}


@pytest.mark.parametrize(
    ("function", "needed"),
    [
        ("def train_step(m):\n    def inner(): return cfg\n    return inner", True),
        ("def train_step(m):\n    global cfg\n    cfg = 1", True),
        ("class Helper:\n    cfg = 1\n    def f(self): return cfg\ndef train_step(m): return Helper()", True),
        ("def train_step(m):\n    return lambda: cfg", True),
        ("class Helper:\n    cfg = 1\n    other = cfg\ndef train_step(m): return Helper()", False),
        ("def train_step(m):\n    cfg = 1\n    return lambda: cfg", False),
        ("def train_step(m, *, cfg=None):\n    def inner(): return cfg", False),
        ("def train_step(m):\n    for cfg in m: pass", False),
        ("def train_step(m):\n    import cfg\n    return cfg", False),
        ("def train_step(m):\n    return lambda *cfg: cfg", False),
    ],
)
def test_scopes_decide_what_an_exercise_leans_on(py, function, needed):
    """A parameter or local variable that shares a demo object's name does not bring the demo back."""
    assert ("cfg" in py(f"cfg = dict()\n{function}\n").text.splitlines()[0]) is needed


def test_statements_that_share_a_line_are_told_apart(py):
    """`a = 1; print(a)` keeps its constant, and what stays keeps its columns."""
    file = py("A = 1; print(A); B = 2  # why\nprint('''\n'''); C = 3\nD = '''\n  x'''; print(D)\n")
    assert file.text == "A = 1;           B = 2  # why\n\n0;    C = 3\nD = '''\n  x'''\n\n"


# --- lines and cells --------------------------------------------------------------------------------------


def test_each_line_remembers_its_cell(ipynb):
    """Feedback points at the line the learner sees; cells count as `[n]` does: no text, no blank cells."""
    file = ipynb(markdown("# 1"), code("import os\nprint(1)"), code("\n"), code(["%time 1\n", "LR = 1"]))
    assert file.text == "import os\n\n\nLR = 1\n"
    assert file.places == (Place(1, 1), Place(1, 2), Place(2, 1), Place(2, 2))
    assert file.place(4) == Place(2, 2)
    assert file.place(99) == Place(2, 2)
    assert file.place(-5) == Place(1, 1)


def test_lines_of_a_file_are_its_own(py):
    """In a .py file a line's number is the file's; there is no cell."""
    file = py("# %%\nimport os\n\n# %% tags=['exercise:train_step']\nx = f()\n")
    assert file.text.splitlines()[4] == "x = f()"
    assert file.place(5) == Place(None, 5)


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


# --- what does not parse ----------------------------------------------------------------------------------


def test_a_broken_cell_costs_only_itself(ipynb):
    """A syntax error in one cell loses that cell's exercise, with its line, and no other."""
    file = ipynb(code("import os"), code("\ndef accumulate(:\n    pass"), code(STEP))
    assert file.text == "import os\n\n\n\n" + STEP + "\n"
    assert file.problem_for("train_step") is None
    problem = file.problem_for("accumulate")
    assert problem is not None
    assert file.place(problem.line) == Place(2, 2)
    assert "문법 오류" in problem.message


def test_a_broken_file_is_told_with_its_line(py):
    """A .py file that does not parse says where, for the exercises that it holds."""
    file = py("import os\ndef train_step(model)\n    return 1\n")
    problem = file.problem_for("train_step")
    assert problem is not None
    assert file.place(problem.line) == Place(None, 2)
    assert file.problem_for("accumulate") is None
    assert kept(file) == []


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
    assert file.place(problem.line).cell == 1


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
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", program, hostile]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert "train_step" in done.stdout, f"exit status {done.returncode}: {done.stderr}"


# --- what only IPython understands ------------------------------------------------------------------------


@pytest.mark.parametrize("magic", ["time", "timeit -n 1", "capture out"])
def test_measuring_magics_lose_their_line_only(ipynb, magic):
    """`%%time` above an exercise does not take the exercise away."""
    file = ipynb(code(f"\n%%{magic}\n%%time\n{STEP}"))
    assert file.defines == {"train_step": 4}


@pytest.mark.parametrize("magic", ["bash", "html", "writefile train.py", "script false --no-raise-error"])
def test_cells_in_other_languages_are_dropped(ipynb, magic):
    """A cell that IPython does not run as Python defines nothing, here as there."""
    file = ipynb(code(f"# note\n%%{magic}\n{STEP}"), code("LR = 1"))
    assert file.text == "\n" * 5 + "LR = 1\n"
    assert file.problems == ()


def test_shell_lines_in_a_downloaded_file_are_dropped(py):
    """Colab writes `!pip install` into the .py file it lets one download."""
    assert py("!pip install torch\nimport torch\n" + STEP).defines == {"train_step": 3}


@pytest.mark.parametrize("line", ["!echo it's", "files = !echo (", '%cd """', "!ls [ \\\n ]'", "x?"])
def test_brackets_and_quotes_of_magics_do_not_swallow_code(ipynb, line):
    """What follows a shell line is read, whatever the shell line leaves open, and keeps its line number."""
    file = ipynb(code(f"{line}\n{STEP}"))
    assert file.problems == ()
    assert file.defines == {"train_step": line.count("\n") + 2}


MAGICS = [
    "%matplotlib inline",
    "!pip install it's",
    "!ls \\\n  -l",
    "files = !ls",
    "t = %time 1",
    "torch.nn?",
    "?print",
    "a.b[0]??",
    "if A:\n    !ls '\nelse:\n    %cd ..",
]
PYTHON = [
    "A = 5 \\\n  % 3",
    "B = (5\n% 3)",
    "C = '''\n!ls\n%time\n'''",
    'D = "%d?"  # what?',
    "if A != 1:\n    E = 2",
    "def f(x):\n    return x  # f?",
    "G = '\\'' \"#(\" r'\\''",
    "H = [\n    '?',  # )\n]",
]


class WithoutMagics(ast.NodeTransformer):
    """Takes out what IPython makes of a magic, and the `0` that we do."""

    def visit_Expr(self, node):
        return None if ast.unparse(node) == "0" or "get_ipython" in ast.dump(node) else node

    def visit_Assign(self, node):
        return None if "get_ipython" in ast.dump(node) else node


def statements_of(source: str) -> str:
    """The statements that are Python's own."""
    return ast.dump(WithoutMagics().visit(ast.parse(source)))


@given(
    st.lists(st.sampled_from(MAGICS + PYTHON), min_size=1).map("\n".join), st.sampled_from(["", "  ", "\t"])
)
@settings(deadline=None, max_examples=60)
@example(">>> A = 1\n>>> def f():\n...     !ls\n...     return 1\n", "")
def test_ipython_reads_cells_the_same_way(source, indent):
    """IPython itself is the oracle: magics go, everything else is what the learner's kernel ran."""
    if "'''\n" not in source and "\\\n" not in source:  # lines whose indentation is no indentation
        source = "\n".join(indent + line for line in source.split("\n"))
    ours = as_python(source)
    assert ours.count("\n") == source.count("\n")
    assert statements_of(ours) == statements_of(TransformerManager().transform_cell(source))


@given(st.lists(st.sampled_from(PYTHON)).map("\n".join))
def test_python_is_not_mistaken_for_magics(source):
    """A line that happens to begin with `%`, inside brackets or a string, stays."""
    assert without_magics(source) == source


# --- encodings --------------------------------------------------------------------------------------------

HANGUL = 'NAME = "한글 똠방각하"\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp949"])
@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_reads_the_encodings_of_korean_windows(tmp_path, suffix, encoding):
    """A file saved by an editor on Korean Windows is not lost, whatever it chose."""
    content = HANGUL if suffix == ".py" else json.dumps({"cells": [code(HANGUL)]}, ensure_ascii=False)
    assert kept(read(tmp_path / f"hw{suffix}", content.encode(encoding))) == [HANGUL.strip()]


def test_utf16_of_either_byte_order(tmp_path):
    """The byte order mark, not this machine, decides."""
    path = tmp_path / "hw.py"
    path.write_bytes(b"\xfe\xff" + HANGUL.encode("utf-16-be"))
    assert read_text(path) == HANGUL


@pytest.mark.parametrize(
    ("cookie", "encoding"),
    [
        ("euc-kr", "euc-kr"),
        ("johab", "johab"),
        ("utf-8", "cp949"),
        ("no-such-codec", "utf-8"),
        ("unicode_escape", "utf-8"),
        ("latin-1", "latin-1"),
    ],
)
def test_respects_coding_cookies_that_hold(tmp_path, cookie, encoding):
    """A cookie is believed when the bytes agree, and passed over when it lies or names no text encoding."""
    text = (
        f"#!/usr/bin/python\n# -*- coding: {cookie} -*-\nNAME = '{'é' if cookie == 'latin-1' else '한글'}'\n"
    )
    path = tmp_path / "hw.py"
    path.write_bytes(text.encode(encoding))
    assert read_text(path) == text


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00", b"\xef\xbb\xbf\xff", b"x = '\xff\xff'", b"MZ\0\0", "x = 1".encode("utf-16-le")],
)
def test_refuses_what_is_no_text(refused, content):
    """A binary file, or one in an unknown encoding, is told how to be saved."""
    assert "UTF-8로 다시 저장" in refused("hw.py", content)


# --- files that are not what they say ---------------------------------------------------------------------


def test_a_large_file_is_refused_with_its_size(refused):
    """50 MB of outputs are not read; the message says how large it is and how to shrink it."""
    message = refused("hw.ipynb", b" " * (50 * 1024 * 1024))
    assert "50.0 MB" in message
    assert "jupyter nbconvert --clear-output --inplace hw.ipynb" in message


def test_a_file_of_the_largest_size_is_read(tmp_path):
    """The limit itself is still allowed."""
    padding = " " * (MAX_FILE_BYTES - len(notebook(code("X = 1"))))
    assert kept(read(tmp_path / "hw.ipynb", notebook(code("X = 1")) + padding)) == ["X = 1"]


def test_too_much_code_is_refused(refused):
    """Data pasted into code cannot eat the grader's memory."""
    assert f"{MAX_CODE_CHARS:,}" in refused("hw.py", "x = 1\n" * (MAX_CODE_CHARS // 6 + 1))


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("hw.ipynb", notebook(code(" " * 19_000_000 + "x=1")), f"{MAX_CODE_CHARS:,}자까지"),
        ("hw.ipynb", notebook(code(["\n"] * 1_000_000)), f"{MAX_CODE_CHARS:,}자까지"),
        ("hw.ipynb", '{"cells": [' + "[]," * 6_000_000 + "0]}", "출력을 모두 지우고"),
        ("hw.ipynb", notebook(*[code("x")] * (MAX_CELLS + 1)), f"{MAX_CELLS:,}개"),
        ("hw.py", "#%%\n" * 4_500_000, f"{MAX_CODE_CHARS:,}자까지"),
        ("hw.py", "#%%\n" * (MAX_CELLS + 1), f"{MAX_CELLS:,}개"),
    ],
    ids=["indent", "lines", "lists", "cells", "markers", "few markers"],
)
def test_what_swells_is_refused_before_it_does(refused, name, content, expected):
    """What a file may hold is counted before it is taken apart: no file costs a gigabyte or a minute."""
    tracemalloc.start()
    try:
        assert expected in refused(name, content)
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()


def test_the_largest_number_of_cells_is_read(ipynb, py):
    """The limit itself is still allowed, in both kinds of file."""
    assert len(kept(ipynb(*[code("X = 1")] * MAX_CELLS))) == MAX_CELLS
    assert len(kept(py("#%%\nX = 1\n" * MAX_CELLS))) == MAX_CELLS


@pytest.mark.timeout(10)
def test_many_broken_cells_are_searched_once(tmp_path):
    """Asking thousands of broken cells about every exercise costs no more than reading them."""
    for number in range(6):
        (tmp_path / f"{number}.py").write_text("# %%\n(\n" * MAX_CELLS)
    submission = read_submission(tmp_path, EXERCISES)
    assert sum(len(file.problems) for file in submission.files) == 6 * MAX_CELLS
    start = time.process_time()
    assert all(submission.source_for(f"exercise_{i}") is None for i in range(200))
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "빈 파일"),
        ("<!DOCTYPE html><html></html>", "HTML"),
        ('{"cells": [\n<<<<<<< HEAD\n', "Git 병합 충돌"),
        ('{"cells": [\n  {"cell', "2번째 줄"),
        ("[]", "`cells`"),
        ("3", "`cells`"),
        ('{"cells": 3}', "`cells`"),
        ("[" * 10**6, "JSON"),
        ('{"cells": ' + "1" * 5000 + "}", "JSON"),
    ],
    ids=range(9),
)
def test_broken_notebooks_say_what_is_wrong(refused, content, expected):
    """Every way in which a notebook can be broken has a message that ends with what to do."""
    message = refused("hw.ipynb", content)
    assert expected in message
    assert message.endswith("다시 저장한 .ipynb 파일을 내 주세요.")


@pytest.mark.parametrize(
    ("cell", "is_read"),
    [
        (None, False),
        ([code("X = 1")], False),
        ({}, False),
        ({"cell_type": "code"}, False),
        ({"cell_type": "raw", "source": "X = 1"}, False),
        ({"cell_type": "heading", "source": "X = 1"}, False),
        (code([1, None, "X", " = 1"]), True),  # type: ignore[list-item]
        ({"cell_type": "code", "source": "X = 1", "metadata": None}, True),
        ({"cell_type": "code", "source": "X = 1", "metadata": {"tags": 1}}, True),
        ({"cell_type": "code", "source": "X = 1", "metadata": {"x": float("nan")}}, True),
        ({"cell_type": "code", "source": "X = 1", "id": "same"}, True),
        (code("\ufeffX = 1"), True),
    ],
    ids=range(12),
)
def test_odd_cells_are_read_or_passed_over(ipynb, cell, is_read):
    """Whatever stands in the list of cells, the good ones are read."""
    last = code("Z = 1") | {"id": "same"}
    assert kept(ipynb(cell, last)) == (["X = 1", "Z = 1"] if is_read else ["Z = 1"])


def test_unescaped_line_breaks_are_read(tmp_path):
    """JSON forbids a bare line break in a string; what wrote it anyway meant a line break."""
    assert kept(read(tmp_path / "hw.ipynb", notebook(code("X = 1#Y = 2")).replace("#", "\n"))) == [
        "X = 1",
        "Y = 2",
    ]


def test_format_3_is_read(tmp_path):
    """Notebooks from before 2015 keep their code under other names."""
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["X = 1"]}]}, 3]}
    assert kept(read(tmp_path / "hw.ipynb", json.dumps(old))) == ["X = 1"]


def test_other_files_are_refused(refused):
    """A single file of another kind is told what is read."""
    assert ".ipynb" in refused("hw.txt", "x")


def test_a_missing_file_is_unreadable(tmp_path):
    """`grader check` with a mistyped name ends with a line, not a traceback."""
    (unreadable,) = read_submission(tmp_path / "nope.py", EXERCISES).unreadable
    assert "파일이 없어요" in unreadable.message


def test_a_file_without_permission_is_unreadable(tmp_path, monkeypatch):
    """Tests may run as root, whom no permission stops: the refusal is made up, the handling is not."""
    (tmp_path / "hw.py").write_text(STEP)
    monkeypatch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "denied")))
    (unreadable,) = read_submission(tmp_path / "hw.py", EXERCISES).unreadable
    assert "chmod u+r hw.py" in unreadable.message


# --- folders ----------------------------------------------------------------------------------------------


def make(root: Path, *paths: str, content: str = STEP) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def names(submission: Submission) -> list[str]:
    return [file.name for file in submission.files]


def test_students_are_folders_and_files(tmp_path):
    """Each folder and each source file directly in the class is a student, in natural order."""
    make(tmp_path, "s10/hw.py", "s2.ipynb", "s1.PY", "roster.csv", ".hidden/x.py", "__MACOSX/x.py")
    (tmp_path / "empty").mkdir()
    assert [s.student for s in read_class(tmp_path, EXERCISES)] == ["empty", "s1", "s2", "s10"]


def test_students_keep_distinct_names(tmp_path):
    """Two students whose names differ in the suffix only do not overwrite each other's results."""
    make(tmp_path, "kim/hw.py", "kim.py", "kim.ipynb", "lee.py")
    assert [s.student for s in read_class(tmp_path, EXERCISES)] == ["kim", "kim.ipynb", "kim.py", "lee"]


def test_names_that_look_alike_stay_distinct(tmp_path):
    """Hangul composed and decomposed are two folders to the file system and one name to the eye."""
    for form in ("NFC", "NFD"):
        (tmp_path / unicodedata.normalize(form, "김철수")).mkdir()
    assert [s.student for s in read_class(tmp_path, EXERCISES)] == ["김철수", "김철수 (2)"]


TWINS = ["{}", "{} ", "{}\xa0", "{}\u3164", "\u2800{}", "{}\u115f", "\ufe0f{}"]


@pytest.mark.parametrize("suffix", ["", ".py"])
@pytest.mark.parametrize("backwards", [False, True])
def test_the_plain_one_of_twins_keeps_its_name(tmp_path, monkeypatch, suffix, backwards):
    """Nobody takes a classmate's row by white space, invisible letters or a lucky place in the folder."""
    name = "20251017_최민준"
    raw = [twin.format(name) + suffix for twin in TWINS] + [unicodedata.normalize("NFD", name) + suffix]
    for one in raw:
        make(tmp_path, one if suffix else f"{one}/hw.py", content=f"NAME = {one!a}\n")
    scandir = os.scandir

    @contextmanager
    def ordered(path):
        with scandir(path) as listing:
            yield iter(sorted(listing, key=lambda entry: entry.name, reverse=backwards))

    monkeypatch.setattr(os, "scandir", ordered)
    submissions = {s.student: s for s in read_class(tmp_path, EXERCISES)}
    assert list(submissions) == [name, *(f"{name} ({i})" for i in range(2, len(raw) + 1))]
    assert [plain_text.one_line(student) for student in submissions] == list(submissions)
    held = [s.files[0].text.strip() for s in submissions.values()]
    assert held == [f"NAME = {one!a}" for one in [raw[0], *sorted(raw[1:], key=os.fsencode)]]
    notes = [s.notes[0] for s in submissions.values()]
    assert notes[0].endswith(f": {raw[0]}")
    assert any(note.endswith(f": {name}\\x20{suffix}") for note in notes)
    assert any(note.endswith(f": {name}\\xa0{suffix}") for note in notes)
    assert len(set(notes)) == len(notes)


def test_a_number_in_a_name_is_not_taken_by_a_twin(tmp_path):
    """A student who is really called so keeps the name."""
    make(tmp_path, "kim/hw.py", "kim /hw.py", "kim (2).py")
    kim, really, twin = read_class(tmp_path, EXERCISES)
    assert [kim.student, really.student, twin.student] == ["kim", "kim (2)", "kim (3)"]
    assert [s.notes != () for s in (kim, really, twin)] == [True, False, True]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\u3164", "\\u3164"),
        ("\u2800\xa0.py", "\\u2800\\xa0"),
        ("  ", "\\x20\\x20"),
        ("a  b ", "a b"),
        ("가" * 80, "가" * 80),
    ],
)
def test_no_name_is_invisible(tmp_path, raw, shown):
    """A name of characters that show nothing would be an empty row in the gradebook."""
    make(tmp_path, raw if raw.endswith(".py") else f"{raw}/hw.py")
    (submission,) = read_class(tmp_path, EXERCISES)
    assert submission.student == shown


def test_long_names_differ_where_they_are_shown(tmp_path):
    """Escapes make a name longer than a table's cell, in which all would look alike."""
    for end in (b"a", b"b"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + b"\xff" * 200 + end)
    students = [s.student for s in read_class(tmp_path, EXERCISES)]
    assert len({plain_text.one_line(student) for student in students}) == 2


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("김철수".encode("cp949"), "김철수"),
        (unicodedata.normalize("NFD", "김철수").encode(), "김철수"),
        (b"a\nb\x1b[2J", "a\\nb\\x1b[2J"),
        (b"\xff\xff", "\\xff\\xff"),
        ("a\u202eb".encode(), "a\\u202eb"),
    ],
)
def test_odd_names_can_be_written_anywhere(tmp_path, raw, shown):
    """Names packed on Windows or a Mac come out as Hangul; no name can break a report or a terminal."""
    os.mkdir(os.fsencode(tmp_path) + b"/" + raw)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + raw + b"/" + raw + b".py")).write_text(STEP)
    (submission,) = read_class(tmp_path, EXERCISES)
    assert submission.student == shown
    assert names(submission) == [f"{shown}.py"]


def test_a_folder_is_searched_through(tmp_path):
    """Files in folders within folders are found; what tools leave behind is not taken for a submission."""
    make(tmp_path, "hw10.py", "hw2.py", "sub/b.ipynb", content="")
    make(
        tmp_path,
        ".ipynb_checkpoints/hw2.py",
        "__pycache__/x.py",
        "venv/pyvenv.cfg",
        "venv/lib/x.py",
        "._hw2.py",
    )
    make(tmp_path, ".old.py", "data.csv")
    (tmp_path / "sub/b.ipynb").write_text(notebook(code("X = 1")))
    submission = read_submission(tmp_path, EXERCISES)
    assert names(submission) == ["hw2.py", "hw10.py", "sub/b.ipynb"]
    assert submission.unreadable == ()
    hidden, others = submission.notes
    assert hidden.endswith(": .old.py")
    assert "data.csv" in others
    assert "venv/" in others


def test_the_last_file_counts(tmp_path):
    """Two files with the same exercise: the last in natural order is graded, and both are named."""
    make(tmp_path, "hw2.py", "hw10.py", "notes.py")
    (tmp_path / "notes.py").write_text("x = 1")
    submission = read_submission(tmp_path, EXERCISES)
    assert submission.source_for("train_step").name == "hw10.py"
    assert submission.duplicates("train_step") == ("hw2.py", "hw10.py")
    assert submission.source_for("accumulate") is None
    assert submission.duplicates("accumulate") == ()


def test_a_broken_definition_counts_a_broken_mention_only_alone(tmp_path):
    """A file that fails to define an exercise replaces earlier ones; one that only names it does not."""
    make(tmp_path, "a.py")
    make(tmp_path, "b.py", content="def train_step(:")
    make(tmp_path, "c.py", content="print(train_step, accumulate")
    submission = read_submission(tmp_path, EXERCISES)
    assert submission.source_for("train_step").name == "b.py"
    assert submission.duplicates("train_step") == ("a.py", "b.py")
    assert submission.source_for("accumulate").name == "c.py"


def test_a_broken_cell_with_the_tag_is_found_without_its_name(ipynb):
    """Where the learner mangled the function's very name, the tag still says which exercise is broken."""
    file = ipynb(code("dfe trian_step(:", "exercise:train_step"))
    assert file.problem_for("train_step") is not None


def test_one_bad_file_costs_only_itself(tmp_path):
    """The other files of the student, and the other students, are read."""
    make(tmp_path, "kim/a.py", "lee/hw.py")
    (tmp_path / "kim/b.ipynb").write_text("{")
    kim, lee = read_class(tmp_path, EXERCISES)
    assert names(kim) == ["a.py"]
    assert [u.name for u in kim.unreadable] == ["b.ipynb"]
    assert names(lee) == ["hw.py"]


@pytest.fixture
def class_with_secret(tmp_path):
    """A class folder, and files outside it that no link may reach."""
    make(tmp_path, "secret/hw.py", content="SECRET = 1\n" + STEP)
    make(tmp_path, "class/lee/hw.py", "class/kim2/hw.py")
    (tmp_path / "class/kim").mkdir()
    return tmp_path / "class"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("kim/hw.py", "../../secret/hw.py"),
        ("kim/hw.py", "/etc/passwd"),
        ("kim/hw", "../../secret"),
        ("kim/hw.py", "../lee/hw.py"),
        ("kim/hw.py", "../kim2/hw.py"),
        ("kim/hw", ".."),
        ("kim/hw.py", "hw.py"),
        ("kim/hw", "nowhere"),
        ("park", "../secret"),
        ("park.py", "../secret/hw.py"),
        ("park", "park"),
        ("park", "."),
    ],
)
def test_links_out_of_the_folder_are_not_followed(class_with_secret, link, target):
    """Neither the instructor's files nor a neighbour's are graded as one's own; a loop ends."""
    (class_with_secret / link).symlink_to(target)
    submissions = {s.student: s for s in read_class(class_with_secret, EXERCISES)}
    assert names(submissions["lee"]) == ["hw.py"]
    owner = submissions[link.split("/")[0].removesuffix(".py")]
    assert owner.files == ()
    assert [u.name for u in owner.unreadable] == [link.split("/")[-1]]
    assert "링크" in owner.unreadable[0].message


def test_links_inside_a_folder_are_not_read_twice(tmp_path):
    """A link to one's own file or folder neither duplicates nor loops."""
    make(tmp_path, "sub/hw.py")
    (tmp_path / "again.py").symlink_to("sub/hw.py")
    (tmp_path / "sub/up").symlink_to("..")
    submission = read_submission(tmp_path, EXERCISES)
    assert names(submission) == ["sub/hw.py"]
    assert submission.unreadable == ()
    assert "again.py" in submission.notes[0]


def test_links_within_the_class_folder_are_students(tmp_path):
    """An instructor may keep the handed-in files elsewhere in the class folder."""
    make(tmp_path, ".store/1.py")
    (tmp_path / "kim.py").symlink_to(".store/1.py")
    (submission,) = read_class(tmp_path, EXERCISES)
    assert submission.student == "kim"
    assert "train_step" in submission.files[0].defines


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("park.py", "v0.py"),
        ("park", "lee"),
        ("park.py", "lee/hw.py"),
        ("park.py", ".hidden"),  # itself a link to lee/hw.py
        ("park.py", "stored.py"),
        ("park", "lee/sub"),
    ],
)
def test_links_to_another_students_work_are_refused(tmp_path, link, target):
    """Neither a file nor a folder of a classmate is graded as one's own, through whatever links."""
    make(tmp_path, "v0.py", "lee/hw.py", "lee/sub/x.py", ".store/1.py")
    (tmp_path / ".hidden").symlink_to("lee/hw.py")
    (tmp_path / "stored.py").symlink_to(".store/1.py")
    (tmp_path / link).symlink_to(target)
    submissions = {s.student: s for s in read_class(tmp_path, EXERCISES)}
    park = submissions.pop("park")
    assert park.files == ()
    (unreadable,) = park.unreadable
    assert unreadable.name == link
    assert "다른 학생" in unreadable.message
    assert ("lee" if target == ".hidden" else target.split("/")[0]) in unreadable.message
    assert all(s.files and not s.unreadable for s in submissions.values())


def test_files_shared_with_another_student_are_noted(tmp_path):
    """A hard link to a classmate's file is read, and both are told; one within one's own folder is nothing."""
    make(tmp_path, "kim/hw.py", "lee.py", "park/a.py")
    os.link(tmp_path / "kim/hw.py", tmp_path / "choi.py")
    os.link(tmp_path / "park/a.py", tmp_path / "park/b.py")
    notes = {s.student: s.notes for s in read_class(tmp_path, EXERCISES)}
    assert notes["lee"] == notes["park"] == ()
    assert "hw.py" in notes["kim"][0]
    assert "choi.py" in notes["choi"][0]


@pytest.mark.timeout(10)
def test_a_pipe_is_not_waited_for(tmp_path):
    """Opening a named pipe would wait for its other end for ever."""
    make(tmp_path, "kim/hw.py")
    os.mkfifo(tmp_path / "kim/pipe.py")
    os.mkfifo(tmp_path / "lee.py")
    kim, lee = read_class(tmp_path, EXERCISES)
    assert names(kim) == ["hw.py"]
    assert [u.name for u in (*kim.unreadable, *lee.unreadable)] == ["pipe.py", "lee.py"]


def test_limits_on_files_entries_and_depth(tmp_path, monkeypatch):
    """An endless heap of files or folders is cut off, the rest is read, and the message says so."""
    monkeypatch.setattr(reader, "MAX_FILES", 3)
    monkeypatch.setattr(reader, "MAX_ENTRIES", 50)
    monkeypatch.setattr(reader, "MAX_DEPTH", 2)
    make(tmp_path, *(f"files/{i}.py" for i in (1, 2, 3, 4, 5)), "depth/a/b/c/x.py", "depth/a/y.py")
    make(tmp_path, *(f"entries/{i}.txt" for i in range(60)))
    depth, entries, files = read_class(tmp_path, EXERCISES)
    assert names(files) == ["1.py", "2.py", "3.py"]
    (unreadable,) = files.unreadable
    assert "3개 넘게" in unreadable.message
    assert names(depth) == ["a/y.py"]
    assert [u.name for u in depth.unreadable] == ["a/b/c/"]
    assert "50개 넘게" in entries.unreadable[-1].message


def test_a_student_cannot_hand_in_endless_code(tmp_path, monkeypatch):
    """Many large files do not stall the grading of the class."""
    monkeypatch.setattr(reader, "MAX_STUDENT_CHARS", 100)
    make(tmp_path, "a.py", "b.py", "c.py", content="# " + "x" * 60)
    submission = read_submission(tmp_path, EXERCISES)
    assert names(submission) == ["a.py", "b.py"]
    assert [u.name for u in submission.unreadable] == ["c.py"]


def test_refused_files_count_towards_what_is_read(tmp_path, monkeypatch):
    """Many bad files cost no more than many good ones; what is too large to be opened costs nothing."""
    monkeypatch.setattr(reader, "MAX_STUDENT_BYTES", 100)
    make(tmp_path, "a.ipynb", "b.ipynb", content="{" * 50)
    make(tmp_path, "0.py", content=" " * (MAX_FILE_BYTES + 1))
    make(tmp_path, "c.py")
    submission = read_submission(tmp_path, EXERCISES)
    assert submission.files == ()
    assert [u.name for u in submission.unreadable] == ["0.py", "a.ipynb", "b.ipynb", "c.py"]
    assert "JSON" in submission.unreadable[2].message
    assert "모두" in submission.unreadable[3].message


def test_a_heap_of_broken_links_makes_a_short_message(tmp_path):
    """What cannot be read is said under each exercise: a handful by name, the others by number."""
    deep = tmp_path.joinpath("kim", *["깊" * 60] * 8)
    deep.mkdir(parents=True)
    for number in range(300):
        (deep / f"{'나' * 70}{number:03}.py").symlink_to("nowhere")
    (submission,) = read_class(tmp_path, EXERCISES)
    assert len(submission.unreadable) == 300
    course = load_course()
    result = assess_submission(Plan(course, course.lessons, seed=0), submission, {})
    for feedback in result.feedbacks:
        assert feedback.status == "unreadable"
        assert len(feedback.message) < 2000
        assert "000.py: " in feedback.message
        assert "295개" in feedback.message


def test_files_of_one_shown_name_are_told_apart(tmp_path):
    """Grading goes by the shown name: composed and decomposed Hangul must not become one file."""
    for name in ("가.py", unicodedata.normalize("NFD", "가.py")):
        make(tmp_path, name)
    for middle in "나다":  # what differs is left out of so long a name
        make(tmp_path.joinpath(*["깊" * 60] * 3, middle, *["깊" * 60] * 4), "a.py")
    submission = read_submission(tmp_path, EXERCISES)
    assert len(set(names(submission))) == 4
    assert {"가.py", "가.py (2)"} < set(names(submission))
    assert max(map(len, names(submission))) < 210


def test_a_folder_that_cannot_be_listed_costs_only_itself(tmp_path, monkeypatch):
    """Tests may run as root: the refusal is made up, the handling is not."""
    make(tmp_path, "kim/hw.py", "kim/locked/x.py", "lee/hw.py")
    scandir = os.scandir

    def refuse(path):
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    kim, lee = read_class(tmp_path, EXERCISES)
    assert names(kim) == names(lee) == ["hw.py"]
    assert [u.name for u in kim.unreadable] == ["locked/"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("nope", "폴더가 없어요"), ("file.py", "폴더가 아니에요"), ("empty", "빈 폴더"), ("zips", "kim.zip")],
)
def test_a_class_that_is_none_says_so(tmp_path, path, expected):
    """A wrong path, a file, an empty folder and a folder of archives each get their own line."""
    make(tmp_path, "file.py", "zips/kim.zip")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ClassFolderError, match=expected) as caught:
        read_class(tmp_path / path, EXERCISES)
    assert str(tmp_path / path) in str(caught.value)


# --- properties -------------------------------------------------------------------------------------------

SIMPLE = st.sampled_from(
    [
        "A = 1",
        "x",
        "print('한글')",
        "B = '''\n é\n'''",
        "C = (1,\n  2)",
        "D = 1 + \\\n 2",
        "f(\n)",
        "import os",
    ]
)
COMPOUND = st.sampled_from(
    ["def f(x):\n    return x  # why", "@a\n@b(\n1)\ndef g(): pass", "class N:\n  '''é'''\n\n  x = 1",
     "if A: B = 1; C = 2", "try:\n  import x\nexcept E:\n  x = None", "@(\na)\nclass M: pass",
     "\f\ndef h(): 0"]
)  # fmt: skip
LINE = st.builds(
    lambda parts, separator, end: separator.join(parts) + end,
    st.lists(SIMPLE, min_size=1, max_size=4),
    st.sampled_from([";", "; ", " ;  "]),
    st.sampled_from(["", ";", "  # 끝", " ; # 끝"]),
)
SOURCE = st.lists(LINE | COMPOUND | st.sampled_from(["", "# %%", "  # x", "\f"]), max_size=8).map("\n".join)


@given(SOURCE, st.data())
def test_what_is_kept_stays_where_it_was(source, data):
    """Whatever is dropped around it, a kept statement has its lines, its columns and its meaning."""
    body = parse(source)
    chosen = [s for s in body if data.draw(st.booleans())]
    lines = without_others(Block(tuple(source.split("\n")), tuple(body), frozenset()), chosen)
    assert len(lines) == source.count("\n") + 1
    left = [s for s in parse("\n".join(lines)) if ast.unparse(s) != "0"]
    assert [ast.dump(s, include_attributes=True) for s in left] == [
        ast.dump(s, include_attributes=True) for s in chosen
    ]


FRAGMENTS = st.lists(
    st.sampled_from(MAGICS + PYTHON + KEPT + DROPPED)
    | st.sampled_from([*"()[]{}'\"\\\n\t\f;:#%!?@=\0", '"""', "\r\n"]),
    max_size=8,
).flatmap(lambda parts: st.sampled_from(["", "\n"]).map(lambda glue: glue.join(parts)))
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | FRAGMENTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["cells", "cell_type", "source", "metadata", "tags", "worksheets"]), inner
        )
    ),
    max_leaves=10,
)
CELL = st.fixed_dictionaries(
    {
        "cell_type": st.sampled_from(["code", "code", "code", "markdown", "raw"]),
        "source": FRAGMENTS | FRAGMENTS.map(lambda text: text.splitlines(keepends=True)) | JSON,
        "metadata": st.just({"tags": ["exercise:train_step"]}) | JSON,
    }
)
NOTEBOOK = st.fixed_dictionaries({"cells": st.lists(CELL, max_size=4)}) | JSON


@given(
    (SOURCE | FRAGMENTS | st.text()).map(lambda t: t.encode("utf-8", "surrogatepass"))
    | st.binary()
    | NOTEBOOK.map(lambda n: json.dumps(n).encode()),
    st.sampled_from([".py", ".ipynb"]),
)
@settings(deadline=None, max_examples=300)
@example(b'{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', ".ipynb")
def test_any_file_becomes_a_program_or_a_message(tmp_path_factory, content, suffix):
    """No bytes raise; what comes out parses, can be written, and every line of it has a place."""
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(content)
    submission = read_submission(path, EXERCISES)
    assert len(submission.files) + len(submission.unreadable) == 1
    for file in submission.files:
        body = ast.parse(file.text).body
        assert file.text.count("\n") == len(file.places)
        assert file.text.encode().decode() == file.text
        assert not body or set(file.defines.values()) <= set(range(1, body[-1].end_lineno + 1))
        assert all(1 <= problem.line <= len(file.places) for problem in file.problems)


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
