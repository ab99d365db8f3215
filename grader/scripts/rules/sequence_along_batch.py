"""A sequence layer without `batch_first` is given batches first: it runs from sample to sample, not along the time."""

from collections.abc import Iterator

from grader.scripts.facts import BatchLoaded, Facts, ForwardRan, SequenceRan
from grader.scripts.findings import Finding, Rule, Said

_FEWEST, _FEWEST_WIDTHS = 3, 4


def _along_batch(facts: Facts, ran: SequenceRan) -> bool:
    """Return True if the first axis of what a layer was given is the shuffled samples of the loader's last batch."""
    loaded = next((one for one in reversed(facts.events[: ran.serial]) if isinstance(one, BatchLoaded)), None)
    forward = facts.events[ran.forward]
    if loaded is None or not isinstance(forward, ForwardRan):
        return False
    loader = facts.loaders[loaded.loader]
    samples = loaded.size == loader.batch_size and loader.sampler == "RandomSampler"
    time, others = ran.shape[:2]
    return samples and time == loaded.size == forward.batch and others not in (1, time)


def _is_padded_on_second(facts: Facts, ran: list[SequenceRan]) -> bool:
    """Return True if the second axis is as long as each batch needs, and the first, the forward's own, is not."""
    forwards = [facts.events[one.forward] for one in ran]
    first = {one.shape[0] for one in ran}
    batches = {one.batch for one in forwards if isinstance(one, ForwardRan)}
    return len(first) == 1 and batches == first and len({one.shape[1] for one in ran}) >= _FEWEST_WIDTHS


def _find(facts: Facts) -> Iterator[Finding]:
    ran = list(facts.of(SequenceRan))
    for place in dict.fromkeys(one.built for one in ran):
        these = [one for one in ran if one.built == place]
        wrong = [one for one in these if _along_batch(facts, one)]
        widths = not wrong and _is_padded_on_second(facts, these)
        wrong = these if widths else wrong
        if len(wrong) < _FEWEST or len(wrong) < 0.8 * len(these):
            continue
        last = wrong[-1]
        yield Finding(
            place=place,
            severity=None if last.kind in ("LSTM", "GRU", "RNN") and not widths else "warning",
            sentence=Said(
                f"`batch_first` 없는 {last.kind}의 입력은 시간이 첫 축이어야 하는데 배치가 첫 축이에요. 시간을 "
                "따라가지 않고 무작위로 섞인 샘플에서 샘플로 이어져요.",
                f"Without batch_first the first axis of {last.kind}'s input is the time, but here it is the batch: it "
                "runs from one shuffled sample to the next.",
            ),
            evidence=Said(
                f"살펴본 {len(these)}번 가운데 {len(wrong)}번에서 입력이 {last.shape}였고, "
                + (
                    "둘째 축의 길이만 배치마다 달랐어요."
                    if widths
                    else "첫 축이 섞는 로더의 배치 크기와 같았어요."
                ),
                f"In {len(wrong)} of {len(these)} runs its input was {last.shape}; "
                + (
                    "only its second axis differed from batch to batch."
                    if widths
                    else "its first axis is the batch of a shuffling loader."
                ),
            ),
            mend=Said(f"`{last.kind}(…, batch_first=True)`", f"`{last.kind}(…, batch_first=True)`"),
        )


RULE = Rule(
    id="sequence-along-batch",
    severity="bug",
    title=Said("시간 대신 배치를 따라갔어요", "The sequence layer runs along the batch"),
    lesson=None,
    find=_find,
)
