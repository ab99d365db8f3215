"""A loss's two arguments have different shapes and are broadcast against each other: every pair is compared."""

import ast
from collections.abc import Iterator
from math import prod

import torch

from grader.scripts.facts import BackwardRan, Facts, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FEWEST = 3
_LOOKED_AT = 4
"""Backwards of a line whose graph was read for other functions than squares (`observers/updates.py`)."""
_TURNING = (
    *("T", "mT", "t", "transpose", "permute", "unsqueeze", "expand", "repeat", "view", "reshape"),
    *("broadcast_to", "meshgrid", "outer", "cdist"),
)
_ELEMENTWISE = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def _grown(loss: LossComputed) -> tuple[int, ...] | None:
    """Return the broadcast shape if it is larger than both arguments."""
    if loss.name not in _ELEMENTWISE or loss.shape == loss.target_shape:
        return None
    try:
        shape = tuple(torch.broadcast_shapes(loss.shape, loss.target_shape))
    except RuntimeError:
        return None
    return shape if prod(shape) > max(prod(loss.shape), prod(loss.target_shape)) else None


def _by_hand(facts: Facts) -> Iterator[Finding]:
    """Find losses written by hand: predictions of one column that are compared with every target of the batch."""
    backwards = list(facts.of(BackwardRan))
    for place in dict.fromkeys(one.place for one in backwards):
        these = [one for one in backwards if one.place == place]
        grown = [spread for one in these if (spread := one.spread) is not None and _is_square(*spread)]
        if len(grown) < _FEWEST or len(grown) < len(these):
            continue
        shape, whole = grown[0]
        yield _told(_difference(place) or place, shape, whole, len(these))


def _told(place: Place | None, shape: tuple[int, ...], whole: tuple[int, ...], count: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            f"직접 쓴 손실에서 예측 {shape}과 정답의 모양이 달라 차이가 {whole}로 브로드캐스트돼요. "
            "예측마다 모든 정답과 비교하니, 모델은 정답의 평균만 배워요.",
            f"In this hand-written loss predictions {shape} and targets of another shape are broadcast to {whole}: "
            "every prediction is compared with every target, and the model learns only their mean.",
        ),
        evidence=Said(
            f"그래프를 읽은 `backward()` {count}번 모두 손실의 차이가 {whole} 꼴이었어요.",
            f"The difference had the shape {whole} in all {count} backward passes whose graph was read.",
        ),
        mend=Said(
            "둘의 모양을 맞추세요: `pred.squeeze(-1)` 또는 `target.unsqueeze(-1)`.",
            "Give both one shape: `pred.squeeze(-1)` or `target.unsqueeze(-1)`.",
        ),
    )


def _by_entries(facts: Facts) -> Iterator[Finding]:
    """Find losses that take another function of each difference, in which a model's output met all targets."""
    backwards = list(facts.of(BackwardRan))
    for place in dict.fromkeys(one.place for one in backwards):
        looked_at = [one for one in backwards if one.place == place][:_LOOKED_AT]
        grown = [spread for one in looked_at if (spread := one.spread_entries) and _is_square(*spread)]
        if place is None or len(grown) < _FEWEST or len(grown) < len(looked_at):
            continue
        made = _loss_statement(place)
        if made is None or any(one.spread for one in looked_at) or _pairs(place.file, made):
            continue
        shape, whole = grown[0]
        yield _told(_reading.at(place.file, made, place.function), shape, whole, len(looked_at))


def _loss_statement(place: Place) -> ast.stmt | None:
    """Return the last assignment, above a `backward`, of the name that it is called of."""
    for expression in _reading.around(place, ast.Expr):
        for call in _reading.calls(expression, "backward"):
            root = call.func.value if isinstance(call.func, ast.Attribute) else None
            if isinstance(root, ast.Call) and root.args:
                root = root.args[0]  # scaler.scale(loss).backward()
            made = _reading.assigned_line(place, root.id) if isinstance(root, ast.Name) else None
            found = _reading.around(made, ast.Assign) if made is not None else []
            return next((one for one in found if isinstance(one, ast.Assign)), None)
    return None


def _pairs(file: str, statement: ast.stmt) -> bool:
    """Return True if a statement, or a function that it calls, turns axes: pairs may be meant."""
    names = {_reading.called(one) for one in ast.walk(statement)}
    functions = [
        one
        for one in _reading.nodes(file, ast.FunctionDef, ast.ClassDef)
        if isinstance(one, ast.FunctionDef | ast.ClassDef)
        if one.name in names or (one.name in ("forward", "__call__") and _takes_two(one))
    ]
    return any(_turns(one) for one in ast.walk(ast.Module([statement, *functions], [])))


def _takes_two(method: ast.FunctionDef | ast.ClassDef) -> bool:
    """Return True for a method of two values, as a loss module's."""
    return isinstance(method, ast.FunctionDef) and len(method.args.args) > 2


def _turns(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return any(isinstance(one, ast.Constant) and one.value is None for one in ast.walk(node.slice))
    return isinstance(node, ast.Attribute) and node.attr in _TURNING


def _is_square(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Return True if N predictions became N by N differences."""
    several = len(whole) == 2 and whole[0] == whole[1] > 1
    return several and shape in ((whole[0], 1), (whole[0],))


def _difference(place: Place | None) -> Place | None:
    """Return the only line that squares a difference, around a backward or in a function that makes its loss."""
    if place is None:
        return None
    made = _loss_statement(place)
    for block in [*_reading.around(place, *_reading.LOOPS, ast.FunctionDef)[:1], *_called(place.file, made)]:
        squared = [
            one
            for one in ast.walk(block)
            if (isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow) and _subtracts(one.left))
            or (_reading.called(one) in ("pow", "abs", "square") and _subtracts(one))
        ]
        lines = {one.lineno for one in squared}  # type: ignore[attr-defined]
        if len(lines) == 1:
            return Place(place.file, lines.pop(), place.function)
    return None


def _called(file: str, statement: ast.stmt | None) -> list[ast.AST]:
    """Return the functions of a file that a statement calls."""
    names = {_reading.called(one) for one in ast.walk(statement)} if statement is not None else set()
    return [one for one in _reading.nodes(file, ast.FunctionDef) if getattr(one, "name", None) in names]


def _subtracts(node: ast.AST) -> bool:
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Sub) for one in ast.walk(node))


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _in_functions(facts)
    yield from _by_hand(facts)
    yield from _by_entries(facts)


def _in_functions(facts: Facts) -> Iterator[Finding]:
    losses = [one for one in facts.of(LossComputed) if one.grad]
    for place in dict.fromkeys(one.place for one in losses):
        these = [one for one in losses if one.place == place]
        grown = [one for one in these if _grown(one)]
        if not grown:
            continue
        one = grown[0]
        shape = _grown(one)
        yield Finding(
            place=place,
            sentence=Said(
                f"예측 {one.shape}과 정답 {one.target_shape}의 모양이 달라서 {shape}로 브로드캐스트돼요. "
                "예측마다 모든 정답과 비교하니, 모델은 정답의 평균만 배워요.",
                f"Predictions {one.shape} and targets {one.target_shape} are broadcast to {shape}: every "
                "prediction is compared with every target, and the model learns only their mean.",
            ),
            evidence=Said(
                f"이 줄의 손실 {len(these)}번 가운데 {len(grown)}번에 모양이 달랐어요.",
                f"{len(grown)} of {len(these)} losses of this line had two shapes.",
            ),
            mend=Said(
                "둘의 모양을 맞추세요: `pred.squeeze(-1)` 또는 `target.unsqueeze(-1)`.",
                "Give both one shape: `pred.squeeze(-1)` or `target.unsqueeze(-1)`.",
            ),
        )


RULE = Rule(
    id="mse-broadcast",
    severity="bug",
    title=Said("손실 안에서 모양이 늘어났어요", "A loss broadcasts its arguments"),
    lesson=None,
    find=_find,
)
