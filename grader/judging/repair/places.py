"""Find the places where a statement of the solution may belong in the learner's definition, and price each of them.

A place is a `Gap`. `gaps_for` returns those where a statement may be inserted at all; `gap_cost` says how unsure one of
them is, and is 0 where the statement has the same neighbours as in the solution.

`line_insertions` inserts statements at these places. `line_edits` moves the learner's statements, by the same costs.
"""

import ast

from grader.judging.repair.definition_text import Block, DefinitionText, Gap, needs_loop
from grader.judging.repair.translated_solution import TranslatedSolution, TranslatedStatement
from grader.submission.syntax import methods

# From the surest place to the least sure one.
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


def gaps_for(definition: DefinitionText, translated: TranslatedStatement) -> list[Gap]:
    """Return the gaps where a statement of the solution may belong.

    - A method belongs at the end of the learner's class, and any other statement directly in the solution's class
      anywhere directly in the learner's. If the learner's definition is a function, both belong nowhere.
    - A function inside another function belongs nowhere: alone, it repairs nothing.
    - Any other statement may belong anywhere but directly in a class, in a method for which `is_of_use_in` holds; in a
      loop if it needs one (`needs_loop`).
    """
    block = translated.original.block
    is_function = isinstance(translated.original.node, ast.FunctionDef)
    if isinstance(block.owner, ast.ClassDef):
        in_class = [
            gap
            for gap in definition.gaps
            if gap.block.owner is definition.node and isinstance(definition.node, ast.ClassDef)
        ]
        return in_class[-1:] if is_function else in_class
    if is_function:
        return []
    return [
        gap
        for gap in definition.gaps
        if not isinstance(gap.block.owner, ast.ClassDef)
        and is_of_use_in(gap.block.method, translated, definition)
        and (gap.block.loop_depth or not needs_loop(translated.original.node))
    ]


def is_of_use_in(method: str, translated: TranslatedStatement, definition: DefinitionText) -> bool:
    """Return True if a statement of the solution may be of use in a method of the learner's class.

    It is of use only in the method with the same name as the solution's method around it; in any if there is none with
    that name. Always True in functions, for which `method` is empty.
    """
    method_in_solution = translated.original.block.method
    return method == method_in_solution or method_in_solution not in methods(definition.node)


def gap_cost(solution: TranslatedSolution, translated: TranslatedStatement, gap: Gap) -> float:
    """Return the cost of a gap for a statement of the solution: 0 between the right neighbours, up to 2.5.

    The right neighbours are those of `TranslatedSolution.counterparts_beside`. If only one of them is known, it costs 0
    to be after the one that belongs before the statement, or before the one that belongs after it. Away from them, the
    block counts: one that corresponds to the statement's block in the solution is better than one that does not. Blocks
    correspond if they belong to corresponding statements, in whichever branch (an `elif` is a statement of its own), or
    if both are bodies of functions or both of classes.
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
    if in_corresponding_block or _are_bodies_of_like_definitions(original_block, gap.block):
        return _NO_NEIGHBOUR_COST if before is None and after is None else _WRONG_NEIGHBOURS_COST
    return _OTHER_BLOCK_COST + _OTHER_LOOP_DEPTH_COST * (gap.block.loop_depth != original_block.loop_depth)


def _are_bodies_of_like_definitions(one: Block, other: Block) -> bool:
    """Return True if both blocks are bodies of functions, or both of classes."""
    return any(
        isinstance(one.owner, definition) and isinstance(other.owner, definition)
        for definition in (ast.FunctionDef, ast.ClassDef)
    )
