"""Which of the learner's variables plays the role of one of the solution's."""

import ast

from grader.judging.variable_roles import candidates_by_variable, match_by_variable
from grader.submission.syntax import Definition

SOLUTION = """def f(model, opt, batches):
    total, count = 0.0, 0
    for xb, yb in batches:
        loss = model(xb, yb)
        total += loss.item() * len(xb)
        count += len(xb)
    return total / count
"""
OTHER_NAMES = """def f(net, opt, data):
    n, s = 0, 0.0
    for a, b in data:
        out = net(a, b)
        s += out.item() * len(a)
        n += len(a)
    return s / n
"""


def definition(text: str) -> Definition:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    return node


def matches(learner: str, solution: str) -> dict[str, str]:
    return match_by_variable(definition(learner), definition(solution))


def candidates(learner: str, solution: str) -> dict[str, list[str]]:
    return candidates_by_variable(definition(learner), definition(solution))


def test_uses_tell_the_role_whatever_the_names_are() -> None:
    assert matches(OTHER_NAMES, SOLUTION) == {
        **{"model": "net", "opt": "opt", "batches": "data"},
        **{"total": "s", "count": "n", "xb": "a", "yb": "b", "loss": "out"},
    }


def test_parameters_are_matched_by_name_then_by_position() -> None:
    """The learner's `b` stands where the solution has `a`, but it is the solution's `b`."""
    solution = "def f(a, b, c):\n    return a - b * c\n"
    assert matches("def f(b, a, k):\n    return a - b * k\n", solution) == {"a": "a", "b": "b", "c": "k"}
    left_over = matches("def f(b):\n    a = 2\n    return a - b\n", "def f(a, b):\n    return a - b\n")
    assert left_over == {"b": "b"}, "an assigned variable was matched with a parameter"


def test_parameters_that_are_left_over_are_matched_by_their_uses() -> None:
    """The solution's second one has no parameter of its name, and the learner's second has the name of its first."""
    solution = "def f(model, batch):\n    return model(batch.x, batch.y)\n"
    learner = "def f(b, model):\n    return model(b.x, b.y)\n"
    assert matches(learner, solution) == {"model": "model", "batch": "b"}


def test_a_loop_variable_is_not_matched_with_an_assigned_one() -> None:
    """They are used alike, and even have the same name."""
    solution = "def f(xs):\n    for x in xs:\n        g(x)\n"
    learner = "def f(xs):\n    x = xs\n    g(x)\n"
    assert matches(learner, solution) == {"xs": "xs"}
    assert candidates(learner, solution)["x"] == []


def test_variables_that_are_not_alike_are_not_matched() -> None:
    solution = "def f(x):\n    a = x.min()\n    return a.item()\n"
    learner = "def f(x):\n    b = open(x)\n    b()\n"
    assert matches(learner, solution) == {"x": "x"}


def test_the_second_pass_knows_the_matches_of_the_first() -> None:
    """Which of two sums is which follows only from the matches of what is added; by the alphabet, `p` would be `r`."""
    solution = "def f(x):\n    low, high = x.min(), x.max()\n    p = low + low\n    q = high + high\n    return low\n"
    learner = "def f(x):\n    a, b = x.min(), x.max()\n    r = b + b\n    s = a + a\n    return a\n"
    found = matches(learner, solution)
    assert (found["low"], found["high"], found["p"], found["q"]) == ("a", "b", "s", "r")


def test_candidates_begin_with_the_match_and_are_at_most_two() -> None:
    found = candidates(OTHER_NAMES, SOLUTION)
    assert found["model"] == ["net"]
    assert found["total"][0] == "s"
    assert found["count"][0] == "n"
    assert max(map(len, found.values())) == 2


def test_a_variable_without_a_match_has_candidates_that_are_matched_elsewhere() -> None:
    """The learner computes in one variable what the solution computes in two."""
    solution = "def f(x):\n    a = x.sum()\n    b = x.sum()\n    return a.item() + b.item()\n"
    learner = "def f(x):\n    c = x.sum()\n    return c.item()\n"
    found = matches(learner, solution)
    (unmatched,) = {"a", "b"} - found.keys()
    assert candidates(learner, solution)[unmatched] == ["c"]
