"""Which whole lines are moved or guarded, and which never: edits that could mend nothing."""

from grader.judging.repair.small_edits import SmallEdit, small_edits

CLASS = """class f:
    low: int = 0
    high: int = 1

    def save(self):
        self.count = 0
        self.kept = self.low
        return self.kept

    def load(self, value):
        self.low = value
        self.steps = value
        return self.kept
"""


def moved(source: str, solution: str) -> list[SmallEdit]:
    return [edit for edit in small_edits(source, "f", solution) if edit.kind in ("place", "order")]


def test_a_field_is_not_moved_into_a_method() -> None:
    edits = moved(CLASS, CLASS)
    assert edits
    assert not [edit for edit in edits if ": int" in edit.old[0]]


def test_a_line_is_moved_into_another_method_only_if_the_solution_has_it_there() -> None:
    line = "        self.count = 0\n"
    misplaced = CLASS.replace(line, "").replace("        self.steps", f"{line}        self.steps")
    assert CLASS in [edit.program for edit in moved(misplaced, CLASS)]
    for edit in moved(CLASS, CLASS):
        save, load = edit.program.split("    def load")
        assert "self.count = 0" in save
        assert "self.steps = value" in load


def test_no_line_of_one_method_becomes_one_of_another() -> None:
    source = CLASS.replace("        self.count = 0\n", "        print(self)\n").replace(
        "        self.steps = value\n", ""
    )
    solution = CLASS.replace("        self.steps = value\n", "        self.model.load(value)\n")
    edits = small_edits(source, "f", solution)
    assert not [
        edit for edit in edits if edit.line < 10 and "self.model" in edit.program.split("def load")[0]
    ]


LOOP = """def f(update, xs):
    for i, x in enumerate(xs):
        if x is None:
            continue
        if i % 2:
            update(x)
            break
        print(x)
    return xs
"""


def test_no_break_and_no_continue_leaves_its_loop() -> None:
    solution = LOOP.replace("        print", "        if x > 1:\n            break\n        print")
    edits = list(small_edits(LOOP, "f", solution))
    assert [edit for edit in edits if "if x > 1:" in edit.program]
    for edit in edits:
        compile(edit.program, "edited", "exec")


def test_continue_is_tried_for_break_and_the_other_way_round() -> None:
    edits = [edit for edit in small_edits(LOOP, "f", LOOP) if edit.kind == "jump"]
    assert {(edit.line, *edit.new) for edit in edits} == {
        (4, "            break"),
        (7, "            continue"),
    }
