"""Draft insertions of whole lines: statements of the solution, and repetitions of the learner's own statements.

The solution's statements are put into the learner's names (`translated_solution`). `places` says where each of them may
belong. Insertions that have to do with lines that stay, those of guards and decorators, are in `line_edits`.

Example: the solution clears the gradients at the start of each window, and the learner has no such line. For each gap
there is a draft that inserts `opt.zero_grad()` there. The one with the lowest cost is where the statement has the same
neighbours as in the solution (`places.gap_cost`).

`line_edits.line_drafts` yields what `insertions` and `repetitions` yield. Another kind of insertion is another section
here, whose function `line_drafts` calls, too.

Each section begins with its costs (see `Draft.cost`): that of its kind of edit, and what is added if one such edit is
less likely than another. `line_edits` uses the first two costs, too.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from grader.judging.repair.definition_text import (
    INDENT,
    Block,
    DefinitionText,
    Gap,
    Statement,
    needs_loop,
    reindent,
)
from grader.judging.repair.edit_drafts import Draft, Kind, Side
from grader.judging.repair.places import gap_cost, gaps_for
from grader.judging.repair.translated_solution import TranslatedSolution, TranslatedStatement
from grader.submission.syntax import DEFINITIONS, is_compound, methods, names_in

LIKENESS_COST = 2.5
"""Added cost of inserting or deleting a statement, multiplied by the likeness (0 to 1) of the solution's statement and
the learner's for the same step. The more alike the two are, the less likely it is that the step is missing or
superfluous."""
VERSION_COST = 1.5
"""Added cost of a version of a translated statement, multiplied by its index: 0 for the first. Versions differ in the
choice of the learner's names; the likeliest comes first."""


# ---- insert ----------------------------------------------------------------------------------------

_INSERTION_COST = 1.5
"""Cost of inserting a statement of one line between its right neighbours."""
_COST_PER_INSERTED_LINE = 0.3
"""Added cost of each line after the first."""
_OVERWRITE_COST = 1.5
"""Added cost, outside loops, of a line that sets a variable which the learner sets too: more likely, the learner's line
is wrong. Not for an initialisation."""


def insertions(definition: DefinitionText, solution: TranslatedSolution) -> Iterator[Draft]:
    """Yield insertions of the solution's statements that the learner may lack, at every place where they may belong."""
    for translated in solution.statements:
        if not translated.is_short or _is_present(definition, solution, translated):
            continue
        if isinstance(translated.original.node, ast.Import | ast.ImportFrom):
            continue  # an import alone repairs nothing; an edit that needs one brings it along
        gaps = gaps_for(definition, translated)
        for version_index, version in enumerate(translated.versions):
            assigned = _names_assigned_by(version)
            if assigned and not assigned & definition.names_read:
                continue  # the learner never reads the variable
            lines = ast.unparse(version).split("\n")
            extra = LIKENESS_COST * translated.likeness + VERSION_COST * version_index
            extra += _COST_PER_INSERTED_LINE * (len(lines) - 1)
            overwrites = bool(assigned & definition.names_assigned) and not _is_initialisation(version)
            for gap in gaps:
                if isinstance(version, ast.Return) and _is_return(gap.next):
                    continue  # the return that follows is to be rewritten instead
                cost = _INSERTION_COST + extra + gap_cost(solution, translated, gap)
                # Inside a loop the next round may need the new value, so no cost is added there.
                cost += _OVERWRITE_COST * (overwrites and not gap.block.loop_depth)
                yield _insertion_draft(gap, lines, "", cost)


def _is_present(
    definition: DefinitionText, solution: TranslatedSolution, translated: TranslatedStatement
) -> bool:
    """Return True if the learner has the statement, or a method of its name, which a second one would replace.

    Of a compound statement the learner has the same first line, and a counterpart of each statement in it.
    """
    original = translated.original
    if isinstance(original.node, DEFINITIONS) and original.node.name in methods(definition.node):
        return True
    inside = (
        other
        for other in solution.statements
        if original.first_line < other.original.first_line <= original.last_line
    )
    return translated.has_same_first_line and all(other.counterpart is not None for other in inside)


def _is_return(statement: Statement | None) -> bool:
    """Return True if the statement is a `return`; False for None."""
    return statement is not None and isinstance(statement.node, ast.Return)


def _names_assigned_by(node: ast.stmt) -> set[str]:
    """Return the variables that a statement like `a = 1` or `a = b = 1` sets; empty for any other statement."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return names if all(isinstance(target, ast.Name) for target in targets) else set()


def _is_initialisation(node: ast.stmt) -> bool:
    """Return True if something is assigned a start value: a constant without a minus, or an empty list or dict."""
    value = node.value if isinstance(node, ast.Assign) else None
    if isinstance(value, ast.List):
        return not value.elts
    if isinstance(value, ast.Dict):
        return not value.values
    return isinstance(value, ast.Constant)


def _insertion_draft(gap: Gap, lines: Sequence[str], indent: str, cost: float) -> Draft:
    """Return a draft that inserts the lines of a statement, which have the indentation `indent`."""
    new = reindent(lines, indent, gap.block.indent)
    unindented = reindent(lines, indent, "")
    place = _feedback_place(gap)
    index = gap.lines_before
    kind = _kind_of_insertion(gap, unindented)
    return Draft(cost, kind, index, index, new, place.line, place.side, changed_code="\n".join(unindented))


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
"""Cost of repeating a call in another branch of the statement around it, after the same line as in its own branch. An
`if` has its `elif` and `else` as other branches, a `for` its `else`, a `try` its `except`, `else` and `finally`."""
_GUARDED_CALL_COST = 1.8
"""Cost of repeating a guarded call, such as `if clips: clip()`, beside a line beside which it stands elsewhere."""
_MOST_GUARDED_CALLS = 2
"""Maximum number of calls under such a guard."""
_LISTED_COST = 2.4
"""Cost of keeping the elements of an argument that is looped over more than once: a generator is empty by then."""
_OPPOSITE_COST = 3.2
"""Cost of repeating an `if` that stands in a loop, with the opposite condition, after a statement around it."""


def repetitions(definition: DefinitionText) -> Iterator[Draft]:
    """Yield repetitions of the learner's own statements at other places; of an `if`, with the opposite condition, too.

    What stands directly in a class is not repeated. Also yield `xs = list(xs)` for arguments that are looped over more
    than once.
    """
    yield from _arguments_listed(definition)
    for statement in definition.statements:
        if not statement.has_own_lines or isinstance(statement.block.owner, ast.ClassDef):
            continue
        node = statement.node
        if _is_initialisation(node):
            yield from _resets_in_loops(definition, statement)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _repeated_calls(definition, statement)
        elif isinstance(node, ast.If) and not node.orelse:
            yield from _repeated_guarded_calls(definition, statement, node)
            if statement.block.loop_depth:
                yield from _opposites_further_out(definition, statement, node)


def _resets_in_loops(definition: DefinitionText, statement: Statement) -> Iterator[Draft]:
    """Yield insertions of an initialisation such as `window = []` inside more loops than it is in, to start afresh."""
    lines, indent = definition.lines_of(statement), statement.block.indent
    for gap in definition.gaps:
        if gap.block.loop_depth > statement.block.loop_depth and statement not in (gap.next, gap.previous):
            cost = _RESET_COST + _LOOP_BODY_COST * isinstance(gap.block.owner, ast.For | ast.While)
            cost += _FOLLOWED_COST * (gap.next is not None)
            yield _insertion_draft(gap, lines, indent, cost)


def _repeated_calls(definition: DefinitionText, statement: Statement) -> Iterator[Draft]:
    """Yield insertions of a call such as `opt.zero_grad()` at every other place that is not directly in a class."""
    lines, indent = definition.lines_of(statement), statement.block.indent
    for gap in definition.gaps:
        if not isinstance(gap.block.owner, ast.ClassDef) and statement not in (gap.next, gap.previous):
            levels = abs(gap.block.loop_depth - statement.block.loop_depth)
            cost = _REPETITION_COST + _COST_PER_LOOP_LEVEL * levels
            if _follows_the_same_line_in_another_branch(definition, statement, gap):
                cost = _BRANCH_REPETITION_COST
            yield _insertion_draft(gap, lines, indent, cost)


def _repeated_guarded_calls(
    definition: DefinitionText, statement: Statement, node: ast.If
) -> Iterator[Draft]:
    """Yield insertions of a guarded call wherever the line before or after it stands once more, in another block.

    Example: `if max_norm is not None: clip()` stands before `opt.step()` in a loop, and another `opt.step()` after the
    loop has no clipping before it.
    """
    calls = [
        inner for inner in node.body if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call)
    ]
    if len(calls) < len(node.body) or len(calls) > _MOST_GUARDED_CALLS:
        return
    lines, indent = definition.lines_of(statement), statement.block.indent
    for gap in definition.gaps:
        beside = ((gap.next, statement.next), (gap.previous, statement.previous))
        if gap.block is not statement.block and any(_is_same_line(one, other) for one, other in beside):
            yield _insertion_draft(gap, lines, indent, _GUARDED_CALL_COST)


def _is_same_line(one: Statement | None, other: Statement | None) -> bool:
    """Return True if both are statements with the same code."""
    return one is not None and other is not None and ast.dump(one.node) == ast.dump(other.node)


def _arguments_listed(definition: DefinitionText) -> Iterator[Draft]:
    """Yield `xs = list(xs)` at the start of a function for each argument that it loops over more than once."""
    if not isinstance(definition.node, ast.FunctionDef):
        return
    loops = [node.iter for node in ast.walk(definition.node) if isinstance(node, ast.For | ast.comprehension)]
    read = [name for looped in loops for name in names_in(looped)]
    start = definition.statements[0]
    for argument in definition.node.args.args:
        if read.count(argument.arg) > 1:
            gap = Gap(start.first_line - 1, start.block, start, None)
            yield _insertion_draft(gap, [f"{argument.arg} = list({argument.arg})"], "", _LISTED_COST)


def _follows_the_same_line_in_another_branch(
    definition: DefinitionText, statement: Statement, gap: Gap
) -> bool:
    """Return True if gap and statement are in two branches of one statement, both after the same line."""
    return (
        gap.block is not statement.block
        and _is_same_line(gap.previous, statement.previous)
        and _branching_statement(definition, gap.block) is _branching_statement(definition, statement.block)
    )


def _branching_statement(definition: DefinitionText, block: Block) -> Statement | None:
    """Return the statement whose branch a block is, for an `elif` the first `if`; None for the definition's body."""
    around = definition.statement_around(block)
    while around is not None:
        outer = around.block.owner
        if not (isinstance(outer, ast.If) and outer.orelse == [around.node]):
            break  # no `elif`, nor an `if` alone in an `else`, which means the same
        around = definition.statement_around(around.block)
    return around


def _opposites_further_out(definition: DefinitionText, statement: Statement, node: ast.If) -> Iterator[Draft]:
    """Yield insertions of an `if` with the opposite condition and the same body after each statement around it.

    Example: `if (i + 1) % k == 0: update()` in a loop, and after the loop `if not (i + 1) % k == 0: update()`, which
    updates with what is left over after the last full window.
    """
    body = next((block for block in definition.blocks if block.owner is node), None)
    if body is None or not all(in_body.has_own_lines for in_body in body.statements):
        return
    inner = [line for in_body in body.statements for line in definition.lines_of(in_body)]
    indent = statement.block.indent
    opposite: ast.expr = ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not):
        opposite = node.test.operand
    lines = [f"{indent}if {ast.unparse(opposite)}:", *reindent(inner, body.indent, indent + INDENT)]
    around = definition.statement_around(statement.block)
    while around is not None and not isinstance(around.node, DEFINITIONS):
        if around.has_own_lines and (around.block.loop_depth or not needs_loop(node)):
            gap = Gap(around.last_line, around.block, around.next, around)
            yield _insertion_draft(gap, lines, indent, _OPPOSITE_COST)
        around = definition.statement_around(around.block)
