"""A count that makes a score is overwritten by each batch: the accuracy, or the IoU, is that of the last batch."""

import ast
from collections import Counter
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, LossComputed, NumberRead
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_ENDING = {
    "epoch",
    "end",
    "compute",
    "result",
    "results",
    "value",
    "summary",
    "average",
    "report",
    "finish",
    "final",
}
_COUNTERS = {"range", "trange", "count"}
_OVERLAPS = (ast.BitAnd, ast.BitOr, ast.Mult)
_GATHERING = ("append", "extend", "add_", "update", "cat", "concatenate")


def _counts_only(loop: ast.For) -> bool:
    """Return True for a loop over numbers that cut no batches from data: `for step in range(100)`."""
    if not _COUNTERS & _reading.words(loop.iter):
        return False
    cuts = [one.slice for one in ast.walk(loop) if isinstance(one, ast.Subscript)]
    numbers = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
    return not any(_reading.reads(cut, name) for cut in cuts for name in numbers)


def _gathered(loop: ast.For) -> set[str]:
    """Return the names that a loop adds to: `preds += …`, `preds.append(…)`, `preds = preds + …`."""
    found = set()
    for one in ast.walk(loop):
        if isinstance(one, ast.AugAssign):
            found |= {below.id for below in ast.walk(one.target) if isinstance(below, ast.Name)}
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            if one.func.attr in _GATHERING and isinstance(one.func.value, ast.Name):
                found.add(one.func.value.id)
        elif isinstance(one, ast.Assign):
            found |= {name for name in _reading.bound(one) if _reading.reads(one.value, name)}
    return found


def _overwritten(loop: ast.For, losses: set[int]) -> Iterator[tuple[ast.Assign, str]]:
    """Iterate over the assignments in a loop that hold one batch's score and are read nowhere else in it.

    `losses`: the lines that computed losses without gradients.
    """
    for statement in ast.walk(loop):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        name = _kept_in(statement.targets[0], loop)
        counts = _counts_in(loop, statement.value) or _counts_overlap(loop, statement.value)
        lost = statement.lineno in losses and _is_loss(name)
        if name and (counts or lost):
            yield statement, name


def _is_loss(name: str) -> bool:
    """Return True for the name of a loss, but not for one that says which batch it is of."""
    return "loss" in _reading.words(name) and not _reading.words(name) & {"last", "batch", "final"}


def _counts_overlap(loop: ast.For, value: ast.expr) -> bool:
    """Return True if a value sums `a & b`, `a | b` or `a * b` of what the loop makes: the parts of an IoU or a Dice."""
    made = {one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    pairs = [one for one in ast.walk(value) if isinstance(one, ast.BinOp) and isinstance(one.op, _OVERLAPS)]
    sides = [side for one in pairs for side in (one.left, one.right)]
    own = [side for side in sides if any(_reading.reads(side, name) for name in made)]
    return bool(pairs) and len(own) == len(sides) and bool(_reading.calls(value, *_reading.COUNTING))


def _kept_in(target: ast.expr, loop: ast.For) -> str:
    """Return the name that is assigned, or whose entry is: the same one for each batch, and read nowhere else in it."""
    if isinstance(target, ast.Name):
        return "" if _reading.reads(loop, target.id) else target.id
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return ""
    table = target.value.id
    inner = {id(name) for one in loop.body for below in ast.walk(one) for name in _loop_names(below)}
    names = [one for one in ast.walk(loop) if isinstance(one, ast.Name)]
    moving = {one.id for one in names if isinstance(one.ctx, ast.Store) and id(one) not in inner}
    entry = {one.id for one in ast.walk(target.slice) if isinstance(one, ast.Name)}
    stored = [one for one in _stored(loop) if one.id == table]
    return table if not entry & moving and len(stored) == sum(one.id == table for one in names) else ""


def _loop_names(node: ast.AST) -> Iterator[ast.AST]:
    return ast.walk(node.target) if isinstance(node, ast.For) else iter(())


def _stored(loop: ast.For) -> Iterator[ast.Name]:
    """Iterate over the names of tables of which a plain assignment sets an entry."""
    for one in ast.walk(loop):
        for target in one.targets if isinstance(one, ast.Assign) else ():
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                yield target.value


def _read_after(whole: ast.AST, loop: ast.For, name: str) -> bool:
    """Return True if the statements after a loop, in its block or around it, read a name before binding it."""
    for block in _reading.blocks(whole):
        holding = next((i for i, one in enumerate(block) if loop in ast.walk(one)), None)
        if holding is None:
            continue
        for one in block[holding + 1 :]:
            if _reading.reads(one, name):
                return True
            if name in _reading.bound(one):
                break
    return False


def _after(scope: ast.AST, loop: ast.For) -> Iterator[tuple[ast.Assign | ast.Return, str]]:
    """Iterate over what follows a loop and averages a comparison of two names that only the loop binds."""
    inside = {
        one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    } - _gathered(loop)
    for block in _reading.blocks(scope):
        holding = next((i for i, one in enumerate(block) if loop in ast.walk(one)), None)
        if holding is None or (loop is not block[holding] and not isinstance(block[holding], ast.With)):
            continue
        for one in block[holding + 1 :]:
            if not isinstance(one, ast.Assign | ast.Return) or one.value is None:
                continue
            pairs = _reading.compares(one.value)
            if len(pairs) != 1 or not _reading.counts_right(one.value):
                continue
            names = [below.id for side in pairs[0] for below in ast.walk(side) if isinstance(below, ast.Name)]
            own = [name for name in names if name in inside]
            again = any(name in _reading.bound(before) for before in block[holding + 1 :] for name in own)
            if len(set(own)) >= 2 and not again:
                yield one, own[0]


def _sets(function: ast.AST) -> Iterator[tuple[ast.stmt, str, ast.expr]]:
    """Iterate over the attributes that a method assigns, `self.a, self.b = 0, 0` one by one: statement, name, value."""
    for one in ast.walk(function):
        if not isinstance(one, ast.Assign) or len(one.targets) != 1:
            continue
        target, value = one.targets[0], one.value
        pairs = [(target, value)]
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(target.elts) == len(value.elts)
        ):
            pairs = list(zip(target.elts, value.elts, strict=True))
        for left, right in pairs:
            if isinstance(left, ast.Attribute) and ast.unparse(left.value) == "self":
                yield one, left.attr, right


def _reads_own(node: ast.AST, name: str) -> bool:
    """Return True if `self.name` is read below a node."""
    return any(
        isinstance(one, ast.Attribute) and one.attr == name and isinstance(one.ctx, ast.Load)
        for one in ast.walk(node)
    )


def _counts_in(function: ast.AST, value: ast.expr) -> bool:
    """Return True if a value counts right answers, also those that the function compared under a name before."""
    named = {
        name
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and _reading.compares(one.value)
        for name in _reading.bound(one)
    }
    own = any(_reading.reads(value, name) for name in named)
    return _reading.counts_right(value) or (own and bool(_reading.calls(value, *_reading.COUNTING)))


def _kept_by_method(facts: Facts) -> Iterator[Finding]:
    """Find counts that a class begins at 0, sets anew for each batch, and reads in another method at the end."""
    for file in _reading.files(facts):
        for owner in _reading.nodes(file, ast.ClassDef):
            assert isinstance(owner, ast.ClassDef)
            methods = [one for one in owner.body if isinstance(one, ast.FunctionDef)]
            for method in methods:
                for statement, name, value in _sets(method):
                    others = [one for one in methods if one is not method]
                    begins = any(
                        one == name and isinstance(first, ast.Constant) and first.value == 0
                        for other in others
                        for _, one, first in _sets(other)
                    )
                    ends = [
                        one for one in others if _reads_own(one, name) and _reading.words(one.name) & _ENDING
                    ]
                    if not begins or not ends or _reads_own(method, name) or not _counts_in(method, value):
                        continue
                    sizes = _evaluated_by(facts, file, statement)
                    if len(sizes) > 1:
                        yield _told_in_method(_reading.at(file, statement, method.name), name, sizes)


def _evaluated_by(facts: Facts, file: str, statement: ast.stmt) -> list[int]:
    """Return the sizes of the batches of one evaluation for each of which a statement read a number."""
    sizes: dict[int, list[int]] = {}
    last: ForwardRan | None = None
    for event in facts.events:
        if isinstance(event, ForwardRan):
            last = None if event.grad else event
        elif isinstance(event, NumberRead) and last is not None and _reading.runs_in(statement, event, file):
            sizes.setdefault(event.update, []).append(last.batch)
            last = None
    return max(sizes.values(), key=len, default=[])


def _told_in_method(place: Place, name: str, sizes: list[int]) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            f"배치마다 `self.{name}` 값을 더하지 않고 덮어써서, 정확도가 마지막 배치만의 것이에요.",
            f"`self.{name}` is overwritten for each batch instead of added up, so the accuracy is that of the last "
            "batch only.",
        ),
        evidence=Said(
            f"한 번 평가하는 동안 이 줄이 배치 {len(sizes)}개마다 실행됐고, 마지막 배치에는 샘플이 {sizes[-1]}개 "
            f"있었어요. 읽어 보니 `self.{name}`은 0에서 시작하고, 끝난 뒤에야 쓰여요.",
            f"In one evaluation this line ran for each of {len(sizes)} batches; the last had {sizes[-1]} samples. From "
            f"reading: `self.{name}` begins at 0 and is used only at the end.",
        ),
        mend=Said(f"`self.{name} += …`로 더하세요.", f"Add it up: `self.{name} += …`."),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _kept_by_method(facts)
    for file in _reading.files(facts):
        for scope in _reading.nodes(file, ast.FunctionDef, ast.Module):
            loops = [one for one in ast.walk(scope) if isinstance(one, ast.For)]
            for loop in loops:
                if _counts_only(loop):
                    continue
                ran = [one for one in facts.of(ForwardRan) if _reading.runs_in(loop, one, file)]
                trains = any(_reading.runs_in(loop, one, file) for one in facts.of(BackwardRan))
                several = max(Counter(one.update for one in ran).values(), default=0) > 1
                if trains or not several or any(one.grad for one in ran):
                    continue
                if isinstance(scope, ast.Module) != _top(file, loop):
                    continue
                for late, name in _after(scope, loop):
                    yield _told_after(file, late, name, [one.batch for one in ran])
                losses = {one.place.line for one in facts.of(LossComputed) if one.place and not one.grad}
                found = [one for one in _overwritten(loop, losses) if _read_after(scope, loop, one[1])]
                for statement, _ in found[:1]:  # an IoU has two: one is told
                    yield _told_overwritten(file, statement, [one.batch for one in ran])


def _told_overwritten(file: str, statement: ast.Assign, sizes: list[int]) -> Finding:
    shown = ast.unparse(statement.targets[0])
    right = bool(_reading.compares(statement.value))
    ko, en = ("정확도가", "the accuracy is that") if right else ("값이", "the value is that")
    return Finding(
        place=_reading.at(file, statement),
        sentence=Said(
            f"배치마다 `{shown}` 값을 더하지 않고 덮어써서, {ko} 마지막 배치만의 것이에요.",
            f"`{shown}` is overwritten for each batch instead of added up, so {en} of the last batch only.",
        ),
        evidence=Said(
            f"읽어 보니 반복문 안에서는 `{shown}` 값을 쓰지 않고, 끝난 뒤에 써요. 지켜보는 동안 이 반복문은 평가 배치 "
            f"{len(sizes)}개를 돌았고, 마지막 배치에는 샘플이 {sizes[-1]}개 있었어요.",
            f"From reading: the loop never reads `{shown}`, what follows it does. While watched it ran over "
            f"{len(sizes)} evaluation batches; the last had {sizes[-1]} samples.",
        ),
        mend=Said(
            f"반복문 앞에서 `{shown} = 0`으로 두고 `{shown} += …`로 더한 뒤, 전체로 나누세요.",
            f"Set `{shown} = 0` before the loop, add with `{shown} += …` and divide by the whole.",
        ),
    )


def _told_after(file: str, statement: ast.stmt, name: str, sizes: list[int]) -> Finding:
    return Finding(
        place=_reading.at(file, statement),
        sentence=Said(
            f"반복문이 끝난 뒤에 `{name}` 값을 세어서, 정확도가 마지막 배치만의 것이에요.",
            f"`{name}` is counted after the loop has ended, so the accuracy is that of the last batch only.",
        ),
        evidence=Said(
            f"읽어 보니 이 줄이 쓰는 값은 반복문 안에서만 정해져요. 지켜보는 동안 이 반복문은 평가 배치 "
            f"{len(sizes)}개를 돌았고, 마지막 배치에는 샘플이 {sizes[-1]}개 있었어요.",
            f"From reading: what this line counts is bound only inside the loop. While watched it ran over "
            f"{len(sizes)} evaluation batches; the last had {sizes[-1]} samples.",
        ),
        mend=Said(
            "맞힌 수를 반복문 안에서 더하고, 전체 개수로 나누세요.",
            "Add up the right answers inside the loop and divide by the whole count.",
        ),
    )


def _top(file: str, loop: ast.For) -> bool:
    return not any(
        function.lineno <= loop.lineno <= (function.end_lineno or 0)  # type: ignore[attr-defined]
        for function in _reading.nodes(file, ast.FunctionDef, ast.AsyncFunctionDef)
    )


RULE = Rule(
    id="acc-last-batch",
    severity="bug",
    title=Said("마지막 배치의 점수만 남았어요", "The score is that of the last batch"),
    lesson="01_five_line_step/6_evaluation_and_switches",
    find=_find,
)
