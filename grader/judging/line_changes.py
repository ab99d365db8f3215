"""Read an edit of a program as the lines that a hint tells of it, and make several such changes at once.

Example: the edit that moves `opt.step()` from line 5 behind line 7 is the change `moves` with `start` 4, `end` 5 and
`behind` 7.

`own_edit.py` finds the edits and tells them. What is told of a kind of edit follows from its `Effect`
(`as_line_change`); what several changes make of a program, from `with_changes`.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import NamedTuple

from grader.course.feedback import Effect, NamedMistake
from grader.judging.repair.definition_text import INDENT
from grader.judging.repair.edit_drafts import KINDS
from grader.judging.repair.small_edits import SmallEdit
from grader.submission.syntax import is_compound, last_line


@dataclass(frozen=True)
class LineChange:
    """An edit as the lines that a hint tells of it. Lines of the program are counted from 0."""

    effect: Effect
    start: int
    """First line that is deleted, moved, guarded or rewritten."""
    end: int
    """The line after the last such line; `start` where lines are only inserted."""
    behind: int
    """Number of lines above the place where what is inserted or moved belongs; `start` for other effects."""
    old: Sequence[str]
    """The lines before the edit, as in `OwnEdit`."""
    new: Sequence[str]
    """The lines after it, as in `OwnEdit`."""


def as_line_change(before: Sequence[str], edit: SmallEdit) -> LineChange | None:
    """Return the lines that an edit changes; None if it is a move that `_as_line_move` cannot read.

    None also if the edit needs imports: a hint tells of one place only. And if it inserts a whole loop: that is the
    answer, beside the learner's own loop.

    The change's `effect` says what happens to the lines that are shown; it may differ from that of the edit's kind.

    Args:
        before: all lines of the program before the edit.
        edit: the edit.
    """
    if edit.imports:
        return None
    after = edit.program.split("\n")
    start = _count_equal_first_lines(before, after)
    end = len(before) - _count_equal_first_lines(before[start:][::-1], after[start:][::-1])
    old, new = before[start:end], after[start : end + len(after) - len(before)]
    effect: Effect = KINDS[edit.kind].effect
    if effect == "inserts" and any(re.match(r"\s*(for|while)\b", line) for line in new):
        return None
    if effect == "moves":
        return _as_line_move(before, edit, start, end)
    if effect == "guards":
        new = new[:1]  # the lines below it are the learner's, indented
    elif effect == "rewrites" and edit.old and not edit.new:
        effect, old = "unwraps", list(edit.old)  # an `if` or a `while` goes, its lines stay
    elif effect == "deletes" and new:
        # `pass` stands for the only statement of a block; or a `for`, `with` or `try` goes, and its lines stay.
        effect = "rewrites"
    return LineChange(effect, start, end, start, old, new)


def with_changes(before: Sequence[str], changes: Sequence[LineChange]) -> list[str] | None:
    """Return the lines with all the changes made.

    None if two of them change one line, or name one line as the neighbour of what they insert or move, or if one
    changes the line that the other names.
    """
    touched = [_lines_told(before, change) for change in changes]
    pieces = [piece for change in changes for piece in _pieces(change)]
    gaps = [piece.start for piece in pieces if piece.start == piece.end]
    if sum(map(len, touched)) > len(set().union(*touched)) or len(gaps) > len(set(gaps)):
        return None
    after = list(before)
    for piece in sorted(pieces, key=lambda piece: -piece.start):
        after[piece.start : piece.end] = piece.new
    return after


def _lines_told(before: Sequence[str], change: LineChange) -> set[int]:
    """Return the lines that a hint about the change names: those that change, and the neighbour of new ones."""
    changed = set(range(change.start, change.end))
    if change.effect == "moves" and line_below(before, change):
        return changed | {change.behind}
    return changed | ({change.behind - 1} if change.effect in ("inserts", "moves") else set())


def line_below(before: Sequence[str], change: LineChange) -> str:
    """Return the line above which a change inserts or moves lines, if they stand in one block; else an empty text."""
    below = "".join(before[change.behind : change.behind + 1])
    is_one_block = change.effect in ("inserts", "moves") and (
        indentation_of(below) == indentation_of(change.new[0])
    )
    return below if is_one_block else ""


class _Piece(NamedTuple):
    """Lines that take the place of others, as in a slice; `start` is `end` where they are only inserted."""

    start: int
    end: int
    new: Sequence[str]


def _pieces(change: LineChange) -> tuple[_Piece, ...]:
    """Return what a change does with the lines: one piece, two for a move."""
    match change.effect:
        case "moves":
            taken = _Piece(change.start, change.end, ())
            return taken, _Piece(change.behind, change.behind, change.new)
        case "deletes":
            return (_Piece(change.start, change.end, ()),)
        case "guards":
            indented = [INDENT + line if line.strip() else line for line in change.old]
            return (_Piece(change.start, change.end, [*change.new, *indented]),)
    return (_Piece(change.start, change.end, change.new),)


def _as_line_move(before: Sequence[str], edit: SmallEdit, start: int, end: int) -> LineChange | None:
    """Return the change of an edit that moves lines from one end of `before[start:end]` to the other.

    None if the moved lines stand at neither end.
    """
    count = len(edit.old)
    if tuple(before[start : start + count]) == edit.old:
        first, behind = start, end  # they go down
    elif tuple(before[end - count : end]) == edit.old:
        first, behind = end - count, start  # they go up
    else:
        return None
    # If their new place is beside the old one, they only go into a block, or out of one.
    effect: Effect = "rewrites" if first <= behind <= first + count else "moves"
    return LineChange(effect, first, first + count, behind, edit.old, edit.new)


def inserted_at(
    before: Sequence[str], change: LineChange, named: NamedMistake, line: int
) -> LineChange | None:
    """Return the change with its lines at the mistake's line; None if they cannot stand there.

    They come above the line or below its statement, where the card says that something is missing; otherwise they
    take the place of the statement.
    """
    statement = statement_at(before, line)
    if statement is None or (is_compound(statement) and not named.before):
        return None
    end = last_line(statement)
    new = indent(dedent("\n".join(change.new)), indentation_of(before[line - 1])).split("\n")
    if named.before or named.after:
        start = line - 1 if named.before else end
        return LineChange("inserts", start, start, start, (), new)
    return LineChange("rewrites", line - 1, end, line - 1, before[line - 1 : end], new)


def indentation_of(line: str) -> str:
    """Return the white space at the beginning of a line."""
    return line[: len(line) - len(line.lstrip())]


def statement_at(before: Sequence[str], line: int) -> ast.stmt | None:
    """Return the statement that begins in this line, alone; None if there is none."""
    try:
        tree = ast.parse("\n".join(before))
    except SyntaxError:
        return None
    here = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == line]
    return here[0] if len(here) == 1 else None


def _count_equal_first_lines(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of lines with which both texts begin alike."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
