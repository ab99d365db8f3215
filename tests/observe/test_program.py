"""A submission is loaded statement by statement: what nobody needs costs nothing, and what fails is said."""

import dataclasses
import sys

from grader.observe.program import load_program
from tests.observe.five_lines import RIGHT, traced


def test_a_statement_that_fails_costs_only_what_it_defines() -> None:
    """An import that no exercise needs, and a broken helper, leave the exercise intact."""
    program = load_program("import no_such_package_anywhere\nBAD = 1 / 0\n" + RIGHT)
    assert set(program.failures) == {"no_such_package_anywhere", "BAD"}
    assert program.failures["BAD"].line == 2
    assert callable(program.names["train_step"])
    (warning,) = program.warnings
    assert warning.startswith("1번째 줄: no_such_package_anywhere를 불러오지 못했어요 (No module named")
    program.unload()


def test_exit_while_loading_is_a_failure_not_an_exit() -> None:
    program = load_program("import sys\nX = sys.exit(3)\n" + RIGHT)
    assert program.failures["X"].type == "SystemExit"
    program.unload()


def test_dataclasses_under_postponed_annotations_load() -> None:
    """They look their module up in `sys.modules`; and the future import need not stand first."""
    source = (
        "x = 1\nfrom __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass C:\n    a: int\n"
    )
    program = load_program(source, name="with_dataclass")
    assert not program.failures
    assert dataclasses.is_dataclass(program.names["C"])
    assert "with_dataclass" in sys.modules
    program.unload()
    assert "with_dataclass" not in sys.modules


def test_a_missing_function_is_said() -> None:
    failure = traced("x = 1\n").load_failure
    assert failure is not None
    assert "train_step" in failure.message


def test_the_line_of_an_exception_is_the_submissions_deepest() -> None:
    source = (
        "def helper():\n    raise KeyError('k')\n\n"
        "def train_step(model, opt, loss_fn, xb, yb):\n    helper()\n"
    )
    failure = traced(source).runs["sgd"].failure
    assert failure is not None
    assert (failure.type, failure.line) == ("KeyError", 2)
