"""Padded positions are targets of the loss like any others."""

import ast
from collections.abc import Iterator

from torch import Tensor

from grader.scripts.by_hand import ScorePicked
from grader.scripts.facts import Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.rules import _reading

_FEWEST, _LEAST, _FEWEST_ROWS = 3, 0.1, 4
_DISTANCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_NOTHING = 1e-6
"""A gradient that is smaller than this, relative to the largest, is none."""
_UNSET = -100
"""The `ignore_index` of a loss that was given none."""
_NAMES = {"pad", "padded", "collate"}


def padding(rows: Tensor) -> int | None:
    """Return the number that fills the ends of rows of different lengths; None if there is none."""
    if len(rows) < _FEWEST_ROWS or rows.shape[1] < 2:
        return None
    last = rows[:, -1]
    value = int(last.mode().values)
    mask = rows == value
    lengths = (~mask).sum(1)
    trailing = bool((mask[:, :-1] <= mask[:, 1:]).all())  # once padded, padded to the end
    ok = trailing and len(lengths.unique()) >= 3 and float(mask.float().mean()) >= _LEAST
    ok = ok and bool(lengths.min())  # rows of nothing but padding come of a wrong guess at the layout
    return value if ok else None


def _laid(loss: LossComputed | ScorePicked, forward: ForwardRan | None) -> Iterator[Tensor]:
    """Iterate over the ways in which the targets may have stood as sequences."""
    assert loss.targets is not None
    laid = loss.target_laid or loss.target_shape
    if len(laid) == 2:
        width = laid[1]
        whole = loss.targets[: loss.targets.numel() // width * width].reshape(-1, width)
        yield whole
        if whole.numel() == loss.targets.numel():
            yield whole.T
    elif len(loss.target_shape) == 1 and forward is not None and forward.tokens is not None:
        for rows in dict.fromkeys((forward.batch, forward.tokens.shape[1])):
            if rows > 1 and loss.target_shape[0] % rows == 0 and loss.target_shape[0] > rows:
                width = loss.target_shape[0] // rows
                whole = loss.targets[: loss.targets.numel() // width * width].reshape(-1, width)
                yield whole
        first = forward.tokens.shape[0]
        if first > 1 and loss.targets.numel() == loss.target_shape[0] and loss.targets.numel() % first == 0:
            yield loss.targets.reshape(first, -1).T


def _beside_tokens(loss: LossComputed | ScorePicked, forward: ForwardRan | None) -> int | None:
    """Return the one target at all positions where the input is padded; None if there are several, or no padding.

    A target that is also a real label does not tell the ends of rows by itself: the tokens of the forward do.
    """
    tokens = None if forward is None else forward.tokens
    if tokens is None or loss.targets is None or padding(tokens) is None:
        return None
    laid = loss.target_laid or loss.target_shape
    width = tokens.shape[1]
    as_rows = laid == (forward.batch, width) if forward is not None else False
    flat = forward is not None and laid == (forward.batch * width,)
    if not as_rows and not flat:
        return None
    count = min(len(tokens), loss.targets.numel() // width)
    rows = loss.targets[: count * width].reshape(count, width)
    beside = rows[tokens[:count] == padding(tokens)].unique()
    return int(beside) if len(beside) == 1 and len(rows.unique()) > 1 else None


def _padded(facts: Facts) -> Iterator[tuple[LossComputed, int | None]]:
    """Iterate over the looked-at losses of sequences that count every position, with the padding found in each."""
    last: ForwardRan | None = None
    for event in facts.events:
        if isinstance(event, ForwardRan):
            last = event
        elif isinstance(event, LossComputed) and event.grad and event.targets is not None:
            if event.name not in ("cross_entropy", "nll_loss") or event.reduction == "none":
                continue
            if event.class_weights:
                continue
            found = [value for rows in _laid(event, last) if (value := padding(rows)) is not None]
            if not found and (value := _beside_tokens(event, last)) is not None:
                found = [value]
            ignored = any(value == event.ignore_index for value in found)
            yield event, None if ignored or not found else found[0]


def picked_padding(facts: Facts) -> Iterator[tuple[ScorePicked, int]]:
    """Iterate over the looked-at picks of losses written by hand whose targets are padded, with the padding."""
    last: ForwardRan | None = None
    for event in facts.events:
        if isinstance(event, ForwardRan):
            last = event
        elif isinstance(event, ScorePicked) and event.normalised:
            found = [value for rows in _laid(event, last) if (value := padding(rows)) is not None]
            beside = _beside_tokens(event, last) if not found else None
            if found or beside is not None:
                yield event, found[0] if found else int(beside or 0)


def _counts(pick: ScorePicked, value: int) -> bool:
    """Return True if the padding's picks move the loss: their gradient is not zero."""
    if pick.weights is None or len(pick.weights) != len(pick.targets):
        return False
    size = pick.weights.abs()
    return float((size[pick.targets == value] > _NOTHING * size.max()).float().mean()) > 0.5


def _by_hand(facts: Facts) -> Iterator[Finding]:
    """Find losses written by hand in which the padding's log-probabilities have a gradient."""
    padded = list(picked_padding(facts))
    for place in dict.fromkeys(pick.place for pick, _ in padded):
        picks = [one for one in facts.of(ScorePicked) if one.place == place and one.normalised]
        these = [(pick, value) for pick, value in padded if pick.place == place]
        counted = [pick for pick, value in these if _counts(pick, value)]
        value = these[-1][1]
        few = len(counted) < max(_FEWEST, 0.75 * len(picks)) or len(counted) < len(these)
        if few or len({value for _, value in these}) > 1:
            continue
        shares = [float((one.targets == value).float().mean()) for one in counted]
        named = _named(facts)
        yield Finding(
            place=counted[-1].made or _reading.loss_line(place),
            severity="bug" if named else "warning",
            sentence=_padding_counts(value, asks=not named),
            evidence=Said(
                f"살펴본 손실 {len(picks)}번 가운데 {len(counted)}번에서 정답의 평균 "
                f"{sum(shares) / len(shares):.0%}가 줄 끝의 {value}였고, 그 자리의 그레이디언트가 0이 아니었어요.",
                f"In {len(counted)} of {len(picks)} losses on average {sum(shares) / len(shares):.0%} of the targets "
                f"were {value} at the ends of rows, and their gradient was not zero.",
            ),
            mend=Said(
                f"마스크로 그 자리를 빼고 평균하세요: `mask = target != {value}`.",
                f"Leave them out of the mean: `mask = target != {value}`.",
            ),
        )


def padded_share(facts: Facts) -> float:
    """Return the average share of targets that fill the ends of rows, in losses where nearly all have them; else 0."""
    losses = list(_padded(facts))
    shares = [
        float((one.targets == value).float().mean())
        for one, value in losses
        if value is not None and one.targets is not None
    ]
    return sum(shares) / len(shares) if len(shares) >= max(_FEWEST, 0.9 * len(losses)) else 0.0


def _named(facts: Facts) -> bool:
    return any(
        _NAMES & _reading.words(whole)
        for file in _reading.files(facts)
        for whole in _reading.nodes(file, ast.Module)
    )


def _of_numbers(facts: Facts) -> Iterator[Finding]:
    """Find losses of real numbers whose targets are filled with zeros at the ends of rows."""
    losses = [one for one in facts.of(LossComputed) if one.grad and one.name in _DISTANCES]
    for place in dict.fromkeys(one.place for one in losses):
        these = [one for one in losses if one.place == place and one.target_rows is not None]
        filled = [one.filled for one in these if one.filled >= _LEAST]
        if len(filled) < _FEWEST or len(filled) < 0.9 * len(these) or these[-1].reduction == "none":
            continue
        named = _named(facts)
        yield Finding(
            place=these[-1].module_place or place,
            severity="bug" if named else "warning",
            sentence=Said(
                "길이를 맞추려고 0으로 채운 자리도 손실에 들어가요. 그레이디언트의 많은 부분이 0을 맞히는 데 쓰여요."
                + ("" if named else " 그 0도 배워야 하나요?"),
                "Positions that were padded with zeros count in the loss, so much of the gradient is about "
                "predicting zeros." + ("" if named else " Are these zeros meant to be learnt?"),
            ),
            evidence=Said(
                f"손실 {len(these)}번 가운데 {len(filled)}번에서 정답의 평균 {sum(filled) / len(filled):.0%}가 줄 끝의 "
                "0이었어요.",
                f"In {len(filled)} of {len(these)} losses on average {sum(filled) / len(filled):.0%} of the targets "
                "were zeros at the ends of rows.",
            ),
            mend=Said(
                "진짜 자리만 손실에 넣으세요: `loss_fn(out[mask], y[mask])`.",
                "Take the loss of real positions only: `loss_fn(out[mask], y[mask])`.",
            ),
        )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _of_numbers(facts)
    yield from _by_hand(facts)
    losses = list(_padded(facts))
    for place in dict.fromkeys(loss.place for loss, _ in losses):
        these = [(loss, value) for loss, value in losses if loss.place == place]
        padded = [(loss, value) for loss, value in these if value is not None]
        if len(padded) < _FEWEST or len(padded) < 0.9 * len(these) or len({v for _, v in padded}) > 1:
            continue
        value = padded[-1][1]
        shares = [
            float((one.targets == value).float().mean()) for one, _ in padded if one.targets is not None
        ]
        loss = padded[-1][0]
        # Where another value is left out already, this one may be an end mark that is to be learnt.
        named = _named(facts) and loss.ignore_index == _UNSET
        yield Finding(
            place=loss.module_place or place,
            severity="bug" if named else "warning",
            sentence=_padding_counts(value, asks=not named),
            evidence=Said(
                f"손실 {len(these)}번 가운데 {len(padded)}번에서 정답의 평균 "
                f"{sum(shares) / len(shares):.0%}가 줄 끝의 {value}였어요.",
                f"In {len(padded)} of {len(these)} losses on average {sum(shares) / len(shares):.0%} of the targets "
                f"were {value} at the ends of rows.",
            ),
            mend=Said(f"손실에 `ignore_index={value}`를 주세요.", f"Give the loss `ignore_index={value}`."),
        )


def _padding_counts(value: int, *, asks: bool) -> Said:
    """Return the sentence that padding counts in the loss; `asks`: with the question whether that is meant."""
    return Said(
        f"길이를 맞추려고 채운 자리(값 {value})도 손실에 들어가요. 그레이디언트의 많은 부분이 "
        f"채움 값을 맞히는 데 쓰여요." + (" 그 값도 배워야 하나요?" if asks else ""),
        f"The positions that were padded (value {value}) count in the loss, so much of the gradient is "
        "about predicting padding." + (" Is that value meant to be learnt?" if asks else ""),
    )


RULE = Rule(
    id="pad-in-loss",
    severity="bug",
    title=Said("채운 자리가 손실에 들어갔어요", "Padding counts in the loss"),
    lesson="03_bells_and_whistles/7_unequal_lengths",
    find=_find,
)
