"""Two passes with moved weights between them, as in SAM: the first gradient stays, or the weights are not put back."""

import ast
from collections.abc import Iterator
from math import isclose

from grader.scripts.facts import BackwardRan, Facts, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules.sam_last_micro import passes

_FEWEST = 3
_Both = tuple[Stepped, list[BackwardRan], list[BackwardRan]]


def _twofold(facts: Facts, optimizer: int) -> list[_Both]:
    """Return an optimizer's steps with two passes, if nearly all are so and nobody else steps between the passes."""
    steps = [one for one in facts.steps(optimizer) if not one.closure]
    found: list[_Both] = []
    for before, step in zip([None, *steps], steps, strict=False):
        split = passes(facts, step, -1 if before is None else before.serial)
        if split is None:
            continue
        between = facts.between(split[0][0].serial, split[1][-1].serial)
        if not any(isinstance(one, Stepped) for one in between):
            found.append((step, *split))
    return found if len(found) >= max(_FEWEST, 0.8 * len(steps)) else []


def _is_sam(facts: Facts, step: Stepped) -> bool:
    """Return True if the script calls it SAM: the optimizer's class or a function around the step."""
    own = facts.optimizers[step.optimizer]
    kinds = [own.kind, *(facts.optimizers[one].kind for one in own.shares_groups_with)]
    functions = [one.function for one in (step.place, *step.callers) if one is not None]
    return any("sam" in one.lower() for one in kinds) or any(
        "sam" in _reading.words(one) for one in functions
    )


def _kept_first(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        both = _twofold(facts, optimizer.number)
        kept = [one for one in both if all(one[0].recipe.get(old.number, 0.0) > 0.5 for old in one[1])]
        if len(kept) < _FEWEST or len(kept) < 0.8 * len(both):
            continue
        step, first, second = kept[-1]
        line = first[-1].place.line if first[-1].place is not None else 0
        named = _is_sam(facts, step)
        asked = Said("", "") if named else Said(" 일부러 그랬나요?", " On purpose?")
        name = _reading.name_at(optimizer.built, "optimizer")
        yield Finding(
            place=second[0].place,
            severity="bug" if named else "info",
            sentence=Said(
                f"가중치를 옮긴 다음 {line}번째 줄의 첫 그레이디언트를 지우지 않아서, 업데이트가 두 그레이디언트의 "
                f"합이에요.{asked.ko}",
                f"The first gradient (line {line}) is not cleared after the weights were moved, so the update is the "
                f"sum of both gradients.{asked.en}",
            ),
            evidence=Said(
                f"업데이트 {len(both)}번 가운데 {len(kept)}번이 {_sum(step)}이었어요.",
                f"{len(kept)} of {len(both)} updates held both; the last was {_sum(step)}.",
            ),
            mend=Said(
                f"두 번째 `backward()` 앞에 `{name}.zero_grad()`를 넣으세요.",
                f"Call `{name}.zero_grad()` before the second backward().",
            ),
        )


def _sum(step: Stepped) -> str:
    return " + ".join(f"{weight:.2g}·g{number}" for number, weight in list(step.recipe.items())[:4])


def _aliases(facts: Facts) -> list[Place]:
    """Return the lines that remember a parameter's own memory: `state["old"] = p.data`, without a clone."""
    found = []
    for file in _reading.files(facts):
        for one in _reading.nodes(file, ast.Assign):
            assert isinstance(one, ast.Assign)
            value = one.value
            if isinstance(value, ast.ListComp):
                value = value.elt
            elif isinstance(value, ast.DictComp):
                value = value.value
            alias = isinstance(value, ast.Attribute) and value.attr == "data"
            alias = alias or (_reading.called(value) == "detach" and not _reading.calls(value, "clone"))
            if alias and not ast.unparse(one.targets[0]).endswith((".data", ".grad")):
                found.append(_reading.at(file, one))
    return found


def _not_restored(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        number = optimizer.number
        both = _twofold(facts, number)
        still = [
            one
            for one in both
            if isclose(one[0].weights, one[2][0].weights.get(number, 0.0), rel_tol=1e-12, abs_tol=1e-12)
        ]
        if len(still) < _FEWEST or len(still) < len(both):
            continue
        aliases = _aliases(facts)
        yield Finding(
            place=aliases[0] if aliases else still[-1][2][0].place,
            severity="bug" if aliases else "warning",
            sentence=Said(
                "첫 그레이디언트로 옮긴 가중치를 업데이트하기 전에 되돌리지 못해요. 옮긴 자리에서 다시 움직여요."
                + (" 여기에서 기억한 것은 복사본이 아니라 매개변수 그 자체예요." if aliases else ""),
                "The weights that were moved between the two passes are not put back before the update, which starts "
                "from the moved ones."
                + (" What is remembered here is the parameter itself, not a copy." if aliases else ""),
            ),
            evidence=Said(
                f"`backward()` 사이에 가중치를 옮긴 업데이트 {len(both)}번 모두, `step()`할 때의 가중치가 두 번째 "
                "`backward()` 때와 똑같았어요.",
                f"In all {len(both)} updates with weights moved between two backward passes the step began at the "
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
        find=_kept_first,
    ),
    Rule(
        id="sam-not-restored",
        severity="bug",
        title=Said("옮긴 가중치를 되돌리지 못했어요", "Moved weights are not put back"),
        lesson="04_sam_accumulation/1_silent_bug",
        find=_not_restored,
    ),
]
