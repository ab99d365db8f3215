"""The targets of a language model stand at the wrong place: not shifted, or shifted twice."""

import ast
import linecache
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from torch import Tensor

from grader.scripts.facts import Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FEWEST, _SHORTEST = 3, 4
_TARGETS = {"labels", "targets", "target", "y", "yb", "tgt"}
_INPUTS = {"ids", "x", "xb", "input", "inputs", "tokens", "src"}
_CAUSAL = {"tril", "triu", "causal", "subsequent"}


class Aligned(NamedTuple):
    """A loss whose targets lie over the tokens that the forward before it was given."""

    forward: ForwardRan
    loss: LossComputed
    equal: tuple[float, float, float]
    """Share of the targets that equal the input 0, 1 and 2 places on."""


def _shares(tokens: Tensor, targets: Tensor, rows: int) -> tuple[float, float, float] | None:
    """Lay targets over tokens; None if they do not fit."""
    if targets.numel() % rows or not tokens.shape[1] - 2 <= targets.numel() // rows <= tokens.shape[1]:
        return None
    laid = targets.reshape(rows, -1)[: len(tokens)]
    if len(laid) < len(tokens) or laid.shape[1] < _SHORTEST:
        return None
    found = []
    for shift in range(3):
        width = min(laid.shape[1], tokens.shape[1] - shift)
        left, right = laid[:, :width], tokens[:, shift : shift + width].to(laid.device)
        real = left >= 0
        found.append(float((left == right)[real].float().mean()) if bool(real.any()) else 0.0)
    return found[0], found[1], found[2]


def aligned(facts: Facts) -> Iterator[Aligned]:
    """Iterate over the losses of language models."""
    last: ForwardRan | None = None
    for event in facts.events:
        if isinstance(event, ForwardRan):
            last = event
        elif isinstance(event, LossComputed) and event.grad and event.name in ("cross_entropy", "nll_loss"):
            if last is None or last.tokens is None or event.targets is None or not last.batch:
                continue
            rows = min(last.batch, 64)
            whole = 1
            for size in event.target_shape:
                whole *= size
            if whole % last.batch or event.targets.numel() < rows * (whole // last.batch):
                rows = event.targets.numel() // max(1, whole // last.batch)
            width = whole // last.batch
            if rows < 1 or width < 1:
                continue
            shares = _shares(last.tokens[:rows], event.targets[: rows * width], rows)
            if shares is not None:
                yield Aligned(last, event, shares)


def _by_place(facts: Facts) -> Iterator[tuple[Place | None, list[Aligned]]]:
    found = list(aligned(facts))
    for place in dict.fromkeys(one.loss.place for one in found):
        these = [one for one in found if one.loss.place == place]
        if len(these) >= _FEWEST:
            yield place, these


def _target_line(facts: Facts) -> Place | None:
    """Return the line where two names get one and the same value, or the targets are the inputs by name."""
    for file in _reading.files(facts):
        found = next(_twice(file), None) or next(_by_name(file), None)
        if found is not None:
            return _reading.at(file, found)
    return None


def _twice(file: str) -> Iterator[ast.AST]:
    """Iterate over values that are given twice in a row: `y = data[a:b]` after the same x, or `return x, x`."""
    for module in _reading.nodes(file, ast.Module):
        for block in _reading.blocks(module):
            for before, after in pairwise(block):
                if isinstance(before, ast.Assign) and isinstance(after, ast.Assign):
                    same = ast.dump(before.value) == ast.dump(after.value)
                    if same and any(isinstance(one, ast.Slice) for one in ast.walk(after.value)):
                        yield after
    for node in _reading.nodes(file, ast.Tuple, ast.Call):
        given = node.elts if isinstance(node, ast.Tuple) else getattr(node, "args", [])
        named = isinstance(node, ast.Tuple) or _reading.called(node) == "TensorDataset"
        tensors = [one for one in given if isinstance(one, ast.Name | ast.Subscript | ast.Attribute)]
        if (
            named
            and len(given) == len(tensors) == 2
            and _loaded(given[0])
            and ast.dump(given[0]) == ast.dump(given[1])
        ):
            yield node


def _loaded(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)


def _by_name(file: str) -> Iterator[ast.AST]:
    """Iterate over assignments such as `targets = inputs.clone()`."""
    for node in _reading.nodes(file, ast.Assign):
        assert isinstance(node, ast.Assign)
        target = {word for one in node.targets for word in _reading.words(one)}
        root = node.value
        if isinstance(root, ast.Call) and _reading.called(root) in ("clone", "copy", "detach"):
            root = root.func.value if isinstance(root.func, ast.Attribute) else root
        given = _reading.words(root) if isinstance(root, ast.Name) else set()
        if target & _TARGETS and given & _INPUTS:
            yield node


def _begins_one_later(cut: ast.Slice) -> bool:
    """Return True for `[1:]` and for `[i + 1 : …]`."""
    lower = cut.lower
    if isinstance(lower, ast.BinOp) and isinstance(lower.op, ast.Add):
        return isinstance(lower.right, ast.Constant) and lower.right.value == 1
    return isinstance(lower, ast.Constant) and lower.value == 1 and cut.upper is None


def _within(place: Place, function: ast.AST) -> bool:
    return function.lineno <= place.line <= function.end_lineno  # type: ignore[attr-defined,no-any-return]


def _cuts_a_pair(place: Place) -> bool:
    """Return True if a line's simple statement cuts one thing twice, `s[…, :-1]` and `s[…, 1:]`: inputs and labels."""
    statements = [
        one for one in _reading.around(place, ast.stmt) if not any(True for _ in _reading.blocks(one))
    ]
    cuts: dict[bool, set[str]] = {True: set(), False: set()}
    for one in _reading.nodes_of(statements[0], ast.Subscript) if statements else ():
        assert isinstance(one, ast.Subscript)
        for cut in _reading.nodes_of(one.slice, ast.Slice):
            assert isinstance(cut, ast.Slice)
            ends = cut.lower is None and cut.upper is not None and ast.unparse(cut.upper) == "-1"
            if ends or _begins_one_later(cut):
                cuts[ends].add(ast.unparse(one.value))
    return bool(cuts[True] & cuts[False])


def _shifted_line(facts: Facts, places: list[Place]) -> Place | None:
    """Return the line where labels are shifted by hand: not the one in the functions of these losses."""
    found = []
    for file in _reading.files(facts):
        for node in _reading.nodes(file, ast.Slice):
            if isinstance(node, ast.Slice) and _begins_one_later(node):
                found.append(_reading.at(file, node))
    paired = [one for one in found if _cuts_a_pair(one)]
    found = paired or found
    shifting = [one for place in places for one in _reading.around(place, ast.FunctionDef)[:1]]
    outside = [one for one in found if not any(_within(one, function) for function in shifting)]
    found = outside or found
    named = [
        one for one in found if _reading.words(linecache.getline(one.file, one.line)) & {"labels", "label"}
    ]
    return next(iter(named or found), None)


def _no_shift(facts: Facts) -> Iterator[Finding]:
    for place, these in _by_place(facts):
        same = [one for one in these if one.equal[0] > 0.999 and one.equal[1] < 0.9]
        if len(same) < len(these):
            continue
        causal = any(
            _CAUSAL & _reading.words(tree)
            for file in _reading.files(facts)
            for tree in _reading.nodes(file, ast.Module)
        )
        yield Finding(
            place=_target_line(facts) or place,
            severity="bug" if causal else "warning",
            sentence=Said(
                "정답이 다음 토큰이 아니라 입력과 똑같은 토큰이에요. 모델은 보이는 글자를 베끼는 것만 배워요."
                + ("" if causal else " 입력을 되살리는 모델(오토인코더)이라면 일부러 그랬나요?"),
                "The targets are the input tokens themselves, not the next ones, so the model only learns to copy."
                + ("" if causal else " If it is meant to reconstruct its input: on purpose?"),
            ),
            evidence=Said(
                f"살펴본 손실 {len(these)}번 모두 정답이 입력과 자리마다 같았어요 "
                f"(다음 토큰과 같은 것은 {these[-1].equal[1]:.0%}).",
                f"In {len(same)} of {len(these)} losses the targets equalled the inputs in every place "
                f"({these[-1].equal[1]:.0%} equalled the next token).",
            ),
            mend=Said(
                "정답을 한 칸 밀어요: 입력 `ids[:, :-1]`, 정답 `ids[:, 1:]`.",
                "Shift by one: inputs `ids[:, :-1]`, targets `ids[:, 1:]`.",
            ),
        )


def _double_shift(facts: Facts) -> Iterator[Finding]:
    for place, these in _by_place(facts):
        two = [one for one in these if one.equal[2] > 0.999 and max(one.equal[:2]) < 0.9]
        if len(two) < len(these):
            continue
        yield Finding(
            place=_shifted_line(facts, [] if place is None else [place]) or place,
            sentence=Said(
                "`labels`를 손으로 한 칸 밀었는데 모델이 안에서 또 밀어서, 다음 토큰이 아니라 그다음 토큰을 배워요.",
                "The labels are shifted by hand and the model shifts them again, so it learns the token after "
                "the next.",
            ),
            evidence=Said(
                f"살펴본 손실 {len(these)}번 모두 정답이 입력의 두 칸 뒤 토큰과 같았어요 "
                f"(바로 다음 토큰과 같은 것은 {these[-1].equal[1]:.0%}).",
                f"In {len(two)} of {len(these)} losses the targets equalled the inputs two places on "
                f"({these[-1].equal[1]:.0%} equalled the next token).",
            ),
            mend=Said(
                "`labels`에 `input_ids`를 그대로 주세요: 미는 것은 모델이 해요.",
                "Pass input_ids as labels: the model shifts them.",
            ),
        )


RULES = [
    Rule(
        id="lm-no-shift",
        severity="bug",
        title=Said("정답이 입력과 같아요", "The targets are not shifted"),
        lesson="03_bells_and_whistles/1_small_gpt",
        find=_no_shift,
    ),
    Rule(
        id="lm-double-shift",
        severity="bug",
        title=Said("정답을 두 번 밀었어요", "The targets are shifted twice"),
        lesson="03_bells_and_whistles/1_small_gpt",
        find=_double_shift,
    ),
]
