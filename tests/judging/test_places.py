"""The line of the learner's own code that a mistake is about."""

from grader.judging.places import Place, place_of

SOLUTION = '''def f(model, opt, x):
    """Text."""
    opt.zero_grad()
    loss = model(x)
    loss.backward()
    opt.step()
    return loss.item()
'''

LEARNER = """import torch

def f(model, opt, x):
    out = model(x)
    out.backward()
    opt.step()
    result = out
    return result
"""


def without(line: str) -> str:
    return SOLUTION.replace(line, "")


def test_what_is_missing_belongs_before_the_line_that_follows_it() -> None:
    assert place_of(SOLUTION, without("    opt.zero_grad()\n"), LEARNER, "f") == Place(4, before=True)


def test_a_wrong_return_is_a_return() -> None:
    assert place_of(SOLUTION, SOLUTION.replace("loss.item()", "loss"), LEARNER, "f") == Place(8)


def test_a_line_too_many_is_the_line_like_it() -> None:
    wrong = SOLUTION.replace("    opt.step()\n", "    opt.step()\n    opt.step()\n")
    assert place_of(SOLUTION, wrong, LEARNER, "f") == Place(6)


def test_other_functions_and_broken_programs_have_no_place() -> None:
    assert place_of(SOLUTION, without("    opt.zero_grad()\n"), LEARNER, "g") is None
    assert place_of(SOLUTION, without("    opt.zero_grad()\n"), "def f(:", "f") is None
