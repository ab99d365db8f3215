"""Parameters that get gradients and that no optimizer holds: their layer came after it, or it was not given them."""

from collections.abc import Iterator
from functools import partial

from grader.scripts.facts import Facts
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
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
    """Return the line that led to a layer in the function that built the optimizer, or else its own line."""
    optimizer = _optimizer_before(facts, one.module_serial or 0)
    if optimizer is not None and optimizer.built is not None and not one.born_in_forward:
        for line in one.module_callers:
            if (line.file, line.function) == (optimizer.built.file, optimizer.built.function):
                return line
    return one.module_place


def _find(in_forward: bool, facts: Facts) -> Iterator[Finding]:
    late = [
        one
        for one in unheld(facts)
        if one.module_serial is not None
        and not one.unregistered
        and one.born_in_forward is in_forward
        and _optimizer_before(facts, one.module_serial)
    ]
    places = {one.number: _construction(facts, one) for one in late}
    for place in dict.fromkeys(places.values()):
        these = [one for one in late if places[one.number] == place]
        optimizer = _optimizer_before(facts, these[0].module_serial or 0)
        if optimizer is None or optimizer.built is None:
            continue
        names = ", ".join(one.name for one in these[:3]) + (" …" if len(these) > 3 else "")
        made = ("첫 순전파 때", "in the first forward") if in_forward else ("그 뒤에", "later")
        yield Finding(
            place=place,
            sentence=Said(
                f"옵티마이저는 {optimizer.built.line}번째 줄에서 이미 만들어졌는데 이 층은 {made[0]} 생겼어요. "
                "그래서 이 층은 처음 값 그대로 남아요.",
                f"The optimizer was built in line {optimizer.built.line} and this layer {made[1]}, "
                "so the layer keeps its random start.",
            ),
            evidence=Said(
                f"{names}: 그레이디언트를 {these[0].reached}번 받았지만 어느 옵티마이저에도 없고, "
                f"한 번도 움직이지 않았어요.",
                f"{names}: {these[0].reached} gradients, in no optimizer, never moved.",
            ),
            mend=Said(
                "층을 모두 만든 다음에 옵티마이저를 만드세요.",
                "Build the optimizer after all layers exist.",
            ),
        )


def _left_out(facts: Facts) -> Iterator[Finding]:
    """Ask about layers that stood there when the optimizer was built and that it was not given."""
    these = [
        one
        for one in unheld(facts)
        if one.module_serial is not None
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
