"""SAM makes two passes, with moved weights between them: the first gradient stays, or the weights are not put back.

The two mistakes have a function and a rule each; which updates they judge is decided in `_usual_two_pass_updates`. To
another mistake of such updates, add a function and a row of `RULES`.
"""

import ast
from collections.abc import Iterator
from math import isclose

from grader.scripts.facts import Facts, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._two_passes import TwoPassUpdate, two_pass_updates

_FEWEST = 3
"""Minimum number of updates that show the mistake."""
_NEARLY_ALL = 0.8
"""Minimum share of an optimizer's steps that have two passes, and of these updates that hold both gradients."""


def _usual_two_pass_updates(facts: Facts, optimizer: int) -> list[TwoPassUpdate]:
    """Return the updates of two passes of an optimizer (a number) if nearly all of its steps are such; else none.

    Updates in which anybody steps between the passes are left out, and so are steps with a closure.
    """
    steps = [step for step in facts.steps(optimizer) if not step.closure]
    updates = [
        update
        for update in two_pass_updates(facts, steps)
        if not any(
            isinstance(event, Stepped)
            for event in facts.between(update.first[0].serial, update.second[-1].serial)
        )
    ]
    return updates if len(updates) >= max(_FEWEST, _NEARLY_ALL * len(steps)) else []


def _is_sam(facts: Facts, step: Stepped) -> bool:
    """Return True if the script calls it SAM: the optimizer's class or a function around the step."""
    optimizer = facts.optimizers[step.optimizer]
    kinds = [optimizer.kind, *(facts.optimizers[number].kind for number in optimizer.shares_groups_with)]
    functions = [place.function for place in (step.place, *step.callers) if place is not None]
    return any("sam" in kind.lower() for kind in kinds) or any(
        "sam" in _reading.words(function) for function in functions
    )


def _find_kept_first_gradient(facts: Facts) -> Iterator[Finding]:
    """Find updates that hold the gradients of both passes; a question only, unless the script calls it SAM."""
    for optimizer in facts.optimizers:
        updates = _usual_two_pass_updates(facts, optimizer.number)
        kept = [
            update
            for update in updates
            if all(update.step.recipe.get(backward.number, 0.0) > 0.5 for backward in update.first)
        ]
        if len(kept) < _FEWEST or len(kept) < _NEARLY_ALL * len(updates):
            continue
        step, first, second = kept[-1]
        line = first[-1].place.line if first[-1].place is not None else 0
        is_sam = _is_sam(facts, step)
        question = Said("", "") if is_sam else Said(" 일부러 그랬나요?", " On purpose?")
        name = _reading.name_at(optimizer.built, "optimizer")
        yield Finding(
            place=second[0].place,
            severity="bug" if is_sam else "info",
            sentence=Said(
                f"가중치를 옮긴 다음 {line}번째 줄의 첫 그레이디언트를 지우지 않아서, 업데이트가 두 그레이디언트의 "
                f"합이에요.{question.ko}",
                f"The first gradient (line {line}) is not cleared after the weights were moved, so the update is the "
                f"sum of both gradients.{question.en}",
            ),
            evidence=Said(
                f"업데이트 {len(updates)}번 가운데 {len(kept)}번이 {_recipe_text(step)}이었어요.",
                f"{len(kept)} of {len(updates)} updates held both; the last was {_recipe_text(step)}.",
            ),
            mend=Said(
                f"두 번째 `backward()` 앞에 `{name}.zero_grad()`를 넣으세요.",
                f"Call `{name}.zero_grad()` before the second backward().",
            ),
        )


def _recipe_text(step: Stepped) -> str:
    """Return the step's recipe as a sum, at most four summands of it: `1·g7 + 1·g8`."""
    return " + ".join(f"{weight:.2g}·g{number}" for number, weight in list(step.recipe.items())[:4])


def _lines_without_copy(facts: Facts) -> list[Place]:
    """Return the lines that remember a parameter's own memory: `state["old"] = p.data`, without a clone."""
    found = []
    for file in _reading.files(facts):
        for assignment in _reading.nodes(file, ast.Assign):
            assert isinstance(assignment, ast.Assign)
            value = assignment.value
            if isinstance(value, ast.ListComp):
                value = value.elt
            elif isinstance(value, ast.DictComp):
                value = value.value
            is_data = isinstance(value, ast.Attribute) and value.attr == "data"
            is_alias = is_data or (_reading.called(value) == "detach" and not _reading.calls(value, "clone"))
            if is_alias and not ast.unparse(assignment.targets[0]).endswith((".data", ".grad")):
                found.append(_reading.at(file, assignment))
    return found


def _find_weights_not_put_back(facts: Facts) -> Iterator[Finding]:
    """Find updates that all begin at the weights of the second pass; a bug if the script also remembers no copy."""
    for optimizer in facts.optimizers:
        number = optimizer.number
        updates = _usual_two_pass_updates(facts, number)
        moved = [
            update
            for update in updates
            if isclose(
                update.step.weights, update.second[0].weights.get(number, 0.0), rel_tol=1e-12, abs_tol=1e-12
            )
        ]
        if len(moved) < _FEWEST or len(moved) < len(updates):
            continue
        aliases = _lines_without_copy(facts)
        yield Finding(
            place=aliases[0] if aliases else moved[-1].second[0].place,
            severity="bug" if aliases else "warning",
            sentence=Said(
                "첫 그레이디언트로 옮긴 가중치를 업데이트하기 전에 되돌리지 못해요. 옮긴 자리에서 다시 움직여요."
                + (" 여기에서 기억한 것은 복사본이 아니라 매개변수 그 자체예요." if aliases else ""),
                "The weights that were moved between the two passes are not put back before the update, which starts "
                "from the moved ones."
                + (" What is remembered here is the parameter itself, not a copy." if aliases else ""),
            ),
            evidence=Said(
                f"`backward()` 사이에 가중치를 옮긴 업데이트 {len(updates)}번 모두, `step()`할 때의 가중치가 두 번째 "
                "`backward()` 때와 똑같았어요.",
                f"In all {len(updates)} updates with weights moved between two backward passes the step began at the "
                "weights of the second pass.",
            ),
            mend=Said("`p.data.clone()`으로 복사해 두세요.", "Remember a copy: `p.data.clone()`."),
        )


RULES = [
    Rule(
        id="sam-first-gradient-kept",
        severity="bug",
        title=Said("SAM의 첫 그레이디언트가 업데이트에 남았어요", "SAM's first gradient stays in the update"),
        lesson="04_sam_accumulation/1_silent_bug",
        find=_find_kept_first_gradient,
    ),
    Rule(
        id="sam-not-restored",
        severity="bug",
        title=Said("옮긴 가중치를 되돌리지 못했어요", "Moved weights are not put back"),
        lesson="04_sam_accumulation/1_silent_bug",
        find=_find_weights_not_put_back,
    ),
]
