"""A training loader gives sorted data without shuffling: each class comes in one stretch."""

import ast
from collections.abc import Iterator
from itertools import pairwise

from grader.scripts.facts import BackwardRan, BatchLoaded, Event, Facts, ForwardRan, LoaderEnded, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FEWEST, _SMALLEST = 4, 4
_STREAM = "_InfiniteConstantSampler"
"""What a DataLoader has beside an IterableDataset, which cannot be shuffled by the loader."""
_SHUFFLE = Said("`DataLoader(..., shuffle=True)`", "`DataLoader(..., shuffle=True)`")
_MIX = Said(
    "`IterableDataset`은 로더가 섞어 주지 않아요. 여러 샤드를 번갈아 읽거나, 버퍼에 모아 무작위로 꺼내세요.",
    "A loader does not shuffle an IterableDataset: read the shards in turn, or draw at random from a buffer.",
)
_CLASSES = ("cross_entropy", "nll_loss")
_YES_OR_NO = ("binary_cross_entropy", "binary_cross_entropy_with_logits")


def trained_batches(facts: Facts, loader: int) -> list[BatchLoaded]:
    """Return the batches of a loader after which a backward came before its next batch."""
    found: list[BatchLoaded] = []
    last: BatchLoaded | None = None
    for event in facts.events:
        if isinstance(event, BatchLoaded) and event.loader == loader:
            last = event
        elif isinstance(event, BackwardRan) and last is not None:
            found.append(last)
            last = None
        elif _is_other_batch(event):
            last = None
    return found


def _is_other_batch(event: Event) -> bool:
    return isinstance(event, BatchLoaded | LoaderEnded)


def _whole_passes(labelled: list[BatchLoaded], labels: list[list[int]]) -> list[list[int]]:
    """Return the labels of each pass, one batch's after the other's."""
    passes: dict[int, list[int]] = {}
    for one, own in zip(labelled, labels, strict=True):
        passes.setdefault(one.pass_, []).extend(own)
    return list(passes.values())


def _in_stretches(labelled: list[BatchLoaded], labels: list[list[int]], classes: int) -> bool:
    """Return True if in every pass each class comes in one stretch, longer than a batch on average."""
    passes = _whole_passes(labelled, labels)
    size = max(one.size for one in labelled)
    for numbers in passes:
        stretches = 1 + sum(before != after for before, after in pairwise(numbers))
        if stretches > len(set(numbers)):
            return False
    return max(map(len, passes)) >= classes * size


def _find(facts: Facts) -> Iterator[Finding]:
    for loader in facts.loaders:
        if loader.sampler not in ("SequentialSampler", _STREAM):
            continue
        labelled = [one for one in trained_batches(facts, loader.number) if one.labels is not None]
        labels = [one.labels.tolist() for one in labelled if one.labels is not None]
        classes = [set(one) for one in labels if len(one) >= _SMALLEST]
        single = sum(len(one) == 1 for one in classes)
        every = set().union(*classes) if classes else set()
        if len(classes) < _FEWEST or len(every) < 2 or len(every) > len(classes):
            continue
        if single < 0.8 * len(classes) and not _in_stretches(labelled, labels, len(every)):
            continue
        if loader.sampler == _STREAM:
            place = _stream_line(facts, loader.dataset_kind) or loader.built
            yield _told(place, single, len(classes), len(every), _MIX)
        else:
            yield _told(loader.built, single, len(classes), len(every), _SHUFFLE)
    yield from _all_no_then_all_yes(facts)
    if not facts.loaders:
        yield from _cut_by_hand(facts)


def _all_no_then_all_yes(facts: Facts) -> Iterator[Finding]:
    """Find the same where targets are zeros and ones of floating point: in every pass all of one kind come first."""
    losses = [one for one in facts.of(LossComputed) if one.grad and one.name in _YES_OR_NO]
    for loader in facts.loaders if losses else ():
        if loader.sampler != "SequentialSampler":
            continue
        marked = [one for one in trained_batches(facts, loader.number) if one.marks is not None]
        marks = [one.marks.long().tolist() for one in marked if one.marks is not None]
        classes = [set(one) for one in marks if len(one) >= _SMALLEST]
        longest = max(_whole_passes(marked, marks), key=len, default=[])
        fewest = min(longest.count(0), longest.count(1))
        single = sum(len(one) == 1 for one in classes)
        if len(classes) < _FEWEST or single < 0.8 * len(classes) or fewest < 2 * max(map(len, marks)):
            continue
        if _in_stretches(marked, marks, 2):
            yield _told(loader.built, single, len(classes), 2, _SHUFFLE)


def _cut_by_hand(facts: Facts) -> Iterator[Finding]:
    """Find batches of one class each that a script without a loader cuts in the same order again and again."""
    passed: dict[tuple[int, ...], int] = {}
    classes: list[set[int]] = []
    inputs: list[tuple[int, ...]] = []
    last: ForwardRan | None = None
    for event in facts.events:
        if isinstance(event, ForwardRan):
            last = event if event.grad else None
            if last is not None and last.rows is not None:
                inputs.append(tuple(last.rows.tolist()))
        elif (
            isinstance(event, LossComputed) and event.grad and event.targets is not None and last is not None
        ):
            if event.name in _CLASSES and last.rows is not None and last.batch >= _SMALLEST:
                key = tuple(last.rows.tolist())
                passed[key] = passed.get(key, 0) + 1
                classes.append(set(event.targets.tolist()))
                place = last.place
            last = None
    every = set().union(*classes) if classes else set()
    single = sum(len(one) == 1 for one in classes)
    again = len(passed) >= _FEWEST and min(passed.values()) >= 1 and max(passed.values()) >= 2
    often = len(passed) <= 0.6 * len(classes) or _comes_again(inputs)
    if not again or len(every) < 2 or single < 0.8 * len(classes) or not often:
        return
    yield _told(_cut_line(place), single, len(classes), len(every), _SHUFFLE)


def _comes_again(inputs: list[tuple[int, ...]]) -> bool:
    """Return True if inputs begin anew and come in the same order then, as far as they were seen."""
    again = next((i for i, one in enumerate(inputs) if one in inputs[:i]), len(inputs))
    return len(inputs) - again >= _FEWEST and inputs[again:] == inputs[: len(inputs) - again]


def _stream_line(facts: Facts, kind: str) -> Place | None:
    """Return the first line of a stream's `__iter__` that gives a sample."""
    for file in _reading.files(facts):
        for owner in _reading.nodes(file, ast.ClassDef):
            for method in ast.walk(owner) if getattr(owner, "name", "") == kind else ():
                if isinstance(method, ast.FunctionDef) and method.name == "__iter__":
                    given = list(_reading.nodes_of(method, ast.Yield, ast.YieldFrom, ast.Return))
                    return _reading.at(file, given[0], "__iter__") if given else None
    return None


def _cut_line(place: Place | None) -> Place | None:
    """Return the first line of the loop around a forward that cuts a slice, or that of a loop over given batches.

    The forward's own line if there is no such loop.
    """
    for loop in _reading.around(place, *_reading.LOOPS)[:1] if place is not None else []:
        assert place is not None
        lines = [one.lineno for one in ast.walk(loop) if isinstance(one, ast.Slice)]
        over = isinstance(loop, ast.For) and isinstance(loop.target, ast.Tuple) and loop.lineno
        if lines or over:
            return Place(place.file, min(lines) if lines else int(over), place.function)
    return place


def _told(place: Place | None, single: int, count: int, every: int, mend: Said) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            "데이터가 클래스 순서로 놓여 있는데 섞지 않아서, 배치마다 한 클래스만 보고 배워요.",
            "The data is sorted by class and not shuffled, so whole stretches of batches hold one class only.",
        ),
        evidence=Said(
            f"학습 배치 {count}개 가운데 {single}개에 클래스가 하나뿐이었고, 나머지에는 순서가 이웃한 "
            f"클래스뿐이었어요 (클래스는 모두 {every}개)."
            if single < count
            else f"학습 배치 {count}개에 모두 클래스가 하나뿐이었어요 (클래스는 모두 {every}개).",
            f"{single} of {count} training batches held a single class (of {every} classes).",
        ),
        mend=mend,
    )


RULE = Rule(
    id="no-shuffle-sorted",
    severity="bug",
    title=Said("정렬된 데이터를 섞지 않았어요", "Sorted data without shuffling"),
    lesson="02_loop_anatomy/1_seeds",
    find=_find,
)
