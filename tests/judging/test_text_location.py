"""The line of the learner's own code that a mistake is about."""

import ast
import contextlib
import io
import os
import subprocess
import sys

from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.judging.similar_blocks import MissingPlace, SimilarBlocks
from grader.judging.solution import exercise_source
from grader.judging.text_location import Location, is_line_of, locate_in_text
from grader.observe.play import play
from grader.observe.program import load_program
from tests.work import calls_of

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
    assert locate_in_text(SOLUTION, without("    opt.zero_grad()\n"), LEARNER, "f") == Location(
        4, side="before"
    )


def test_a_wrong_return_is_a_return() -> None:
    assert locate_in_text(SOLUTION, SOLUTION.replace("loss.item()", "loss"), LEARNER, "f") == Location(8)


def test_a_line_too_many_is_the_line_like_it() -> None:
    wrong = SOLUTION.replace("    opt.step()\n", "    opt.step()\n    opt.step()\n")
    assert locate_in_text(SOLUTION, wrong, LEARNER, "f") == Location(6)


def test_a_mistake_outside_all_statements_is_at_the_line_it_names() -> None:
    """Only the signature differs, so no statement is missing, added or replaced."""
    wrong = SOLUTION.replace("def f(model, opt, x):", "def f(model, opt, x=None):")
    assert locate_in_text(SOLUTION, wrong, LEARNER, "f", near="loss.backward()") == Location(5)


def test_other_functions_and_broken_programs_have_no_place() -> None:
    assert locate_in_text(SOLUTION, without("    opt.zero_grad()\n"), LEARNER, "g") is None
    assert locate_in_text(SOLUTION, without("    opt.zero_grad()\n"), "def f(:", "f") is None


LOOP = """def f(model, opt, batches):
    total, count = 0.0, 0
    for xb, yb in batches:
        loss = model(xb, yb)
        total += loss.item() * len(xb)
        count += len(xb)
    state = {"total": total, "count": count}
    return state
"""

LOOP_IN_OTHER_NAMES = """def f(model, opt, batches):
    s = 0
    n = 0
    for a, b in batches:
        out = model(a, b)
        n += len(a)
        s += out * len(a)
    kept = {
        "total": s,
        "count": n + 1,
    }
    return kept
"""


def test_a_line_is_found_under_other_names() -> None:
    wrong = LOOP.replace("loss.item() * len(xb)", "loss * len(xb)")
    assert locate_in_text(LOOP, wrong, LOOP_IN_OTHER_NAMES, "f") == Location(7)


def test_of_a_long_statement_it_is_the_line_with_the_change() -> None:
    wrong = LOOP.replace('"count": count}', '"count": count + 1}')
    assert locate_in_text(LOOP, wrong, LOOP_IN_OTHER_NAMES, "f") == Location(10)


def test_the_course_may_say_where_to_look() -> None:
    wrong = LOOP.replace("    for xb, yb in batches:\n", "    for xb, yb in list(batches)[1:]:\n")
    assert locate_in_text(LOOP, wrong, LOOP_IN_OTHER_NAMES, "f", near="return state") == Location(12)


def test_the_course_may_insist_on_where_to_look() -> None:
    wrong = LOOP.replace("loss.item()", "loss")
    where = {"near": "return state"}
    assert locate_in_text(LOOP, wrong, LOOP_IN_OTHER_NAMES, "f", **where) == Location(7)
    assert locate_in_text(LOOP, wrong, LOOP_IN_OTHER_NAMES, "f", **where, only_near=True) == Location(12)


AVERAGE = """def f(losses, sizes):
    total = 0.0
    count = 0
    for loss, size in zip(losses, sizes):
        total += loss * size
        count += size
    return total / count
"""


def test_what_the_solution_computes_in_its_return_is_where_the_learner_computes_it() -> None:
    wrong = AVERAGE.replace("loss * size", "loss").replace("count += size", "count += 1")
    learner = """def f(losses, sizes):
    average = sum(losses)
    average /= len(losses)
    print(average)
    return average
"""
    assert locate_in_text(AVERAGE, wrong, learner, "f", at="return") == Location(3)


TWO_WAYS = """class C:
    def up(self, clear):
        for p in self.ps:
            p.add_(p.grad)
        if clear:
            self.zero()

    def down(self, clear):
        for p in self.ps:
            p.sub_(p.grad)
        if clear:
            self.zero()
"""


def test_the_last_lines_of_a_method_are_missing_in_it_and_not_before_the_next() -> None:
    wrong = TWO_WAYS.replace("        if clear:\n            self.zero()\n\n", "\n")
    assert locate_in_text(TWO_WAYS, wrong, wrong, "C") == Location(4, side="after")
    assert locate_in_text(TWO_WAYS, wrong, wrong, "C", near="if clear:") == Location(4, side="after")


def test_a_line_that_plays_another_part_is_left_to_it() -> None:
    solution = """def f(p, scaled):
    norm = p.abs() * p.grad if scaled else p.grad
    step = p.square() * p.grad if scaled else p.grad
    return norm, step
"""
    learner = """def f(p, scaled):
    length = p.grad.abs() * p.abs() if scaled else p.grad
    move = p.grad
    return length, move
"""
    wrong = solution.replace("step = p.square() * p.grad if scaled else p.grad", "step = p.grad")
    assert locate_in_text(solution, wrong, learner, "f") == Location(3)


CHECKED = """class C:
    def start(self, rho):
        if rho < 0:
            raise ValueError(rho)
        self.rho = rho

    def step(self):
        return self.rho
"""


def test_a_missing_check_belongs_to_its_own_method() -> None:
    wrong = CHECKED.replace("        if rho < 0:\n            raise ValueError(rho)\n", "")
    learner = wrong.replace("return self.rho", "raise NotImplementedError")
    assert locate_in_text(CHECKED, wrong, learner, "C") == Location(3, side="before")


def test_a_missing_check_belongs_before_an_inner_function() -> None:
    solution = "def f(xs):\n    if not xs:\n        raise ValueError\n    return sorted(xs)\n"
    wrong = "def f(xs):\n    return sorted(xs)\n"
    learner = "def f(xs):\n    def key(x):\n        return x\n    return sorted(xs, key=key)\n"
    assert locate_in_text(solution, wrong, learner, "f") == Location(2, side="before")


def test_a_line_to_look_at_stands_in_the_solution() -> None:
    assert is_line_of(LOOP, "for xb, yb in batches:")
    assert is_line_of(LOOP, "return state")
    assert not is_line_of(LOOP, "return total")
    assert not is_line_of(LOOP, "return (")
    assert not is_line_of(LOOP, "# return state")
    assert is_line_of("def f(count):\n    count = count + 1\n    return count\n", "count = count + 1")


def test_a_wrong_value_without_a_line_like_it_is_where_it_is_returned() -> None:
    learner = """def f(model, opt, x):
    opt.zero_grad()
    both = model(x), 0
    both[0].backward()
    opt.step()
    return both[0]
"""
    assert locate_in_text(
        SOLUTION, SOLUTION.replace("loss.item()", "loss"), learner, "f", at="return"
    ) == Location(6)


def test_a_mistake_in_a_helper_is_there_and_not_where_it_is_called() -> None:
    learner = """def one_step(net, loss):
    loss.detach().backward()
    return loss

def f(model, opt, x):
    def update():
        opt.zero_grad()
        loss = model(x).sum()
        kept = one_step(model, loss)
        opt.step()
        return kept

    return update().item()
"""
    solution = """def f(model, opt, x):
    opt.zero_grad()
    loss = model(x).sum()
    loss.backward()
    opt.step()
    return loss.item()
"""
    detached = solution.replace("loss.backward()", "loss.detach().backward()")
    assert locate_in_text(solution, detached, learner, "f") == Location(2)


def test_what_only_the_short_rest_lacks_is_missing_there() -> None:
    solution = """def f(opt, windows, size, limit):
    for window in windows:
        run(window)
        if limit is not None:
            clip(limit)
        opt.step()
        opt.zero_grad()
"""
    learner = """def f(opt, windows, size, limit):
    for window in windows[:-1]:
        run(window)
        if limit is not None:
            clip(limit)
        opt.step()
        opt.zero_grad()
    if windows:
        run(windows[-1])
        opt.step()
        opt.zero_grad()
"""
    wrong = solution.replace("limit is not None:", "limit is not None and len(window) == size:")
    assert locate_in_text(solution, wrong, learner, "f") == Location(10, side="before")


def missing_in_similar_block(text: str, line: int) -> MissingPlace | None:
    """Where a block lacks the statement at a line of this definition."""
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    statement = next(node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == line)
    return SimilarBlocks(tree).missing_place(statement)


def test_a_finally_and_the_else_of_a_loop_lack_nothing_of_the_blocks_before_them() -> None:
    """They run after these, and not in their place."""
    text = """def f(opt, loss, limit):
    try:
        loss.backward()
        clip(limit)
        opt.zero_grad()
    finally:
        opt.zero_grad()
"""
    assert missing_in_similar_block(text, 4) is None
    in_loop = text.replace("    try:", "    for _ in loss:").replace("    finally:", "    else:")
    assert missing_in_similar_block(in_loop, 4) is None
    in_branches = text.replace("    try:", "    if limit:").replace("    finally:", "    else:")
    assert missing_in_similar_block(in_branches, 4) == MissingPlace(7, is_before=True)


def test_what_is_missing_after_a_loop_or_a_long_call_is_missing_after_its_last_line() -> None:
    text = """def f(opt, params, limit):
    if limit:
        for p in params:
            p.mul_(limit)
        opt.step()
    else:
        for p in params:
            p.mul_(2)
"""
    assert missing_in_similar_block(text, 5) == MissingPlace(8, is_before=False)
    call = "        scale(\n            params,\n        )\n"
    long = f"def f(opt, params, limit):\n    if limit:\n{call}        opt.step()\n    else:\n{call}"
    assert missing_in_similar_block(long, 6) == MissingPlace(10, is_before=False)


def test_what_is_missing_at_the_end_is_missing_after_the_last_line_of_the_last_statement() -> None:
    solution = "def f(opt, rates):\n    scale(opt, rates)\n    opt.step()\n"
    learner = "def f(opt, rates):\n    scale(\n        opt,\n        rates,\n    )\n"
    assert locate_in_text(solution, solution.replace("    opt.step()\n", ""), learner, "f") == Location(
        5, side="after"
    )


def test_helpers_that_call_each_other_come_to_an_end() -> None:
    learner = """def a(x):
    return b(x)

def b(x):
    return a(x)

def f(model, opt, x):
    loss = a(x)
    return f(model, opt, loss)
"""
    solution = "def f(model, opt, x):\n    return model(x)\n"
    assert locate_in_text(solution, solution.replace("model(x)", "x"), learner, "f") is not None


def test_names_are_matched_in_one_order_in_every_process() -> None:
    """Sets of names come in another order with another hash seed; whoever is asked twice is told the same line."""
    code = f"""
import ast
from grader.judging.variable_roles import candidates_by_variable
print(candidates_by_variable(ast.parse({LOOP_IN_OTHER_NAMES!r}).body[0], ast.parse({LOOP!r}).body[0]))
"""
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(said) == 1


def test_a_huge_program_is_not_compared() -> None:
    """Comparing takes time in the grader's own process that grows with the square of the learner's statements."""
    for branches in (1, 2):
        body = "".join(f"        opt.step({number})\n" for number in range(5000 // branches))
        learner = f"def f(model, opt, x):\n    if x:\n{body}    else:\n{body if branches == 2 else '        pass'}\n"
        assert locate_in_text(SOLUTION, without("    opt.zero_grad()\n"), learner, "f") is None


def test_a_huge_program_has_no_similar_blocks() -> None:
    def missing_place(statements: int) -> MissingPlace | None:
        same = "".join(f"        step({number}, x)\n" for number in range(statements))
        tree = ast.parse(f"def f(x):\n    if x:\n{same}        clip(x.grad)\n    else:\n{same}").body[0]
        assert isinstance(tree, ast.FunctionDef)
        assert isinstance(tree.body[0], ast.If)
        return SimilarBlocks(tree).missing_place(tree.body[0].body[-1])

    assert missing_place(3) == MissingPlace(10, is_before=False)
    assert missing_place(2500) is None


def test_judging_a_huge_program_takes_no_longer() -> None:
    """Two blocks of 2,500 statements each, one of which lacks what the other has: 3.9 million calls, 0.3 s.

    Comparing the blocks with each other would be 6 million comparisons of two statements.
    """
    its = load_course().exercise("train_step")
    text = "import torch\n" + exercise_source(its).replace("    opt.zero_grad()\n", "")
    with contextlib.redirect_stdout(io.StringIO()):
        trace = play(its.driver, load_program(text), seed=SEED)
    body = "".join(f"        x{number} = model(xb)\n" for number in range(2500))
    huge = text.replace("    loss.backward()\n", f"    loss.backward()\n    if 0:\n{body}    else:\n{body}")
    assert huge.count("\n") > 5000
    assert assess(its, trace, cached_reference("train_step", SEED), LearnerCode(text)).status == "failed"
    its_reference = cached_reference("train_step", SEED)
    assert calls_of(lambda: assess(its, trace, its_reference, LearnerCode(huge))) < 6_000_000
