"""A right answer keeps its points in whatever form a tool saves it: nothing of it is lost while reading."""

import ast

import pytest

from grader.intake.receive import receive
from grader.submission.submission import Submission
from tests.intake import downloads
from tests.submission.forms import ANSWERS, EXERCISES, FORMS


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Submission]:
    """All forms as one class: the number of the form -> what was read of it."""
    folder = tmp_path_factory.mktemp("forms") / "class"
    for number, files in enumerate(FORMS.values()):
        downloads.write(folder / f"s{number}", files)
    return {s.student: s for s in receive(folder, None, EXERCISES).submissions}


@pytest.mark.parametrize("form", FORMS)
def test_the_answers_are_read(form: str, received: dict[str, Submission]) -> None:
    submission = received[f"s{list(FORMS).index(form)}"]
    assert submission.unreadable == ()
    for name, answer in zip(EXERCISES, ANSWERS, strict=True):
        source = submission.source_for(name)
        assert source is not None, submission.notes
        body = ast.parse(source.text).body
        found = [s for s in body if isinstance(s, ast.FunctionDef) and s.name == name]
        assert _without_margin(found[-1]) == _without_margin(ast.parse(answer).body[0])
        imports = [s for s in body if isinstance(s, ast.Import | ast.ImportFrom)]
        assert {"torch", "nn"} <= {alias.asname or alias.name for s in imports for alias in s.names}
        assert {ast.unparse(s) for s in imports} <= {
            "import torch",
            "from torch import nn",
            "import math",
            "import sys",
        }
        assert source.nearest_place(source.defines[name]).line > 0


def _without_margin(definition: ast.stmt) -> str:
    """The definition with its docstring as `help` shows it: a block around it indents the docstring's lines."""
    assert isinstance(definition, ast.FunctionDef)
    text = ast.get_docstring(definition)
    if text is not None:
        definition.body[0] = ast.Expr(ast.Constant(text))
    return ast.dump(definition)
