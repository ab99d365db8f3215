"""A hook is registered again and again and never removed, so that it acts several times in each forward."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.states import HookAdded

_GATHERING = ("append", "extend", "add", "add_", "mul_", "update", "write")


def _functions(place: Place) -> list[ast.AST]:
    """Return the function or the lambdas of a line; a decorated function begins at its decorator."""
    found = []
    for node in _reading.nodes(place.file, ast.FunctionDef, ast.Lambda):
        decorators = getattr(node, "decorator_list", [])
        if min(one.lineno for one in (node, *decorators)) == place.line:
            found.append(node)
    return found


def _changes(function: ast.AST) -> bool:
    """Return True if a hook gives back another value than it was given."""
    if isinstance(function, ast.Lambda):
        plain = isinstance(function.body, ast.Constant)
        return not plain and _reading.called(function.body) not in (*_GATHERING, "__setitem__", "setdefault")
    returned = (one.value for one in ast.walk(function) if isinstance(one, ast.Return))
    return any(
        one is not None and not (isinstance(one, ast.Constant) and one.value is None) for one in returned
    )


def _gathers(function: ast.AST) -> bool:
    """Return True if a hook adds to what was there before."""
    return bool(_reading.calls(function, *_GATHERING)) or any(
        isinstance(one, ast.AugAssign) for one in ast.walk(function)
    )


def _find(facts: Facts) -> Iterator[Finding]:
    added = list(facts.of(HookAdded))
    for place in dict.fromkeys(one.place for one in added):
        these = [one for one in added if one.place == place]
        worst = max(these, key=lambda one: one.living)
        functions = _functions(worst.function)
        changes = bool(functions) and all(map(_changes, functions))
        gathers = bool(functions) and all(map(_gathers, functions)) and all(one.shared for one in these)
        yield Finding(
            place=place,
            severity="bug" if worst.shared and (changes or gathers) else "warning",
            sentence=Said(
                "같은 훅을 다시 등록하는데 앞에서 등록한 훅이 아직 붙어 있어요. "
                + (
                    "그래서 값을 바꾸는 일이 여러 번 겹쳐요."
                    if changes
                    else "그래서 한 번에 여러 번씩 모아요."
                    if gathers
                    else "그래서 등록할 때마다 느려지고 메모리를 더 써요."
                ),
                "The same hook is registered again while earlier ones are still there: "
                + (
                    "what it does to the value is done several times over."
                    if changes
                    else "it gathers everything several times."
                    if gathers
                    else "each one costs time and memory."
                ),
            ),
            evidence=Said(
                f"학습을 하고 나서 이 줄이 훅을 다시 등록했을 때, 같은 줄에서 등록한 훅이 {worst.owner}에 이미 "
                f"{worst.living}개까지 붙어 있었어요.",
                f"When this line registered it after more training, up to {worst.living} from the same line still hung "
                f"on {worst.owner}.",
            ),
            mend=Said(
                "등록할 때 받은 `handle`을 두었다가 다 쓰면 `handle.remove()`를 부르세요.",
                "Keep the handle that registering returns and call handle.remove() when you are done.",
            ),
        )


RULE = Rule(
    id="hook-left",
    severity="bug",
    title=Said("훅을 떼지 않고 또 등록했어요", "A hook is registered again and never removed"),
    lesson=None,
    find=_find,
    late=True,
)
