"""Propose small edits of a learner's own definition, the likeliest first, for the search for a repair to try.

`line_edits` and `expression_edits` draft edits with a cost: what the solution has and the learner lacks, and what
beginners often get wrong. The cost is changed by what the runs tell (`Focus`): edits near the lines of differing
events are cheaper, so is inserting a call of which there are too few, and so on. Drafts are then sorted by cost, and
edits that resemble cheaper ones cost more, so that one line inserted at every place does not crowd out the rest.
Helpers that the definition calls are edited too. An edit is proposed only if its result parses, is new, and reads no
variable before it is bound.

Example: the learner has `count = len(xb)` in a loop, the solution `count += len(xb)`. The first edit proposed
replaces the operator; inserting `count += len(xb)` before the line and deleting the line come next.
"""

import ast
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.judging.repair.definition import DefinitionText
from grader.judging.repair.edit_candidates import KINDS, Draft, Kind
from grader.judging.repair.expression_edits import expression_drafts
from grader.judging.repair.imports_and_helpers import helpers, names_bound
from grader.judging.repair.line_edits import line_drafts
from grader.judging.repair.solution_statements import Donors
from grader.judging.repair.unbound_variables import unbound
from grader.submission.syntax import Definition, ParseError, names_in, parse

_WHERE = {
    "": "",
    "before": "이 줄보다 앞에",
    "after": "이 줄보다 뒤에",
    "end": "이 줄 아래의 블록이 끝난 다음에",
}
"""Korean for `Draft.where`."""
_EVENT_TEXTS = {
    "zero_grad": ("zero_grad", "grad = None"),
    "forward": ("model(", "loss_fn("),
    "backward": ("backward", "autograd.grad"),
    "gradient": ("backward", "autograd.grad"),
    "clip": ("clip_grad",),
    "first_step": ("first_step",),
    "step": (".step(", "second_step"),
    "scheduler": ("scheduler.step",),
}
"""Texts in an edit's code that show that it adds or removes an event of a kind."""
_ROUND_EVENTS = {"forward", "step"}
"""Kinds of events of which both are missing if whole rounds of a loop are, and both too many if rounds are."""
_COST_PER_PLACE = 0.12
"""Cost of each further place for the same inserted line."""
_COST_PER_EDIT_OF_LINE = 0.05
"""Cost of each further edit of the same kind on the same line."""
_HELPER_COST = 0.5
"""Cost of inserting a line into a helper instead of the definition itself."""


@dataclass(frozen=True)
class Focus:
    """Evidence from the runs about where the mistake is."""

    lines: frozenset[int] = frozenset()
    """Lines, from 1, of the first events that differ and of an exception."""
    missing: frozenset[str] = frozenset()
    """Kinds of events of which the learner's run has too few."""
    extra: frozenset[str] = frozenset()
    """Kinds of events of which the learner's run has too many."""
    only_returned: bool = False
    """True if the first difference is in what is returned, so that parameters agree."""
    field_words: frozenset[str] = frozenset()
    """Words in the name of the array or fact that differs first: `buffers`, `train_losses`."""


@dataclass(frozen=True)
class SmallEdit:
    """One edit of the learner's program."""

    line: int
    """First line that it is about, from 1."""
    kind: Kind
    text: str
    """The whole program with the edit made, and with the edits before it in a repair."""
    old: tuple[str, ...] = field(default=())
    """The lines that it replaces; empty for something inserted."""
    new: tuple[str, ...] = field(default=())
    """The lines that replace them; empty for something deleted."""
    where: str = ""
    """For something inserted or moved: on which side of the line it belongs, in Korean. Else empty."""

    @property
    def phrase(self) -> str:
        """Korean sentence for the kind of edit."""
        return KINDS[self.kind].phrase


def small_edits(
    source: str,
    exercise_name: str,
    solution_source: str,
    focus: Focus | None = None,
    imports: Mapping[str, str] | None = None,
) -> Iterator[SmallEdit]:
    """Yield the edits of a definition and its helpers, each result once, and only programs that parse.

    Nothing is yielded if either source does not define the exercise.

    Args:
        source: the learner's program or file.
        exercise_name: the definition that is edited.
        solution_source: the solution's definition of it, from which edits may borrow.
        focus: what the runs tell about where the mistake is.
        imports: import statements of the solution by name; an edit that borrows such a name adds its import.
    """
    try:
        solution = DefinitionText(solution_source, exercise_name)
        definitions = [DefinitionText(source, exercise_name)]
    except LookupError:
        return
    definitions += [DefinitionText(source, name) for name in helpers(source, definitions[0])]
    imports = imports or {}
    names_of_program = names_bound(source)
    dumps_seen = {ast.dump(definition.node) for definition in definitions}
    unbound_before = {definition: unbound(definition.node) for definition in definitions}
    for draft, definition in _in_order(definitions, solution, focus or Focus()):
        lines = draft.applied(definition.program_lines)
        lines_added = len(lines) - len(definition.program_lines)
        node = _parsed(lines[definition.first_line - 1 : definition.last_line + lines_added])
        if node is None:
            continue
        dump = ast.dump(node)
        if dump not in dumps_seen and not unbound(node) - unbound_before[definition]:
            dumps_seen.add(dump)
            borrowed = names_in(node) - definition.names_read - names_of_program
            needed = [imports[name] for name in sorted(borrowed & imports.keys())]
            yield _edit(draft, definition.program_lines, lines, needed)


def _in_order(
    definitions: Sequence[DefinitionText], solution: DefinitionText, focus: Focus
) -> Iterable[tuple[Draft, DefinitionText]]:
    """Return all drafts with their definitions, the likeliest first; drafts that resemble cheaper ones come later.

    Args:
        definitions: the definition of the exercise, then those of its helpers.
        solution: the solution's definition of the exercise.
        focus: what the runs tell about where the mistake is.
    """
    drafts: list[tuple[float, Draft, DefinitionText]] = []
    for definition in definitions:
        donors = Donors.of(definition, solution)
        for draft in itertools.chain(line_drafts(definition, donors), expression_drafts(definition, donors)):
            cost = _cost(draft, definition, focus)
            if definition is not definitions[0] and KINDS[draft.kind].inserts_line:
                cost += _HELPER_COST
            drafts.append((cost, draft, definition))
    drafts.sort(key=lambda item: item[0])
    cheaper: Counter[tuple[object, ...]] = Counter()
    """Number of cheaper drafts that resemble one another, by what they have in common."""
    spread = []
    for cost, draft, definition in drafts:
        inserts = KINDS[draft.kind].inserts_line
        key = (draft.kind, draft.code if inserts else draft.line)
        extra = (_COST_PER_PLACE if inserts else _COST_PER_EDIT_OF_LINE) * cheaper[key]
        spread.append((cost + extra, draft, definition))
        cheaper[key] += 1
    spread.sort(key=lambda item: item[0])
    return [(draft, definition) for _, draft, definition in spread]


def _cost(draft: Draft, definition: DefinitionText, focus: Focus) -> float:
    """Return the cost of a draft: its own, changed by what the runs tell."""
    cost = draft.cost
    if focus.lines:
        cost += 0.12 * min(8, *(abs(draft.line - line) for line in focus.lines))
    events = {kind for kind, texts in _EVENT_TEXTS.items() if any(text in draft.code for text in texts)}
    may_add, may_remove = KINDS[draft.kind].may_add_events, KINDS[draft.kind].may_remove_events
    if may_add and events & focus.missing:
        cost -= 1.2
    if may_remove and events & focus.extra:
        cost -= 1.2
    if may_remove and not may_add and events & focus.missing:
        cost += 1.0
    if may_add and not may_remove and events & focus.extra:
        cost += 1.0
    line = definition.program_lines[draft.line - 1]
    text = line + draft.code
    if focus.only_returned:
        cost -= 1.0 if "return" in text else 0.5 * any(name in text for name in definition.names_returned)
    if focus.missing >= _ROUND_EVENTS or focus.extra >= _ROUND_EVENTS:
        cost -= 0.9 * line.lstrip().startswith(("if ", "elif ", "while ", "for "))
    cost -= 0.5 * any(word in text for word in focus.field_words)
    return cost


def _parsed(lines: Sequence[str]) -> Definition | None:
    """Return the definition in these lines; None unless they are exactly one definition."""
    try:
        body = parse("\n".join(lines))
    except ParseError:
        return None
    return body[0] if len(body) == 1 and isinstance(body[0], ast.FunctionDef | ast.ClassDef) else None


def _edit(draft: Draft, before: list[str], after: list[str], imports: Sequence[str]) -> SmallEdit:
    """Return the draft as an edit of the whole program, with the imports that it needs.

    Args:
        draft: the draft.
        before: lines of the program without the edit.
        after: lines of the program with the edit made.
        imports: import statements to add.
    """
    old, new = draft.shown or (before[draft.start : draft.end], draft.new)
    # Imports go last, so that lines keep their numbers; they still run before any call.
    text = "\n".join([*after, *imports])
    where = _WHERE[draft.where]
    return SmallEdit(draft.line, draft.kind, text, tuple(old), (*imports, *new), where)
