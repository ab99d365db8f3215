"""Draft edits of whole lines: insert, repeat, delete, move or guard a line, or take it out of its guard.

Inserted lines and guards come from the solution, in the learner's names (`translated_solution`). A guard is a line that
ends with a colon (`if`, `with`, `for`) with statements under it. A gap is a place between two statements.

Costs are explained at `Draft.cost`. They are lower where the neighbours in the learner's program are those of the
solution, and higher for a statement that the learner seems to have already.
"""

import ast
from collections.abc import Iterator, Sequence

from grader.judging.repair.definition_text import Block, DefinitionText, Gap, Statement, reindent
from grader.judging.repair.edit_drafts import Draft, Kind, Side
from grader.judging.repair.translated_solution import TranslatedSolution, TranslatedStatement, header_text
from grader.submission.syntax import first_line, is_compound, last_line

_INDENT = "    "
"""Indentation of one level."""
_MAX_DELETED_LINES = 8
"""Maximum number of lines of a statement that is deleted as a whole."""
_MAX_GUARDED = 4
"""Maximum number of statements that a guard is put around, unless it covers the rest of a block."""

# Costs of the kinds of edits (see `Draft.cost`), to which each function below adds what makes one edit less likely than
# another. All of these numbers were set by hand; only the order of the edits that results from them matters.
_INSERTION_COST = 1.5
_GUARD_COST = 2.4
_DELETION_COST = 2.0
_UNWRAPPING_COST = 2.6
_MOVE_COST = 2.6

_VERSION_COST = 1.5
"""Added cost of each version of a translated statement after the first, which is the likeliest."""
_OVERWRITE_COST = 1.5
"""Added cost of inserting a line that sets a variable which the learner sets too: more likely, that line is wrong."""


def line_drafts(definition: DefinitionText, solution: TranslatedSolution) -> Iterator[Draft]:
    """Yield all edits of whole lines.

    Args:
        definition: the learner's function or class, which is edited.
        solution: the solution in the learner's names.
    """
    yield from _insertions(definition, solution)
    yield from _guards(definition, solution)
    yield from _repetitions(definition)
    for statement in definition.statements:
        if statement.has_own_lines:
            yield from _deletion(definition, solution, statement)
            yield from _unwrapping(definition, solution, statement)
            yield from _moves(definition, solution, statement)
    yield from _decorators(definition, solution.original)


# ---- insert ----------------------------------------------------------------------------------------


def _insertions(definition: DefinitionText, solution: TranslatedSolution) -> Iterator[Draft]:
    """Yield insertions of the solution's statements that the learner seems to lack, at every place they may belong."""
    for translated in solution.statements:
        original = translated.original.node
        is_present = translated.likeness == 1.0 and not is_compound(original)
        if is_present or not translated.is_short:
            continue
        if isinstance(original, ast.Import | ast.ImportFrom):
            continue  # an import alone repairs nothing; an edit that needs one brings it along
        gaps = _gaps_for(definition, translated)
        for version_index, version in enumerate(translated.versions):
            assigned = _names_assigned_by(version)
            if assigned and not assigned & definition.names_read:
                continue  # the learner never reads the variable
            lines = ast.unparse(version).split("\n")
            # The more the counterpart is like the statement, the less likely a line is missing.
            cost = _INSERTION_COST + 2.5 * translated.likeness + _VERSION_COST * version_index
            cost += 0.3 * (len(lines) - 1)
            overwrites = bool(assigned & definition.names_assigned) and not _is_initialisation(version)
            for gap in gaps:
                if isinstance(version, ast.Return) and _is_return(gap.next):
                    continue  # the return that follows is to be rewritten instead
                # Inside a loop the next round may need the new value, so overwriting a variable adds no cost there.
                overwrite_cost = _OVERWRITE_COST * (overwrites and not gap.block.loop_depth)
                gap_cost = _gap_cost(solution, translated, gap)
                yield _insertion_draft(gap, lines, cost + overwrite_cost + gap_cost)


def _gaps_for(definition: DefinitionText, translated: TranslatedStatement) -> list[Gap]:
    """Return the places where a statement of the solution may belong.

    A method belongs at the end of the class. Any other statement belongs in the method of the solution's name, because
    a statement of one method is of no use in another; if the learner has no such method, or the definition is a
    function, it may belong anywhere but directly in a class.
    """
    if isinstance(translated.original.node, ast.FunctionDef):
        return [gap for gap in definition.gaps if isinstance(gap.block.owner, ast.ClassDef)][-1:]
    gaps = [gap for gap in definition.gaps if not isinstance(gap.block.owner, ast.ClassDef)]
    return [gap for gap in gaps if gap.block.method == translated.original.block.method] or gaps


def _is_return(statement: Statement | None) -> bool:
    """Return True if the statement is a `return`; False for None."""
    return statement is not None and isinstance(statement.node, ast.Return)


def _names_assigned_by(node: ast.stmt) -> set[str]:
    """Return the variables that an assignment sets; empty for anything but an assignment to plain names."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return names if all(isinstance(target, ast.Name) for target in targets) else set()


def _is_initialisation(node: ast.stmt) -> bool:
    """Return True if a variable is set to a start value: a constant or an empty list or dict."""
    value = node.value if isinstance(node, ast.Assign) else None
    if isinstance(value, ast.List):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.values
    return isinstance(value, ast.Constant)


def _gap_cost(solution: TranslatedSolution, translated: TranslatedStatement, gap: Gap) -> float:
    """Return the cost of a place for a statement of the solution: 0 between the right neighbours, up to 2.5.

    The right neighbours are the counterparts of its neighbours in the solution. Without them, the block counts: one
    that corresponds to the statement's block in the solution is better than one that does not.
    """
    before, after = solution.counterparts_around(translated)
    follows = before is not None and gap.previous is before
    precedes = after is not None and gap.next is after
    if follows or precedes:
        has_one_neighbour = before is None or after is None
        return 0.0 if (follows and precedes) or has_one_neighbour else 0.4
    parent = solution.counterpart_of_parent(translated)
    in_same_block = parent is not None and gap.block.owner is parent.node
    original_block = translated.original.block
    both_in_function = all(isinstance(b.owner, ast.FunctionDef) for b in (original_block, gap.block))
    if in_same_block or both_in_function:
        return 0.8 if before is None and after is None else 1.2
    return 1.8 + 0.7 * (gap.block.loop_depth != original_block.loop_depth)


def _insertion_draft(gap: Gap, lines: Sequence[str], cost: float) -> Draft:
    """Return a draft that inserts these lines, which are not indented yet."""
    new = [gap.block.indent + line for line in lines]
    line, side = _feedback_place(gap)
    index = gap.lines_before
    kind = _kind_of_insertion(gap, lines)
    return Draft(cost, kind, index, index, new, line, side, changed_code="\n".join(lines))


def _kind_of_insertion(gap: Gap, lines: Sequence[str]) -> Kind:
    """Return the kind that a learner is told if these lines are inserted.

    An `if` with a `return` before other statements takes a case away from them.
    """
    if len(lines) == 1:
        return "missing"
    returns = lines[0].startswith("if ") and any(line.lstrip().startswith("return") for line in lines)
    return "case" if returns and gap.next is not None else "missing-lines"


def _feedback_place(gap: Gap) -> tuple[int, Side]:
    """Return the line that feedback points at for a place, and on which side of it the place is."""
    if gap.next is not None:
        return gap.next.first_line, "before"
    assert gap.previous is not None
    return gap.previous.first_line, "end" if is_compound(gap.previous.node) else "after"


# ---- repeat ----------------------------------------------------------------------------------------


def _repetitions(definition: DefinitionText) -> Iterator[Draft]:
    """Yield insertions of the learner's own statements once more elsewhere: a step that is needed twice."""
    for statement in definition.statements:
        if not statement.has_own_lines:
            continue
        node = statement.node
        if _is_initialisation(node):
            yield from _resets_in_loops(definition, statement)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _repeated_calls(definition, statement)
        elif isinstance(node, ast.If) and statement.block.loop_depth and not node.orelse:
            yield from _opposite_after_loop(definition, statement, node)


def _resets_in_loops(definition: DefinitionText, statement: Statement) -> Iterator[Draft]:
    """Yield insertions of an initialisation such as `window = []` inside the loops below it, to start afresh there."""
    lines = reindent(definition.lines_of(statement), statement.block.indent, "")
    for gap in definition.gaps:
        if gap.block.loop_depth > statement.block.loop_depth and statement not in (gap.next, gap.previous):
            # Directly in a loop it costs more: moving the line into the loop is the likelier repair.
            cost = 4.4 if isinstance(gap.block.owner, ast.For | ast.While) else 3.2
            yield _insertion_draft(gap, lines, cost + 0.3 * (gap.next is not None))


def _repeated_calls(definition: DefinitionText, statement: Statement) -> Iterator[Draft]:
    """Yield insertions of a call such as `opt.zero_grad()` at every other place."""
    lines = reindent(definition.lines_of(statement), statement.block.indent, "")
    for gap in definition.gaps:
        if not isinstance(gap.block.owner, ast.ClassDef) and statement not in (gap.next, gap.previous):
            cost = 3.8 + 0.5 * abs(gap.block.loop_depth - statement.block.loop_depth)
            if _follows_the_same_line_in_the_other_branch(statement, gap):
                cost = 1.6
            yield _insertion_draft(gap, lines, cost)


def _follows_the_same_line_in_the_other_branch(statement: Statement, gap: Gap) -> bool:
    """Return True if place and statement are in two branches of one statement, each after the same line."""
    return (
        gap.block.owner is statement.block.owner
        and gap.block is not statement.block
        and gap.previous is not None
        and statement.previous is not None
        and ast.dump(gap.previous.node) == ast.dump(statement.previous.node)
    )


def _opposite_after_loop(definition: DefinitionText, statement: Statement, node: ast.If) -> Iterator[Draft]:
    """Yield insertions of an `if` with the opposite condition and the same body, after each statement around it.

    Example: `if (i + 1) % k == 0: update()` in a loop, and after the loop `if not (i + 1) % k == 0: update()`, which
    updates with what is left over after the last full window.
    """
    body = next((b for b in definition.blocks if b.owner is node), None)
    if body is None:
        return
    inner = [line for s in body.statements for line in definition.lines_of(s)]
    test = ast.unparse(ast.UnaryOp(ast.Not(), node.test))
    lines = [f"if {test}:", *reindent(inner, body.indent, _INDENT)]
    around = _statement_around(definition, statement.block)
    while around is not None:
        if around.has_own_lines:
            gap = Gap(around.last_line, around.block, around.next, around)
            yield _insertion_draft(gap, lines, 3.2)
        around = _statement_around(definition, around.block)


# ---- delete ----------------------------------------------------------------------------------------


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
    cost = _DELETION_COST + (2.5 * translated.likeness if translated else 0.0) + 0.2 * (len(lines) - 1)
    start, end = statement.first_line - 1, statement.last_line
    code = "\n".join(lines)
    yield Draft(cost, "superfluous", start, end, new, statement.first_line, changed_code=code)


def _unwrapping(
    definition: DefinitionText, solution: TranslatedSolution, statement: Statement
) -> Iterator[Draft]:
    """Yield the body of an `if`, `with`, `for`, `while` or `try` in the statement's place."""
    node = statement.node
    if not isinstance(node, ast.If | ast.With | ast.For | ast.While | ast.Try):
        return
    translated = solution.by_counterpart.get(statement)
    for name in ("body", "orelse"):
        nodes = getattr(node, name, [])
        body = next((b for b in definition.blocks if b.statements[0].node in nodes[:1]), None)
        if body is None or not all(s.has_own_lines for s in body.statements):
            continue
        first, last = body.statements[0].first_line, body.statements[-1].last_line
        inner = reindent(definition.program_lines[first - 1 : last], body.indent, statement.block.indent)
        # It is more likely that the body should remain than that the `else` should.
        cost = _UNWRAPPING_COST + (1.5 * translated.likeness if translated else 0.0) + (name == "orelse")
        kind: Kind = "no-condition" if isinstance(node, ast.If | ast.While) else "superfluous"
        header = definition.program_lines[statement.first_line - 1 : first - 1]
        start, end = statement.first_line - 1, statement.last_line
        yield Draft(cost, kind, start, end, inner, statement.first_line, shown_lines=(header, ()))


# ---- guard -----------------------------------------------------------------------------------------


def _guards(definition: DefinitionText, solution: TranslatedSolution) -> Iterator[Draft]:
    """Yield guards of the solution around one or a few of the learner's statements."""
    methods = {block.method for block in definition.blocks}
    for translated in solution.statements:
        original = translated.original
        if not isinstance(original.node, ast.If | ast.With | ast.For) or translated.likeness == 1.0:
            continue
        # The learner's statements that do what the solution does under this guard.
        guarded = {s.counterpart for s in solution.statements if s.original.block.owner is original.node}
        guarded -= {None}
        method = original.block.method
        for version_index, version in enumerate(translated.versions):
            header = header_text(version)
            for statements in _statement_ranges(definition):
                if method in methods and statements[0].block.method != method:
                    continue
                cost = _GUARD_COST + 2.0 * translated.likeness + _VERSION_COST * version_index
                if not guarded.intersection(statements):  # nothing tells that these belong under the guard
                    cost += 2.2
                elif guarded != {*statements}:
                    cost += 1.0
                yield _guard_draft(definition, statements, header, cost)


def _statement_ranges(definition: DefinitionText) -> Iterator[list[Statement]]:
    """Yield the sequences of neighbouring statements that a guard may be put around."""
    for block in definition.blocks:
        if isinstance(block.owner, ast.ClassDef) or not all(s.has_own_lines for s in block.statements):
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
    inner = reindent(definition.program_lines[first - 1 : last], indent, indent + _INDENT)
    new = [indent + header, *inner]
    shown_lines = ((), new[:1])
    return Draft(cost, "guard", first - 1, last, new, first, "before", shown_lines, changed_code=header)


# ---- move ------------------------------------------------------------------------------------------


def _moves(definition: DefinitionText, solution: TranslatedSolution, statement: Statement) -> Iterator[Draft]:
    """Yield moves of a statement within its block or near it; to any place if the solution has the same step.

    Without that step in the solution, nothing tells which of the places far away is right.
    """
    if isinstance(statement.node, ast.FunctionDef) or len(statement.block.statements) == 1:
        return
    translated = solution.by_counterpart.get(statement)
    for gap in definition.gaps:
        if statement in (gap.next, gap.previous) or isinstance(gap.block.owner, ast.ClassDef):
            continue
        is_inside = statement.first_line <= gap.lines_before < statement.last_line
        in_same_block = gap.block is statement.block
        is_near = in_same_block or _is_near(definition, gap, statement)
        if is_inside or (translated is None and not is_near):
            continue
        steps = abs(_index_in_block(gap) - statement.position) if in_same_block else 0
        cost = _MOVE_COST + (0.25 * min(steps, 6) if in_same_block else 0.6)
        cost += _gap_cost(solution, translated, gap) if translated else 0.8
        cost += 0.8 * is_compound(statement.node)
        yield _move_draft(definition, statement, gap, cost)


def _index_in_block(gap: Gap) -> int:
    """Return the index in its block that a statement at the place would have."""
    return gap.next.position if gap.next is not None else len(gap.block.statements)


def _is_near(definition: DefinitionText, gap: Gap, statement: Statement) -> bool:
    """Return True if the place is just outside the statement's block, or in a block next to the statement."""
    around = _statement_around(definition, statement.block)
    just_outside = around is not None and around in (gap.next, gap.previous)
    return just_outside or _statement_around(definition, gap.block) in (statement.next, statement.previous)


def _statement_around(definition: DefinitionText, block: Block) -> Statement | None:
    """Return the compound statement that a block belongs to; None for the body of the definition or of an `except`."""
    return next((s for s in definition.statements if s.node is block.owner), None)


def _move_draft(definition: DefinitionText, statement: Statement, gap: Gap, cost: float) -> Draft:
    """Return a draft that moves a statement to a place: the lines between the two change their order."""
    source = definition.lines_of(statement)
    moved = reindent(source, statement.block.indent, gap.block.indent)
    if gap.lines_before < statement.first_line:
        start, end = gap.lines_before, statement.last_line
        new = [*moved, *definition.program_lines[gap.lines_before : statement.first_line - 1]]
    else:
        start, end = statement.first_line - 1, gap.lines_before
        new = [*definition.program_lines[statement.last_line : gap.lines_before], *moved]
    # Feedback points at where the line stands now; the place where it belongs comes with the last hint.
    _, side = _feedback_place(gap)
    kind: Kind = "order" if gap.block is statement.block else "place"
    code = "\n".join(source)
    return Draft(cost, kind, start, end, new, statement.first_line, side, (source, moved), code)


# ---- decorators ------------------------------------------------------------------------------------


def _decorators(definition: DefinitionText, solution: DefinitionText) -> Iterator[Draft]:
    """Yield insertions of decorators that the solution's functions have, and deletions of those that they do not have.

    A function that the solution does not have should have no decorator.
    """
    wanted_by_name = {
        node.name: [ast.unparse(d) for d in node.decorator_list] for node in _definitions_in(solution)
    }
    for node in _definitions_in(definition):
        indent = definition.text_before(node)
        present = {ast.unparse(d): d for d in node.decorator_list}
        wanted = wanted_by_name.get(node.name, [])
        for text in wanted:
            if text not in present:
                line = first_line(node)
                new = [f"{indent}@{text}"]
                yield Draft(2.0, "missing", line - 1, line - 1, new, line, "before", changed_code=text)
        for text, decorator in present.items():
            if text not in wanted:
                line, end = decorator.lineno, last_line(decorator)
                yield Draft(4.0, "superfluous", line - 1, end, [], line, changed_code=text)


def _definitions_in(definition: DefinitionText) -> list[ast.FunctionDef | ast.ClassDef]:
    """Return the definition itself and the functions inside it."""
    inner = [s.node for s in definition.statements if isinstance(s.node, ast.FunctionDef)]
    return [definition.node, *inner]
