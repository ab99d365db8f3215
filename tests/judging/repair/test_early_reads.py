"""Which reads of a variable come before it is set, so that an edit with such a read is not played."""

import ast

import pytest

from grader.judging.repair.early_reads import early_reads


def names_read_early(body: str) -> set[str]:
    lines = ["def f(xs):", *(f"    {line}" for line in body.split("; "))]
    (definition,) = ast.parse("\n".join(lines)).body
    assert isinstance(definition, ast.FunctionDef)
    pairs = early_reads(definition)
    assert {function for function, _ in pairs} <= {"f"}
    return {name for _, name in pairs}


@pytest.mark.parametrize("body", ["y = z; z = 1", "z += xs; z = 0", "y = [z for _ in xs]; z = 1"])
def test_a_read_above_the_first_binding_is_found(body: str) -> None:
    assert names_read_early(body) == {"z"}


def test_a_variable_of_a_comprehension_is_not_bound_after_it() -> None:
    assert names_read_early("y = [x for x in xs]; x = x + 1") == {"x"}


@pytest.mark.parametrize(
    "comprehension",
    [
        "[(z := x) for x in xs]",
        "{x: (z := x) for x in xs}",
        "[x for x in xs if (z := x)]",
        "[[(z := x) for x in y] for y in xs]",
    ],
)
def test_a_name_that_a_comprehension_assigns_is_bound_after_it(comprehension: str) -> None:
    assert names_read_early(f"y = {comprehension}; y = z; z = 0") == set()


def test_what_is_inside_an_inner_definition_is_not_examined() -> None:
    assert names_read_early("async def g(): y = z; z = 1") == set()
    assert names_read_early("class G: y = z; z = 1") == set()
