"""Find a loop's variable that is bound to a part of another batch before it is used, while its labels stay."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torch import Tensor

from grader.scripts.facts import BackwardRan, BatchLoaded, Facts, LossComputed
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FEWEST = 4
Turn = dict[object, BatchLoaded]


@dataclass(frozen=True, slots=True)
class Rebound:
    """A loss of inputs of one batch and labels of another."""

    place: Place
    """Where the variable is bound again."""
    name: str
    label: str
    other: str
    """What the new value is made of."""
    losses: list[LossComputed]
    pairs: int
    """Rows of one loader that came beside different rows of the other; 0 if its sizes say that they do."""


@dataclass(frozen=True, slots=True)
class _Mixed:
    line: ast.stmt
    name: str
    label: str
    other: str
    loss: ast.Call


def rebound_batches(facts: Facts) -> Iterator[Rebound]:
    """Iterate over such losses that ran, of batches of loaders whose rows do not belong together."""
    for file in _reading.files(facts):
        for loop in _reading.nodes(file, ast.For):
            assert isinstance(loop, ast.For)
            for one in _mixed(loop):
                losses = [
                    loss
                    for loss in facts.of(LossComputed)
                    if loss.grad and _reading.runs_in(one.loss, loss, file)
                ]
                pairs = _repaired(facts, losses) if len(losses) >= _FEWEST else None
                if pairs is not None and _all_learnt(facts, losses):
                    yield Rebound(_reading.at(file, one.line), one.name, one.label, one.other, losses, pairs)


def _groups(loop: ast.For) -> dict[str, int]:
    """Return the names that a loop binds, by batch: in `for (u,), (x, y) in zip(…)` x and y are of one.

    Numbers that count the rounds are left out.
    """
    target = loop.target
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    counts = bool(_reading.calls(loop.iter, "enumerate", "range", "count", "items"))
    nested = any(isinstance(one, ast.Tuple | ast.List) for one in parts)
    found: dict[str, int] = {}
    for number, part in enumerate(parts):
        if counts and nested and isinstance(part, ast.Name):
            continue
        for one in _reading.nodes_of(part, ast.Name):
            assert isinstance(one, ast.Name)
            found[one.id] = number if nested else 0
    return found


def _twice(loop: ast.For) -> dict[str, int]:
    """Return the names, with their first batch, that a loop binds to parts of two batches, and then reads."""
    target = loop.target
    found: dict[str, int] = {}
    twice: dict[str, int] = {}
    for number, part in enumerate(target.elts if isinstance(target, ast.Tuple | ast.List) else []):
        for name in _stored(part) if isinstance(part, ast.Tuple | ast.List) else ():
            if found.setdefault(name, number) != number:
                twice[name] = found[name]
    return {
        name: first for name, first in twice.items() if any(_reading.reads(one, name) for one in loop.body)
    }


def _source(statement: ast.stmt, names: set[str]) -> str:
    """Return what a name is bound anew to, as written: one of some names, the last loader of a `zip`, or all of it."""
    if isinstance(statement, ast.For):
        last = statement.iter.args[-1:] if isinstance(statement.iter, ast.Call) else []
        return ast.unparse(last[0] if _reading.called(statement.iter) == "zip" and last else statement.iter)
    assert isinstance(statement, ast.Assign)
    return next(iter(sorted(_names(statement.value) & names)), ast.unparse(statement.value))


def _mixed(loop: ast.For) -> Iterator[_Mixed]:
    """Read a loop's body in order: which batches each name is made of, and which names are bound anew unread."""
    own = _groups(loop)
    made = {name: {group} for name, group in own.items()}
    read: set[str] = set()
    again: dict[str, ast.stmt] = {}
    for name, first in _twice(loop).items():
        made[name], own[name], again[name] = {own[name]}, first, loop
    fresh = 1 + max(own.values(), default=0)
    for statement in _flat(loop.body):
        for call in _reading.nodes_of(statement, ast.Call):
            assert isinstance(call, ast.Call)
            yield from _mixed_call(call, own, made, again)
        reads = _names(statement)
        read |= reads
        if not isinstance(statement, ast.Assign):
            for inner in _reading.nodes_of(statement, ast.Assign, ast.AugAssign, ast.NamedExpr):
                for name in _stored(inner):
                    made[name] = set()  # under a condition: unknown
            continue
        indices = {
            one for part in _reading.nodes_of(statement.value, ast.Subscript) for one in _indices(part)
        }
        values = set[int]().union(*(made.get(name, set()) for name in reads - indices))
        if _reading.calls(statement.value, "next"):
            values, fresh = {fresh}, fresh + 1
        for name in _stored(statement):
            foreign = values and own.get(name) not in values and name not in read
            if name in own and foreign and name not in again:
                again[name] = statement
            elif name in again:
                del again[name]
            made[name] = set(values)


def _mixed_call(
    call: ast.Call, own: dict[str, int], made: dict[str, set[int]], again: dict[str, ast.stmt]
) -> Iterator[_Mixed]:
    """Iterate over the names bound anew that a call is given beside a label of the batch that they were of."""
    if len(call.args) < 2:
        return
    label = call.args[1]
    if not isinstance(label, ast.Name) or label.id in again or label.id not in own:
        return
    if made.get(label.id) != {own[label.id]}:
        return
    for name, statement in again.items():
        batches = set[int]().union(*(made.get(one, set()) for one in _names(call.args[0])))
        if own[name] == own[label.id] and made[name] and batches == made[name]:
            others = {one for one, groups in made.items() if groups & made[name]}
            yield _Mixed(statement, name, label.id, _source(statement, others), call)


def unread_batch(loop: ast.For) -> ast.stmt | None:
    """Return the statement that first binds a loop's variables anew, if the loop never reads what it was given."""
    given = set(_groups(loop))
    first: ast.stmt | None = None
    for statement in _flat(loop.body):
        changed = [one.target for one in _reading.nodes_of(statement, ast.AugAssign)]  # type: ignore[attr-defined]
        if given & (_names(statement) | {one.id for one in changed if isinstance(one, ast.Name)}):
            return None
        if isinstance(statement, ast.Assign) and given & _stored(statement):
            given -= _stored(statement)
            first = first or statement
    return first


def rows_of(hashes: Iterable[Tensor | None]) -> set[int]:
    """Return the hashes of the rows of several batches."""
    return {row for one in hashes if one is not None for row in one.tolist()}


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Iterate over statements, those of `with` blocks among them."""
    for one in body:
        if isinstance(one, ast.With):
            yield from _flat(one.body)
        else:
            yield one


def _indices(node: ast.AST) -> set[str]:
    return _names(node.slice) if isinstance(node, ast.Subscript) else set()


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _stored(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _all_learnt(facts: Facts, losses: list[LossComputed]) -> bool:
    """Return True if backwards ran through most of some losses."""
    learnt = {serial for one in facts.of(BackwardRan) for serial in one.losses}
    return sum(one.serial in learnt for one in losses) > 0.5 * len(losses)


def _repaired(facts: Facts, losses: list[LossComputed]) -> int | None:
    """Return how many rows came beside different rows of another loader before some losses.

    None if the rows of two loaders may belong together. 0 where they cannot: one is drawn at random, and the other
    has another length.
    """
    turns = list(_turns(facts, {one.serial for one in losses}))
    if len({loader for turn in turns for loader in turn}) > 2:
        turns = [_by_line(facts, turn) for turn in turns]  # loaders made anew for every pass
    if len({loader for turn in turns for loader in turn}) != 2 or not all(len(turn) == 2 for turn in turns):
        return None
    both = [facts.loaders[one.loader] for one in turns[-1].values()]
    if not any(one.sampler == "RandomSampler" for one in both):
        return None  # two views of the same samples, perhaps
    changed = _changed_partners(turns)
    return changed if changed >= _FEWEST else 0 if both[0].size != both[1].size else None


def _changed_partners(turns: list[Turn]) -> int:
    """Count the rows that came beside different rows of the other loader; of rows that come once nobody can tell."""
    beside: dict[tuple[object, int], set[int]] = {}
    seen = Counter[int]()
    for turn in turns:
        (first, one), (second, other) = turn.items()
        for key, here, there in ((first, one, other), (second, other, one)):
            if here.rows is not None and there.rows is not None:
                seen.update(here.rows.tolist())
                for row, partner in zip(here.rows.tolist(), there.rows.tolist(), strict=False):
                    beside.setdefault((key, row), set()).add(partner)
    return sum(sum(seen[one] > 1 for one in partners) > 1 for partners in beside.values())


def _by_line(facts: Facts, turn: Turn) -> Turn:
    """Name loaders by the line that makes them and the size of their data."""
    made = {loader: facts.loaders[one.loader] for loader, one in turn.items()}
    return {(made[loader].built, made[loader].size): one for loader, one in turn.items()}


def _turns(facts: Facts, losses: set[int]) -> Iterator[Turn]:
    """Iterate over the last batch of each loader since the loss before."""
    turn: Turn = {}
    for event in facts.events:
        if isinstance(event, BatchLoaded):
            turn[event.loader] = event
        elif event.serial in losses:
            if turn:
                yield turn
            turn = {}
