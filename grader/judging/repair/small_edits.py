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
from grader.judging.repair.edit_candidates import PHRASES, Draft, Kind
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
"""Kinds of events: if both are missing, or both too many, whole rounds of a loop are."""
_REPEAT_COST = {"missing": 0.12, "guard": 0.12}
"""Cost of each further place for the same inserted line; further edits of one kind on one line cost 0.05."""
_HELPER_COST = 0.5
"""Cost of inserting a line into a helper instead of the definition itself."""


@dataclass(frozen=True)
class Focus:
    """Evidence from the runs about where the mistake is."""

    lines: frozenset[int] = frozenset()
    """Lines, from 1, of the events that differ and of an exception."""
    missing: frozenset[str] = frozenset()
    """Kinds of events of which the learner's run has too few."""
    extra: frozenset[str] = frozenset()
    """Kinds of events of which the learner's run has too many."""
    only_returned: bool = False
    """True if the first difference is in what is returned, so that parameters agree."""
    fields: frozenset[str] = frozenset()
    """Words in the name of the array or fact that differs first: `buffers`, `train_losses`."""


@dataclass(frozen=True)
class SmallEdit:
    """One edit of the learner's program."""

    line: int
    """First line that it is about, from 1."""
    kind: Kind
    text: str
    """The whole program with the edit made."""
    old: tuple[str, ...] = field(default=())
    """The lines that it replaces; empty for something inserted."""
    new: tuple[str, ...] = field(default=())
    """The lines that replace them; empty for something deleted."""
    where: str = ""
    """For something inserted or moved: on which side of the line it belongs, in Korean. Else empty."""

    @property
    def phrase(self) -> str:
        """Korean sentence for the kind of edit."""
        return PHRASES[self.kind]


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
    imports, bound = imports or {}, names_bound(source)
    seen = {ast.dump(definition.node) for definition in definitions}
    already = {definition.first: unbound(definition.node) for definition in definitions}
    for draft, definition in _in_order(definitions, solution, focus or Focus()):
        lines = draft.applied(definition.lines)
        node = _parsed(lines[definition.first - 1 : definition.last + len(lines) - len(definition.lines)])
        if node is None:
            continue
        dump = ast.dump(node)
        if dump not in seen and not unbound(node) - already[definition.first]:
            seen.add(dump)
            used = names_in(node) - definition.read - bound
            yield _edit(draft, definition.lines, lines, [imports[n] for n in sorted(used & imports.keys())])


def _in_order(
    definitions: Sequence[DefinitionText], solution: DefinitionText, focus: Focus
) -> Iterable[tuple[Draft, DefinitionText]]:
    """Return all drafts with their definitions, the likeliest first; drafts like cheaper ones are moved back."""
    every: list[tuple[float, Draft, DefinitionText]] = []
    for number, definition in enumerate(definitions):
        donors = Donors.of(definition, solution)
        for draft in itertools.chain(line_drafts(definition, donors), expression_drafts(definition, donors)):
            extra = _HELPER_COST * (number > 0 and draft.kind in _REPEAT_COST)
            every.append((_cost(draft, definition, focus) + extra, draft, definition))
    every.sort(key=lambda one: one[0])
    often: Counter[tuple[object, ...]] = Counter()
    spread = []
    for cost, draft, definition in every:
        key = (draft.kind, draft.words if draft.kind in _REPEAT_COST else draft.line)
        spread.append((cost + _REPEAT_COST.get(draft.kind, 0.05) * often[key], draft, definition))
        often[key] += 1
    spread.sort(key=lambda one: one[0])
    return [(draft, definition) for _, draft, definition in spread]


def _cost(draft: Draft, definition: DefinitionText, focus: Focus) -> float:
    """Return the cost of a draft: its own, changed by what the runs tell."""
    cost = draft.cost
    if focus.lines:
        cost += 0.12 * min(8, *(abs(draft.line - line) for line in focus.lines))
    signs = {kind for kind, texts in _EVENT_TEXTS.items() if any(text in draft.words for text in texts)}
    if draft.kind in ("missing", "order", "place", "guard") and signs & focus.missing:
        cost -= 1.2
    if draft.kind in ("superfluous", "order", "place", "guard") and signs & focus.extra:
        cost -= 1.2
    if (draft.kind == "superfluous" and signs & focus.missing) or (
        draft.kind == "missing" and signs & focus.extra
    ):
        cost += 1.0
    line = definition.lines[draft.line - 1]
    told = line + draft.words
    if focus.only_returned:
        cost -= 1.0 if "return" in told else 0.5 * any(name in told for name in definition.returned)
    if focus.missing >= _ROUND_EVENTS or focus.extra >= _ROUND_EVENTS:
        cost -= 0.9 * line.lstrip().startswith(("if ", "elif ", "while ", "for "))
    cost -= 0.5 * any(word in told for word in focus.fields)
    return cost


def _parsed(lines: Sequence[str]) -> Definition | None:
    """Return the definition in these lines; None unless they are exactly one definition."""
    try:
        body = parse("\n".join(lines))
    except ParseError:
        return None
    one = body[0] if len(body) == 1 else None
    return one if isinstance(one, ast.FunctionDef | ast.ClassDef) else None


def _edit(draft: Draft, before: list[str], after: list[str], imports: Sequence[str]) -> SmallEdit:
    """Return the draft as an edit of the whole program, with the imports that it needs."""
    old, new = draft.shown_old, draft.shown_new
    if old is None or new is None:
        old, new = before[draft.first : draft.last], draft.new
    # Imports go last, so that lines keep their numbers; they still run before any call.
    text = "\n".join([*after, *imports])
    where = _WHERE[draft.where]
    return SmallEdit(draft.line, draft.kind, text, tuple(old), (*imports, *new), where)
