"""Draft edits of whole lines: insert, repeat, delete, move or guard a line, or take it out of its guard.

Inserted lines and guards come from the solution, in the learner's names (`solution_statements`). Each draft has a
cost; the lower, the likelier. A guard is a line that ends with a colon (`if`, `with`, `for`) with statements under
it.
"""

import ast
from collections.abc import Iterator, Sequence

from grader.judging.repair.definition import Block, DefinitionText, Gap, Statement, reindent
from grader.judging.repair.edit_candidates import Draft, Kind, Where
from grader.judging.repair.solution_statements import Donor, Donors, header_text
from grader.submission.syntax import first_line, is_compound

_INDENT = "    "
"""Indentation of one level."""
_MAX_DELETED_LINES = 8
"""Maximum number of lines of a statement that is deleted as a whole."""
_MAX_GUARDED = 4
"""Maximum number of statements that a guard is put around, unless it covers the rest of a block."""
_OVERWRITE_COST = 1.5
"""Added cost of inserting a line that sets a variable which the learner sets too: more likely, the learner's line has
to be edited."""


def line_drafts(definition: DefinitionText, donors: Donors) -> Iterator[Draft]:
    """Yield all edits of whole lines."""
    yield from _insertions(definition, donors)
    yield from _guards(definition, donors)
    yield from _repetitions(definition, donors)
    for statement in definition.statements:
        if statement.alone:
            yield from _deletion(definition, donors, statement)
            yield from _unwrapping(definition, donors, statement)
            yield from _moves(definition, donors, statement)
    yield from _decorators(definition, donors.solution)


# ---- insert ----------------------------------------------------------------------------------------


def _insertions(definition: DefinitionText, donors: Donors) -> Iterator[Draft]:
    """Yield insertions of the solution's statements that the learner seems to lack, at every place they may belong."""
    for donor in donors.donors:
        if not donor.short or (donor.likeness == 1.0 and not is_compound(donor.original.node)):
            continue
        if isinstance(donor.original.node, ast.Import | ast.ImportFrom):
            continue  # an import alone repairs nothing; an edit that needs one brings it along
        if isinstance(donor.original.node, ast.FunctionDef):
            gaps = [p for p in definition.gaps if isinstance(p.block.owner, ast.ClassDef)][-1:]
        else:
            gaps = [p for p in definition.gaps if not isinstance(p.block.owner, ast.ClassDef)]
            gaps = _gaps_in_method(gaps, donor.original.block.method)
        for number, version in enumerate(donor.versions):
            assigned = _names_assigned_by(version)
            if assigned and not assigned & definition.names_read:
                continue  # the learner never reads the variable
            text = ast.unparse(version).split("\n")
            base = 1.5 + 2.5 * donor.likeness + 1.5 * number + 0.3 * (len(text) - 1)
            overwrites = bool(assigned & definition.names_assigned) and not _is_initialisation(version)
            for gap in gaps:
                if isinstance(version, ast.Return) and _is_return(gap.next):
                    continue  # the return that follows is to be rewritten instead
                # Inside a loop the next round may need the new value, so overwriting a variable adds no cost there.
                extra = _OVERWRITE_COST * (overwrites and not gap.block.loop_depth)
                yield _inserted(gap, text, base + extra + _gap_cost(donors, donor, gap))


def _is_return(statement: Statement | None) -> bool:
    return statement is not None and isinstance(statement.node, ast.Return)


def _gaps_in_method(gaps: list[Gap], method: str) -> list[Gap]:
    """Return the places in the method of this name, because a statement of one method is of no use in another.

    Return all places if the learner has no such method, or the definition is a function.
    """
    return [gap for gap in gaps if gap.block.method == method] or gaps


def _names_assigned_by(node: ast.stmt) -> set[str]:
    """Return the variables that an assignment sets; empty for anything but an assignment to plain names."""
    if not isinstance(node, ast.Assign) or not all(isinstance(t, ast.Name) for t in node.targets):
        return set()
    return {t.id for t in node.targets if isinstance(t, ast.Name)}


def _is_initialisation(node: ast.stmt) -> bool:
    """Return True if a variable is set to a start value: a constant or an empty list or dict."""
    value = node.value if isinstance(node, ast.Assign) else None
    return isinstance(value, ast.Constant) or (
        isinstance(value, ast.List | ast.Dict) and not _elements(value)
    )


def _elements(value: ast.List | ast.Dict) -> list[ast.expr]:
    """Return the elements of a list or the values of a dict."""
    return value.elts if isinstance(value, ast.List) else value.values


def _gap_cost(donors: Donors, donor: Donor, gap: Gap) -> float:
    """Return the cost of a place for the donor: 0 beside the partners of its neighbours in the solution, up to 2.5."""
    before, after = donors.around(donor)
    home = donors.home(donor)
    at_home = home is not None and gap.block.owner is home.node
    both_in_function = all(
        isinstance(block.owner, ast.FunctionDef) for block in (donor.original.block, gap.block)
    )
    follows = before is not None and gap.previous is before
    precedes = after is not None and gap.next is after
    if follows or precedes:
        return 0.0 if (follows and precedes) or before is None or after is None else 0.4
    if at_home or both_in_function:
        return 0.8 if before is None and after is None else 1.2
    return 1.8 + 0.7 * (gap.block.loop_depth != donor.original.block.loop_depth)


def _inserted(gap: Gap, text: Sequence[str], cost: float) -> Draft:
    """Return a draft that inserts these lines."""
    new = [gap.block.indent + line for line in text]
    line, where = _feedback_line(gap)
    return Draft(cost, "missing", gap.lines_before, gap.lines_before, new, line, where, code="\n".join(text))


def _feedback_line(gap: Gap) -> tuple[int, Where]:
    """Return the line that feedback points at for a place, and on which side of it the place is."""
    if gap.next is not None:
        return gap.next.first_line, "before"
    assert gap.previous is not None
    return gap.previous.first_line, "end" if is_compound(gap.previous.node) else "after"


def _repetitions(definition: DefinitionText, donors: Donors) -> Iterator[Draft]:
    """Yield insertions of the learner's own statements once more elsewhere: a step that is needed twice."""
    for statement in definition.statements:
        if statement.alone and _is_initialisation(statement.node):
            text = reindent(definition.lines_of(statement), statement.block.indent, "")
            for gap in definition.gaps:
                if gap.block.loop_depth > statement.block.loop_depth and statement not in (
                    gap.next,
                    gap.previous,
                ):
                    # Directly in a loop it costs more: moving the line into the loop is the likelier repair.
                    cost = 4.4 if isinstance(gap.block.owner, ast.For | ast.While) else 3.2
                    yield _inserted(gap, text, cost + 0.3 * (gap.next is not None))
            continue
        if not statement.alone or isinstance(
            statement.node, ast.Return | ast.Assign | ast.AnnAssign | ast.Raise
        ):
            continue
        source = definition.lines_of(statement)
        if isinstance(statement.node, ast.Expr) and isinstance(statement.node.value, ast.Call):
            text = reindent(source, statement.block.indent, "")
            for gap in definition.gaps:
                if not isinstance(gap.block.owner, ast.ClassDef) and statement not in (
                    gap.next,
                    gap.previous,
                ):
                    cost = 3.8 + 0.5 * abs(gap.block.loop_depth - statement.block.loop_depth)
                    if _follows_the_same_line_in_the_other_branch(statement, gap):
                        cost = 1.6
                    yield _inserted(gap, text, cost)
        if isinstance(statement.node, ast.If) and statement.block.loop_depth and not statement.node.orelse:
            yield from _leftover_after_loop(definition, statement)


def _follows_the_same_line_in_the_other_branch(statement: Statement, gap: Gap) -> bool:
    """Return True if place and statement are in two branches of one statement, each after the same line."""
    return (
        gap.block.owner is statement.block.owner
        and gap.block is not statement.block
        and gap.previous is not None
        and statement.previous is not None
        and ast.dump(gap.previous.node) == ast.dump(statement.previous.node)
    )


def _leftover_after_loop(definition: DefinitionText, statement: Statement) -> Iterator[Draft]:
    """Yield insertions after the loops around an `if`: the lines under the `if`, under its opposite condition.

    For example, such lines update with the leftover after the last full window.
    """
    loop = _statement_around(definition, statement.block)
    while loop is not None:
        body = next((b for b in definition.blocks if b.owner is statement.node), None)
        assert isinstance(statement.node, ast.If)
        if body is not None and loop.alone:
            inner = [line for s in body.statements for line in definition.lines_of(s)]
            test = ast.unparse(ast.UnaryOp(ast.Not(), statement.node.test))
            text = [f"if {test}:", *reindent(inner, body.indent, _INDENT)]
            gap = Gap(loop.last_line, loop.block, loop.next, loop)
            yield _inserted(gap, text, 3.2)
        loop = _statement_around(definition, loop.block)


# ---- delete ----------------------------------------------------------------------------------------


def _deletion(definition: DefinitionText, donors: Donors, statement: Statement) -> Iterator[Draft]:
    """Yield the deletion of a short statement; `pass` takes the place of the only one in a block."""
    lines = definition.lines_of(statement)
    if len(lines) > _MAX_DELETED_LINES or isinstance(statement.node, ast.Pass):
        return
    only = len(statement.block.statements) == 1
    new = [statement.block.indent + "pass"] if only else []
    donor = donors.partners.get(statement)
    cost = 2.0 + (2.5 * donor.likeness if donor else 0.0) + 0.2 * (len(lines) - 1)
    text = "\n".join(lines)
    yield Draft(
        cost,
        "superfluous",
        statement.first_line - 1,
        statement.last_line,
        new,
        statement.first_line,
        code=text,
    )


def _unwrapping(definition: DefinitionText, donors: Donors, statement: Statement) -> Iterator[Draft]:
    """Yield the body of an `if`, `with`, `for`, `while` or `try` in the statement's place."""
    node = statement.node
    if not isinstance(node, ast.If | ast.With | ast.For | ast.While | ast.Try):
        return
    donor = donors.partners.get(statement)
    for name in ("body", "orelse"):
        body = next(
            (b for b in definition.blocks if b.statements[0].node in getattr(node, name, [])[:1]), None
        )
        if body is None or not all(s.alone for s in body.statements):
            continue
        first, last = body.statements[0].first_line, body.statements[-1].last_line
        inner = reindent(definition.program_lines[first - 1 : last], body.indent, statement.block.indent)
        cost = 2.6 + (1.5 * donor.likeness if donor else 0.0) + (name == "orelse")
        kind: Kind = "no-condition" if isinstance(node, ast.If | ast.While) else "superfluous"
        header = definition.program_lines[statement.first_line - 1 : first - 1]
        start, end = statement.first_line - 1, statement.last_line
        yield Draft(cost, kind, start, end, inner, statement.first_line, shown=(header, ()))


# ---- guard -----------------------------------------------------------------------------------------


def _guards(definition: DefinitionText, donors: Donors) -> Iterator[Draft]:
    """Yield guards of the solution around one or a few of the learner's statements."""
    for donor in donors.donors:
        if not isinstance(donor.original.node, ast.If | ast.With | ast.For) or donor.likeness == 1.0:
            continue
        # The learner's statements that do what the solution does under this guard.
        meant = {d.partner for d in donors.donors if d.original.block.owner is donor.original.node} - {None}
        for number, version in enumerate(donor.versions):
            head = header_text(version)
            methods = {block.method for block in definition.blocks}
            method = donor.original.block.method
            for statements in _statement_ranges(definition):
                if method in methods and statements[0].block.method != method:
                    continue
                cost = 2.4 + 2.0 * donor.likeness + 1.5 * number
                if not meant.intersection(statements):
                    cost += 2.2
                elif meant != {*statements}:
                    cost += 1.0
                yield _guarded(definition, statements, head, cost)


def _statement_ranges(definition: DefinitionText) -> Iterator[list[Statement]]:
    """Yield the sequences of neighbouring statements that a guard may be put around."""
    for block in definition.blocks:
        if isinstance(block.owner, ast.ClassDef) or not all(s.alone for s in block.statements):
            continue
        count = len(block.statements)
        for start in range(count):
            for end in range(start + 1, count + 1):
                if end - start <= _MAX_GUARDED or end == count:
                    yield block.statements[start:end]


def _guarded(definition: DefinitionText, statements: list[Statement], head: str, cost: float) -> Draft:
    """Return a draft that indents these neighbouring statements under the guard `head`."""
    first, last = statements[0].first_line, statements[-1].last_line
    indent = statements[0].block.indent
    inner = reindent(definition.program_lines[first - 1 : last], indent, indent + _INDENT)
    new = [indent + head, *inner]
    return Draft(cost, "guard", first - 1, last, new, first, "before", ((), new[:1]), head)


# ---- move ------------------------------------------------------------------------------------------


def _moves(definition: DefinitionText, donors: Donors, statement: Statement) -> Iterator[Draft]:
    """Yield moves of a statement within its block or next to it; a statement that has a donor, to any place."""
    if isinstance(statement.node, ast.FunctionDef) or len(statement.block.statements) == 1:
        return
    donor = donors.partners.get(statement)
    for gap in definition.gaps:
        if statement in (gap.next, gap.previous) or isinstance(gap.block.owner, ast.ClassDef):
            continue
        if (
            statement.first_line <= gap.lines_before < statement.last_line
        ):  # a place inside the statement itself
            continue
        same = gap.block is statement.block
        steps = abs(_position(gap) - statement.position) if same else 0
        if not same and not _near(definition, gap, statement) and donor is None:
            continue
        cost = 2.6 + (0.25 * min(steps, 6) if same else 0.6)
        cost += _gap_cost(donors, donor, gap) if donor else 0.8
        cost += 0.8 * is_compound(statement.node)
        yield _moved(definition, statement, gap, cost)


def _position(gap: Gap) -> int:
    """Return the index in its block that a statement at the place would have."""
    return gap.next.position if gap.next is not None else len(gap.block.statements)


def _near(definition: DefinitionText, gap: Gap, statement: Statement) -> bool:
    """Return True if the place is just outside the statement's block, or in a block next to the statement."""
    around = _statement_around(definition, statement.block)
    just_outside = around is not None and around in (gap.next, gap.previous)
    return just_outside or _statement_around(definition, gap.block) in (statement.next, statement.previous)


def _statement_around(definition: DefinitionText, block: Block) -> Statement | None:
    """Return the compound statement that a block belongs to; None for the body of the definition."""
    return next((s for s in definition.statements if s.node is block.owner), None)


def _moved(definition: DefinitionText, statement: Statement, gap: Gap, cost: float) -> Draft:
    """Return a draft that moves a statement to a place."""
    source = definition.lines_of(statement)
    moved = reindent(source, statement.block.indent, gap.block.indent)
    if gap.lines_before < statement.first_line:
        start, end = gap.lines_before, statement.last_line
        new = [*moved, *definition.program_lines[gap.lines_before : statement.first_line - 1]]
    else:
        start, end = statement.first_line - 1, gap.lines_before
        new = [*definition.program_lines[statement.last_line : gap.lines_before], *moved]
    # Feedback points at where the line stands now; the place where it belongs comes with the last hint.
    _, where = _feedback_line(gap)
    kind: Kind = "order" if gap.block is statement.block else "place"
    code = "\n".join(source)
    return Draft(cost, kind, start, end, new, statement.first_line, where, (source, moved), code)


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
        own = {ast.unparse(d): d for d in node.decorator_list}
        wanted = wanted_by_name.get(node.name, [])
        for text in wanted:
            if text not in own:
                line = first_line(node)
                new = [f"{indent}@{text}"]
                yield Draft(2.0, "missing", line - 1, line - 1, new, line, "before", code=text)
        for text, decorator in own.items():
            if text not in wanted:
                line = decorator.lineno
                yield Draft(4.0, "superfluous", line - 1, decorator.end_lineno or line, [], line, code=text)


def _definitions_in(definition: DefinitionText) -> list[ast.FunctionDef | ast.ClassDef]:
    """Return the definition itself and the functions inside it."""
    return [
        definition.node,
        *(s.node for s in definition.statements if isinstance(s.node, ast.FunctionDef)),
    ]
