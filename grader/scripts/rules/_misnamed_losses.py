"""Find a training loss that is shown under the name of a validation loss."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, NumberRead
from grader.scripts.findings import Finding, Said
from grader.scripts.rules import _reading

_FEWEST = 4
_HELD_OUT = {"val", "valid", "validation", "dev", "test", "heldout", "eval"}
_TRAINING = {"train", "training", "batch"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_UNWRAPPING = ("item", "detach", "float", "cpu", "tolist")


def misnamed_losses(facts: Facts) -> Iterator[Finding]:
    """Find numbers named as a validation's that were read of what `backward` was called on, bound nowhere since."""
    for file in _reading.files(facts):
        roots = _roots(facts, file)
        for call in _reading.nodes(file, ast.Call) if roots else ():
            assert isinstance(call, ast.Call)
            for said, value in _named_values(call):
                name = _read_of(value)
                words = _reading.words(said)
                if name not in roots or "loss" not in words or not words & _HELD_OUT or words & _TRAINING:
                    continue
                reads = sum(_reading.runs_in(call, one, file) for one in facts.of(NumberRead))
                trained = [one for one in roots[name] if _is_trained(file, name, one, call)]
                if reads and trained:
                    yield _told(file, call, name, trained[-1], reads)


def _roots(facts: Facts, file: str) -> dict[str, list[ast.Call]]:
    """Return the calls `name.backward()` that ran, by name."""
    found: dict[str, list[ast.Call]] = {}
    for call in _reading.nodes(file, ast.Call):
        if _reading.called(call) != "backward" or not isinstance(call, ast.Call):
            continue
        root = call.func.value if isinstance(call.func, ast.Attribute) else None
        ran = sum(_reading.runs_in(call, one, file) for one in facts.of(BackwardRan))
        if isinstance(root, ast.Name) and ran >= _FEWEST:
            found.setdefault(root.id, []).append(call)
    return found


def _named_values(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Iterate over what a call shows: each value with the text right before it, or with its key."""
    for one in ast.walk(call):
        if isinstance(one, ast.JoinedStr):
            for before, value in zip(one.values, one.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue):
                    yield _text(before), value.value
        elif isinstance(one, ast.Dict):
            yield from ((_text(key), value) for key, value in zip(one.keys, one.values, strict=True))
    yield from ((_text(before), value) for before, value in zip(call.args, call.args[1:], strict=False))
    yield from ((one.arg or "", one.value) for one in call.keywords)


def _text(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _read_of(value: ast.expr) -> str:
    """Return the name of which a number is read: `loss` of `loss.detach().item()`."""
    while isinstance(value, ast.Call) and _reading.called(value) in _UNWRAPPING:
        if isinstance(value.func, ast.Attribute):
            value = value.func.value
        elif value.args:
            value = value.args[0]
        else:
            return ""
    return value.id if isinstance(value, ast.Name) else ""


def _is_trained(file: str, name: str, backward: ast.Call, shown: ast.Call) -> bool:
    """Return True if a name is bound before a backward on it, and nowhere between that and where it is shown."""
    own, other = (_reading.around(_reading.at(file, one), *_FUNCTIONS)[:1] for one in (backward, shown))
    scope = own or list(_reading.nodes(file, ast.Module))
    lines = [
        one.lineno
        for one in ast.walk(scope[0])
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
        if one.lineno <= shown.lineno
    ]
    return own == other and bool(lines) and max(lines) <= backward.lineno < shown.lineno


def _told(file: str, call: ast.Call, name: str, backward: ast.Call, reads: int) -> Finding:
    return Finding(
        place=_reading.at(file, call),
        severity="bug",
        sentence=Said(
            f"검증 손실이라고 적는 `{name}` 값은 학습의 마지막 배치에서 구한 손실이에요.",
            f"What is shown here as the loss of the validation is `{name}`, the loss of the last training batch.",
        ),
        evidence=Said(
            f"지켜보는 동안 이 줄이 수를 {reads}번 읽었어요. 읽어 보니 `{name}` 값은 {backward.lineno}번째 줄에서 "
            "`backward()`를 부른 것이고, 그 뒤로 새로 정하지 않아요.",
            f"This line read {reads} numbers while watched. From reading: backward() is called on `{name}` in line "
            f"{backward.lineno}, and nothing binds it after that.",
        ),
        mend=Said("평가에서 구한 손실을 적으세요.", "Show the loss that the evaluation computes."),
    )
