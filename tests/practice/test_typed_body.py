"""What is typed or pasted into the terminal's drill becomes the function's body, however it is indented."""

import ast
import os
import sys
import textwrap

import pytest

from grader.cli import drill as command
from grader.course.reading import load_course
from grader.practice.drill import with_body
from grader.practice.typed_body import as_body

BODY = """\
total = 0.0
for xb, yb in loader:
    loss = loss_fn(model(xb), yb)
    if loss > 0:
        total += loss.item()

return total
"""
LOOP = "for xb in loader:\n    total += 1\n    print(xb)\n"


def tree(body: str) -> str:
    return ast.dump(ast.parse("def f():\n" + body))


@pytest.mark.parametrize(
    "body", [BODY, LOOP, BODY.partition("\n")[2]], ids=["body", "loop", "loop-and-return"]
)
@pytest.mark.parametrize("depth", [0, 1, 2, 4, 8, 12])
@pytest.mark.parametrize("first_line_loses_it", [False, True])
def test_any_indentation_is_taken(body: str, depth: int, first_line_loses_it: bool) -> None:
    """The prompt stands four spaces in; a copy begins at the first letter, or at the margin of a cell."""
    pasted = textwrap.indent(body, " " * depth)
    if first_line_loses_it:
        pasted = pasted.lstrip(" ")
    assert tree(as_body(pasted)) == tree(textwrap.indent(body, "    "))


def test_tabs_and_the_line_ends_of_windows() -> None:
    pasted = textwrap.indent(BODY.replace("    ", "\t"), "\t").replace("\n", "\r\n")
    assert tree(as_body(pasted)) == tree(textwrap.indent(BODY, "    "))


def test_wrong_code_stays_the_learners_own() -> None:
    """There is no reading to choose, and the message must be about the lines as they were written."""
    assert as_body("  a = (\n  b = 1\n") == "    a = (\n    b = 1\n"
    assert as_body("\n") == "\n"


def test_a_whole_function_is_taken_as_one() -> None:
    exercise = load_course().exercise("train_step")
    whole = "    def train_step(model, opt, loss_fn, xb, yb):\n        return 0.0\n"
    (_, definition) = ast.parse(with_body(exercise, whole)).body
    assert isinstance(definition, ast.FunctionDef)
    assert [type(node) for node in definition.body] == [ast.Return]


def test_a_blank_line_within_a_paste_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What came after it was taken for the next try; an empty line that is typed still ends the answer."""
    keyboard, terminal = os.openpty()
    with open(terminal, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(keyboard, BODY.encode() + b"\n")
        assert command._typed() == BODY
    os.close(keyboard)
