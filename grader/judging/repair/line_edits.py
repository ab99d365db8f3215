"""Draft edits of whole lines: insert, repeat, delete, move, guard or unguard lines, or jump elsewhere.

`line_insertions` inserts statements; guards and decorators are added here. A guard is a line that ends with a colon
(`if`, `with`, `for`) and has statements under it. Those that are put around statements come from the solution, in the
learner's names (`translated_solution`). A gap is a place where a statement can be inserted.

Example: the learner has `opt.step()` under `if i % 2:`, the solution `opt.step()` alone. Among the drafts are the
`step` without its guard (`_unwrapping`), the whole `if` left out (`_deletion`), and the `if` moved (`_moves`).

Each section begins with its costs (see `Draft.cost`): that of its kind of edit, and what is added if one such edit is
less likely than another. Costs of likeness are multiplied by the likeness, 0 to 1, of the solution's statement and the
learner's for the same step. Another kind of edit of whole lines is another section, which `line_drafts` yields from
("A kind of edit" in `grader/ADDING.md`).
"""

import ast
from collections.abc import Iterator

from grader.judging.repair.definition_text import INDENT, DefinitionText, Gap, Statement, needs_loop, reindent
from grader.judging.repair.edit_drafts import Draft, Kind, ShownLines, Side
from grader.judging.repair.line_insertions import LIKENESS_COST, VERSION_COST, insertions, repetitions
from grader.judging.repair.places import gap_cost, is_of_use_in
from grader.judging.repair.translated_solution import TranslatedSolution, TranslatedStatement, header_text
from grader.submission.syntax import first_line, is_compound, last_line


def line_drafts(definition: DefinitionText, solution: TranslatedSolution) -> Iterator[Draft]:
    """Yield all edits of whole lines.

    Args:
        definition: the learner's function or class, which is edited.
        solution: the solution in the learner's names.
    """
    yield from insertions(definition, solution)
    yield from _guards(definition, solution)
    yield from repetitions(definition)
    for statement in definition.statements:
        if statement.has_own_lines:
            yield from _deletion(definition, solution, statement)
            yield from _unwrapping(definition, solution, statement)
            yield from _moves(definition, solution, statement)
            yield from _other_jump(statement)
    yield from _decorators(definition, solution.original)


# ---- delete ----------------------------------------------------------------------------------------

_MAX_DELETED_LINES = 8
"""Maximum number of lines of a statement that is deleted as a whole."""
_DELETION_COST = 2.0
"""Cost of deleting a statement of one line."""
_COST_PER_DELETED_LINE = 0.2
"""Added cost of each line after the first."""
_UNWRAPPING_COST = 2.6
"""Cost of keeping only the statements under a guard."""
_UNWRAPPED_LIKENESS_COST = 1.5
"""Added cost of likeness: a guard that the solution has too is probably needed."""
_ELSE_COST = 1.0
"""Added cost of keeping the `else` instead, which is less likely to be what is needed."""


def _deletion(
    definition: DefinitionText, solution: TranslatedSolution, statement: Statement
) -> Iterator[Draft]:
    """Yield the deletion of a short statement; `pass` takes the place of the only one in a block.

    The more the statement is like the solution's for the same step, the less likely it is superfluous.
    """
    lines = definition.lines_of(statement)
    if len(lines) > _MAX_DELETED_LINES or isinstance(statement.node, ast.Pass):
        return
    is_only_one = len(statement.block.statements) == 1
    new = [statement.block.indent + "pass"] if is_only_one else []
    translated = solution.by_counterpart.get(statement)
    likeness = translated.likeness if translated else 0.0
    cost = _DELETION_COST + LIKENESS_COST * likeness + _COST_PER_DELETED_LINE * (len(lines) - 1)
    start, end = statement.first_line - 1, statement.last_line
    code = "\n".join(lines)
    yield Draft(cost, "superfluous", start, end, new, statement.first_line, changed_code=code)


def _unwrapping(
    definition: DefinitionText, solution: TranslatedSolution, statement: Statement
) -> Iterator[Draft]:
    """Yield the body of an `if`, `with`, `for`, `while` or `try`, and its `else`, in the statement's place.

    Neither if a `break` or `continue` in it would then be in no loop.
    """
    node = statement.node
    if not isinstance(node, ast.If | ast.With | ast.For | ast.While | ast.Try):
        return
    translated = solution.by_counterpart.get(statement)
    for name in ("body", "orelse"):
        nodes = getattr(node, name, [])
        # The block that begins with the first of these nodes; there is none without nodes, as without an `else`.
        kept = next((block for block in definition.blocks if block.statements[0].node in nodes[:1]), None)
        if kept is None or not all(inner.has_own_lines for inner in kept.statements):
            continue
        if not statement.block.loop_depth and any(needs_loop(inner.node) for inner in kept.statements):
            continue
        first, last = kept.statements[0].first_line, kept.statements[-1].last_line
        new = reindent(definition.program_lines[first - 1 : last], kept.indent, statement.block.indent)
        likeness = translated.likeness if translated else 0.0
        cost = _UNWRAPPING_COST + _UNWRAPPED_LIKENESS_COST * likeness + _ELSE_COST * (name == "orelse")
        kind: Kind = "no-condition" if isinstance(node, ast.If | ast.While) else "superfluous"
        start, end = statement.first_line - 1, statement.last_line
        only_guard_goes = name == "body" and last == end
        shown_lines = ShownLines(definition.program_lines[start : first - 1], ()) if only_guard_goes else None
        yield Draft(cost, kind, start, end, new, statement.first_line, shown_lines=shown_lines)


# ---- jump ------------------------------------------------------------------------------------------

_JUMP_COST = 1.0
"""Cost of `continue` for `break`, or the other way round: beginners confuse the two."""


def _other_jump(statement: Statement) -> Iterator[Draft]:
    """Yield `continue` in the place of `break` or, in a loop, of a bare `return`; `break` in that of `continue`."""
    node = statement.node
    leaves_all = isinstance(node, ast.Return) and node.value is None and statement.block.loop_depth
    if leaves_all or isinstance(node, ast.Break | ast.Continue):
        other = "break" if isinstance(node, ast.Continue) else "continue"
        start, end = statement.first_line - 1, statement.last_line
        yield Draft(_JUMP_COST, "jump", start, end, [statement.block.indent + other], statement.first_line)


# ---- guard -----------------------------------------------------------------------------------------

_MAX_GUARDED = 4
"""Maximum number of statements that a guard is put around, unless it covers the rest of a block."""
_GUARD_COST = 2.4
"""Cost of putting a guard of the solution around statements."""
_GUARD_LIKENESS_COST = 2.0
"""Added cost of likeness: a guard that the learner has already is probably not missing."""
_UNRELATED_GUARD_COST = 2.2
"""Added if none of the statements corresponds to one under the solution's guard."""
_PARTLY_RELATED_GUARD_COST = 1.0
"""Added if only some do, or if others that correspond are left out."""


def _guards(definition: DefinitionText, solution: TranslatedSolution) -> Iterator[Draft]:
    """Yield guards of the solution around neighbouring statements of the learner's."""
    for translated in solution.statements:
        original = translated.original
        if not isinstance(original.node, ast.If | ast.With | ast.For) or translated.has_same_first_line:
            continue
        # The learner's statements that do what the solution does under this guard.
        guarded = {
            other.counterpart for other in solution.statements if other.original.block.owner is original.node
        }
        guarded -= {None}
        for version_index, version in enumerate(translated.versions):
            header = header_text(version)
            for statements in _statement_ranges(definition):
                if not is_of_use_in(statements[0].block.method, translated, definition):
                    continue
                cost = _GUARD_COST + _GUARD_LIKENESS_COST * translated.likeness + VERSION_COST * version_index
                if not guarded.intersection(statements):  # nothing tells that these belong under the guard
                    cost += _UNRELATED_GUARD_COST
                elif guarded != {*statements}:
                    cost += _PARTLY_RELATED_GUARD_COST
                yield _guard_draft(definition, statements, header, cost)


def _statement_ranges(definition: DefinitionText) -> Iterator[list[Statement]]:
    """Yield the sequences of neighbouring statements that a guard may be put around."""
    for block in definition.blocks:
        if isinstance(block.owner, ast.ClassDef) or not all(
            inner.has_own_lines for inner in block.statements
        ):
            continue
        count = len(block.statements)
        for start in range(count):
            for end in range(start + 1, count + 1):
                if end - start <= _MAX_GUARDED or end == count:
                    yield block.statements[start:end]


def _guard_draft(definition: DefinitionText, statements: list[Statement], header: str, cost: float) -> Draft:
    """Return a draft that indents these neighbouring statements under a guard with this header, such as `if done:`."""
    first, last = statements[0].first_line, statements[-1].last_line
    indent = statements[0].block.indent
    inner = reindent(definition.program_lines[first - 1 : last], indent, indent + INDENT)
    new = [indent + header, *inner]
    shown_lines = ShownLines((), new[:1])
    return Draft(cost, "guard", first - 1, last, new, first, "before", shown_lines, changed_code=header)


# ---- move ------------------------------------------------------------------------------------------

_MOVE_COST = 2.6
"""Cost of moving a statement."""
_COST_PER_STEP = 0.25
"""Added cost of each statement that is passed within the block; on the way down, the moved one counts too."""
_MAX_STEPS = 6
"""Number of steps from which on a longer way costs no more."""
_OTHER_BLOCK_MOVE_COST = 0.6
"""Added cost of a move to another block."""
_UNKNOWN_STEP_COST = 0.8
"""Added if the solution has no statement for the same step, so that nothing tells where it belongs."""
_COMPOUND_MOVE_COST = 0.8
"""Added cost of moving a compound statement."""
_RETURN_INTO_LOOP_COST = 3.0
"""Added cost of moving a `return` into a loop, which it would end in the first round: then rather without the loop."""


def _moves(definition: DefinitionText, solution: TranslatedSolution, statement: Statement) -> Iterator[Draft]:
    """Yield moves of a statement within its block or near it; to any place if the solution has the same step.

    Functions are not moved, nor is what stands directly in a class, nor the only statement of a block. Nothing is moved
    directly into a class, or into another method, unless the solution has the step there; a `break` or `continue` is
    moved out of no loop.
    """
    stays = isinstance(statement.node, ast.FunctionDef) or isinstance(statement.block.owner, ast.ClassDef)
    if stays or len(statement.block.statements) == 1:
        return
    translated = solution.by_counterpart.get(statement)
    for gap in definition.gaps:
        if statement in (gap.next, gap.previous) or isinstance(gap.block.owner, ast.ClassDef):
            continue
        is_inside = statement.first_line < gap.block.statements[0].first_line <= statement.last_line
        in_same_block = gap.block is statement.block
        is_near = in_same_block or _is_near(definition, gap, statement)
        leaves_loop = needs_loop(statement.node) and not gap.block.loop_depth
        if (
            is_inside
            or leaves_loop
            or not (is_near or (translated and _may_move_to(gap, statement, translated, definition)))
        ):
            continue
        steps = abs(_index_in_block(gap) - statement.position) if in_same_block else 0
        cost = _MOVE_COST
        cost += _COST_PER_STEP * min(steps, _MAX_STEPS) if in_same_block else _OTHER_BLOCK_MOVE_COST
        cost += gap_cost(solution, translated, gap) if translated else _UNKNOWN_STEP_COST
        cost += _COMPOUND_MOVE_COST * is_compound(statement.node)
        if isinstance(statement.node, ast.Return) and gap.block.loop_depth > statement.block.loop_depth:
            cost += _RETURN_INTO_LOOP_COST
        yield _move_draft(definition, statement, gap, cost)


def _may_move_to(
    gap: Gap, statement: Statement, translated: TranslatedStatement, definition: DefinitionText
) -> bool:
    """Return True for a place in the statement's own method, or in one where the solution has the same step."""
    method = gap.block.method
    return method == statement.block.method or is_of_use_in(method, translated, definition)


def _index_in_block(gap: Gap) -> int:
    """Return the index in its block at which a statement would be inserted."""
    return gap.next.position if gap.next is not None else len(gap.block.statements)


def _is_near(definition: DefinitionText, gap: Gap, statement: Statement) -> bool:
    """Return True if the place is just outside the statement's block, or in a block next to the statement."""
    around = definition.statement_around(statement.block)
    around_gap = definition.statement_around(gap.block)
    just_outside = around is not None and around in (gap.next, gap.previous)
    return just_outside or (around_gap is not None and around_gap in (statement.next, statement.previous))


def _move_draft(definition: DefinitionText, statement: Statement, gap: Gap, cost: float) -> Draft:
    """Return a draft that moves a statement to a place; the lines between the two stay."""
    source = definition.lines_of(statement)
    moved = reindent(source, statement.block.indent, gap.block.indent)
    if gap.lines_before < statement.first_line:
        start, end = gap.lines_before, statement.last_line
        new = [*moved, *definition.program_lines[gap.lines_before : statement.first_line - 1]]
    else:
        start, end = statement.first_line - 1, gap.lines_before
        new = [*definition.program_lines[statement.last_line : gap.lines_before], *moved]
    # Feedback points at where the statement stands now, and says on which side of that it belongs.
    side: Side = "before" if gap.lines_before < statement.first_line else "after"
    kind: Kind = "order" if gap.block is statement.block else "place"
    code = "\n".join(source)
    shown_lines = ShownLines(source, moved)
    return Draft(cost, kind, start, end, new, statement.first_line, side, shown_lines, code)


# ---- decorators ------------------------------------------------------------------------------------

_MISSING_DECORATOR_COST = 2.0
"""Cost of inserting a decorator that the solution has."""
_SUPERFLUOUS_DECORATOR_COST = 4.0
"""Cost of deleting a decorator that the solution does not have."""


def _decorators(definition: DefinitionText, solution: DefinitionText) -> Iterator[Draft]:
    """Yield insertions of decorators that the solution's function of the same name has, and deletions of all others."""
    wanted_by_name = {
        node.name: [ast.unparse(decorator) for decorator in node.decorator_list]
        for node in _definitions_in(solution)
    }
    for node in _definitions_in(definition):
        indent = definition.text_before(node)
        present = {ast.unparse(decorator): decorator for decorator in node.decorator_list}
        wanted = wanted_by_name.get(node.name, [])
        for text in wanted:
            if text not in present:
                line = first_line(node)
                new = [f"{indent}@{text}"]
                cost = _MISSING_DECORATOR_COST
                yield Draft(cost, "missing", line - 1, line - 1, new, line, "before", changed_code=text)
        for text, decorator in present.items():
            if text not in wanted:
                line, end = decorator.lineno, last_line(decorator)
                cost = _SUPERFLUOUS_DECORATOR_COST
                yield Draft(cost, "superfluous", line - 1, end, [], line, changed_code=text)


def _definitions_in(definition: DefinitionText) -> list[ast.FunctionDef | ast.ClassDef]:
    """Return the definition itself and the functions inside it."""
    inner = [
        statement.node for statement in definition.statements if isinstance(statement.node, ast.FunctionDef)
    ]
    return [definition.node, *inner]
