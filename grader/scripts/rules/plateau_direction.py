"""ReduceLROnPlateau is given a score whose better direction is not its mode's."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts, Scheduled
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules.ckpt_wrong_direction import direction

_FEWEST = 2


def _given(place: Place) -> ast.expr | None:
    """Return the name that a line's `step(…)` is given; None for anything that may turn its direction."""
    for call in _reading.around(place, ast.Call):
        if _reading.called(call) == "step" and isinstance(call, ast.Call):
            given = [*call.args, *(word.value for word in call.keywords if word.arg == "metrics")]
            simple = isinstance(given[0], ast.Name | ast.Attribute | ast.Subscript) if given else False
            return given[0] if simple else None
    return None


def _find(facts: Facts) -> Iterator[Finding]:
    for scheduler in facts.schedulers:
        steps = [one for one in facts.of(Scheduled) if one.scheduler == scheduler.number]
        scores = [one.metric for one in steps if one.metric is not None]
        place = steps[-1].place if steps else None
        if len(scores) < _FEWEST or place is None or not steps[-1].mode:
            continue
        value = _given(place)
        better = "" if value is None else direction(place.file, value, value, place.line)
        high = steps[-1].mode == "max"
        if value is None or not better or high == (better == "high"):
            continue
        cuts = sum(one.after < one.before for one in steps)
        counted = (
            Said(f"학습률을 {cuts}번 줄였어요.", f"the rate was cut {cuts} time{'s' * (cuts != 1)}.")
            if cuts
            else Said("지켜보는 동안에는 아직 줄이지 않았어요.", "it was not cut yet while watched.")
        )
        rising = "클수록" if better == "high" else "작을수록"
        yield Finding(
            place=scheduler.built or place,
            sentence=Said(
                f"`mode='{steps[-1].mode}'`인 ReduceLROnPlateau에 {place.line}번째 줄에서 {rising} 좋은 "
                f"`{ast.unparse(value)}` 값을 줘요. "
                "좋아지는 동안 학습률을 줄이고 나빠질 때는 그대로 둬요.",
                f"ReduceLROnPlateau has mode='{steps[-1].mode}' but line {place.line} gives it "
                f"`{ast.unparse(value)}`, so the rate is cut while it gets better and kept while it gets worse.",
            ),
            evidence=Said(
                f"받은 값은 {_shown(scores)}이었고 {counted.ko} 읽어 보니 `{ast.unparse(value)}` 값은 "
                f"{rising} 좋은 값이에요.",
                f"Given {_shown(scores)}; {counted.en} From reading: "
                f"`{ast.unparse(value)}` is better "
                f"when it is {'larger' if better == 'high' else 'smaller'}.",
            ),
            mend=Said(
                f"이 줄에 `mode='{'min' if high else 'max'}'`를 주세요.",
                f"Give it mode='{'min' if high else 'max'}' here.",
            ),
        )


def _shown(scores: list[float]) -> str:
    return ", ".join(f"{one:.3g}" for one in scores[:5]) + (", …" if len(scores) > 5 else "")


RULE = Rule(
    id="plateau-wrong-direction",
    severity="bug",
    title=Said("ReduceLROnPlateau의 방향이 반대예요", "ReduceLROnPlateau looks in the wrong direction"),
    lesson="02_loop_anatomy/4_schedules",
    find=_find,
)
