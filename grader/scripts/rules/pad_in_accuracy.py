"""Padded positions count in the accuracy."""

import ast
from collections.abc import Iterable, Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules.pad_in_loss import padded_share, padding, picked_padding

_LEAST, _FEWEST = 0.05, 3
_SIMPLE = ast.Assign | ast.AugAssign | ast.Expr | ast.Return


def _ignored(facts: Facts) -> float:
    """Return the largest average share of targets that a loss ignores, or that fill the ends of its rows."""
    shares: dict[object, list[float]] = {}
    for one in facts.of(LossComputed):
        if one.ignore_index is not None and one.targets is not None and one.targets.numel():
            share = float((one.targets == one.ignore_index).float().mean())
            shares.setdefault(one.place, []).append(share)
    ignored = max((sum(found) / len(found) for found in shares.values()), default=0.0)
    picked = [float((one.targets == value).float().mean()) for one, value in picked_padding(facts)]
    return ignored or padded_share(facts) or (sum(picked) / len(picked) if len(picked) >= _FEWEST else 0.0)


def _masked(node: ast.AST) -> bool:
    """Return True if a comparison is restricted: `(a == b)[mask]`, `& mask`, `* mask`, `a[mask] == b[mask]`."""
    for one in ast.walk(node):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.BitAnd | ast.Mult):
            return True
        if isinstance(one, ast.Subscript):
            parts = one.slice.elts if isinstance(one.slice, ast.Tuple) else [one.slice]
            if not any(isinstance(part, ast.Slice | ast.Constant | ast.UnaryOp) for part in parts):
                return True
    return bool(_reading.calls(node, "masked_select", "logical_and", "mul", "where", "masked_fill"))


def _selected(scope: ast.AST, names: set[str]) -> bool:
    """Return True if one of the names was restricted by a mask before: `pred = pred[mask]`."""
    return any(
        isinstance(one, ast.Assign) and names & set(_reading.bound(one)) and _masked(one.value)
        for one in ast.walk(scope)
    )


def _counting(loop: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """Return the statements that count the right answers of a comparison: itself, or all that read what it binds."""
    if _reading.counts_right(statement):
        return [statement]
    named = _reading.bound(statement)
    readers: list[ast.stmt] = [
        one
        for block in _reading.blocks(loop)
        for one in block
        if isinstance(one, _SIMPLE) and any(_reading.reads(one, name) for name in named)
    ]
    return readers if any(_reading.calls(one, *_reading.COUNTING) for one in readers) else []


def _counts_all(loop: ast.AST, statement: ast.stmt, names: set[str]) -> bool:
    """Return True if the right answers are averaged over every position."""
    if _reading.calls(statement, "mean", "average"):
        return True
    for one in ast.walk(loop):
        adding = isinstance(one, ast.AugAssign) or (isinstance(one, ast.Assign) and one is not statement)
        if adding and isinstance(one, ast.AugAssign | ast.Assign):
            for call in _reading.calls(one.value, "numel", "nelement"):
                if isinstance(call.func, ast.Attribute) and names & _names(call.func.value):
                    return not _masked(call.func.value)
    return any(_reading.calls(statement, name) for name in ("numel", "nelement"))


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _evaluating(facts: Facts, file: str) -> Iterator[ast.AST]:
    """Iterate over the loops in which the model is evaluated, and the functions that such lines call."""
    for loop in _reading.nodes(file, ast.For):
        ran = [one for one in facts.of(ForwardRan) if _reading.runs_in(loop, one, file)]
        trains = any(_reading.runs_in(loop, one, file) for one in facts.of(BackwardRan))
        if ran and not (trains and all(one.grad for one in ran)):
            yield loop
    places = dict.fromkeys(one.place for one in facts.of(ForwardRan) if not one.grad and one.place)
    called = {
        _reading.called(call)
        for place in places
        if place is not None and place.file == file
        for statement in _reading.around(place, ast.For, ast.Expr, ast.Assign, ast.AugAssign, ast.Return)[:1]
        for call in _reading.nodes_of(statement, ast.Call)
    }
    if any(isinstance(one, ast.AugAssign) for one in _evaluated(places, file)):
        called |= {"__iadd__", "__add__"}
    for function in _reading.nodes(file, ast.FunctionDef):
        inside = any(_reading.runs_in(function, one, file) for one in facts.of(ForwardRan))
        if isinstance(function, ast.FunctionDef) and function.name in called and not inside:
            yield function


def _evaluated(places: Iterable[Place | None], file: str) -> Iterator[ast.AST]:
    """Iterate over the plain statements in which some forwards ran."""
    for place in places:
        if place is not None and place.file == file:
            yield from _reading.around(place, ast.Expr, ast.Assign, ast.AugAssign, ast.Return)[:1]


def _judging(facts: Facts, file: str) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """Iterate over what is made of the model's output in functions that judge padded sequences at once.

    They run the model without gradients and without a loop, themselves or by a function of the file that gives the
    answers at every position.
    """
    padded = [
        one
        for one in facts.of(ForwardRan)
        if not one.grad and one.tokens is not None and padding(one.tokens) is not None
    ]
    functions = [one for one in _reading.nodes(file, ast.FunctionDef) if isinstance(one, ast.FunctionDef)]
    trained = list(facts.of(BackwardRan))
    running = [one for one in functions if any(_reading.runs_in(one, event, file) for event in padded)]
    giving = {one.name for one in running if _gives_all(one)}
    for function in functions:
        if any(_reading.runs_in(function, one, file) for one in trained):
            continue
        heads = [
            one
            for one in _statements(function)
            if any(_reading.runs_in(one, event, file) for event in padded)
            or any(_reading.called(call) in giving for call in _reading.nodes_of(one, ast.Call))
        ]
        yield from ((function, one) for one in _made_of(function, heads))


def _gives_all(function: ast.FunctionDef) -> bool:
    """Return True if no returned value is a selection by a mask."""
    returned = list(_reading.nodes_of(function, ast.Return))
    return bool(returned) and not any(
        (isinstance(one, ast.Subscript) and _masked(one)) or _reading.calls(one, "masked_select")
        for node in returned
        for one in ast.walk(node)
    )


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the plain statements of a function that stand in no loop."""
    looped = {id(one) for loop in _reading.nodes_of(function, *_reading.LOOPS) for one in ast.walk(loop)}
    whole = [one for block in _reading.blocks(function) for one in block]
    return sorted(
        (one for one in whole if isinstance(one, _SIMPLE) and id(one) not in looped),
        key=lambda one: one.lineno,
    )


def _made_of(function: ast.FunctionDef, heads: list[ast.stmt]) -> list[ast.stmt]:
    """Return some statements of a function, and those after them that read what they bind."""
    found: list[ast.stmt] = []
    for one in _statements(function):
        if one in heads or any(_reading.reads(one, name) for head in found for name in _reading.bound(head)):
            found.append(one)
    return found


def _judges_rows(facts: Facts) -> bool:
    """Return True if a loss has one target for each row of the input: not only positions are judged."""
    batches = {one.batch for one in facts.of(ForwardRan) if one.grad}
    return any(
        len(one.target_shape) == 1 and not one.target_laid and one.target_shape[0] in batches
        for one in facts.of(LossComputed)
    )


def _scopes(facts: Facts, file: str) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """Iterate over the plain statements of evaluations, each with the loop or function that it stands in."""
    for scope in _evaluating(facts, file):
        for block in _reading.blocks(scope):
            yield from ((scope, one) for one in block if isinstance(one, _SIMPLE))
    if not _judges_rows(facts):
        yield from _judging(facts, file)


def _find(facts: Facts) -> Iterator[Finding]:
    share = _ignored(facts)
    if share < _LEAST:
        return
    told: set[tuple[str, int]] = set()
    for file in _reading.files(facts):
        for scope, statement in _scopes(facts, file):
            pairs = _reading.compares(statement)
            counting = _counting(scope, statement) if len(pairs) == 1 else []
            if not counting or any(map(_masked, [statement, *counting])):
                continue
            names = _names(pairs[0][0]) | _names(pairs[0][1]) | set(_reading.bound(statement))
            if _selected(scope, names) or not any(_counts_all(scope, one, names) for one in counting):
                continue
            if (file, statement.lineno) in told:
                continue
            told.add((file, statement.lineno))
            yield _told(_reading.at(file, statement), share)


def _told(place: Place, share: float) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            "정확도를 셀 때 길이를 맞추려고 채운 자리도 세요. 진짜 토큰에서 얼마나 맞히는지와 다른 값이 나와요.",
            "The accuracy counts the padded positions too, so it is not that of the real tokens.",
        ),
        evidence=Said(
            f"길이를 맞추려고 채운 자리가 정답의 {share:.0%}예요. 읽어 보니 이 줄은 그 자리를 가리지 않고 세요.",
            f"{share:.0%} of the targets are padded positions. From reading: this line counts them without a mask.",
        ),
        mend=Said(
            "진짜 자리만 세세요: `mask = target != pad`로 맞힌 수와 전체 수를 모두 가리세요.",
            "Count real positions only: `mask = target != pad` for both the hits and the total.",
        ),
    )


RULE = Rule(
    id="pad-in-accuracy",
    severity="bug",
    title=Said("채운 자리를 정확도에 셌어요", "Padding counts in the accuracy"),
    lesson="03_bells_and_whistles/7_unequal_lengths",
    find=_find,
)
