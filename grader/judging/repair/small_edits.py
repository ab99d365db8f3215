"""Small edits of a learner's own definition, the likeliest first: what a search for a repair tries one by one."""

import ast
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.judging.repair.definition import Definition
from grader.judging.repair.edit_candidates import PHRASES, Draft, Kind
from grader.judging.repair.expression_edits import expression_drafts
from grader.judging.repair.imports_and_helpers import helpers, names_bound
from grader.judging.repair.line_edits import line_drafts
from grader.judging.repair.solution_statements import Donors
from grader.judging.repair.unbound_variables import unbound

_WHERE = {
    "": "",
    "before": "이 줄보다 앞에",
    "after": "이 줄보다 뒤에",
    "end": "이 줄 아래의 블록이 끝난 다음에",
}
_SIGNS = {
    "zero_grad": ("zero_grad", "grad = None"),
    "forward": ("model(", "loss_fn("),
    "backward": ("backward", "autograd.grad"),
    "gradient": ("backward", "autograd.grad"),
    "clip": ("clip_grad",),
    "first_step": ("first_step",),
    "step": (".step(", "second_step"),
    "scheduler": ("scheduler.step",),
}
_ROUND = {"forward", "step"}
"""Where these are missing together, or are too many, whole rounds of a loop are."""
_OFTEN = {"missing": 0.12, "guard": 0.12}
"""What each further place for the same inserted line costs; other edits of one kind on one line cost less."""
_IN_A_HELPER = 0.5


@dataclass(frozen=True)
class Focus:
    """Where to look first, as the runs tell it."""

    lines: frozenset[int] = frozenset()
    """Lines (from 1) of the events that differ, of an exception."""
    missing: frozenset[str] = frozenset()
    """Kinds of events of which the learner's run has too few."""
    extra: frozenset[str] = frozenset()
    """Kinds of events of which it has too many."""
    only_returned: bool = False
    """Whether all that differs is what is returned."""
    fields: frozenset[str] = frozenset()
    """Words in the names of the arrays and facts that differ: `buffers`, `train_losses`."""


@dataclass(frozen=True)
class SmallEdit:
    """One edit of the learner's program."""

    line: int
    """The first line that it is about, from 1."""
    kind: Kind
    text: str
    """The whole program with the edit made."""
    old: tuple[str, ...] = field(default=())
    new: tuple[str, ...] = field(default=())
    where: str = ""
    """For what is inserted or moved, in words: on which side of the line it belongs."""

    @property
    def phrase(self) -> str:
        """What kind of edit it is, in Korean."""
        return PHRASES[self.kind]


def small_edits(
    source: str,
    exercise_name: str,
    solution_source: str,
    focus: Focus | None = None,
    imports: Mapping[str, str] | None = None,
) -> Iterator[SmallEdit]:
    """All edits of the definition of `exercise_name` in `source`: each result once, and only what is a program.

    Args:
        source: the learner's program, or file.
        exercise_name: the only definition that is edited.
        solution_source: the solution's definition of it, whose pieces may be borrowed.
        focus: what the runs say of where the mistake is.
        imports: by name the solution's imports; an edit that borrows such a name brings the import along.
    """
    try:
        solution = Definition(solution_source, exercise_name)
        definitions = [Definition(source, exercise_name)]
    except LookupError:
        return
    definitions += [Definition(source, name) for name in helpers(source, definitions[0])]
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
            used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - definition.read - bound
            yield _edit(draft, definition.lines, lines, [imports[n] for n in sorted(used & imports.keys())])


def _in_order(
    definitions: Sequence[Definition], solution: Definition, focus: Focus
) -> Iterable[tuple[Draft, Definition]]:
    """The likeliest first; one line inserted here, there and everywhere lets others go first in between."""
    every: list[tuple[float, Draft, Definition]] = []
    for number, definition in enumerate(definitions):
        donors = Donors.of(definition, solution)
        for draft in itertools.chain(line_drafts(definition, donors), expression_drafts(definition, donors)):
            extra = _IN_A_HELPER * (number > 0 and draft.kind in _OFTEN)
            every.append((_cost(draft, definition, focus) + extra, draft, definition))
    every.sort(key=lambda one: one[0])
    often: Counter[tuple[object, ...]] = Counter()
    spread = []
    for cost, draft, definition in every:
        key = (draft.kind, draft.words if draft.kind in _OFTEN else draft.line)
        spread.append((cost + _OFTEN.get(draft.kind, 0.05) * often[key], draft, definition))
        often[key] += 1
    spread.sort(key=lambda one: one[0])
    return [(draft, definition) for _, draft, definition in spread]


def _cost(draft: Draft, definition: Definition, focus: Focus) -> float:
    cost = draft.cost
    if focus.lines:
        cost += 0.12 * min(8, *(abs(draft.line - line) for line in focus.lines))
    signs = {kind for kind, texts in _SIGNS.items() if any(text in draft.words for text in texts)}
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
    if focus.missing >= _ROUND or focus.extra >= _ROUND:
        cost -= 0.9 * line.lstrip().startswith(("if ", "elif ", "while ", "for "))
    cost -= 0.5 * any(word in told for word in focus.fields)
    return cost


def _parsed(lines: Sequence[str]) -> ast.FunctionDef | ast.ClassDef | None:
    try:
        body = ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    one = body[0] if len(body) == 1 else None
    return one if isinstance(one, ast.FunctionDef | ast.ClassDef) else None


def _edit(draft: Draft, before: list[str], after: list[str], imports: Sequence[str]) -> SmallEdit:
    old, new = draft.shown_old, draft.shown_new
    if old is None or new is None:
        old, new = before[draft.first : draft.last], draft.new
    text = "\n".join([*after, *imports])  # at the end, so that lines stay where they are; a call comes later
    where = _WHERE[draft.where]
    return SmallEdit(draft.line, draft.kind, text, tuple(old), (*imports, *new), where)
