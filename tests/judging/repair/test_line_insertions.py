"""Which whole lines are inserted, and where: none where they could not run, none that are there already."""

import pytest

from grader.judging.repair.small_edits import SmallEdit, small_edits


def inserted(source: str, solution: str) -> list[SmallEdit]:
    """Return the edits that add lines and change none, the likeliest first."""
    edits = small_edits(source, "f", solution)
    return [edit for edit in edits if edit.kind in ("missing", "missing-lines", "case")]


REST_IN_METHOD = """class f:
    def fit(self, batches, k):
        for i, batch in enumerate(batches):
            self.add(batch)
            if (i + 1) % k == 0:
                self.update()

    def update(self):
        self.opt.step()
"""


def test_the_rest_of_a_loop_in_a_method_is_not_done_in_the_class() -> None:
    opposites = [edit for edit in inserted(REST_IN_METHOD, REST_IN_METHOD) if "if not" in edit.new[0]]
    assert [edit.new for edit in opposites] == [
        ("        if not (i + 1) % k == 0:", "            self.update()"),
    ]


def test_the_opposite_of_a_negated_condition_is_the_condition() -> None:
    source = REST_IN_METHOD.replace("if (i + 1) % k == 0:", "if not self.full:")
    added = [edit.new[0].strip() for edit in inserted(source, source)]
    assert "if self.full:" in added
    assert "if not not self.full:" not in added


FIELDS = """class f:
    lr: float = 0.1
    epochs: int = 3
    seed: int = 0

    def __post_init__(self):
        if self.lr <= 0:
            raise ValueError

    def to_dict(self):
        return asdict(self)
"""


def test_a_missing_field_is_added_to_the_class_and_nowhere_else() -> None:
    edits = inserted(FIELDS.replace("    seed: int = 0\n", ""), FIELDS)
    fields = [edit for edit in edits if "seed" in edit.new[0]]
    assert {edit.new for edit in fields} == {("    seed: int = 0",)}
    assert fields[0].program == FIELDS


def test_a_missing_method_is_added_at_the_end_of_the_class_and_none_a_second_time() -> None:
    method = "\n    def to_dict(self):\n        return asdict(self)\n"
    edits = inserted(FIELDS.replace(method, ""), FIELDS)
    methods = [edit for edit in edits if "def " in edit.new[0]]
    assert [(edit.new[0], edit.side) for edit in methods] == [("    def to_dict(self):", "end")]
    other = FIELDS.replace("asdict(self)", "vars(self)").replace("to_dict(self)", "to_dict(self, deep)")
    for source in (FIELDS, other):
        assert not [edit for edit in inserted(source, FIELDS) if "def " in edit.new[0]]


def test_the_same_words_in_another_order_are_another_statement() -> None:
    solution = "def f(a, b):\n    c = a - b\n    return c\n"
    assert any(
        edit.new == ("    c = a - b",) for edit in inserted(solution.replace("a - b", "b - a"), solution)
    )
    assert not any("c =" in edit.new[0] for edit in inserted(solution, solution))


def test_the_same_words_in_another_order_are_another_guard() -> None:
    solution = "def f(a, b):\n    c = a\n    if a < b:\n        c = b\n    return c\n"
    start = "def f(a, b):\n    if b < a:\n        print(a)\n    c = a\n"
    edits = small_edits(f"{start}    c = b\n    return c\n", "f", solution)
    assert f"{start}    if a < b:\n        c = b\n    return c\n" in [edit.program for edit in edits]


LOOP = """def f(xs, total):
    for x in xs:
        total.add(x)
        total.count(x)
    return total
"""


def test_a_loop_whose_statements_are_all_there_is_not_inserted_again() -> None:
    for source in (LOOP, LOOP.replace("count(x)", "count(xs)")):
        assert not any("for " in edit.new[0] for edit in inserted(source, LOOP))
    lacking = LOOP.replace("        total.count(x)\n", "")
    assert any("for " in edit.new[0] for edit in inserted(lacking, LOOP))


@pytest.mark.parametrize("last", ["return 0", "raise ValueError", "break", "continue"])
def test_nothing_is_inserted_where_it_cannot_run(last: str) -> None:
    source = f"""def f(xs, opt):
    opt.step()
    for x in xs:
        if x:
            {last}
    return xs
"""
    solution = source.replace("    for", "    opt.zero_grad()\n    for")
    added = [edit for edit in small_edits(source, "f", solution) if edit.kind in ("missing", "place")]
    assert added
    assert not any(f"{last}\n            " in edit.program for edit in added)
    new = [edit.program for edit in added if edit.kind == "missing"]
    assert all(program.endswith("    return xs\n") for program in new)


@pytest.mark.parametrize("branch", ["else:", "elif y:", "elif y and z:"])
def test_a_line_is_missing_in_whichever_branch_of_an_if(branch: str) -> None:
    source = f"""def f(scaler, opt, x, y, z):
    if x:
        scaler.step(opt)
        scaler.update()
    elif z:
        print(z)
    {branch}
        scaler.step(opt)
    return opt
"""
    edits = inserted(source, source)
    assert edits[0].new == ("        scaler.update()",)
    assert edits[0].line == 8


def test_a_line_is_missing_in_an_except_too() -> None:
    source = """def f(scaler, opt):
    try:
        scaler.step(opt)
        scaler.update()
    except ValueError:
        scaler.step(opt)
    return opt
"""
    edits = inserted(source, source)
    assert edits[0].new == ("        scaler.update()",)
    assert edits[0].line == 6


def test_a_statement_keeps_its_blank_lines_and_strings() -> None:
    source = '''def f(show, xs):
    show("""
first

  second""",

        xs)
    for x in xs:
        x()
'''
    edits = [edit for edit in inserted(source, source) if len(edit.new) == 6]
    repeated = next(edit for edit in edits if edit.new[0].startswith("        show"))
    assert repeated.new == ('        show("""', "first", "", '  second""",', "", "            xs)")
    assert all('"""\nfirst\n\n  second"""' in edit.program for edit in edits)


def test_the_opposite_of_an_if_keeps_them_too() -> None:
    source = '''def f(show, xs):
    for x in xs:
        for y in x:
            if y:
                show("""
first
""", y)
'''
    opposites = [edit.new for edit in inserted(source, source) if "if not" in edit.new[0]]
    assert opposites == [
        ("        if not y:", '            show("""', "first", '""", y)'),
        ("    if not y:", '        show("""', "first", '""", y)'),
    ]


def test_a_method_on_one_line_lends_its_statements_to_no_other() -> None:
    solution = """class f:
    def save(self):
        self.kept = self.value.clone()
        return self.kept

    def load(self):
        return self.value
"""
    source = (
        "class f:\n    def save(self): return self.kept\n\n    def load(self):\n        return self.value\n"
    )
    assert not any("clone" in edit.new[0] for edit in inserted(source, solution))


CLIPPED = """def f(model, opt, batches, max_norm=None):
    for batch in batches:
        model(batch)
        if max_norm is not None:
            clip(model, max_norm)
        opt.step()
    if batches:
        model(batches)
        opt.step()
"""


def test_a_guarded_call_is_repeated_where_the_next_line_stands_again() -> None:
    programs = [edit.program for edit in inserted(CLIPPED, CLIPPED)]
    guard = "        if max_norm is not None:\n            clip(model, max_norm)\n"
    head, tail = CLIPPED.rsplit("        opt.step()\n", 1)
    assert f"{head}{guard}        opt.step()\n{tail}" in programs


def test_an_argument_that_is_looped_over_twice_is_kept_in_a_list() -> None:
    source = "def f(params, norm):\n    total = sum(p for p in params)\n    for p in params:\n        p.mul_(total)\n"
    firsts = [edit.new[0].strip() for edit in inserted(source, source)]
    assert "params = list(params)" in firsts
    assert "norm = list(norm)" not in firsts
