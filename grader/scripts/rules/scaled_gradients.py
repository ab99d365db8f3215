"""Mixed precision: clipping or stepping with gradients that are still scaled, scaling where none is needed."""

from collections.abc import Iterator

from grader.scripts.facts import (
    AutocastEntered,
    BackwardRan,
    Clipped,
    Event,
    Facts,
    ForwardRan,
    ScalerBuilt,
    ScalerCalled,
    Stepped,
)
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules._clips import owners
from grader.scripts.rules._windows import scaled

_FEWEST, _SCALE = 3, 8


def _scaled_before(facts: Facts, event: Event, optimizers: frozenset[int]) -> BackwardRan | None:
    """Return the newest backward before an event if it was scaled and nobody has unscaled or used it since."""
    for before in reversed(facts.events[: event.serial]):
        if (
            isinstance(before, ScalerCalled)
            and before.method == "unscale_"
            and before.optimizer in optimizers
        ):
            return None
        if isinstance(before, Stepped) and before.optimizer in optimizers:
            return None
        if isinstance(before, BackwardRan) and before.contributed & optimizers:
            return before if scaled(facts, before) else None
    return None


def _clipped_scaled(facts: Facts) -> Iterator[Finding]:
    clips = list(facts.of(Clipped))
    for place in dict.fromkeys(one.place for one in clips):
        these = [one for one in clips if one.place == place]
        found = [one for one in these if (own := owners(facts, one)) and _scaled_before(facts, one, own)]
        if len(found) < _FEWEST or len(found) < 0.8 * len(these):
            continue
        norms = [float(one.norm) for one in found if one.norm is not None]
        over = sum(not norm <= one.limit for norm, one in zip(norms, found, strict=False))
        mean = sum(norms) / len(norms) if norms else 0.0
        yield Finding(
            place=place,
            sentence=Said(
                "그레이디언트에 아직 배율이 곱해져 있을 때 클리핑해서, 한도가 원래 그레이디언트가 아니라 "
                "부풀린 그레이디언트에 걸려요. "
                "업데이트가 거의 사라져요.",
                "Clipping sees gradients that are still multiplied by the scale, so it cuts nearly everything.",
            ),
            evidence=Said(
                f"클리핑 {len(these)}번 가운데 {len(found)}번이 `unscale_` 없이 이루어졌고, {over}번은 한도 "
                f"{found[-1].limit:g}을 넘었어요 (노름 평균 {mean:.3g}).",
                f"{len(found)} of {len(these)} clippings came without unscale_; {over} norms were over the limit "
                f"{found[-1].limit:g} (mean {mean:.3g}).",
            ),
            mend=Said(
                "클리핑 바로 앞에 `scaler.unscale_(optimizer)`를 넣으세요.",
                "Call `scaler.unscale_(optimizer)` right before clipping.",
            ),
        )


def _by_scaler(facts: Facts, step: Stepped) -> bool:
    for before in reversed(facts.events[: step.serial]):
        if (
            isinstance(before, ScalerCalled)
            and before.method == "step"
            and before.optimizer == step.optimizer
        ):
            return True
        if isinstance(before, BackwardRan) and step.optimizer in before.contributed:
            return False
    return False


def _bypassed(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        known = {one.number: one for one in facts.of(BackwardRan)}
        steps = [
            one
            for one in facts.steps(optimizer.number)
            if one.window and not one.closure and scaled(facts, known[one.window[-1]])
        ]
        found = [one for one in steps if not _by_scaler(facts, one)]
        if len(found) < _FEWEST or len(found) < 0.8 * len(steps):
            continue
        unscaled = sum(
            isinstance(one, ScalerCalled) and one.method == "unscale_" and one.optimizer == optimizer.number
            for one in facts.events
        )
        yield Finding(
            place=found[-1].place,
            sentence=Said(
                "손실에 배율을 곱해 놓고 `scaler.step`이 아니라 `optimizer.step()`을 불러요. "
                "무한대가 된 그레이디언트도 건너뛰지 않고 그대로 가중치에 들어가요.",
                "The loss is scaled, but optimizer.step() is called instead of scaler.step(): infinite gradients "
                "are not skipped.",
            ),
            evidence=Said(
                f"배율을 곱한 업데이트 {len(steps)}번 가운데 {len(found)}번이 `scaler.step` 없이 이루어졌어요 "
                f"(`unscale_`은 {unscaled}번).",
                f"{len(found)} of {len(steps)} updates of scaled gradients were made without scaler.step() "
                f"(unscale_ was called {unscaled} times).",
            ),
            mend=Said(
                "`scaler.step(optimizer)`로 바꾸고 그다음에 `scaler.update()`를 부르세요.",
                "Call `scaler.step(optimizer)`, then `scaler.update()`.",
            ),
        )


def _autocast(facts: Facts, backward: BackwardRan) -> str | None:
    """Return the type to which autocast lowered a forward since the backward before; the last one's if several."""
    outside = False
    for event in reversed(facts.events[: backward.serial]):
        if isinstance(event, BackwardRan | Stepped):
            return None
        if isinstance(event, AutocastEntered) and event.enabled and not outside:
            return event.dtype  # entered within the forward, as by a decorator
        if isinstance(event, ForwardRan) and event.grad:
            if event.autocast is not None:
                return event.autocast
            outside = True
    return None


def _useless_scaler(facts: Facts) -> Iterator[Finding]:
    pairs = [(one, call) for one in facts.of(BackwardRan) if (call := scaled(facts, one))]
    bf16 = [call for one, call in pairs if _autocast(facts, one) == "bfloat16"]
    if len(bf16) < _FEWEST or len(bf16) < len(pairs):
        return
    built = next((one for one in facts.of(ScalerBuilt) if one.scaler == bf16[0].scaler), None)
    yield Finding(
        place=built.place if built and built.place else bf16[-1].place,
        sentence=Said(
            "bfloat16은 float32와 지수의 범위가 같아서 `GradScaler`가 필요 없어요. 곱했다가 다시 나누기만 해요.",
            "bfloat16 has the range of float32, so the GradScaler only multiplies and divides again.",
        ),
        evidence=Said(
            f"배율을 곱한 `backward()` {len(bf16)}번이 모두 bfloat16 autocast의 것이었어요.",
            f"All {len(bf16)} scaled backward passes came from bfloat16 autocast.",
        ),
        mend=Said("`GradScaler`를 빼세요.", "Remove the GradScaler."),
    )


def _by_hand(backward: BackwardRan) -> bool:
    """Return True if a loss was multiplied by a large number right before its backward: a scale without a scaler."""
    return backward.factor is not None and backward.factor >= _SCALE


def _no_scaler(facts: Facts) -> Iterator[Finding]:
    held_by_some = facts.held()
    all_ = [one for one in facts.of(BackwardRan) if one.reached & held_by_some and not one.raised]
    half = [one for one in all_ if _autocast(facts, one) == "float16"]
    for place in dict.fromkeys(one.place for one in half):
        these = [one for one in half if one.place == place]
        tiny = [one for one in these if not scaled(facts, one)]
        if len(tiny) < _FEWEST or len(tiny) < len(these):
            continue
        if any(isinstance(one, ScalerCalled) for one in facts.events) or all(map(_by_hand, these)):
            continue
        held = frozenset[int]().union(*(one.reached for one in tiny)) & held_by_some
        unmoved = sum(facts.parameters[one].moved is False for one in held)
        yield Finding(
            place=place,
            severity="bug" if unmoved > len(held) / 2 else None,
            sentence=Said(
                "float16 autocast를 쓰면서 손실에 배율을 곱하지 않아요. 작은 그레이디언트가 float16에서 0이 "
                "되어 사라져요.",
                "float16 autocast runs without a GradScaler, so small gradients underflow to 0.",
            ),
            evidence=Said(
                f"float16 autocast의 `backward()` {len(tiny)}번이 모두 배율 없이 이루어졌고, 옵티마이저가 가진 "
                f"매개변수 {len(held)}개 가운데 {unmoved}개가 한 번도 움직이지 않았어요.",
                f"All {len(tiny)} backward passes under float16 autocast were unscaled; {unmoved} of {len(held)} "
                "parameters of the optimizer never moved.",
            ),
            mend=Said(
                "`GradScaler`로 `scale`, `step`, `update`를 하거나 bfloat16을 쓰세요.",
                "Use a GradScaler (scale, step, update), or bfloat16.",
            ),
        )


RULES = [
    Rule(
        id="clip-before-unscale",
        severity="bug",
        title=Said("배율이 곱해진 그레이디언트를 클리핑했어요", "Scaled gradients are clipped"),
        lesson="02_loop_anatomy/2_clipping_and_16_bits",
        find=_clipped_scaled,
    ),
    Rule(
        id="scaler-step-bypassed",
        severity="bug",
        title=Said("scaler.step을 거치지 않았어요", "scaler.step() is bypassed"),
        lesson="02_loop_anatomy/2_clipping_and_16_bits",
        find=_bypassed,
    ),
    Rule(
        id="bf16-with-scaler",
        severity="warning",
        title=Said("bfloat16에 GradScaler를 썼어요", "A GradScaler with bfloat16"),
        lesson="02_loop_anatomy/2_clipping_and_16_bits",
        find=_useless_scaler,
    ),
    Rule(
        id="fp16-no-scaler",
        severity="warning",
        title=Said("float16에 GradScaler가 없어요", "float16 without a GradScaler"),
        lesson="02_loop_anatomy/2_clipping_and_16_bits",
        find=_no_scaler,
    ),
]
