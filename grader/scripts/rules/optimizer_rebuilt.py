"""An optimizer with a memory is built again and again for the same parameters: what it has learned of them is lost."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts, OptimizerBuilt
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.source import in_loop
from grader.scripts.states import StateLoaded
from grader.scripts.things import OptimizerFacts

_FEWEST, _FEWEST_STEPS = 3, 2
_WITHOUT_MEMORY = ("LBFGS", "Rprop")


def _has_memory(optimizer: OptimizerFacts) -> bool:
    """Return True if an optimizer keeps moments, as far as its settings tell."""
    options = optimizer.options[0] if optimizer.options else {}
    return "betas" in options or bool(options.get("momentum")) or "alpha" in options or "rho" in options


def _loops_over_epochs(place: Place) -> bool:
    """Return True if the loop around a line counts epochs; stages may start afresh on purpose."""
    loops = _reading.around(place, ast.For)[:1]
    return any(_reading.words(one.target) & {"epoch", "epochs"} for one in loops if isinstance(one, ast.For))


def _find(facts: Facts) -> Iterator[Finding]:
    built = {one.place: one for one in facts.of(OptimizerBuilt) if one.place is not None}
    for place in built:
        these = [one for one in facts.optimizers if one.built == place and one.kind not in _WITHOUT_MEMORY]
        used = [one for one in these if len(facts.steps(one.number)) >= _FEWEST_STEPS]
        if len(used) < _FEWEST or not all(map(_has_memory, used)) or not in_loop(place):
            continue
        if any(one.parameters != used[0].parameters for one in used):
            continue
        if any(one.kind == "module" and one.serial > used[0].serial for one in facts.of(StateLoaded)):
            continue  # each begins from weights that were put back
        rates = [facts.steps(one.number)[0].rates for one in used]
        changed = len(set(rates)) > 1 and _loops_over_epochs(place)
        name = _reading.name_at(place, "optimizer")
        yield Finding(
            place=place,
            severity="bug" if changed else "warning",
            sentence=Said(
                f"{used[0].kind} 옵티마이저를 반복문 안에서 새로 만들어서, 쌓아 온 모멘트가 그때마다 사라져요.",
                f"{used[0].kind} is built anew inside the loop, which throws away the moments that it has gathered.",
            ),
            evidence=Said(
                f"같은 매개변수 {len(used[0].parameters)}개로 {len(used)}번 만들었고, 그 첫 학습률은 "
                f"{', '.join(f'{one[0]:.3g}' for one in rates[:4])}이었어요.",
                f"Built {len(used)} times for the same {len(used[0].parameters)} parameters; first rates: "
                f"{', '.join(f'{one[0]:.3g}' for one in rates[:4])}.",
            ),
            mend=Said(
                f"옵티마이저는 반복문 앞에서 한 번만 만들고, 학습률은 스케줄러나 `{name}.param_groups`의 "
                "`lr`로 바꾸세요.",
                f"Build it once before the loop; change the rate with a scheduler or through `{name}.param_groups`.",
            ),
        )


RULE = Rule(
    id="optimizer-rebuilt",
    severity="bug",
    title=Said("옵티마이저를 반복해서 새로 만들었어요", "The optimizer is built anew in the loop"),
    lesson="02_loop_anatomy/4_schedules",
    find=_find,
)
