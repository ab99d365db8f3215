"""Clipping that changes no update: it comes after the step, or it is given other parameters."""

from collections.abc import Iterator
from math import isfinite, prod

from grader.scripts.facts import BackwardRan, Clipped, Facts, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules._clips import Useless, owners, useless_clips
from grader.scripts.rules._reading import name_at
from grader.scripts.source import line_of

_FEWEST = 3
_PART = 0.1
_CLIP_ALL = Said(
    "모두 클리핑하려면 `model.parameters()`를 주세요.", "Pass `model.parameters()` to clip all of them."
)


def _often(facts: Facts, found: list[Useless]) -> Iterator[tuple[list[Useless], int]]:
    """Group by line; only lines where nearly every clipping is useless."""
    for place in dict.fromkeys(one.clip.place for one in found):
        these = [one for one in found if one.clip.place == place]
        of = sum(clip.place == place for clip in facts.of(Clipped))
        if len(these) >= _FEWEST and len(these) >= 0.8 * of:
            yield these, of


def _after(facts: Facts) -> Iterator[Finding]:
    found = [
        one for one in useless_clips(facts) if one.late and not _wrong(facts, one) and not _is_empty(one.clip)
    ]
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


def _after_hand(facts: Facts) -> Iterator[Finding]:
    """Find clippings that come after parameters were changed by hand, and before their gradients are cleared."""
    clips = list(facts.of(Clipped))
    for place in dict.fromkeys(clip.place for clip in clips):
        these = [clip for clip in clips if clip.place == place and isfinite(clip.limit)]
        late = [clip for clip in these if clip.updated]
        if len(late) < _FEWEST or len(late) < 0.8 * len(these):
            continue
        over = sum(float(clip.norm) > clip.limit for clip in late if clip.norm is not None)
        yield Finding(
            place=place,
            sentence=Said(
                "매개변수를 이미 바꾼 다음에 클리핑해요. 업데이트에는 줄이지 않은 그레이디언트가 들어가요.",
                "The gradients are clipped after the parameters were changed, so no update is clipped.",
            ),
            evidence=Said(
                f"클리핑 {len(these)}번 가운데 {len(late)}번에, `backward()` 뒤로 매개변수가 벌써 바뀌어 있었어요. "
                f"노름이 한도를 넘은 것은 {over}번이에요.",
                f"In {len(late)} of {len(these)} clippings the parameters had changed since the backward(); {over} "
                "norms were over the limit.",
            ),
            mend=Said(
                "클리핑을 `backward()`와 업데이트 사이로 옮기세요.",
                "Clip between backward() and the update.",
            ),
        )


def _clipped_after(facts: Facts) -> Iterator[Finding]:
    yield from _after(facts)
    yield from _after_hand(facts)


def _newest(step: Stepped) -> int:
    """Return the newest backward that a step read, -1 if it read none; gradients that overflow have no recipe."""
    return max(step.recipe if isfinite(step.read_norm) else step.window, default=-1)


def _is_empty(clip: Clipped) -> bool:
    """Return True if there was no gradient to clip: it had just been cleared, and the backward is still to come."""
    return clip.norm is not None and float(clip.norm) == 0


def _too_early(facts: Facts, step: Stepped, since: int) -> Clipped | None:
    """Return the last clipping before a step if the newest backward that the step reads came after it.

    That backward must be of a line that was clipped, or there was nothing to clip: another loss may be left unclipped.
    """
    newest = facts.backward(_newest(step))
    clips = [
        one
        for one in facts.of(Clipped)
        if since < one.serial < step.serial
        and isfinite(one.limit)
        and not one.in_time
        and one.parameters & facts.optimizers[step.optimizer].parameters
    ]
    if not clips or clips[-1].serial > newest.serial:
        return None
    lines = {one.place for one in facts.between(since, clips[-1].serial) if isinstance(one, BackwardRan)}
    return clips[-1] if _is_empty(clips[-1]) or newest.place in lines else None


def _before(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        steps = [one for one in facts.steps(optimizer.number) if _newest(one) >= 0 and not one.closure]
        found = [
            (clip, step)
            for before, step in zip([None, *steps], steps, strict=False)
            if (clip := _too_early(facts, step, -1 if before is None else before.serial)) is not None
        ]
        if len(found) < _FEWEST or len(found) < 0.8 * len(steps):
            continue
        clip, step = found[-1]
        empty = sum(_is_empty(one) for one, _ in found)
        line = place.line if (place := facts.backward(_newest(step)).place) is not None else 0
        yield Finding(
            place=clip.place,
            sentence=Said(
                f"클리핑한 다음에 {line}번째 줄의 `backward()`가 그레이디언트를 더해요. 그만큼은 클리핑하지 않은 채 "
                "업데이트에 들어가요.",
                f"After the clipping the backward() of line {line} adds another gradient, which goes into the update "
                "unclipped.",
            ),
            evidence=Said(
                f"업데이트 {len(steps)}번 가운데 {len(found)}번에, 마지막 `backward()`가 클리핑 뒤에 왔고 그 뒤로는 "
                f"클리핑이 없었어요. 클리핑할 때 그레이디언트의 노름이 0이었던 것은 {empty}번이에요.",
                f"In {len(found)} of {len(steps)} updates the last backward() came after the clipping, and nothing "
                f"clipped after it; the gradient to clip was 0 in {empty} of them.",
            ),
            mend=Said(
                "클리핑을 마지막 `backward()`와 `step()` 사이로 옮기세요.",
                "Clip between the last backward() and step().",
            ),
        )


def _wrong(facts: Facts, one: Useless) -> bool:
    if not one.clip.parameters:
        return True
    return one.next_step is not None and one.next_step.optimizer not in owners(facts, one.clip)


def _before_one_step(facts: Facts, found: list[Useless]) -> Iterator[tuple[list[Useless], int]]:
    """Group by line and the optimizer that steps next, of those that no clipping reaches before their steps.

    A line may clip for several optimizers, and for one of them only the wrong parameters.
    """
    keys = dict.fromkeys((one.clip.place, one.next_step.optimizer) for one in found if one.next_step)
    for place, number in keys:
        these = [
            one
            for one in found
            if one.clip.place == place and one.next_step is not None and one.next_step.optimizer == number
        ]
        steps = facts.steps(number)
        held = facts.optimizers[number].parameters
        free = not any(one.parameters & held for one in facts.of(Clipped))
        if free and len(these) >= _FEWEST and len(these) >= 0.8 * len(steps):
            yield these, len(steps)


def _others(facts: Facts) -> Iterator[Finding]:
    wrong = [one for one in useless_clips(facts) if _wrong(facts, one)]
    for these, of in list(_often(facts, wrong)) or _before_one_step(facts, wrong):
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
            evidence=_rest_is_never_clipped(len(these)),
            mend=_CLIP_ALL,
        )


def _rest_is_never_clipped(clippings: int) -> Said:
    return Said(
        f"클리핑 {clippings}번이 모두 그랬고, 나머지는 다른 어디에서도 클리핑하지 않았어요.",
        f"So in all {clippings} clippings, and the rest is clipped nowhere else.",
    )


def _one_group(facts: Facts) -> Iterator[Finding]:
    """Ask about clippings that are given one group of an optimizer, `opt.param_groups[0]`, and no other is clipped."""
    clips = [one for one in facts.of(Clipped) if isfinite(one.limit) and one.place is not None]
    clipped = frozenset[int]().union(*(one.parameters for one in clips))
    for place in dict.fromkeys(one.place for one in clips):
        these = [one for one in clips if one.place == place]
        assert place is not None
        for optimizer in facts.optimizers:
            others = [one for one in optimizer.groups if one != these[-1].parameters]
            rest = frozenset[int]().union(*others) & _with_gradients(facts)
            if len(others) == len(optimizer.groups) or not rest or rest & clipped or len(these) < _FEWEST:
                continue
            if "param_groups[" not in line_of(place):
                continue
            yield Finding(
                place=place,
                severity="warning",
                sentence=Said(
                    f"옵티마이저의 그룹 {len(optimizer.groups)}개 가운데 하나만 클리핑해요. 나머지 매개변수 "
                    f"{len(rest)}개의 그레이디언트는 줄이지 않고, 노름에도 들어가지 않아요.",
                    f"Only one of the optimizer's {len(optimizer.groups)} groups is clipped; the gradients of the "
                    f"other {len(rest)} parameters are neither cut nor part of the norm.",
                ),
                evidence=_rest_is_never_clipped(len(these)),
                mend=_CLIP_ALL,
            )


def _one_of_twins(facts: Facts) -> Iterator[Finding]:
    """Ask about clippings of one part of a model that has another of the same build, which nothing clips."""
    clips = [one for one in facts.of(Clipped) if isfinite(one.limit) and one.place is not None]
    clipped = frozenset[int]().union(*(one.parameters for one in clips))
    for place in dict.fromkeys(one.place for one in clips):
        these = [(one, step) for one in clips if one.place == place and (step := _next(facts, one))]
        if len(these) < _FEWEST:
            continue
        clip, step = these[-1]
        rest = [facts.parameters[one] for one in facts.optimizers[step.optimizer].parameters - clipped]
        names = [facts.parameters[one].name for one in clip.parameters]
        part, twin = _twin(names, [one.name for one in rest if not one.frozen])
        if not twin:
            part, twin = _alike(facts, clip.parameters, frozenset(one.number for one in rest if one.reached))
        if not twin:
            continue
        yield Finding(
            place=place,
            severity="info",
            sentence=Said(
                f"`{part}`만 클리핑하고, 비슷하게 생긴 `{twin}`의 그레이디언트는 한도 없이 업데이트에 들어가요. 일부러 "
                "그랬나요?",
                f"Only `{part}` is clipped; the gradients of `{twin}`, which is built alike, go into the update "
                "without a limit. Is that meant?",
            ),
            evidence=_rest_is_never_clipped(len(these)),
            mend=_CLIP_ALL,
        )


def _twin(names: list[str], others: list[str]) -> tuple[str, str]:
    """Return the part that all names belong to, and another part beside it whose names are the same; or nothing."""
    split, rest = [name.split(".") for name in names], [name.split(".") for name in others]
    depth = 1
    while split and all(one[:depth] == split[0][:depth] and len(one) > depth + 1 for one in split):
        own = {tuple(one[depth:]) for one in split}
        beside: dict[str, set[tuple[str, ...]]] = {}
        for one in rest:
            if one[: depth - 1] == split[0][: depth - 1]:
                beside.setdefault(".".join(one[:depth]), set()).add(tuple(one[depth:]))
        for name, inner in beside.items():
            if inner == own:
                return ".".join(split[0][:depth]), name
        depth += 1
    return "", ""


def _alike(facts: Facts, clipped: frozenset[int], rest: frozenset[int]) -> tuple[str, str]:
    """Return the names of two models if all of one is clipped, none of the other, and one has all layers of the other.

    As an encoder and a decoder; two models of one class have one name.
    """
    named = {one.number: {facts.parameters[part].name for part in one.parameters} for one in facts.modules}
    for one in facts.modules:
        for other in facts.modules:
            built_alike = len(named[one.number]) > 2 and (
                named[one.number] <= named[other.number] or named[other.number] <= named[one.number]
            )
            if built_alike and one.parameters == clipped and other.parameters <= rest and other.parameters:
                return name_at(one.built, one.kind), name_at(other.built, other.kind)
    return "", ""


def _again(facts: Facts) -> Iterator[Finding]:
    """Find lines that clip what was just clipped, while what another optimizer reads is never clipped."""
    pairs = []
    before: Clipped | None = None
    for event in facts.events:
        if isinstance(event, Clipped):
            if before is not None and before.place != event.place and before.parameters == event.parameters:
                pairs.append(event)
            before = event
        elif isinstance(event, BackwardRan | Stepped):
            before = None
    clipped = frozenset[int]().union(*(one.parameters for one in facts.of(Clipped)))
    free = [
        one
        for one in facts.optimizers
        if len(facts.steps(one.number)) >= _FEWEST and one.parameters and not one.parameters & clipped
    ]
    for place in dict.fromkeys(one.place for one in pairs):
        count = sum(one.place == place for one in pairs)
        if count < _FEWEST or not free:
            continue
        yield Finding(
            place=place,
            sentence=Said(
                f"바로 앞에서 클리핑한 매개변수를 다시 클리핑해요. 다른 {free[0].kind} 옵티마이저의 매개변수는 한 번도 "
                "클리핑하지 않아요.",
                f"This clips the parameters that were clipped just before, and those of the other {free[0].kind} "
                "optimizer are never clipped.",
            ),
            evidence=Said(
                f"이 줄의 클리핑 {count}번이 모두, 그사이에 `backward()`도 `step()`도 없이 같은 매개변수를 받았어요.",
                f"{count} times this line was given the same parameters as the clipping before, with no backward() or "
                "step() in between.",
            ),
            mend=Said(
                "이 줄에 다른 옵티마이저의 매개변수를 주세요.",
                "Give this line the other optimizer's parameters.",
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
    yield from _one_group(facts)
    yield from _one_of_twins(facts)
    yield from _again(facts)


RULES = [
    Rule(
        id="clip-after-step",
        severity="bug",
        title=Said("step 다음에 클리핑했어요", "Gradients are clipped after the step"),
        lesson="02_loop_anatomy/2_clipping_and_16_bits",
        find=_clipped_after,
    ),
    Rule(
        id="clip-before-backward",
        severity="bug",
        title=Said("backward보다 먼저 클리핑했어요", "Gradients are clipped before the last backward"),
        lesson="02_loop_anatomy/2_clipping_and_16_bits",
        find=_before,
    ),
    Rule(
        id="clip-wrong-params",
        severity="bug",
        title=Said("다른 매개변수를 클리핑했어요", "The wrong parameters are clipped"),
        lesson="02_loop_anatomy/2_clipping_and_16_bits",
        find=_wrong_or_part,
    ),
]
