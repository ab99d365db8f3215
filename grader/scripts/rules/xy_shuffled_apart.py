"""Inputs and labels are brought into two different random orders."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading

_FEWEST, _SHARE = 8, 0.3
_DRAWS = ("randperm", "permutation")
_INPUTS = {
    "x",
    "xs",
    "input",
    "inputs",
    "data",
    "image",
    "images",
    "img",
    "imgs",
    "features",
    "sequences",
    "texts",
}
_LABELS = {"y", "ys", "label", "labels", "target", "targets"}
_SHORT = re.compile(r"([xy])(\w{0,2})")
_SEEDED = {"seed", "generator", "state"}


class _Ordered(NamedTuple):
    """Something that is brought into a random order."""

    thing: str
    draw: ast.AST
    """The call that draws the order."""
    line: ast.stmt


def _statements(scope: ast.AST) -> list[ast.stmt]:
    """Return the simple statements of a function or module in order, without those of functions within it."""
    found: list[ast.stmt] = []
    for one in ast.iter_child_nodes(scope):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(one, ast.Assign | ast.Expr | ast.Return):
            found.append(one)
        elif isinstance(one, ast.stmt):
            found += _statements(one)
    return found


def _ordered(scope: ast.AST) -> Iterator[_Ordered]:
    """Iterate over what a scope brings into a random order: `x[torch.randperm(n)]`, `x[order]`, `shuffle(x)`."""
    drawn: dict[str, ast.AST] = {}
    for statement in _statements(scope):
        for one in ast.walk(statement):
            if _reading.called(one) == "shuffle" and isinstance(one, ast.Call) and len(one.args) == 1:
                yield _Ordered(ast.unparse(one.args[0]), one, statement)
            if not isinstance(one, ast.Subscript):
                continue
            draws: list[ast.AST] = [*_reading.calls(one.slice, *_DRAWS)]
            if isinstance(one.slice, ast.Name) and one.slice.id in drawn:
                draws.append(drawn[one.slice.id])
            if draws:
                yield _Ordered(ast.unparse(one.value), draws[0], statement)
        names = _reading.bound(statement)
        calls = _reading.calls(statement, *_DRAWS)
        for name in names:
            drawn.pop(name, None)
            if len(names) == 1 and len(calls) == 1:
                drawn[name] = calls[0]


def _belong_together(first: str, second: str) -> bool:
    """Return True if one name is of inputs and the other of their labels: `x_train`, `y_train`."""
    kinds = [_kind(name) for name in (first, second)]
    return {kind for kind, _ in kinds} == {"input", "label"} and kinds[0][1] == kinds[1][1]


def _kind(name: str) -> tuple[str, frozenset[str]]:
    rest = set(_reading.words(ast.parse(name, mode="eval")))
    for kind, own in (("label", _LABELS), ("input", _INPUTS)):
        if rest & own:
            return kind, frozenset(rest - own)
    for word in sorted(rest):
        if match := _SHORT.fullmatch(word):
            return {"x": "input", "y": "label"}[match[1]], frozenset(rest - {word} | {match[2]})
    return "", frozenset()


def _apart(file: str) -> Iterator[tuple[_Ordered, _Ordered]]:
    """Iterate over inputs and their labels whose orders one scope draws one by one."""
    for scope in _reading.nodes(file, ast.FunctionDef, ast.Module):
        found = list(_ordered(scope))
        orders = {(one.thing, one.draw) for one in found}
        for first, second in combinations(found, 2):
            shared = {(first.thing, second.draw), (second.thing, first.draw)} & orders
            if not shared and _belong_together(first.thing, second.thing):
                yield first, second


def _may_be_alike(file: str, first: _Ordered, second: _Ordered) -> bool:
    """Return True if something seeds the second draw, so that it may give the order of the first."""
    lines = range(first.line.lineno, (second.line.end_lineno or second.line.lineno) + 1)
    return any(
        isinstance(one, ast.Call) and one.lineno in lines and _reading.words(one) & _SEEDED
        for one in _reading.nodes(file, ast.Call)
    )


def _pairs(facts: Facts) -> tuple[int, int, int]:
    """Count inputs that came several times, those of them that came with different labels, and losses."""
    beside: dict[int, set[int]] = {}
    count = Counter[int]()
    losses = 0
    backwards = {serial for one in facts.of(BackwardRan) for serial in one.losses}
    forward: ForwardRan | None = None
    for event in facts.events:
        if isinstance(event, ForwardRan):
            forward = event if event.grad and event.continuous else None
        elif isinstance(event, LossComputed) and event.serial in backwards and forward is not None:
            rows, labels = forward.rows, event.target_rows
            if rows is None or labels is None or len(rows) != len(labels):
                continue
            losses += 1
            for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
                count[row] += 1
                beside.setdefault(row, set()).add(label)
    again = [row for row, times in count.items() if times > 1]
    return len(again), sum(len(beside[row]) > 1 for row in again), losses


def _find(facts: Facts) -> Iterator[Finding]:
    pairs = [(file, *found) for file in _reading.files(facts) for found in _apart(file)]
    again, changed, losses = _pairs(facts) if pairs else (0, 0, 0)
    measured = changed >= max(_FEWEST, _SHARE * again)
    for file, first, second in pairs:
        if not measured and _may_be_alike(file, first, second):
            continue
        read = Said(
            f"읽어 보니 `{first.thing}`의 순서는 {first.line.lineno}번째 줄에서, `{second.thing}`의 순서는 "
            f"{second.line.lineno}번째 줄에서 따로 뽑아요.",
            f"From reading: the order of `{first.thing}` is drawn on line {first.line.lineno}, that of "
            f"`{second.thing}` on line {second.line.lineno}.",
        )
        seen = Said(
            f"손실 {losses}번에서 두 번 이상 나온 입력 {again}개 가운데 {changed}개는 정답이 그때마다 같지 않았어요.",
            f"In {losses} losses {again} inputs came more than once, {changed} of them with different labels.",
        )
        yield Finding(
            place=_reading.at(file, second.line),
            severity=None if measured else "warning",
            sentence=Said(
                "입력과 정답을 서로 다른 순서로 섞어서, 입력 옆에 다른 샘플의 정답이 와요. 모델은 아무 관계도 없는 "
                "짝을 배워요.",
                "Inputs and labels are shuffled in different orders: beside an input stands the label of another "
                "sample, and nothing can be learned from that.",
            ),
            evidence=Said(f"{seen.ko} {read.ko}", f"{seen.en} {read.en}") if measured else read,
            mend=Said(
                "순서를 한 번만 뽑아 둘 다에 쓰세요: `order = torch.randperm(len(x))`, `x[order]`, `y[order]`.",
                "Draw one order and use it for both: `order = torch.randperm(len(x))`, `x[order]`, `y[order]`.",
            ),
        )


RULE = Rule(
    id="xy-shuffled-apart",
    severity="bug",
    title=Said("입력과 정답을 따로 섞었어요", "Inputs and labels are shuffled apart"),
    lesson=None,
    find=_find,
)
