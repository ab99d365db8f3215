"""Which statements of a file are graded: definitions, imports and constants, and no demo."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.submission.statements import Block, keep_only
from grader.submission.syntax import parse
from tests.submission.samples import code, kept
from tests.submission.sources import DROPPED, KEPT, SOURCE


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


@given(SOURCE, st.data())
def test_what_is_kept_stays_where_it_was(source, data):
    """Whatever is dropped around it, a kept statement has its lines, its columns and its meaning."""
    body = parse(source)
    chosen = [index for index in range(len(body)) if data.draw(st.booleans())]
    lines = keep_only(Block(tuple(source.split("\n")), tuple(body), frozenset()), chosen)
    assert len(lines) == source.count("\n") + 1
    left = [s for s in parse("\n".join(lines)) if ast.unparse(s) != "0"]
    assert [ast.dump(s, include_attributes=True) for s in left] == [
        ast.dump(body[index], include_attributes=True) for index in chosen
    ]
