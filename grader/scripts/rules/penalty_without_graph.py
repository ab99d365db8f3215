"""A penalty is computed from values without a graph, of weights or gradients: added to the loss it teaches nothing."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, GradientTaken
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._gradient_terms import is_penalty

_FEWEST = 3
_CUT = ("detach", "item")


def _cut_sum(value: ast.AST) -> str:
    """Return what cuts a sum over a model's parameters from their graph: `.data`; "" if nothing does."""
    for one in ast.walk(value):
        if not isinstance(one, ast.GeneratorExp | ast.ListComp) or len(one.generators) != 1:
            continue
        over = one.generators[0]
        if not _reading.calls(over.iter, "parameters", "named_parameters"):
            continue
        names = {name.id for name in ast.walk(over.target) if isinstance(name, ast.Name)}
        cuts = {_cut(part) for part in ast.walk(one.elt) if isinstance(part, ast.Name) is False}
        reads = [part for part in ast.walk(one.elt) if isinstance(part, ast.Name) and part.id in names]
        cuts.discard("")
        if cuts and len(reads) == 1:
            return sorted(cuts)[0]
    return ""


def _cut(part: ast.AST) -> str:
    if isinstance(part, ast.Attribute) and part.attr == "data":
        return ".data"
    called = _reading.called(part)
    return f".{called}()" if called in _CUT else ""


def _roots(place: Place) -> set[str]:
    """Return the names that a line calls `backward` of."""
    found = set()
    for statement in _reading.around(place, ast.Expr):
        for call in _reading.calls(statement, "backward"):
            found |= {one.id for one in ast.walk(call) if isinstance(one, ast.Name)}
    return found


def _is_added(value: ast.AST, name: str) -> bool:
    """Return True if a name is a summand of an expression, alone or times a factor."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _is_added(value.left, name) or _is_added(value.right, name)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return _is_added(value.left, name) or _is_added(value.right, name)
    return isinstance(value, ast.Name) and value.id == name


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _of_weights(facts)
    yield from _of_gradients(facts)


def _of_gradients(facts: Facts) -> Iterator[Finding]:
    """Find gradients that were taken without `create_graph` and are added to the loss of the next backward."""
    used: dict[tuple[Place, Place], int] = {}
    taken: dict[Place, bool] = {}
    for event in facts.events:
        if isinstance(event, GradientTaken) and event.place is not None:
            taken[event.place] = event.create_graph
        elif isinstance(event, BackwardRan):
            for place, graph in taken.items():
                if event.place is not None and event.flat_terms and not graph:
                    used[place, event.place] = used.get((place, event.place), 0) + 1
            taken = {}
    for (place, backward), count in used.items():
        if count < _FEWEST or not is_penalty(place, backward):
            continue
        yield Finding(
            place=place,
            sentence=Said(
                "`autograd.grad`에 `create_graph=True`가 없어서 여기서 구한 그레이디언트에는 그래프가 없어요. 이것으로 "
                "만든 규제 항은 손실에 더한 상수라서 아무것도 가르치지 못해요.",
                "autograd.grad without create_graph=True gives gradients that have no graph, so the penalty made of "
                "them is a constant in the loss and teaches nothing.",
            ),
            evidence=Said(
                f"이 줄 다음의 `backward()` {count}번에서, 손실의 합에 그래프가 없는 항이 있었어요. 읽어 보니 여기서 "
                f"구한 그레이디언트를 {backward.line}번째 줄의 손실에 더해요.",
                f"In {count} backward passes after this line, a summand of the loss had no graph. From reading: these "
                f"gradients are added to the loss of line {backward.line}.",
            ),
            mend=Said(
                "`create_graph=True`를 넣으세요.",
                "Pass `create_graph=True`.",
            ),
        )


def _of_weights(facts: Facts) -> Iterator[Finding]:
    backwards = list(facts.of(BackwardRan))
    for place in dict.fromkeys(one.place for one in backwards):
        if place is None:
            continue
        these = [one for one in backwards if one.place == place]
        roots = _roots(place)
        loops = _reading.around(place, ast.For)[:1]
        statements = [
            one for loop in loops for one in ast.walk(loop) if isinstance(one, ast.Assign | ast.AugAssign)
        ]
        for made in statements:
            names = _reading.bound(made)
            cut = _cut_sum(made.value) if isinstance(made, ast.Assign) and len(names) == 1 else ""
            if not cut or len(these) < _FEWEST or "Add" not in these[-1].root[:1]:
                continue
            added = any(_binds(one, roots) and _is_added(one.value, names[0]) for one in statements)
            if added:
                yield _told(_reading.at(place.file, made), names[0], cut, len(these))


def _binds(statement: ast.Assign | ast.AugAssign, names: set[str]) -> bool:
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.target, ast.Name) and statement.target.id in names
    return bool(names & set(_reading.bound(statement)))


def _told(place: Place, name: str, cut: str, count: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            f"`{cut}`가 그래프를 끊어서, 손실에 더한 `{name}` 값은 출력만 바꾸고 가중치는 전혀 줄이지 않아요.",
            f"`{cut}` cuts the graph, so `{name}` changes the loss that is printed and gives no gradient.",
        ),
        evidence=Said(
            f"읽어 보니 매개변수마다 `{cut}`로 구한 합을 손실에 더해요. 그 손실에서 시작한 `backward()`가 "
            f"{count}번이에요.",
            f"From reading: a sum over the parameters, taken of their `{cut}`, is added to the loss from which "
            f"{count} backward passes began.",
        ),
        mend=Said(f"`{cut}`를 빼세요.", f"Drop `{cut}`."),
    )


RULE = Rule(
    id="penalty-without-graph",
    severity="bug",
    title=Said("규제 항에 그레이디언트가 없어요", "A penalty gives no gradient"),
    lesson="01_five_line_step/8_backward_graph",
    find=_find,
)
