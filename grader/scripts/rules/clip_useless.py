"""Clipping that changes no update: it comes after the step, or it is given other parameters."""

from collections.abc import Iterator
from math import isfinite, prod

from grader.scripts.facts import BackwardRan, Clipped, Facts, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules._clips import Useless, owners, useless_clips

_FEWEST = 3
_PART = 0.1


def _often(facts: Facts, found: list[Useless]) -> Iterator[tuple[list[Useless], int]]:
    """Group by line; only lines where nearly every clipping is useless."""
    for place in dict.fromkeys(one.clip.place for one in found):
        these = [one for one in found if one.clip.place == place]
        of = sum(clip.place == place for clip in facts.of(Clipped))
        if len(these) >= _FEWEST and len(these) >= 0.8 * of:
            yield these, of


def _after(facts: Facts) -> Iterator[Finding]:
    found = [one for one in useless_clips(facts) if one.late and not _wrong(facts, one)]
    for these, of in _often(facts, found):
        norms = [float(one.clip.norm) for one in these if one.clip.norm is not None]
        over = sum(norm > one.clip.limit for norm, one in zip(norms, these, strict=False))
        late = these[-1].late
        line = late.place.line if late and late.place else 0
        yield Finding(
            place=these[-1].clip.place,
            sentence=Said(
                f"{line}번째 줄의 `step()`이 그레이디언트를 이미 쓴 다음에 클리핑해요. 업데이트에는 "
                f"줄이지 않은 그레이디언트가 들어가요.",
                f"The gradients are clipped after step() (line {line}) has used them, so no update is clipped.",
            ),
            evidence=Said(
                f"클리핑 {of}번 가운데 {len(these)}번이 `step()` 뒤였어요. 노름이 한도를 넘은 것은 {over}번이에요.",
                f"{len(these)} of {of} clippings came after the step; {over} norms were over the limit.",
            ),
            mend=Said(
                "클리핑을 `backward()`와 `step()` 사이로 옮기세요.",
                "Clip between backward() and step().",
            ),
        )


def _wrong(facts: Facts, one: Useless) -> bool:
    if not one.clip.parameters:
        return True
    return one.next_step is not None and one.next_step.optimizer not in owners(facts, one.clip)


def _others(facts: Facts) -> Iterator[Finding]:
    for these, of in _often(facts, [one for one in useless_clips(facts) if _wrong(facts, one)]):
        clip, step = these[-1].clip, these[-1].next_step
        count = len(clip.parameters)
        kind = facts.optimizers[step.optimizer].kind if step else ""
        line = step.place.line if step and step.place else 0
        yield Finding(
            place=clip.place,
            sentence=Said(
                f"클리핑하는 매개변수 {count}개가 바로 다음 `step()`({line}번째 줄)의 것이 아니에요. "
                "그 업데이트는 한 번도 클리핑되지 않아요.",
                f"The {count} parameters that are clipped are not those of the step that follows (line {line}, "
                f"{kind}), which is never clipped.",
            ),
            evidence=Said(
                f"클리핑 {of}번 가운데 {len(these)}번이 그랬어요.", f"So in {len(these)} of {of} clippings."
            ),
            mend=Said(
                "지금 업데이트할 옵티마이저의 매개변수를 주세요.",
                "Pass the parameters of the optimizer that steps next.",
            ),
        )


def _partly(facts: Facts) -> Iterator[Finding]:
    """Ask about clippings that leave out most of what the next step reads, and that nothing else clips."""
    pairs = [
        (clip, step, facts.optimizers[step.optimizer].parameters & _with_gradients(facts))
        for clip in facts.of(Clipped)
        if isfinite(clip.limit) and clip.method == "norm" and (step := _next(facts, clip)) is not None
    ]
    clipped = frozenset[int]().union(*(clip.parameters for clip, _, _ in pairs))
    for place in dict.fromkeys(clip.place for clip, _, _ in pairs):
        these = [one for one in pairs if one[0].place == place]
        part = [one for one in these if 0 < _share(facts, one[0].parameters, one[2]) < _PART]
        if len(part) < _FEWEST or len(part) < len(these):
            continue
        clip, step, read = part[-1]
        if _share(facts, clipped, read) >= _PART:
            continue
        rest = len(read - clip.parameters)
        yield Finding(
            place=place,
            severity="info",
            sentence=Said(
                f"옵티마이저가 업데이트하는 값의 {_share(facts, clip.parameters, read):.0%}만 클리핑하고 나머지 "
                f"매개변수 {rest}개는 그대로 둬요. 일부러 그랬나요?",
                f"Only {_share(facts, clip.parameters, read):.0%} of the values that the optimizer updates are "
                f"clipped; {rest} parameters are left out. Is that meant?",
            ),
            evidence=Said(
                f"클리핑 {len(these)}번이 모두 그랬고, 나머지는 다른 어디에서도 클리핑하지 않았어요.",
                f"So in all {len(these)} clippings, and the rest is clipped nowhere else.",
            ),
            mend=Said(
                "모두 클리핑하려면 `model.parameters()`를 주세요.",
                "Pass `model.parameters()` to clip all of them.",
            ),
        )


def _with_gradients(facts: Facts) -> frozenset[int]:
    return frozenset(one.number for one in facts.parameters if one.reached)


def _share(facts: Facts, clipped: frozenset[int], read: frozenset[int]) -> float:
    """Return the share of the values of some parameters that others cover."""
    sizes = {number: prod(facts.parameters[number].shape) for number in read}
    return sum(sizes[number] for number in read & clipped) / max(1, sum(sizes.values()))


def _next(facts: Facts, clip: Clipped) -> Stepped | None:
    """Return the step that follows a clipping, if it is one of an optimizer that holds what was clipped."""
    for event in facts.events[clip.serial + 1 :]:
        if isinstance(event, Stepped):
            return event if event.optimizer in owners(facts, clip) else None
        if isinstance(event, BackwardRan):
            return None
    return None


def _wrong_or_part(facts: Facts) -> Iterator[Finding]:
    yield from _others(facts)
    yield from _partly(facts)


RULES = [
    Rule(
        id="clip-after-step",
        severity="bug",
        title=Said("step 다음에 클리핑해요", "Gradients are clipped after the step"),
        lesson="02_loop_anatomy/2_clipping_and_16_bits",
        find=_after,
    ),
    Rule(
        id="clip-wrong-params",
        severity="bug",
        title=Said("다른 매개변수를 클리핑해요", "The wrong parameters are clipped"),
        lesson="02_loop_anatomy/2_clipping_and_16_bits",
        find=_wrong_or_part,
    ),
]
