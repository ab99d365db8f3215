"""Parameters that an optimizer holds and that never get a gradient: the graph is cut before them."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import (
    BackwardRan,
    Detached,
    Facts,
    ForwardRan,
    GradientTaken,
    PartWithoutGrad,
    Stepped,
)
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.source import is_conditional
from grader.scripts.things import ParameterFacts

_FEWEST = 3
_SWITCHES = {"grad", "inference"}
"""Words of `no_grad()`, `set_grad_enabled(…)` and `inference_mode()`."""


def starved(facts: Facts, *, idle: bool = False) -> dict[int, ParameterFacts]:
    """Return the trainable parameters of optimizers that no backward reached since they were built.

    Of working optimizers; with `idle` also of those that step and never find a gradient.
    """
    found = {}
    for optimizer in facts.optimizers:
        steps = facts.steps(optimizer.number)
        working = sum(step.read_norm > 0 for step in steps)
        if working < _FEWEST and (not idle or working or len(steps) < _FEWEST):
            continue
        reached = _reached_since(facts, optimizer.serial)
        for number in optimizer.parameters - reached:
            one = facts.parameters[number]
            if not one.frozen and one.in_tree and one.name:
                found[number] = one
    return found


def _reached_since(facts: Facts, serial: int) -> frozenset[int]:
    """Return the parameters that got a gradient after an event, also by `torch.autograd.grad`."""
    taken = (one.parameters for one in facts.of(GradientTaken) if one.serial > serial)
    return frozenset[int]().union(
        *(one.reached for one in facts.of(BackwardRan) if one.serial > serial), *taken
    )


def names(these: list[ParameterFacts]) -> str:
    """Return the names of some parameters, shortened."""
    return ", ".join(one.name for one in these[:3]) + (" …" if len(these) > 3 else "")


def _surely(place: Place | None, these: list[ParameterFacts]) -> bool:
    """Return True if nobody can have meant it: fresh layers, and no condition around the line."""
    fresh = not any(one.reached or one.loaded for one in these)
    return fresh and place is not None and not is_conditional(place)


def _detached(facts: Facts) -> Iterator[Finding]:
    hungry = starved(facts)
    cuts = [one for one in facts.of(Detached) if one.parameters & hungry.keys()]
    inside = [one for one in cuts if one.in_forward] or cuts
    for place in dict.fromkeys(one.place for one in inside):
        behind = frozenset[int]().union(*(one.parameters for one in inside if one.place == place))
        these = [hungry[number] for number in sorted(behind & hungry.keys())]
        backwards = sum(1 for _ in facts.of(BackwardRan))
        yield Finding(
            place=place,
            severity="bug" if _surely(place, these) else "warning",
            sentence=Said(
                "여기의 `detach()`가 그래프를 끊어서, 그 앞의 층은 옵티마이저에 있는데도 그레이디언트를 받지 못해요.",
                "detach() cuts the graph here, so the layers before it get no gradient although the optimizer "
                "holds them.",
            ),
            evidence=Said(
                f"{names(these)}: 매개변수 {len(these)}개가 `backward()` {backwards}번 동안 그레이디언트를 한 "
                "번도 받지 "
                "못했고, 끊긴 그래프가 바로 이것들로 이어져 있었어요.",
                f"{names(these)}: {len(these)} parameters got no gradient in {backwards} backward passes; they "
                "stand behind the detached tensor.",
            ),
            mend=Said(
                "`.detach()`를 빼세요. 일부러 얼린 것이라면 옵티마이저에서 빼세요.",
                "Remove `.detach()`, or leave these parameters out of the optimizer if they are meant to stay.",
            ),
        )
        return


def _in_training(facts: Facts, module: int) -> list[ForwardRan]:
    """Return the forwards without gradients of a module after which a backward came before the next step."""
    found: list[ForwardRan] = []
    waiting: list[ForwardRan] = []
    for event in facts.events:
        if isinstance(event, ForwardRan) and event.module == module:
            waiting = [] if event.grad else [*waiting, event]
        elif isinstance(event, BackwardRan):
            found, waiting = found + waiting[-1:], []
        elif isinstance(event, Stepped):
            waiting = []
    return found


def _without_grad(facts: Facts) -> Iterator[Finding]:
    hungry = starved(facts, idle=True)
    meant = dict(hungry)
    for optimizer in facts.optimizers:
        if optimizer.spent:  # they may have been meant for the empty group
            known = optimizer.parameters | _reached_since(facts, optimizer.serial)
            meant |= {
                one.number: one for one in facts.parameters if one.number not in known and not one.frozen
            }
    for module in facts.modules:
        these = [meant[number] for number in sorted(module.parameters & meant.keys())]
        forwards = _in_training(facts, module.number)
        last = max((one.update for one in forwards), default=0)
        if (
            not these
            or len(these) < len(module.parameters)
            or len(forwards) < _FEWEST
            or last < facts.updates - 10
        ):
            continue
        yield _told(forwards[-1].place, these, len(forwards), forwards[-1].callers)
    parts = [one for one in facts.of(PartWithoutGrad) if one.parameters and one.parameters <= hungry.keys()]
    for place in dict.fromkeys(one.place for one in parts):
        behind = frozenset[int]().union(*(one.parameters for one in parts if one.place == place))
        these = [hungry[number] for number in sorted(behind)]
        led = next(one.callers for one in parts if one.place == place)
        yield _told(place, these, sum(1 for _ in facts.of(BackwardRan)), led)
        return


def _switched_off(place: Place | None, callers: tuple[Place, ...]) -> Place | None:
    """Return the line that switches gradients off if a caller does it; a part's own line if its function does."""
    for line in (place, *callers) if place is not None else ():
        assert line is not None
        for one in _reading.around(line, ast.With, ast.FunctionDef):
            assert isinstance(one, ast.With | ast.FunctionDef)
            inside = isinstance(one, ast.With)
            given = (
                [item.context_expr for item in one.items] if isinstance(one, ast.With) else one.decorator_list
            )
            switch = next((each for each in given if _reading.words(each) & _SWITCHES), None)
            if switch is not None:
                return place if line == place else _reading.at(line.file, switch, line.function)
            if not inside:
                break
    return place


def _told(
    place: Place | None, these: list[ParameterFacts], count: int, callers: tuple[Place, ...]
) -> Finding:
    return Finding(
        place=_switched_off(place, callers),
        severity="bug" if _surely(place, these) else None,
        sentence=Said(
            "학습하는 순전파의 이 부분이 `no_grad` 안에서 실행돼서, 업데이트하려는 매개변수가 그레이디언트를 "
            "받지 못해요.",
            "This part of the training forward runs under no_grad, so parameters that are to be trained get no "
            "gradient.",
        ),
        evidence=Said(
            f"{names(these)}: 매개변수 {len(these)}개가 학습하는 순전파 {count}번 동안 그레이디언트를 받지 못했어요.",
            f"{names(these)}: {len(these)} parameters got no gradient in {count} training forwards.",
        ),
        mend=Said(
            "학습할 때는 `no_grad` 밖에서 실행하세요. 일부러 얼린 것이라면 옵티마이저에서 빼세요.",
            "Run it outside no_grad in training, or leave these parameters out of the optimizer.",
        ),
    )


RULES = [
    Rule(
        id="detached-forward",
        severity="bug",
        title=Said("순전파에서 그래프가 끊겼어요", "The graph is cut in the forward"),
        lesson="01_five_line_step/8_backward_graph",
        find=_detached,
    ),
    Rule(
        id="no-grad-forward",
        severity="warning",
        title=Said("학습하는 순전파가 no_grad 안에 있어요", "The training forward runs under no_grad"),
        lesson="01_five_line_step/8_backward_graph",
        find=_without_grad,
    ),
]
