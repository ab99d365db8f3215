"""Draft insertions of whole lines: statements of the solution, and repetitions of the learner's own statements.

The solution's statements are put into the learner's names (`translated_solution`). A gap is a place where a statement
can be inserted. `line_edits` makes the other edits of whole lines.

Example: the solution clears the gradients at the start of each window, and the learner has no such line. For each gap
there is a draft that inserts `opt.zero_grad()` there. The one with the lowest cost is where the statement has the same
neighbours as in the solution (`gap_cost`).

`line_edits.line_drafts` yields these drafts together with the other edits of whole lines. Another kind of insertion is
another section here, which it yields from.

Each section begins with its costs (see `Draft.cost`): that of its kind of edit, and what is added if one such edit is
less likely than another. `line_edits` uses the costs of the first lines and `gap_cost`, too.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grader.judging.repair.definition_text import DefinitionText, Gap, Statement, reindent
from grader.judging.repair.edit_drafts import Draft, Kind, Side
from grader.judging.repair.translated_solution import TranslatedSolution, TranslatedStatement
from grader.submission.syntax import is_compound

INDENT = "    "
"""Indentation of one level."""
LIKENESS_COST = 2.5
"""Added cost of inserting or deleting a statement, multiplied by the likeness (0 to 1) of the solution's statement and
the learner's for the same step. The more alike the two are, the less likely it is that the step is missing or
superfluous."""
VERSION_COST = 1.5
"""Added cost of a version of a translated statement, for each version before it. Versions differ in the choice of the
learner's names; the likeliest comes first."""


# ---- insert ----------------------------------------------------------------------------------------

_INSERTION_COST = 1.5
"""Cost of inserting a statement of one line between its right neighbours."""
_COST_PER_INSERTED_LINE = 0.3
"""Added cost of each line after the first."""
_OVERWRITE_COST = 1.5
"""Added cost, outside loops, of a line that sets a variable which the learner sets too: more likely, the learner's line
is wrong. Not for an initialisation."""

# Costs of a place for a statement of the solution (`gap_cost`), from the surest place to the least sure one.
_ONE_WRONG_NEIGHBOUR_COST = 0.4
"""Both neighbours are known, and only one of them is at its side of the gap."""
_NO_NEIGHBOUR_COST = 0.8
"""The block corresponds (see `gap_cost`), and no neighbour is known."""
_WRONG_NEIGHBOURS_COST = 1.2
"""The block corresponds, but the gap is beside no known neighbour."""
_OTHER_BLOCK_COST = 1.8
"""The block does not correspond."""
_OTHER_LOOP_DEPTH_COST = 0.7
"""Added if that other block is inside more or fewer loops."""


def insertions(definition: DefinitionText, solution: TranslatedSolution) -> Iterator[Draft]:
    """Yield insertions of the solution's statements that the learner may lack, at every place where they may belong."""
    for translated in solution.statements:
        original = translated.original.node
        # The likeness of a compound statement is that of its first line only.
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
            cost = _INSERTION_COST + LIKENESS_COST * translated.likeness + VERSION_COST * version_index
            cost += _COST_PER_INSERTED_LINE * (len(lines) - 1)
            overwrites = bool(assigned & definition.names_assigned) and not _is_initialisation(version)
            for gap in gaps:
                if isinstance(version, ast.Return) and _is_return(gap.next):
                    continue  # the return that follows is to be rewritten instead
                # Inside a loop the next round may need the new value, so no cost is added there.
                overwrite_cost = _OVERWRITE_COST * (overwrites and not gap.block.loop_depth)
                cost_of_gap = gap_cost(solution, translated, gap)
                yield _insertion_draft(gap, lines, cost + overwrite_cost + cost_of_gap)


def _gaps_for(definition: DefinitionText, translated: TranslatedStatement) -> list[Gap]:
    """Return the gaps where a statement of the solution may belong.

    A method (or an inner function) belongs at the end of the class; if the learner's definition is a function, it
    belongs nowhere. Any other statement belongs in the learner's method with the same name as the solution's method
    around it, because a statement of one method is of no use in another. If there is no such method, it may belong
    anywhere but directly in a class.
    """
    if isinstance(translated.original.node, ast.FunctionDef):
        return [gap for gap in definition.gaps if isinstance(gap.block.owner, ast.ClassDef)][-1:]
    gaps = [gap for gap in definition.gaps if not isinstance(gap.block.owner, ast.ClassDef)]
    return [gap for gap in gaps if gap.block.method == translated.original.block.method] or gaps


def _is_return(statement: Statement | None) -> bool:
    """Return True if the statement is a `return`; False for None."""
    return statement is not None and isinstance(statement.node, ast.Return)


def _names_assigned_by(node: ast.stmt) -> set[str]:
    """Return the variables that a statement like `a = 1` or `a = b = 1` sets; empty for any other statement."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return names if all(isinstance(target, ast.Name) for target in targets) else set()


def _is_initialisation(node: ast.stmt) -> bool:
    """Return True if something is assigned a start value: a constant (not -1) or an empty list or dict."""
    value = node.value if isinstance(node, ast.Assign) else None
    if isinstance(value, ast.List):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.values
    return isinstance(value, ast.Constant)


def gap_cost(solution: TranslatedSolution, translated: TranslatedStatement, gap: Gap) -> float:
    """Return the cost of a gap for a statement of the solution: 0 between the right neighbours, up to 2.5.

    The right neighbours are those of `TranslatedSolution.counterparts_beside`. If only one of them is known, it costs 0
    to be after the one that belongs before the statement, or before the one that belongs after it. Away from them, the
    block counts: one that corresponds to the statement's block in the solution is better than one that does not. Blocks
    correspond if they belong to corresponding statements, in whichever branch, or if both are bodies of functions.
    """
    before, after = solution.counterparts_beside(translated)
    is_after_right_one = before is not None and gap.previous is before
    is_before_right_one = after is not None and gap.next is after
    if is_after_right_one or is_before_right_one:
        knows_both = before is not None and after is not None
        is_between_both = is_after_right_one and is_before_right_one
        return _ONE_WRONG_NEIGHBOUR_COST if knows_both and not is_between_both else 0.0
    parent = solution.counterpart_of_parent(translated)
    in_corresponding_block = parent is not None and gap.block.owner is parent.node
    original_block = translated.original.block
    both_in_function = all(isinstance(block.owner, ast.FunctionDef) for block in (original_block, gap.block))
    if in_corresponding_block or both_in_function:
        return _NO_NEIGHBOUR_COST if before is None and after is None else _WRONG_NEIGHBOURS_COST
    return _OTHER_BLOCK_COST + _OTHER_LOOP_DEPTH_COST * (gap.block.loop_depth != original_block.loop_depth)


def _insertion_draft(gap: Gap, lines: Sequence[str], cost: float) -> Draft:
    """Return a draft that inserts these lines, which are not indented yet."""
    new = [gap.block.indent + line for line in lines]
    place = _feedback_place(gap)
    index = gap.lines_before
    kind = _kind_of_insertion(gap, lines)
    return Draft(cost, kind, index, index, new, place.line, place.side, changed_code="\n".join(lines))


def _kind_of_insertion(gap: Gap, lines: Sequence[str]) -> Kind:
    """Return the kind that a learner is told if these lines are inserted.

    An `if` with a `return`, before other statements, handles a case that these then no longer see: `case`.
    """
    if len(lines) == 1:
        return "missing"
    returns = any(line.split()[:1] == ["return"] for line in lines)
    return "case" if lines[0].startswith("if ") and returns and gap.next is not None else "missing-lines"


class _FeedbackPlace(NamedTuple):
    """The line that feedback points at, and the side of it at which something is missing."""

    line: int
    side: Side


def _feedback_place(gap: Gap) -> _FeedbackPlace:
    """Return the place of a gap as feedback tells it."""
    if gap.next is not None:
        return _FeedbackPlace(gap.next.first_line, "before")
    assert gap.previous is not None  # no block is empty
    return _FeedbackPlace(gap.previous.first_line, "end" if is_compound(gap.previous.node) else "after")


# ---- repeat ----------------------------------------------------------------------------------------

_RESET_COST = 3.2
"""Cost of repeating an initialisation inside a loop."""
_LOOP_BODY_COST = 1.2
"""Added directly in a loop's body: moving the initialisation into the loop is the likelier repair."""
_FOLLOWED_COST = 0.3
"""Added if other statements follow: a variable is more often reset at the end of a block."""
_REPETITION_COST = 3.8
"""Cost of repeating a call elsewhere."""
_COST_PER_LOOP_LEVEL = 0.5
"""Added for each loop that is around one of the two calls and not around the other."""
_BRANCH_REPETITION_COST = 1.6
"""Cost of repeating a call in another branch of the statement around it (`if`, `for`, `try`), after the same line as in
its own branch."""
_OPPOSITE_COST = 3.2
"""Cost of repeating an `if` of a loop with the opposite condition, further out."""


def repetitions(definition: DefinitionText) -> Iterator[Draft]:
    """Yield repetitions of the learner's own statements at other places; of an `if`, with the opposite condition."""
    for statement in definition.statements:
        if not statement.has_own_lines:
            continue
        node = statement.node
        if _is_initialisation(node):
            yield from _resets_in_loops(definition, statement)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _repeated_calls(definition, statement)
        elif isinstance(node, ast.If) and statement.block.loop_depth and not node.orelse:
            yield from _opposites_further_out(definition, statement, node)


def _resets_in_loops(definition: DefinitionText, statement: Statement) -> Iterator[Draft]:
    """Yield insertions of an initialisation such as `window = []` inside more loops than it is in, to start afresh."""
    lines = reindent(definition.lines_of(statement), statement.block.indent, "")
    for gap in definition.gaps:
        if gap.block.loop_depth > statement.block.loop_depth and statement not in (gap.next, gap.previous):
            cost = _RESET_COST + _LOOP_BODY_COST * isinstance(gap.block.owner, ast.For | ast.While)
            yield _insertion_draft(gap, lines, cost + _FOLLOWED_COST * (gap.next is not None))


def _repeated_calls(definition: DefinitionText, statement: Statement) -> Iterator[Draft]:
    """Yield insertions of a call such as `opt.zero_grad()` at every other place that is not directly in a class."""
    lines = reindent(definition.lines_of(statement), statement.block.indent, "")
    for gap in definition.gaps:
        if not isinstance(gap.block.owner, ast.ClassDef) and statement not in (gap.next, gap.previous):
            levels = abs(gap.block.loop_depth - statement.block.loop_depth)
            cost = _REPETITION_COST + _COST_PER_LOOP_LEVEL * levels
            if _follows_the_same_line_in_the_other_branch(statement, gap):
                cost = _BRANCH_REPETITION_COST
            yield _insertion_draft(gap, lines, cost)


def _follows_the_same_line_in_the_other_branch(statement: Statement, gap: Gap) -> bool:
    """Return True if gap and statement are in two branches of one statement, both after the same line."""
    return (
        gap.block.owner is statement.block.owner
        and gap.block is not statement.block
        and gap.previous is not None
        and statement.previous is not None
        and ast.dump(gap.previous.node) == ast.dump(statement.previous.node)
    )


def _opposites_further_out(definition: DefinitionText, statement: Statement, node: ast.If) -> Iterator[Draft]:
    """Yield insertions of an `if` with the opposite condition and the same body after each statement around it.

    Example: `if (i + 1) % k == 0: update()` in a loop, and after the loop `if not (i + 1) % k == 0: update()`, which
    updates with what is left over after the last full window.
    """
    body = next((block for block in definition.blocks if block.owner is node), None)
    if body is None or not all(statement.has_own_lines for statement in body.statements):
        return
    inner = [line for statement in body.statements for line in definition.lines_of(statement)]
    test = ast.unparse(ast.UnaryOp(ast.Not(), node.test))
    lines = [f"if {test}:", *reindent(inner, body.indent, INDENT)]
    around = definition.statement_around(statement.block)
    while around is not None:
        if around.has_own_lines:
            gap = Gap(around.last_line, around.block, around.next, around)
            yield _insertion_draft(gap, lines, _OPPOSITE_COST)
        around = definition.statement_around(around.block)
