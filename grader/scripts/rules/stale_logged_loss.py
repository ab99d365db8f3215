"""A loss that is out of date is logged or scheduled by: the line stands before it is computed, or it never is again."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan, LossComputed, NumberRead, Scheduled
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._misnamed_losses import misnamed_losses

_FEWEST = 4
_EARLIER = {
    *("initial", "initially", "init", "first", "start", "starting", "before", "untrained", "baseline"),
    *("base", "old", "prev", "previous"),
}
"""Words for a loss that is meant to be one of before."""
_LOGGING = (
    *("print", "log", "info", "debug", "write", "add_scalar", "append", "set_postfix", "set_description"),
    *("log_dict", "log_metrics", "update", "set_postfix_str"),
)


def _logged(block: list[ast.stmt], until: int, name: str) -> ast.Call | None:
    """Return a logging call before a statement of a block that reads a name bound only there."""
    for statement in block[:until]:
        for below in ast.walk(statement):
            if isinstance(below, ast.stmt) and name in _reading.bound(below):
                return None
        for call in _reading.calls(statement, *_LOGGING):
            if _reading.reads(call, name):
                return call
    return None


def _in_evaluation(facts: Facts) -> Iterator[Finding]:
    """Find evaluation loops that compute a loss, never read it, and add up one that they do not compute."""
    for file in _reading.files(facts):
        for function in _reading.nodes(file, ast.FunctionDef):
            loops = [one for one in ast.walk(function) if isinstance(one, ast.For)]
            for loop in loops:
                ran = [one for one in facts.of(ForwardRan) if _reading.runs_in(loop, one, file)]
                if not ran or any(one.grad for one in ran):
                    continue
                made = {name: one for one in ast.walk(loop) for name in _reading.bound(one)}
                unread = [
                    name
                    for name, one in made.items()
                    if isinstance(one, ast.Assign)
                    and isinstance(one.value, ast.Call)
                    and not _reading.reads(function, name)
                    and any(
                        _reading.runs_in(one, loss, file) for loss in facts.of(LossComputed) if not loss.grad
                    )
                ]
                for call in _reading.calls(loop, "item") if unread else ():
                    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
                    if not isinstance(owner, ast.Name) or _bound_in(function, owner.id):
                        continue
                    yield _told_of_evaluation(_reading.at(file, call), owner.id, unread[0], len(ran))


def _bound_in(function: ast.AST, name: str) -> bool:
    parameters = [one.arg for one in ast.walk(function) if isinstance(one, ast.arg)]
    stored = [
        one.id for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    ]
    return name in parameters or name in stored


def _told_of_evaluation(place: Place, name: str, unread: str, count: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            f"평가에서 계산한 `{unread}` 대신 함수 밖의 `{name}` 값을 더해서, 학습의 마지막 손실을 평가 손실로 적어요.",
            f"The evaluation computes `{unread}` but adds up `{name}` from outside: it reports training's last loss.",
        ),
        evidence=Said(
            f"읽어 보니 `{unread}` 값은 아무 데서도 쓰지 않고, `{name}` 값은 이 함수에서 정해지지 않아요. 지켜보는 "
            f"동안 이 반복문의 순전파는 {count}번이었어요.",
            f"From reading: `{unread}` is never read, and `{name}` is not bound in this function. The loop ran "
            f"{count} forwards while watched.",
        ),
        mend=Said(f"`{unread}.item()` 값을 더하세요.", f"Add `{unread}.item()`."),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _before(facts)
    yield from _in_evaluation(facts)
    yield from _given_to_plateau(facts)
    yield from _computed_once(facts)
    yield from _kept_from_the_first(facts)
    yield from misnamed_losses(facts)


def _kept_from_the_first(facts: Facts) -> Iterator[Finding]:
    """Find losses that `setdefault` puts into a row that is never made anew: it keeps the first one."""
    count = sum(1 for _ in facts.of(BackwardRan))
    for file in _reading.files(facts) if count else ():
        for function in _reading.nodes(file, ast.FunctionDef):
            for statement in ast.walk(function):
                call = statement.value if isinstance(statement, ast.Expr) else None
                if call is None or not _reading.calls(call, "setdefault") or not _keeps_a_loss(call):
                    continue
                assert isinstance(call, ast.Call)
                assert isinstance(call.func, ast.Attribute)
                row = call.func.value
                name = ast.unparse(row)
                if not isinstance(row, ast.Attribute) or _made_anew(file, row) or not _is_shown(file, row):
                    continue
                yield Finding(
                    place=_reading.at(file, call),
                    sentence=Said(
                        f"`setdefault`는 이미 있는 값을 그대로 두어서, `{name}`에는 처음에 넣은 손실만 남아요.",
                        f"setdefault() leaves what is there, so `{name}` keeps the first loss for ever.",
                    ),
                    evidence=Said(
                        f"읽어 보니 `{name}`는 한 번만 만들고 비우지 않아요. 지켜보는 동안 "
                        f"`backward()`는 {count}번이었어요.",
                        f"From reading: `{name}` is made once and never emptied; backward() ran {count} times while "
                        "watched.",
                    ),
                    mend=Said("`[…] = …`로 새 값을 넣으세요.", "Assign it: `[…] = …`."),
                )


def _keeps_a_loss(call: ast.expr) -> bool:
    """Return True for `….setdefault("loss", computed)`, but not for a container, a number or a loss of before."""
    if not isinstance(call, ast.Call) or _reading.called(call) != "setdefault" or len(call.args) != 2:
        return False
    key, value = call.args
    empty = isinstance(value, ast.Constant | ast.List | ast.Dict) or not list(
        _reading.nodes_of(value, ast.Name)
    )
    said = _reading.words(call)
    return "loss" in _reading.words(key) and not empty and not said & _EARLIER


def _made_anew(file: str, row: ast.Attribute) -> bool:
    """Return True if a row is assigned outside of `__init__`, or emptied, or an entry of it is taken out."""
    text = ast.unparse(row)
    for function in _reading.nodes(file, ast.FunctionDef):
        assert isinstance(function, ast.FunctionDef)
        for one in ast.walk(function):
            stored = (
                isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and one.attr == row.attr
            )
            if stored and function.name != "__init__":
                return True
            if isinstance(one, ast.Delete) and text in ast.unparse(one):
                return True
        for call in _reading.calls(function, "clear", "pop", "popitem"):
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == text:
                return True
    return False


def _is_shown(file: str, row: ast.Attribute) -> bool:
    """Return True if a row is printed, or put into a table."""
    text = ast.unparse(row)
    return any(
        text in {ast.unparse(one) for one in _reading.nodes_of(call, ast.Attribute)}
        for whole in _reading.nodes(file, ast.Module)
        for call in _reading.calls(whole, *_LOGGING)
    )


def _computed_once(facts: Facts) -> Iterator[Finding]:
    """Find losses that were computed before a loop and are logged in its rounds, with no other beside them."""
    for file in _reading.files(facts):
        loops = _reading.nodes(file, *_reading.LOOPS)
        for call in (one for loop in loops for one in _reading.calls(loop, *_LOGGING)):
            inside = [one for one in facts.of(NumberRead) if _reading.runs_in(call, one, file)]
            reads = [one for one in inside if one.loss is not None]
            made = [one for one in facts.of(LossComputed) if one.serial in {read.loss for read in reads}]
            rounds = {one.update for one in reads}
            loop = _reading.around(_reading.at(file, call), *_reading.LOOPS)[-1]
            read = {ast.unparse(one) for one in _reading.nodes_of(call, ast.Name)}
            names = {name for name in read if "loss" in _reading.words(name)}
            if len(made) != 1 or len(rounds) < 2 or len(names) != 1:
                continue
            if names & _stored(file, loop) or _reading.words(call) & _EARLIER:
                continue
            yield _told_of_one(_reading.at(file, call), names.pop(), made[0], len(reads))


def _told_of_one(place: Place, name: str, first: LossComputed, count: int) -> Finding:
    line, update = (first.place.line if first.place else 0), first.update
    return Finding(
        place=place,
        severity="bug",
        sentence=Said(
            f"`{name}` 값은 반복문 앞에서 한 번 계산한 손실이라서, 학습이 어떻게 되든 같은 수를 적어요.",
            f"`{name}` was computed once before the loop: one number is logged whatever the training does.",
        ),
        evidence=Said(
            f"이 줄은 {count}번 모두 {line}번째 줄에서 업데이트 {update}번 뒤에 계산한 손실을 읽었어요.",
            f"All {count} reads on this line were of the loss that line {line} computed after {update} updates.",
        ),
        mend=Said("반복문에서 계산한 손실을 적으세요.", "Log the loss that the loop computes."),
    )


def _given_to_plateau(facts: Facts) -> Iterator[Finding]:
    """Find ReduceLROnPlateau steps that get one and the same score, which their loop never computes anew."""
    calls = [one for one in facts.of(Scheduled) if one.metric is not None]
    for place in dict.fromkeys(one.place for one in calls):
        scores = [one.metric for one in calls if one.place == place]
        loops = _reading.around(place, *_reading.LOOPS) if place is not None else []
        if place is None or not loops or len(scores) < _FEWEST or len(set(scores)) > 1:
            continue
        given = [
            call.args[0].id
            for call in _reading.calls(loops[0], "step")
            if call.lineno == place.line and call.args and isinstance(call.args[0], ast.Name)
        ]
        if not given or given[0] in _stored(place.file, loops[-1]):
            continue
        yield Finding(
            place=place,
            severity="bug",
            sentence=Said(
                f"`{given[0]}` 값을 반복문 앞에서 한 번만 재서, ReduceLROnPlateau는 점수가 늘 그대로라고 보고 학습률을 "
                "낮춰요.",
                f"`{given[0]}` is measured once before the loop, so ReduceLROnPlateau sees a score that never improves "
                "and lowers the rate.",
            ),
            evidence=Said(
                f"이 줄에서 넘긴 값 {len(scores)}개가 모두 같았어요({scores[0]:.4g}). 읽어 보니 `{given[0]}` 값은 이 "
                "반복문에서 새로 정해지지 않아요.",
                f"All {len(scores)} scores given here were {scores[0]:.4g}. From reading: the loop never binds "
                f"`{given[0]}`.",
            ),
            mend=Said("에폭마다 다시 재서 `step()`에 넘기세요.", "Measure it anew in every epoch."),
        )


def _stored(file: str, loop: ast.AST) -> set[str]:
    """Return the names that a loop or any function with `global` or `nonlocal` binds."""
    outside = [
        name
        for one in _reading.nodes(file, ast.Global, ast.Nonlocal)
        for name in one.names  # type: ignore[attr-defined]
    ]
    inside = [
        one.id for one in ast.walk(loop) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    ]
    return {*outside, *inside}


def _before(facts: Facts) -> Iterator[Finding]:
    for file in _reading.files(facts):
        for loop in _reading.nodes(file, *_reading.LOOPS):
            assert isinstance(loop, ast.For | ast.AsyncFor | ast.While)
            count = sum(_reading.runs_in(loop, one, file) for one in facts.of(BackwardRan))
            if not count:
                continue
            for number, statement in enumerate(loop.body):
                names = [
                    (name, one.lineno)
                    for one in ([statement] if not isinstance(statement, ast.With) else statement.body)
                    for name in _reading.bound(one)
                    if "loss" in _reading.words(name)
                ]
                for name, line in names:
                    call = _logged(loop.body, number, name)
                    if call is None:
                        continue
                    yield Finding(
                        place=_reading.at(file, call),
                        sentence=Said(
                            f"이 줄이 `{name}` 값을 계산하기 전에 있어서, 이번 스텝이 아니라 앞 스텝의 손실을 적어요.",
                            f"This line stands before `{name}` is computed, so it logs the loss of the step before.",
                        ),
                        evidence=Said(
                            f"읽어 보니 `{name}` 값은 같은 반복의 {line}번째 줄에서야 새로 정해져요. "
                            f"지켜보는 동안 이 반복문의 `backward()`는 {count}번이었어요.",
                            f"From reading: `{name}` is only computed on line {line} of the same round; the "
                            f"loop ran backward() {count} times while watched.",
                        ),
                        mend=Said(
                            "기록을 손실을 계산한 다음으로 옮기세요.", "Log after the loss is computed."
                        ),
                    )
                    break


RULE = Rule(
    id="stale-logged-loss",
    severity="warning",
    title=Said("예전에 계산한 손실을 썼어요", "A loss that is out of date is used"),
    lesson=None,
    find=_find,
)
