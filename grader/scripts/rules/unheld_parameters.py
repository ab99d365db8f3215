"""Parameters that get gradients and that no optimizer holds: their layer came after it, or it was not given them."""

import ast
from collections.abc import Iterator
from functools import partial

from grader.scripts.facts import BackwardRan, Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.things import OptimizerFacts, ParameterFacts

_FEWEST = 3


def unheld(facts: Facts) -> list[ParameterFacts]:
    """Return the parameters that got gradients in several backwards, did not move, and are in no optimizer."""
    held = facts.held()
    return [
        one
        for one in facts.parameters
        if one.is_parameter and one.reached >= _FEWEST and one.number not in held and one.moved is False
    ]


def _optimizer_before(facts: Facts, serial: int) -> OptimizerFacts | None:
    """Return the newest optimizer with a known place that was built before, and that stepped."""
    older = [
        one
        for one in facts.optimizers
        if one.built is not None and one.serial < serial and facts.steps(one.number)
    ]
    return older[-1] if older else None


def _construction(facts: Facts, one: ParameterFacts) -> Place | None:
    """Return the line that led to a layer in the function that built the optimizer, or else its own line.

    Where a method of a model replaces it, the call of that method: only there an optimizer is known.
    """
    optimizer = _optimizer_before(facts, one.module_serial or 0)
    if optimizer is not None and optimizer.built is not None and not one.born_in_forward:
        for line in one.module_callers:
            if (line.file, line.function) == (optimizer.built.file, optimizer.built.function):
                return line
        return next((line for line in one.module_callers if not _in_model(line)), one.module_place)
    return one.module_place


def _in_model(line: Place) -> bool:
    """Return True if a line stands in a class of models."""
    return any(
        "module" in _reading.words(base)
        for one in _reading.around(line, ast.ClassDef)
        for base in one.bases  # type: ignore[attr-defined]
    )


def _find(in_forward: bool, facts: Facts) -> Iterator[Finding]:
    late = [
        one
        for one in unheld(facts)
        if one.module_serial is not None
        and not one.unregistered
        and one.born_in_forward is in_forward
        and _optimizer_before(facts, one.module_serial)
    ]
    befores = {one.number: _optimizer_before(facts, one.module_serial or 0) for one in late}
    for optimizer in [one for one in facts.optimizers if one in befores.values()]:
        these = [one for one in late if befores[one.number] is optimizer]
        place = _construction(facts, these[0])
        if optimizer.built is None:
            continue
        whole = not any(facts.parameters[one].reached for one in optimizer.parameters)
        place = _statement(place) if whole else place
        names = ", ".join(one.name for one in these[:3]) + (" …" if len(these) > 3 else "")
        made = ("첫 순전파 때", "in the first forward") if in_forward else ("그 뒤에", "later")
        yield Finding(
            place=place,
            sentence=_rebuilt(optimizer.built)
            if whole
            else Said(
                f"옵티마이저는 {optimizer.built.line}번째 줄에서 이미 만들어졌는데 이 층은 {made[0]} 생겼어요. "
                "그래서 이 층은 처음 값 그대로 남아요.",
                f"The optimizer was built on line {optimizer.built.line} and this layer {made[1]}, "
                "so the layer keeps its random start.",
            ),
            evidence=Said(
                f"{names}: 그레이디언트를 {these[0].reached}번 받았지만 어느 옵티마이저에도 없고, "
                f"한 번도 움직이지 않았어요.",
                f"{names}: {these[0].reached} gradients, in no optimizer, never moved.",
            ),
            mend=Said(
                "모델을 다시 만들면 옵티마이저도 다시 만드세요."
                if whole
                else "층을 모두 만든 다음에 옵티마이저를 만드세요.",
                "Build the optimizer again after the model."
                if whole
                else "Build the optimizer after all layers exist.",
            ),
        )


def _statement(place: Place | None) -> Place | None:
    """Return the first line of the assignment that a line is a part of."""
    for one in _reading.around(place, ast.Assign)[:1] if place is not None else []:
        assert place is not None
        return _reading.at(place.file, one, place.function)
    return place


def _rebuilt(built: Place) -> Said:
    return Said(
        f"{built.line}번째 줄의 옵티마이저는 앞에서 만든 모델의 것인데, 그 뒤에 모델을 새로 만들었어요. 학습하는 "
        "모델은 처음 값 그대로 남아요.",
        f"The optimizer of line {built.line} belongs to the model before, which was built anew here: the model that "
        "runs keeps its random start.",
    )


def _unfrozen(facts: Facts) -> list[ParameterFacts]:
    """Return those of them that the first backwards of a line did not reach, and all of its later ones did."""
    backwards = [one for one in facts.of(BackwardRan) if one.reached]
    found = []
    idle = [one for one in facts.parameters if one.is_parameter and one.idle >= _FEWEST]
    known = unheld(facts)
    for parameter in [*known, *(one for one in idle if one not in known)]:
        if parameter.module_serial is not None and _optimizer_before(facts, parameter.module_serial):
            continue  # made later, not unfrozen
        place = next(one.place for one in reversed(backwards) if parameter.number in one.reached)
        reached = [parameter.number in one.reached for one in backwards if one.place == place]
        without = reached.index(True)
        if without >= _FEWEST and all(reached[without:]):
            found.append(parameter)
    return found


def _unfreezing_lines(file: str) -> list[int]:
    """Return the lines that may switch `requires_grad` on, and the calls of functions that do."""
    direct = [
        one
        for one in _reading.nodes(file, ast.Assign, ast.Call)
        if (isinstance(one, ast.Assign) and ast.unparse(one.targets[0]).endswith(".requires_grad"))
        or _reading.called(one) == "requires_grad_"
    ]
    functions = [one for one in _reading.nodes(file, ast.FunctionDef) if isinstance(one, ast.FunctionDef)]
    switching = {
        function.name
        for function in functions
        for one in direct
        if function.lineno <= one.lineno <= (function.end_lineno or 0)  # type: ignore[attr-defined]
    }
    calls = [one for one in _reading.nodes(file, ast.Call) if _reading.called(one) in switching]
    return sorted({one.lineno for one in [*direct, *calls]})  # type: ignore[attr-defined]


def _unfreezing(built: Place) -> Place:
    """Return the first line after an optimizer's, in its function, that may switch `requires_grad` on."""
    around = _reading.around(built, ast.FunctionDef)
    last = around[0].end_lineno if around else None  # type: ignore[attr-defined]
    lines = [line for line in _unfreezing_lines(built.file) if built.line < line <= (last or line)]
    return Place(built.file, lines[0], built.function) if lines else built


def _late(facts: Facts) -> Iterator[Finding]:
    """Find layers that were frozen when the optimizer was built, and trained on later without it."""
    these = _unfrozen(facts)
    optimizers = [one for one in facts.optimizers if one.built is not None and facts.steps(one.number)]
    if not these or not optimizers or optimizers[-1].built is None:
        return
    built = optimizers[-1].built
    names = ", ".join(one.name for one in these[:3]) + (" …" if len(these) > 3 else "")
    name = _reading.name_at(built, "optimizer")
    yield Finding(
        place=_unfreezing(built),
        sentence=Said(
            f"학습하는 도중에 녹인 층이 {built.line}번째 줄의 옵티마이저에 없어요. 그레이디언트를 받기 시작하지만 "
            "움직이지는 않아요.",
            f"Layers that are unfrozen during training are not in the optimizer of line {built.line}: they begin to "
            "get gradients but never move.",
        ),
        evidence=Said(
            f"{names}: 매개변수 {len(these)}개가 처음에는 그레이디언트를 받지 않다가 나중에 {these[0].reached}번 "
            "받았지만, 한 번도 움직이지 않았어요.",
            f"{names}: {len(these)} parameters got no gradient at first and {these[0].reached} later, and never moved.",
        ),
        mend=Said(
            f"녹일 때 `{name}.add_param_group(...)`으로 더하거나, 처음부터 모든 매개변수를 주세요.",
            f"Add them with `{name}.add_param_group(...)` when they are unfrozen, or give all parameters at first.",
        ),
    )


def _left_out(facts: Facts) -> Iterator[Finding]:
    """Ask about layers that stood there when the optimizer was built and that it was not given."""
    unfrozen = _unfrozen(facts)
    these = [
        one
        for one in unheld(facts)
        if one.module_serial is not None
        and one not in unfrozen
        and one.in_tree
        and not one.unregistered
        and not one.loaded
        and not _optimizer_before(facts, one.module_serial)
    ]
    optimizers = [one for one in facts.optimizers if one.built is not None and facts.steps(one.number)]
    if not these or not optimizers:
        return
    names = ", ".join(one.name for one in these[:3]) + (" …" if len(these) > 3 else "")
    yield Finding(
        place=optimizers[0].built,
        sentence=Said(
            "그레이디언트를 받는 층이 어느 옵티마이저에도 없어서 처음 값 그대로 남아요. 일부러 뺐나요?",
            "Layers that get gradients are in no optimizer and keep their random start. On purpose?",
        ),
        evidence=Said(
            f"{names}: 매개변수 {len(these)}개가 그레이디언트를 {these[0].reached}번 받았지만 "
            "한 번도 움직이지 않았어요.",
            f"{names}: {len(these)} parameters got {these[0].reached} gradients and never moved.",
        ),
        mend=Said(
            "옵티마이저에 `model.parameters()`를 주세요. 일부러 얼린 것이라면 `requires_grad_(False)`로 얼리면 "
            "계산도 줄어요.",
            "Give the optimizer `model.parameters()`; if they are meant to stay, `requires_grad_(False)` saves their "
            "work, too.",
        ),
    )


RULES = [
    Rule(
        id="unfrozen-in-no-optimizer",
        severity="bug",
        title=Said("녹인 층을 옵티마이저가 몰라요", "Unfrozen layers are in no optimizer"),
        lesson=None,
        find=_late,
    ),
    Rule(
        id="parameters-in-no-optimizer",
        severity="info",
        title=Said("옵티마이저가 모르는 층이 있어요", "Layers are in no optimizer"),
        lesson=None,
        find=_left_out,
    ),
    Rule(
        id="optimizer-before-new-layer",
        severity="bug",
        title=Said(
            "순전파에서 생긴 층을 옵티마이저가 몰라요", "A layer made in the first forward is in no optimizer"
        ),
        lesson=None,
        find=partial(_find, True),
    ),
    Rule(
        id="optimizer-before-head",
        severity="bug",
        title=Said(
            "옵티마이저를 만든 뒤에 층을 바꿨어요", "A layer was replaced after the optimizer was built"
        ),
        lesson=None,
        find=partial(_find, False),
    ),
]
