"""Which expressions of two statements are compared with each other, and which differences are only spelling."""

import ast

import pytest

from grader.judging.repair.differing_pairs import differing_pairs, parts_that_run
from grader.judging.repair.small_edits import small_edits


def pairs(learner: str, solution: str) -> list[str]:
    """Return the pairs of two statements as `learner's -> solution's`."""
    (old,), (new,) = ast.parse(learner).body, ast.parse(solution).body
    return [f"{ast.unparse(pair.old)} -> {ast.unparse(pair.new)}" for pair in differing_pairs(old, new)]


def test_each_pair_comes_after_those_inside_it() -> None:
    assert pairs("loss = h(x) / n", "loss = h(x) / len(xb)") == [
        "n -> len(xb)",
        "h(x) / n -> h(x) / len(xb)",
    ]


@pytest.mark.parametrize(
    ("learner", "solution"),
    [
        ("clip_grad_norm_(p, 1.0)", "torch.nn.utils.clip_grad_norm_(p, 1.0)"),
        ("nn.utils.clip_grad_norm_(p, 1.0)", "torch.nn.utils.clip_grad_norm_(p, 1.0)"),
        ("F.relu(x)", "torch.nn.functional.relu(x)"),
        ("y = math.sqrt(x)", "y = sqrt(x)"),
        ("f(x, a=1, b=torch.g(y))", "f(x, b=g(y), a=1)"),
        ("layer(activation=nn.ReLU)", "layer(activation=torch.nn.ReLU)"),
    ],
)
def test_a_respelling_is_no_difference(learner: str, solution: str) -> None:
    assert pairs(learner, solution) == pairs(solution, learner) == []


@pytest.mark.parametrize(
    ("learner", "solution"),
    [
        ("math.sqrt(x)", "torch.sqrt(x)"),
        ("return x.data", "return data"),
        ("torch.f(y).x", "x"),
        ("sum(x)", "torch.sum(x)"),
        ("x.to(float)", "x.to(torch.float)"),
        ("random.seed(n)", "np.random.seed(n)"),
    ],
)
def test_names_of_different_things_that_end_alike_differ(learner: str, solution: str) -> None:
    assert pairs(learner, solution)
    assert pairs(solution, learner)


def test_a_real_difference_beside_a_respelling_stands_alone() -> None:
    assert pairs("nn.utils.f(p, 1.0)", "torch.nn.utils.f(p, 2.0)") == [
        "1.0 -> 2.0",
        "nn.utils.f(p, 1.0) -> torch.nn.utils.f(p, 2.0)",
    ]


def test_self_may_be_too_much_or_too_little() -> None:
    assert pairs("return self.total", "return total") == ["self.total -> total"]
    assert pairs("return total", "return self.total") == ["total -> self.total"]


@pytest.mark.parametrize(
    ("learner", "solution", "first"),
    [
        ("y = sum([l / 2 for l in ls])", "y = sum(l / 3 for l in ls)", "2 -> 3"),
        ("y = {a: 1 for a in x if a}", "y = {a: 2 for a in x}", "1 -> 2"),
        ("y = [a for a in xs]", "y = {a: b for a in ys}", "xs -> ys"),
    ],
)
def test_comprehensions_are_compared_part_by_part(learner: str, solution: str, first: str) -> None:
    assert pairs(learner, solution)[0] == first


@pytest.mark.parametrize(
    ("learner", "solution", "parts"),
    [
        ("f(x, b=1, c=2)", "f(c=2, b=3, a=x)", ["1 -> 3"]),
        ("f(x, 1)", "f(x, dim=0)", ["1 -> 0"]),
        ("f(x, dim=1)", "f(x, 0)", ["1 -> 0"]),
        ("f(x, a=1)", "f(x, b=2)", []),
        ("f(x, y, a=1)", "f(z, a=2)", ["x -> z", "1 -> 2"]),
    ],
)
def test_arguments_are_compared_by_position_or_by_name(learner: str, solution: str, parts: list[str]) -> None:
    assert pairs(learner, solution)[:-1] == parts


def test_the_condition_of_another_statement_is_compared() -> None:
    (whole,) = pairs("if a < b: pass", "while a <= b: pass")
    assert whole == "a < b -> a <= b"
    assert pairs("return a", "x = b") == ["a -> b"]
    assert pairs("return a", "while b: pass") == []


def test_something_alike_inside_is_compared() -> None:
    assert pairs("y = float(a * b)", "y = a * c") == ["b -> c", "a * b -> a * c", "float(a * b) -> a * c"]


def test_nothing_inside_an_f_string_is_compared() -> None:
    assert pairs("print(f'{a}')", "print(f'{b}')") == ["print(f'{a}') -> print(f'{b}')"]


def test_annotations_do_not_run() -> None:
    (node,) = ast.parse("x: int = y").body
    assert list(map(ast.unparse, parts_that_run(node))) == ["x", "y"]


def test_a_respelling_is_not_tried() -> None:
    learner = "def f(p):\n    norm = nn.utils.g(p, 1.0)\n    return norm\n"
    solution = "def f(p):\n    norm = torch.nn.utils.g(p, 2.0)\n    return norm\n"
    lines = [" ".join(edit.new) for edit in small_edits(learner, "f", solution)]
    assert not any("torch.nn.utils.g(p, 1.0)" in line for line in lines)
    lines = [" ".join(edit.new) for edit in small_edits(learner.replace("1.0", "2.0"), "f", solution)]
    assert not any("norm = torch.nn.utils.g(p, 2.0)" in line for line in lines)
