"""What several changes make of one program, and which cannot be told together."""

from grader.judging.line_changes import LineChange, with_changes

LINES = ["a", "b", "c", "d", "e"]


def inserted(behind: int, new: str) -> LineChange:
    return LineChange("inserts", behind, behind, behind, (), (new,))


def moved(line: int, behind: int) -> LineChange:
    return LineChange("moves", line, line + 1, behind, (LINES[line],), (LINES[line],))


def rewritten(line: int, new: str) -> LineChange:
    return LineChange("rewrites", line, line + 1, line, (LINES[line],), (new,))


def test_changes_of_different_lines_are_all_made() -> None:
    assert with_changes(LINES, [rewritten(4, "E"), inserted(1, "x")]) == ["a", "x", "b", "c", "d", "E"]
    assert with_changes(LINES, [moved(4, 1), rewritten(0, "A")]) == ["A", "e", "b", "c", "d"]
    guard = LineChange("guards", 1, 3, 1, ("b", "c"), ("if x:",))
    assert with_changes(LINES, [guard, rewritten(4, "E")]) == ["a", "if x:", "    b", "    c", "d", "E"]


def test_changes_that_name_one_line_are_not_told_together() -> None:
    assert with_changes(LINES, [rewritten(1, "B"), rewritten(1, "BB")]) is None
    assert with_changes(LINES, [moved(1, 4), inserted(2, "x")]) is None  # behind the line that is moved
    assert with_changes(LINES, [inserted(2, "x"), inserted(2, "y")]) is None
    assert with_changes(LINES, [moved(3, 1), inserted(1, "x")]) is None
