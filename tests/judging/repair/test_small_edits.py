"""Which small edits are tried, and which of them early: kinds of slips that no list of mistakes has."""

import ast
from dataclasses import replace

import pytest

from grader.judging.repair.definition_text import Block, DefinitionText, Statement
from grader.judging.repair.edit_drafts import KINDS, Draft, Side
from grader.judging.repair.edit_kinds import kind_of_rewrite
from grader.judging.repair.small_edits import Focus, SmallEdit, _cost_with_focus, small_edits
from grader.judging.repair.top_level_names import import_statements

EARLY = 40
"""Edits within the smallest budgets of plays."""


def tried(source: str, solution: str, **more: Focus | dict[str, str]) -> list[SmallEdit]:
    focus, imports = more.get("focus"), more.get("imports")
    assert focus is None or isinstance(focus, Focus)
    assert imports is None or isinstance(imports, dict)
    return list(small_edits(source, "f", solution, focus, imports))


def position(edits: list[SmallEdit], line: str) -> int:
    """Of the first edit after which the program has the line."""
    return next(n for n, edit in enumerate(edits) if line in [x.strip() for x in edit.program.split("\n")])


MEAN = """def f(model, loader):
    total = 0.0
    count = 0
    for xb in loader:
        total += model(xb)
        count += len(xb)
    return total / count
"""


def test_a_helper_that_is_called_is_edited_and_another_function_is_not() -> None:
    source = """def unused(loader):
    return len(loader) > 1

def mean(model, loader):
    total, count = 0.0, 0
    for xb in loader:
        total += model(xb)
        count = len(xb)
    return total / count

def f(model, loader):
    return mean(model, loader)
"""
    edits = tried(source, MEAN)
    assert position(edits, "count += len(xb)") < EARLY
    assert all("return len(loader) > 1" in edit.program for edit in edits)


def test_what_the_solution_has_around_an_expression_comes_once() -> None:
    solution = "def f(step, x):\n    loss = step(x)\n    return step(x).item()\n"
    edits = tried("def f(step, x):\n    y = step(x).item()\n    return y\n", solution)
    assert all(".item().item()" not in edit.program for edit in edits)
    missing = tried("def f(step, x):\n    y = step(x)\n    return y\n", solution)
    assert position(missing, "y = step(x).item()") < EARLY
    converted = tried("def f(step, x):\n    y = step(x).float()\n    return y\n", solution)
    assert any("y = step(x).float().item()" in edit.program for edit in converted)


def test_an_import_comes_along_with_what_needs_it() -> None:
    solution = "def f(values):\n    return sqrt(sum(values))\n"
    imports = import_statements("import os.path\nimport numpy as np\nfrom math import sqrt\n" + solution)
    assert imports == {"np": "import numpy as np", "sqrt": "from math import sqrt"}
    edits = tried("def f(values):\n    return sum(values)\n", solution, imports=imports)
    edit = edits[position(edits, "return sqrt(sum(values))")]
    assert edit.program == "from math import sqrt\ndef f(values):\n    return sqrt(sum(values))\n"
    assert edit.new == ("from math import sqrt", "    return sqrt(sum(values))")
    there = tried(
        "from math import sqrt\ndef f(values):\n    return sum(values)\n", solution, imports=imports
    )
    assert all(edit.program.count("from math import sqrt") == 1 for edit in there)


def test_a_borrowed_decorator_finds_its_import() -> None:
    """It was imported below the definition, so that no such program could be loaded."""
    solution = "@lru_cache\ndef f(n=pi):\n    return n\n"
    imports = import_statements("from functools import lru_cache\nfrom math import pi\n" + solution)
    source = "from __future__ import annotations\n\ndef f(n=3):\n    return n\n"
    edit = next(e for e in tried(source, solution, imports=imports) if "    return n" not in e.new[-1:])
    assert edit.new == ("from functools import lru_cache", "@lru_cache")
    names: dict[str, object] = {}
    exec(edit.program, names)
    assert hasattr(names["f"], "cache_info")


def test_no_import_comes_along_for_a_name_of_the_learners() -> None:
    solution = "def f(values):\n    return sqrt(sum(values))\n"
    imports = import_statements("from math import sqrt\n" + solution)
    for own in ("def f(values, sqrt):\n", "def f(values):\n    sqrt = get()\n"):
        edits = tried(own + "    return sum(values)\n", solution, imports=imports)
        assert "import" not in edits[position(edits, "return sqrt(sum(values))")].program


WINDOWS = """def f(update, batches, size):
    for start in range(0, len(batches), size):
        update(batches[start : start + size])
"""


def test_a_window_that_is_never_emptied() -> None:
    source = """def f(update, batches, size):
    window = []
    for batch in batches:
        window.append(batch)
        if len(window) == size:
            update(window)
    if window:
        update(window)
"""
    edits = tried(source, WINDOWS)
    reset = [e for e in edits if e.new == ("            window = []",)]
    assert any(edit.line == 6 and "뒤에" in edit.where for edit in reset)


def test_a_slice_whose_end_forgets_its_start() -> None:
    edits = tried(WINDOWS.replace("start : start + size", "start:size"), WINDOWS)
    assert position(edits, "update(batches[start:start + size])") < EARLY


@pytest.mark.parametrize("end", ["n + 1", "n - 1"])
@pytest.mark.parametrize("start", ["", "i"])
def test_a_slice_that_ends_one_later_or_earlier_is_off_by_one(start: str, end: str) -> None:
    solution = f"def f(xs, i, n):\n    return xs[{start}:n]\n"
    edits = tried(solution, solution)
    assert edits[position(edits, f"return xs[{start}:{end}]")].kind == "off-by-one"


def test_a_condition_that_is_negated_is_a_condition_and_a_sign_an_operator() -> None:
    source = "def f(x, done):\n    if not done:\n        return -x\n"
    edits = tried(source, source)
    assert edits[position(edits, "if done:")].kind == "condition"
    assert edits[position(edits, "return x")].kind == "operator"


@pytest.mark.parametrize("condition", ["x <= (a or b)", "x >= (a or b)", "x != (a == b)", "x == (a or b)"])
def test_what_a_value_is_compared_with_gets_parentheses(condition: str) -> None:
    solution = f"def f(x, n, a, b):\n    if {condition}:\n        return 1\n"
    operator, right = condition.split()[1], condition.split("(")[1].rstrip(")")
    edits = tried(f"def f(x, n, a, b):\n    if x {operator} n:\n        return 1\n", solution)
    assert position(edits, f"if {condition}:") < EARLY
    assert all(f"if x {operator} {right}:" not in edit.program for edit in edits)


@pytest.mark.parametrize("end", ["", "  # every batch", "\n", "\n        # divided"])
def test_an_operand_at_the_end_of_a_line_gets_parentheses(end: str) -> None:
    """In an open bracket the next line goes on with the operator."""
    source = f"def f(total, extra, count):\n    return (total{end}\n        / count)\n"
    edits = tried(source, "def f(total, extra, count):\n    return (total + extra) / count\n")
    assert position(edits, f"return ((total + extra){end}".split("\n")[0]) < EARLY
    assert all("(total + extra\n" not in edit.program for edit in edits)


def test_an_argument_at_the_end_of_a_line_gets_none() -> None:
    source = "def f(total, extra):\n    return float(total  # of all\n    )\n"
    edits = tried(source, "def f(total, extra):\n    return float(total + extra)\n")
    assert position(edits, "return float(total + extra  # of all") < EARLY


def test_the_same_words_in_another_order_are_not_the_same_step() -> None:
    solution = "def f(total, ratio):\n    warmup = max(1, round(total * ratio))\n    return warmup\n"
    source = solution.replace("round(total * ratio)", "round(total) * ratio")
    assert position(tried(source, solution), "warmup = max(1, round(total * ratio))") < 10


def test_what_a_comprehension_goes_through_is_compared_whatever_it_builds() -> None:
    solution = "def f(model):\n    modes = {m: m.training for m in model.modules()}\n    return modes\n"
    source = "def f(model):\n    modes = [(m, m.training) for m in model.children()]\n    return modes\n"
    edits = tried(source, solution)
    edit = edits[position(edits, "modes = [(m, m.training) for m in model.modules()]")]
    assert edits.index(edit) < 10


BRANCHES = """def f(model, scaler, opt, clips):
    if clips:
        clip(model)
        scaler.step(opt)
        scaler.update()
    else:
        scaler.step(opt)
    return model
"""


def test_a_line_that_follows_the_same_line_in_the_other_branch_is_missing_here() -> None:
    solution = BRANCHES.replace("scaler.update()", "pass").replace(
        "    return", "    scaler.update()\n    return"
    )
    edits = tried(BRANCHES, solution)
    inserted = [e for e in edits if e.kind == "missing" and e.new == ("        scaler.update()",)]
    assert inserted[0].line == 7
    moved = [e for e in edits if e.kind in ("place", "order") and e.old == ("        scaler.update()",)]
    assert edits.index(inserted[0]) < min(edits.index(edit) for edit in moved)


def test_a_name_that_shares_a_word_with_another() -> None:
    solution = "def f(low_lr, high_lr, share):\n    return low_lr + (high_lr - low_lr) * share\n"
    edits = tried(solution.replace("(high_lr - low_lr)", "(low_lr - low_lr)"), solution)
    assert position(edits, "return low_lr + (high_lr - low_lr) * share") < EARLY


def test_a_leading_underscore_is_no_word_that_names_share() -> None:
    source = "def f(_low, _high):\n    return _low\n"
    assert all("return _high" not in edit.program for edit in tried(source, source))


def test_where_a_variable_gets_its_value_is_the_place() -> None:
    source = MEAN.replace("    count = 0\n", "    count = 0\n    n = len(loader[0])\n")
    source = source.replace("return total / count", "return total / n")
    edits = tried(source, MEAN.replace("return total / count", "return total / len(loader)"))
    assert edits[position(edits, "n = len(loader)")].line == 4


def test_one_line_is_not_tried_everywhere_before_anything_else() -> None:
    solution = MEAN.replace("    return", "    model.train()\n    return")
    kinds = [edit.kind for edit in tried(MEAN, solution)[:EARLY]]
    assert len(set(kinds)) > 3


def test_a_piece_of_one_method_is_not_put_into_another() -> None:
    solution = """class f:
    def save(self):
        self.count = 0
        self.kept = self.value.clone()
        return self.kept

    def load(self):
        return self.value
"""
    source = solution.replace("        self.kept = self.value.clone()\n", "")
    inserted = [e for e in tried(source, solution) if e.new == ("        self.kept = self.value.clone()",)]
    assert inserted
    assert all(edit.line < 5 for edit in inserted)


def test_rounds_that_are_missing_are_looked_for_in_conditions() -> None:
    source = """def f(update, batches, size):
    window = []
    for batch in batches:
        window.append(batch)
        if len(window) == size:
            update(window)
            window = []
    if len(window) > 1:
        update(window)
"""
    line = "if len(window) >= 1:"
    missing = Focus(missing_events=frozenset({"forward", "step"}))
    assert position(tried(source, WINDOWS, focus=missing), line) < position(tried(source, WINDOWS), line)


LOOP = """def f(opt, xs, n):
    count = xs[0]
    for x in xs:
        x.sum()
        opt.step()
    return n
"""


def gain(draft: Draft, **focus: object) -> float:
    """By how much what the runs tell makes an edit of `LOOP` likelier."""
    told = replace(Focus(), **focus)  # type: ignore[arg-type]
    return round(draft.cost - _cost_with_focus(draft, DefinitionText(LOOP, "f"), told), 6)


def inserted(code: str, line: int = 3, side: Side = "before") -> Draft:
    start = line - 1 if side == "before" else 5
    return Draft(2.0, "missing", start, start, code.split("\n"), line, side, changed_code=code)


ROUNDS = frozenset({"forward", "step"})
STEPS = frozenset({"step"})


def test_what_is_inserted_makes_rounds_and_not_the_line_below_it() -> None:
    """Each line above a `for` had the bonus of edits of the loop, and an inserted `if` had none."""
    assert gain(inserted("check(xs)"), missing_events=ROUNDS) == 0
    assert gain(inserted("if n:\n    check(n)"), missing_events=ROUNDS) > 0
    rewritten = Draft(2.0, "expression", 2, 3, ["    for x in xs[1:]:"], 3)
    assert gain(rewritten, missing_events=ROUNDS) > 0


def test_a_guard_changes_how_often_the_lines_under_it_run() -> None:
    for header, missing, extra in (("if n:", False, True), ("for _ in xs:", True, False)):
        lines = [f"        {header}", "            opt.step()"]
        guard = Draft(2.0, "guard", 4, 5, lines, 5, "before", changed_code=header)
        assert (gain(guard, missing_events=STEPS) > 0) == missing
        assert (gain(guard, extra_events=STEPS) > 0) == extra


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("self.scheduler.step()", "scheduler"),
        ("lr_sched.step(loss)", "scheduler"),
        ("self.opt.step()", "step"),
        ("opts[0].step()", "step"),
        ("scaler.step(opt)", "step"),
    ],
)
def test_a_step_of_the_scheduler_is_none_of_the_optimizer(code: str, kind: str) -> None:
    for event in ("scheduler", "step"):
        assert (gain(inserted(code), missing_events=frozenset({event})) > 0) == (event == kind)


def test_a_variable_is_mentioned_by_its_name() -> None:
    """`return n` gave the bonus to every line with that letter, and `returned = 1` to one without a `return`."""
    line = Draft(2.0, "value", 1, 2, ["    count = xs[1]"], 2)
    assert gain(line, returned_differs_first=True) == 0
    assert gain(inserted("n = 1"), returned_differs_first=True) > 0
    returned = Draft(2.0, "value", 5, 6, ["    return n + 1"], 6)
    assert gain(returned, returned_differs_first=True) > gain(inserted("n = 1"), returned_differs_first=True)
    assert gain(inserted("opt.zero_grad()"), field_words=frozenset({"grad"})) > 0
    in_place = inserted("p.requires_grad_(True)")
    assert gain(in_place, field_words=frozenset({"requires_grad"})) > 0
    assert gain(inserted("gradual = 1"), field_words=frozenset({"grad"})) == 0


def test_what_comes_after_a_block_is_measured_from_its_end() -> None:
    after = inserted("check(xs)", side="end")
    assert gain(after, lines=frozenset({5})) > gain(after, lines=frozenset({3}))


def test_a_branch_that_stays_alone_is_shown_with_what_goes() -> None:
    source = "def f(x):\n    if x > 1:\n        y = x\n    else:\n        y = 1\n    return y\n"
    edits = [edit for edit in tried(source, source) if edit.kind == "no-condition" and edit.line == 2]
    old = ("    if x > 1:", "        y = x", "    else:", "        y = 1")
    assert {(edit.old, edit.new) for edit in edits} == {(old, ("    y = x",)), (old, ("    y = 1",))}
    guarded = source.replace("    else:\n        y = 1\n", "")
    assert any(edit.old == (old[0],) and not edit.new for edit in tried(guarded, guarded))


def test_a_line_that_the_solution_lacks_is_not_moved_far() -> None:
    loop = "def f(xs):\n    a = 1\n    b = 2\n    for x in xs:\n        a = a + x\n"
    edits = tried(f"{loop}        print(a, b)\n    return a\n", f"{loop}    return a\n")
    moved = [edit.program.split("\n") for edit in edits if edit.kind == "place" and "print" in edit.old[0]]
    assert {program.index("    print(a, b)") for program in moved} == {3, 5}


def test_the_rest_of_a_loop_is_not_taken_from_the_line_of_its_condition() -> None:
    source = "def f(update, xs):\n    for i, x in enumerate(xs):\n        if i % 2: update(x)\n"
    assert all("if not i % 2:\n" not in edit.program for edit in tried(source, source))


def test_a_number_of_the_solution_is_tried_though_it_equals_a_boolean_there() -> None:
    solution = "def f(x):\n    return check(True, 1) + 2 * x\n"
    edits = tried("def f(x):\n    return 2 * x + other(7)\n", solution)
    assert position(edits, "return 2 * x + other(1)") < EARLY


DECORATED = """@torch.no_grad()
def f(model, loader):
    return sum(model(xb) for xb in loader)
"""


def test_a_missing_decorator_is_proposed_and_a_right_one_stays() -> None:
    edits = tried(DECORATED.replace("@torch.no_grad()\n", ""), DECORATED)
    assert position(edits, "@torch.no_grad()") < EARLY
    wrong = DECORATED.replace("sum", "max")
    assert all("@torch.no_grad()" in edit.program for edit in tried(wrong, DECORATED))
    superfluous = tried(f"@lru_cache\n{wrong}", DECORATED)
    assert any("@lru_cache" not in edit.program for edit in superfluous)


def test_decorators_of_methods_are_compared_too() -> None:
    solution = "class f:\n    @classmethod\n    def of(cls, text):\n        return cls(json.loads(text))\n"
    edits = tried(solution.replace("    @classmethod\n", ""), solution)
    assert position(edits, "@classmethod") < EARLY
    wrong = solution.replace("loads", "load")
    assert ("    @classmethod",) not in [edit.old for edit in tried(wrong, solution)]


RATE = """def f(step, warmup, high):
    if step < warmup:
        return high * step / warmup
    return high
"""


def kind_of(source: str, solution: str, line: str) -> str:
    """Kind of the first edit that makes another line this one."""
    edits = [edit for edit in tried(source, solution) if edit.old]
    return next(edit.kind for edit in edits if line in [new.strip() for new in edit.new])


def test_a_case_that_later_lines_get_wrong_is_not_called_a_missing_line() -> None:
    """The learner computes that case too, in another way: which line is wrong is not known."""
    source = """def f(step, warmup, high):
    table = np.linspace(0.0, high, warmup).tolist()
    if step < len(table):
        return table[step]
    return high
"""
    edits = tried(source, RATE)
    inserted = next(
        edit for edit in edits if not edit.old and edit.new[1:] == ("        return high * step / warmup",)
    )
    assert inserted.kind == "case"
    assert "빠졌" not in inserted.phrase


def test_several_missing_lines_are_not_called_one() -> None:
    edits = tried(
        "def f(update, window):\n    pass\n",
        "def f(update, window):\n    if window:\n        update(window)\n",
    )
    inserted = next(edit for edit in edits if not edit.old and len(edit.new) == 2)
    assert "한 줄" not in inserted.phrase


def test_another_function_and_another_value_are_told_as_such() -> None:
    load = "def f(opt, state):\n    opt.load_state_dict(state['optimizer'])\n"
    merge = "def f(opt, state):\n    opt.state_dict().update(state['optimizer'])\n"
    assert kind_of(merge, load, "opt.load_state_dict(state['optimizer'])") == "method"
    kept = "def f(groups):\n    return [group for group in groups if group['params']]\n"
    assert kind_of("def f(groups):\n    return groups\n", kept, kept.splitlines()[1].strip()) == "returned"
    chosen = "def f(params):\n    small = [p for p in params if p.ndim < 2]\n    return small\n"
    named = "def f(params):\n    small = [n for n, p in params if 'bias' in n]\n    return small\n"
    assert kind_of(named, chosen, "small = [p for p in params if p.ndim < 2]") == "assigned"


def test_a_line_to_add_is_not_called_absent() -> None:
    """Another line may stand in its place: that the program is right with one more is all that is known."""
    assert not [
        kind for kind, described in KINDS.items() if described.inserts_line and "빠졌" in described.phrase
    ]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("y = a / b", "y = a * b"),
        ("y = a * b", "y = a / b"),
        ("y = a + b", "y = a - b"),
        ("return a + b", "return a - b"),
        ("a += b", "a -= b"),
        ("a += b", "a = b"),
    ],
)
def test_another_operator_of_the_solution_is_told_as_such(wrong: str, right: str) -> None:
    source = f"def f(a, b):\n    {wrong}\n    return a\n"
    assert kind_of(source, source.replace(wrong, right), right) == "operator"


def test_another_divisor_of_the_solution_is_told_as_such() -> None:
    solution = "def f(loss_fn, out, xb, yb, n):\n    loss = loss_fn(out, yb) / len(xb)\n    return loss\n"
    source = solution.replace("len(xb)", "n")
    assert kind_of(source, solution, "loss = loss_fn(out, yb) / len(xb)") == "divisor"


def test_another_dividend_of_the_solution_is_not_called_another_divisor() -> None:
    solution = "def f(total, count, n):\n    return count / n\n"
    source = solution.replace("count / n", "(total - 2) / n")
    assert kind_of(source, solution, "return count / n") == "returned"


ANNOTATED = """class f:
    name: str | None = None

    def step(self, size: int | None, rate=0.05) -> float | None:
        return size * rate
"""


def test_annotations_are_not_edited() -> None:
    source = ANNOTATED.replace("int | None", "int").replace("str | None", "list | None")
    edits = tried(source.replace("float | None", "str"), ANNOTATED)
    written = [edit.program for edit in edits if "def step(" in edit.program]
    assert all("(self, size: int, " in program and " -> str:" in program for program in written)
    assert not [edit for edit in edits if edit.new == ("    name: list = None",)]


@pytest.mark.parametrize("returns", ["", " -> float"])
def test_defaults_are_compared_whatever_is_annotated(returns: str) -> None:
    source = ANNOTATED.replace(" -> float | None", returns).replace("rate=0.05", "rate=-0.5")
    edits = tried(source, ANNOTATED)
    assert edits[position(edits, f"def step(self, size: int | None, rate=0.05){returns}:")].kind != "wrapped"


def test_of_equal_edits_the_kind_that_says_more_is_told() -> None:
    solution = "def f(update, xs, n):\n    update(xs[0:n + 1])\n"
    assert kind_of(solution.replace("n + 1", "n"), solution, "update(xs[0:n + 1])") == "off-by-one"


def test_what_is_different_in_a_condition_is_told_where_it_is_known() -> None:
    solution = "def f(go, n, k):\n    if (n + 1) % k == 0:\n        go()\n"
    assert kind_of(solution.replace("(n + 1)", "n"), solution, "if (n + 1) % k == 0:") == "off-by-one"


def test_keyword_arguments_are_compared_by_name() -> None:
    wrong = "def f(h, g, a, b):\n    return h(g, beta=a, alpha=a)\n"
    right = "def f(h, g, a, b):\n    return h(g, alpha=a, beta=b)\n"
    assert position(tried(wrong, right), "return h(g, beta=b, alpha=a)") == 0


def test_the_same_keyword_arguments_in_another_order_are_no_difference() -> None:
    solution = "def f(h, g, a, b):\n    y = h(g, alpha=a, beta=b)\n    return y / 2\n"
    edits = tried(solution.replace("alpha=a, beta=b", "beta=b, alpha=a").replace("y / 2", "y"), solution)
    assert edits[0].new == ("    return y / 2",)
    assert all("h(g, alpha=a, beta=b)" not in "".join(edit.new) for edit in edits if edit.old)


def test_no_target_of_a_chained_assignment_is_lost() -> None:
    source = "def f(xs):\n    last = total = 0\n    for x in xs:\n        last = total = x\n    return last, total\n"
    edits = tried(source, source)
    assert all("+=" not in edit.program for edit in edits)
    alone = source.replace("last = total = x", "total = x")
    assert position(tried(alone, alone), "total += x") < EARLY


@pytest.mark.parametrize("call", ["accelerator.backward(loss)", "torch.autograd.backward(loss)"])
def test_a_function_that_runs_backward_is_about_its_argument(call: str) -> None:
    source = f"def f(accelerator, model, xb, m):\n    loss = model(xb) + m\n    {call}\n"
    edits = tried(source, source)
    assert position(edits, call.replace("(loss)", "(loss / m)")) < EARLY
    receiver = call.removesuffix(".backward(loss)")
    assert all(f"({receiver} / m)" not in edit.program for edit in edits)
    assert all(f"{receiver}.item()" not in edit.program for edit in edits)


@pytest.mark.parametrize("call", ["{}.backward()", "{}.backward(retain_graph=True)"])
def test_a_method_that_runs_backward_is_about_its_receiver(call: str) -> None:
    source = f"def f(model, xb, m):\n    loss = model(xb) + m\n    {call.format('loss')}\n"
    assert position(tried(source, source), call.format("(loss / m)")) < EARLY


@pytest.mark.parametrize(("wrong", "meant"), [("+=", "-="), ("-=", "+="), ("*=", "/="), ("/=", "*=")])
def test_the_other_operator_of_an_assignment_is_a_slip(wrong: str, meant: str) -> None:
    source = f"def f(x, step):\n    x {wrong} step\n    return x\n"
    edits = tried(source, "def f(x, step):\n    return x.sub_(step)\n")
    edit = edits[position(edits, f"x {meant} step")]
    assert edits.index(edit) < EARLY
    assert edit.kind == "operator"


def test_a_slip_of_the_operator_is_told_as_such_in_a_division_too() -> None:
    source = "def f(x, n):\n    return x / n\n"
    assert kind_of(source, source, "return x * n") == "operator"
    assert kind_of(source, source, "return n / x") == "divisor"


def test_the_receiver_of_the_same_method_is_what_changes() -> None:
    old, receiver, method = (
        ast.parse(line).body[0] for line in ("(x / n).backward()", "x.backward()", "(x / n).sum()")
    )
    block = Block(ast.parse(""), loop_depth=0, indent="")
    statement = Statement(old, first_line=1, last_line=1, block=block, position=0, has_own_lines=True)
    assert kind_of_rewrite(statement, receiver) == "divisor"
    assert kind_of_rewrite(statement, method) == "method"


SELF = """class f:
    def __init__(self, k, items):
        self.k, self.items = k, items

    def total(self, xs):
        y = self.k
        if self.k:
            y = 0
        for x in self.items:
            y += x
        return y
"""


@pytest.mark.parametrize("right", ["if self.k:", "for x in self.items:", "y = self.k"])
def test_a_forgotten_self_is_tried_at_once(right: str) -> None:
    edits = tried(SELF.replace(right, right.replace("self.", "")), SELF)
    assert position(edits, right) < 3
    assert edits[position(edits, right)].kind == "name"


@pytest.mark.parametrize("right", ["if self.k:", "for x in self.items:", "y = self.k"])
def test_a_forgotten_self_is_a_slip_without_a_counterpart(right: str) -> None:
    source = SELF.replace(right, right.replace("self.", ""))
    edits = tried(source, "class f:\n    def total(self, xs):\n        return sum(xs)\n")
    assert position(edits, right) < 12


def test_a_parameter_named_like_an_attribute_may_be_meant_as_it_stands() -> None:
    edits = tried(SELF, SELF)
    assert all("self.k, self.items = self.k" not in edit.program for edit in edits[:EARLY])


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("for xb in loader:", "for xb, yb in loader:"),
        ("for xb, zb, yb in loader:", "for xb, yb in loader:"),
        ("losses = loader + 1", "losses = [1, 2] + 1"),
        ("losses = loader + 1", "losses = {1: 2} + 1"),
        ("losses = loader + 1", "losses = [x for x in loader] + 1"),
        ("losses = loader + 1", "losses = {x for x in loader} + 1"),
        ("losses = loader + 1", "losses = (1, 2) + 1"),
        ("losses = loader + 1", "losses = f'{loader}' + 1"),
        ("losses = sum((x for x in loader))", "losses = sum([x for x in loader])"),
    ],
)
def test_what_needs_no_parentheses_gets_none(wrong: str, right: str) -> None:
    rest = "        pass\n" if right.startswith("for") else "    return losses\n"
    source = f"def f(loader):\n    {wrong}\n{rest}"
    edits = tried(source, source.replace(wrong, right))
    assert any(edit.new == (f"    {right}",) and edit.old == (f"    {wrong}",) for edit in edits[:EARLY])
    assert all("((xb" not in edit.program for edit in edits)


def test_the_argument_of_a_call_keeps_the_parentheses_of_the_call() -> None:
    source = "def f(xs):\n    return sum(x for x in xs) / 2\n"
    edits = tried(source, source.replace("(x for x in xs)", "([x for x in xs])"))
    assert position(edits, "return sum([x for x in xs]) / 2") < EARLY
    assert all("sum[" not in edit.program and "sumxs" not in edit.program for edit in edits)


@pytest.mark.parametrize("condition", ["not z", "a < b", "a >= b", "a == b", "z is None", "z in a"])
def test_no_condition_is_tried_in_two_spellings(condition: str) -> None:
    source = f"def f(a, b, z):\n    if {condition}:\n        return 1\n"
    edits = tried(source, source)
    assert all(f"not {condition}" not in edit.program for edit in edits)
    assert any(
        edit.old == (f"    if {condition}:",) and edit.kind in ("compare", "condition") for edit in edits
    )


@pytest.mark.parametrize("condition", ["z", "a < z < b", "a and b"])
def test_a_condition_is_negated(condition: str) -> None:
    source = f"def f(a, b, z):\n    if {condition}:\n        return 1\n"
    edits = tried(source, source)
    assert any(
        line in edit.program for edit in edits for line in (f"if not {condition}:", f"if not ({condition}):")
    )


def test_no_edit_keeps_more_lines_from_running() -> None:
    """A `return` above the learner's own lines may make a program right, and says nothing about what is wrong."""
    source = "def f(params):\n    made = make()\n    for p in params:\n        p.add_(1)\n    return made\n"
    solution = "def f(params):\n    return make().manual_seed(0)\n"
    for edit in small_edits(source, "f", solution):
        lines = edit.program.split("\n")
        returns = [number for number, line in enumerate(lines) if line.startswith("    return")]
        assert not returns or not any(lines[returns[0] + 1 :]), edit.program
