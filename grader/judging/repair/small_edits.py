"""Propose small edits of a learner's own definition, the likeliest first; the search for a repair tries them.

1. `line_edits` and `expression_edits` draft edits with a cost: what the solution has and the learner lacks, and what
   beginners often get wrong. Helpers that the definition uses are edited too.
2. What the runs tell (`Focus`) changes the cost: edits far from the lines of differing events cost more, and inserting
   a call of which there are too few costs less.
3. The drafts are sorted by cost. One that resembles cheaper drafts moves back, so that one line inserted at every place
   does not crowd out the rest.
4. A draft becomes an edit only if its result parses, is new, reads no variable before it is set, except those that the
   program already reads too early, and keeps no more statements from running by a jump above them.

Example: the learner's loop has the one line `count = len(xb)`, the solution's `count += len(xb)`. The first edit
proposed replaces the operator; deleting the line and inserting `count += len(xb)` before it come next.

`search.py` calls `small_edits` and has each edit played; nothing is played here. To use something else that the runs
tell about where the mistake is: a field of `Focus`, filled in `search.py _focus`, and its cost in `_cost_with_focus`.
"""

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from grader.judging.repair.definition_text import LEAVES_BLOCK, DefinitionText
from grader.judging.repair.early_reads import early_reads
from grader.judging.repair.edit_drafts import KINDS, Draft, Kind, ShownLines, Side
from grader.judging.repair.expression_edits import expression_drafts
from grader.judging.repair.line_edits import line_drafts
from grader.judging.repair.top_level_names import helper_names, top_level_names
from grader.judging.repair.translated_solution import TranslatedSolution
from grader.submission.syntax import Definition, ParseError, assignments_of_names, names_in, parse

_SIDE_TEXTS: Mapping[Side, str] = {
    "": "",
    "before": "이 줄보다 앞에",
    "after": "이 줄보다 뒤에",
    "end": "이 줄 아래의 블록이 끝난 다음에",
}
"""Korean for `Draft.side`."""
_CODE_OF_EVENTS = {
    "zero_grad": re.compile(r"zero_grad|grad = None"),
    "forward": re.compile(r"model\(|loss_fn\("),
    "backward": re.compile(r"backward|autograd\.grad"),
    "gradient": re.compile(r"backward|autograd\.grad"),
    "clip": re.compile(r"clip_grad"),
    "first_step": re.compile(r"first_step"),
    "second_step": re.compile(r"second_step"),
    "step": re.compile(r"(?:\b(?!\w*sched)\w+|[\])])\.step\(|second_step"),
    "scheduler": re.compile(r"sched\w*\.step\b"),
}
"""By kind of event (`Event.kind`): what in an edit's code suggests that such an event is added or removed."""
_NAME = re.compile(r"\w+")
"""A name or keyword in a line of code, or a number."""
_ROUND_EVENTS = {"forward", "step"}
"""Kinds of events that whole rounds of a loop have: a run with too few of both probably lacks rounds, and one with too
many of both has extra ones."""

_VAGUE_KINDS: frozenset[Kind] = frozenset({"expression", "assigned", "returned", "argument", "condition"})
"""Kinds that only say which part of a line is different, not in what."""

# What changes the cost of a draft (`Draft.cost`): a bonus is subtracted, a cost is added. All were set by hand.
_COST_PER_LINE_AWAY = 0.12
"""Cost of each line from the edit to the nearest of `Focus.lines`."""
_MAX_LINES_AWAY = 8
"""Number of lines from which on a greater distance costs no more."""
_RIGHT_EVENT_BONUS = 1.2
"""Bonus if the edit may add events of which the run has too few; the same if it may remove those of which it has too
many."""
_WRONG_EVENT_COST = 1.0
"""Cost if the edit can only remove events, and the run has too few of them, or only add them, and it has too many."""
_RETURN_BONUS = 1.0
"""Bonus for an edit of a line with `return`, if the first difference is in what is returned."""
_RETURNED_NAME_BONUS = 0.5
"""Bonus, in the same case, for an edit of another line that mentions a returned variable by its whole name."""
_LOOP_CONTROL_BONUS = 0.9
"""Bonus for an edit of a condition or loop, or a new one, if whole rounds are missing or too many."""
_FIELD_WORD_BONUS = 0.5
"""Bonus for an edit of a line with a word of `Focus.field_words`: a whole name, or what stands between two `_`."""
_COST_PER_SAME_INSERTION = 0.12
"""Cost of each cheaper draft of the same kind that inserts the same lines elsewhere."""
_COST_PER_EDIT_OF_LINE = 0.05
"""Cost of each cheaper draft of the same kind on the same line, if nothing is inserted."""
_HELPER_COST = 0.5
"""Cost of inserting a line into a helper instead of the definition itself."""


@dataclass(frozen=True)
class Focus:
    """What the learner's run of the target, beside the run that is wanted, tells about where the mistake is."""

    lines: frozenset[int] = frozenset()
    """Lines, from 1, of the first events that differ, and the line that raised an exception."""
    missing_events: frozenset[str] = frozenset()
    """Kinds of events of which the learner's run has too few."""
    extra_events: frozenset[str] = frozenset()
    """Kinds of events of which the learner's run has too many."""
    returned_differs_first: bool = False
    """True if the first difference is in the array `returned`; exceptions and parameters agree then."""
    field_words: frozenset[str] = frozenset()
    """Words in the name of the array or fact that differs first: `buffers`, `train_losses`."""


@dataclass(frozen=True)
class SmallEdit:
    """One edit of the learner's program."""

    line: int
    """Line, from 1, that feedback points at; it is a line of the program before the edit."""
    kind: Kind
    program: str
    """The whole program with the edit made."""
    old: tuple[str, ...] = ()
    """The lines that the learner is shown as removed; empty for something inserted."""
    new: tuple[str, ...] = ()
    """The lines that the learner is shown as added, imports first; empty if lines only go."""
    side: Side = ""
    """For something inserted or moved: on which side of the line it belongs. Otherwise empty."""
    imports: tuple[str, ...] = ()
    """The import statements that the program got above the definition, because the edit borrows what they import."""

    @property
    def where(self) -> str:
        """The side in Korean; empty if there is none."""
        return _SIDE_TEXTS[self.side]

    @property
    def phrase(self) -> str:
        """Korean sentence that names the kind of edit."""
        return KINDS[self.kind].phrase


def small_edits(
    source: str,
    exercise_name: str,
    solution_source: str,
    focus: Focus | None = None,
    imports: Mapping[str, str] | None = None,
) -> Iterator[SmallEdit]:
    """Yield the edits of a definition and its helpers, the likeliest first, each result once.

    Nothing is yielded if one of the two sources does not define the exercise.

    Args:
        source: the program to edit.
        exercise_name: name of the definition to edit.
        solution_source: the solution's definition of it, from which edits may borrow.
        focus: what the runs tell about where the mistake is; None if they tell nothing.
        imports: import statements of the solution, by the name that each imports; an edit that borrows such a name
            adds its import.
    """
    try:
        solution = DefinitionText(solution_source, exercise_name)
        definitions = [DefinitionText(source, exercise_name)]
    except LookupError:
        return
    definitions += [DefinitionText(source, name) for name in helper_names(source, definitions[0].node)]
    imports = imports or {}
    names_of_program = top_level_names(source)
    dumps_seen = {ast.dump(definition.node) for definition in definitions}
    # What the program itself reads too early is no reason against an edit: it may be the mistake.
    early_reads_before = {definition: early_reads(definition.node) for definition in definitions}
    dead_before = {definition: _count_behind_jumps(definition.node) for definition in definitions}
    for _, draft, definition in _likeliest_first(definitions, solution, focus or Focus()):
        lines = draft.applied_to(definition.program_lines)
        lines_added = len(lines) - len(definition.program_lines)
        # Only the definition is parsed again: the whole program would take much longer, for each of many drafts.
        node = _parse_definition(lines[definition.first_line - 1 : definition.last_line + lines_added])
        if node is None:
            continue
        dump = ast.dump(node)
        if dump in dumps_seen or early_reads(node) - early_reads_before[definition]:
            continue
        if _count_behind_jumps(node) > dead_before[definition]:
            continue
        dumps_seen.add(dump)
        borrowed = (names_in(node) - definition.names_read - names_of_program) & imports.keys()
        needed = [imports[name] for name in sorted(borrowed - _names_bound_in(node))] if borrowed else []
        yield _small_edit(draft, definition, lines, needed)


class _PricedDraft(NamedTuple):
    """A draft, the definition that it edits, and its cost after everything that changes `Draft.cost`."""

    cost: float
    draft: Draft
    definition: DefinitionText


def _likeliest_first(
    definitions: Sequence[DefinitionText], solution: DefinitionText, focus: Focus
) -> list[_PricedDraft]:
    """Return all drafts, the likeliest first.

    Args:
        definitions: the definition of the exercise, then those of its helpers.
        solution: the solution's definition of the exercise.
        focus: what the runs tell about where the mistake is.
    """
    drafts: list[_PricedDraft] = []
    for definition in definitions:
        translated_solution = TranslatedSolution.translate(definition, solution)
        for draft in itertools.chain(
            line_drafts(definition, translated_solution),
            expression_drafts(definition, translated_solution),
        ):
            cost = _cost_with_focus(draft, definition, focus)
            if definition is not definitions[0] and KINDS[draft.kind].inserts_line:
                cost += _HELPER_COST
            drafts.append(_PricedDraft(cost, draft, definition))
    drafts = _with_truest_kind(drafts)
    drafts.sort(key=attrgetter("cost"))
    return sorted(_with_crowding_cost(drafts), key=attrgetter("cost"))


def _with_truest_kind(drafts: Sequence[_PricedDraft]) -> list[_PricedDraft]:
    """Return the drafts, where one of a vague kind has the kind of another that says more and changes the same lines.

    Of drafts with the same result only the cheapest is tried, and its kind need not be the one that says most.
    """
    truer: dict[tuple[object, ...], Kind] = {}
    for _, draft, definition in drafts:
        if draft.kind not in _VAGUE_KINDS and KINDS[draft.kind].effect == "rewrites":
            truer.setdefault(_change(draft, definition), draft.kind)
    found = []
    for cost, draft, definition in drafts:
        kind = truer.get(_change(draft, definition)) if draft.kind in _VAGUE_KINDS else None
        found.append(_PricedDraft(cost, replace(draft, kind=kind) if kind else draft, definition))
    return found


def _change(draft: Draft, definition: DefinitionText) -> tuple[object, ...]:
    """Return what two drafts have in common if they put the same text in the place of the same lines."""
    return definition, draft.start, draft.end, tuple(draft.new_lines)


def _with_crowding_cost(drafts: Iterable[_PricedDraft]) -> Iterator[_PricedDraft]:
    """Yield each draft of a list sorted by cost, with an added cost for each draft before it that resembles it.

    Two drafts resemble each other if they are of the same kind and insert the same lines or, if that kind inserts
    nothing, point at the same line.
    """
    # Number of drafts so far that resemble one another, by what they have in common.
    counts: Counter[tuple[object, ...]] = Counter()
    for cost, draft, definition in drafts:
        inserts_line = KINDS[draft.kind].inserts_line
        in_common = (draft.kind, draft.changed_code if inserts_line else draft.line)
        cost_per_draft = _COST_PER_SAME_INSERTION if inserts_line else _COST_PER_EDIT_OF_LINE
        yield _PricedDraft(cost + cost_per_draft * counts[in_common], draft, definition)
        counts[in_common] += 1


def _cost_with_focus(draft: Draft, definition: DefinitionText, focus: Focus) -> float:
    """Return the cost of a draft, changed by what the runs tell about where the mistake is."""
    cost = draft.cost
    if focus.lines:
        # What comes after a block is far from the line that opens it.
        edited_line = draft.start if draft.side == "end" else draft.line
        lines_away = min(abs(edited_line - line) for line in focus.lines)
        cost += _COST_PER_LINE_AWAY * min(_MAX_LINES_AWAY, lines_away)
    cost = _cost_with_events(cost, draft, focus)
    line = definition.program_lines[draft.line - 1]
    names = {*_NAME.findall(line), *_NAME.findall(draft.changed_code)}
    if focus.returned_differs_first:
        mentions_returned = not names.isdisjoint(definition.names_returned)
        cost -= _RETURN_BONUS if "return" in names else _RETURNED_NAME_BONUS * mentions_returned
    if focus.missing_events >= _ROUND_EVENTS or focus.extra_events >= _ROUND_EVENTS:
        code = draft.changed_code if KINDS[draft.kind].inserts_line else line
        cost -= _LOOP_CONTROL_BONUS * code.lstrip().startswith(("if ", "elif ", "while ", "for "))
    parts = {part for name in names for part in (name.strip("_"), *name.split("_"))}
    return cost - _FIELD_WORD_BONUS * (not parts.isdisjoint(focus.field_words))


def _cost_with_events(cost: float, draft: Draft, focus: Focus) -> float:
    """Return the cost of a draft, changed by whether it may add or remove events that are missing or extra.

    Args:
        cost: the cost of the draft so far.
        draft: the draft.
        focus: which kinds of events are missing or extra.
    """
    kind = KINDS[draft.kind]
    code, may_add, may_remove = draft.changed_code, kind.may_add_events, kind.may_remove_events
    if kind.effect == "guards":  # what comes under an `if` may run less often, under a `for` more often
        may_add, may_remove = code.startswith("for "), code.startswith("if ")
        code = "\n".join(draft.new_lines)
    events = {event for event, pattern in _CODE_OF_EVENTS.items() if pattern.search(code)}
    touches_missing = bool(events & focus.missing_events)
    touches_extra = bool(events & focus.extra_events)
    if may_add and touches_missing:
        cost -= _RIGHT_EVENT_BONUS
    if may_remove and touches_extra:
        cost -= _RIGHT_EVENT_BONUS
    if may_remove and not may_add and touches_missing:
        cost += _WRONG_EVENT_COST
    if may_add and not may_remove and touches_extra:
        cost += _WRONG_EVENT_COST
    return cost


def _parse_definition(lines: Sequence[str]) -> Definition | None:
    """Return the definition that these lines are; None if they do not parse or are anything else."""
    try:
        body = parse("\n".join(lines))
    except ParseError:
        return None
    return body[0] if len(body) == 1 and isinstance(body[0], ast.FunctionDef | ast.ClassDef) else None


def _count_behind_jumps(node: Definition) -> int:
    """Return the number of statements that never run because a `return` or another jump stands above them."""
    count = 0
    for inner in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(inner, name, None)
            if isinstance(block, list):
                jumps = [n for n, one in enumerate(block) if isinstance(one, LEAVES_BLOCK)]
                count += len(block) - 1 - jumps[0] if jumps else 0
    return count


def _names_bound_in(node: Definition) -> set[str]:
    """Return the names of all parameters and variables that are set in a definition."""
    parameters = (inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg))
    return {*parameters, *assignments_of_names(node)}


def _small_edit(
    draft: Draft, definition: DefinitionText, after: Sequence[str], imports: Sequence[str]
) -> SmallEdit:
    """Return the draft as an edit of the whole program, with the imports that it needs.

    Args:
        draft: says which lines of the program are replaced, and by what.
        definition: the definition that it edits.
        after: lines of the program with the edit made.
        imports: import statements to add.
    """
    before = definition.program_lines
    shown = draft.shown_lines or ShownLines(before[draft.start : draft.end], draft.new_lines)
    # Imports go above the definition, because its decorators and default values are read when it is defined.
    above = definition.first_line - 1
    program = "\n".join([*after[:above], *imports, *after[above:]])
    return SmallEdit(
        draft.line,
        draft.kind,
        program,
        tuple(shown.old),
        (*imports, *shown.new),
        draft.side,
        imports=tuple(imports),
    )
