"""Rows of the training data stand in the validation data too."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts, ForwardRan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._equal_samples import DRAWS, come_again_by_nature, overlapping_windows
from grader.scripts.rules._evaluations import Batches, batches, rows, slices

_FEWEST, _LEAST = 5, 0.02
_SPLITS = ("train_test_split", "random_split", "split", "Subset")
_WHOLE = ("SequentialSampler", "RandomSampler")
"""Samplers that leave nothing of a dataset out."""
_DOUBLING = {
    *("concatenate", "concat", "vstack", "cat", "repeat", "repeat_interleave", "tile", "resample"),
    *("oversample", "duplicate", "replicate", "upsample", "balance", "augment", "choice", "ConcatDataset"),
}
_SEEDED = {"generator", "seed", "rng", "state"}
"""Words of a function that draws the same in every call."""
_ONCE = Said(
    "한 번만 나눠서 두 로더를 만들거나, 부를 때마다 같은 순서가 나오게 시드를 정한 `generator`를 주세요.",
    "Split once and make both loaders of it, or draw with a generator that is seeded alike in every call.",
)
_SCORES = {"acc", "accuracy", "val", "valid", "validation", "test", "evaluate"}
_HELD_OUT = {"val", "valid", "validation", "dev", "test", "heldout"}
_DOUBLED = {word for name in _DOUBLING for word in _reading.words(name)}


def _doubled_line(facts: Facts) -> Place | None:
    """Return the line that puts rows in twice before they are split; the split's line if there is none."""
    for file in _reading.files(facts):
        for module in _reading.nodes(file, ast.Module):
            for block in _reading.blocks(module):
                split = next((i for i, one in enumerate(block) if _simple(one) and _splits(one)), None)
                if split is None:
                    continue
                for one in reversed(block[:split]):
                    names = [_reading.called(call) for call in ast.walk(one)] if _simple(one) else []
                    if any(_reading.words(name) & _DOUBLED for name in names if name):
                        return _reading.at(file, one)
                return _reading.at(file, block[split])
    return None


def _splits(statement: ast.stmt) -> bool:
    """Return True if a statement splits data; `text.split("=")` splits a text."""
    calls = [
        one for one in ast.walk(statement) if isinstance(one, ast.Call) and _reading.called(one) in _SPLITS
    ]
    return any(one.args and not isinstance(one.args[0], ast.Constant) for one in calls)


def _simple(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.AugAssign)


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _cut_by_hand(facts)
    yield from list(_of_loaders(facts)) or overlapping_windows(facts)


def _of_loaders(facts: Facts) -> Iterator[Finding]:
    found = batches(facts)
    trained_on = {_origin(facts, one.loader) for one in found.trained}
    overlaps = []
    for origin in dict.fromkeys(_origin(facts, one.loader) for one in found.evaluated):
        these = [one for one in found.evaluated if _origin(facts, one.loader) == origin]
        own = rows(these)
        loader = these[-1].loader
        models = {found.modules.get(one.serial) for one in these}  # each fold has its own model
        trained = rows([one for one in found.trained if found.modules.get(one.serial) in models])
        if origin not in trained_on and own:
            overlaps.append((loader, these, own, own & trained))
    some_clean = any(len(both) < _LEAST * len(own) for _, _, own, both in overlaps)
    for loader, these, own, both in overlaps:
        if len(both) < max(_FEWEST, _LEAST * len(own)):
            continue
        whole = len(both) == len(own) or _goes_over_all_of_it(facts, loader, found)
        mistaken = whole and _training_by_mistake(facts, loader)
        of_training = whole and not mistaken and _reading_of_training(facts, loader)
        if whole and (some_clean or (of_training and _elsewhere(facts, found))):
            continue  # the training data, evaluated under another loader
        if not all(one.continuous for one in these) and come_again_by_nature(found, len(both) / len(own)):
            continue
        counted = sum(len(one.rows) for one in these if one.rows is not None)
        if counted > 1.5 * len({(one.loader, one.pass_) for one in these}) * len(own):
            continue  # rows come again within a pass: equal rows are no evidence
        drawn = _drawn_line(facts, loader, found)
        sure = (
            all(one.continuous for one in these)
            or (mistaken and _goes_over_all_of_it(facts, loader, found))
            or (drawn is not None and counted == len({(one.loader, one.pass_) for one in these}) * len(own))
        )
        yield Finding(
            place=drawn
            or (None if of_training or mistaken else _doubled_line(facts) or _cut_twice(facts))
            or facts.loaders[loader].built,
            severity="bug" if sure and (mistaken or not whole) else "info" if of_training else "warning",
            sentence=Said(
                "검증 데이터에 학습한 행이 그대로 들어 있어요. 외운 것을 다시 물으니 점수가 실제보다 높게 나와요."
                + ("" if sure else " 원래 같은 값이 자주 나오는 데이터인가요?"),
                "Rows of the training data stand in the validation data: it asks for what was memorised, and "
                "the score is too good."
                + ("" if sure else " Or do equal rows occur by nature in this data?"),
            ),
            evidence=Said(
                f"검증한 서로 다른 행 {len(own)}개 가운데 {len(both)}개가 지켜본 학습 배치에도 있었어요.",
                f"{len(both)} of {len(own)} distinct validation rows were in the training batches watched.",
            ),
            mend=_ONCE
            if drawn
            else Said(
                "먼저 나누고, 복제나 합치기는 학습 쪽에서만 하세요. 같은 사람이나 물건의 행은 한쪽에만 두세요.",
                "Split first, and duplicate or merge on the training side only; keep all rows of one subject on "
                "one side.",
            ),
        )


def _drawn_line(facts: Facts, loader: int, found: Batches) -> Place | None:
    """Return the line that draws a split anew in each call of the function that made this and the training loader."""
    place = facts.loaders[loader].built
    others = [one.loader for one in found.trained if one.loader != loader]
    functions = _reading.around(place, ast.FunctionDef) if place is not None else []
    if not functions or place is None or all(facts.loaders[one].built != place for one in others):
        return None
    draws = _reading.calls(functions[0], *DRAWS)
    if _reading.words(functions[0]) & _SEEDED or not draws:
        return None
    return _reading.at(place.file, draws[0])


def _cut_by_hand(facts: Facts) -> Iterator[Finding]:
    """Find evaluations of slices some rows of which were trained on: neither all of them nor all that were trained."""
    for one in slices(facts):
        both = one.own & one.trained
        partly = len(both) < len(one.own) and len(both) < len(one.trained)
        if not partly or len(both) < max(_FEWEST, _LEAST * len(one.own)) or not _held_out(one.place):
            continue
        yield Finding(
            place=_split_line(facts) or _cut_twice(facts) or one.place,
            severity="warning",
            sentence=Said(
                "검증하는 행 가운데 일부로 학습도 해요. 나눈 두 부분이 겹치는지 보세요.",
                "Some rows of the evaluation are trained on, too: do the two parts of the split overlap?",
            ),
            evidence=Said(
                f"{one.place.line}번째 줄에서 평가한 서로 다른 {len(one.own)}행 가운데 {len(both)}행이 학습 배치에도 "
                "있었어요.",
                f"{len(both)} of the {len(one.own)} distinct rows evaluated on line {one.place.line} were in training "
                "batches, too.",
            ),
            mend=Said("겹치지 않게 나누세요.", "Split without overlap."),
        )


def _held_out(place: Place) -> bool:
    """Return True if a line makes a score of held-out data: not the value of a state, as in Q-learning."""
    around = _reading.around(place, ast.FunctionDef, ast.With, ast.Expr, ast.Assign)
    said = set().union(*map(_reading.words, around)) if around else set()
    return bool(said & _SCORES) or any(map(_reading.counts_right, around))


def _split_line(facts: Facts) -> Place | None:
    """Return the only line that cuts two slices of one thing: `perm[:240], perm[200:]`, but not by `zip`."""
    found = []
    for file in _reading.files(facts):
        for one in _reading.nodes(file, ast.Assign, ast.Return):
            pairs = {id(cut) for call in _reading.calls(one, "zip") for cut in call.args}
            cuts = [
                ast.unparse(cut.value)
                for cut in ast.walk(one)
                if isinstance(cut, ast.Subscript) and _is_cut(cut) and id(cut) not in pairs
            ]
            if len(cuts) >= 2 and len(set(cuts)) < len(cuts):
                found.append(_reading.at(file, one))
    return found[0] if len(found) == 1 else None


def _cut_twice(facts: Facts) -> Place | None:
    """Return the only assignment that takes the rest of something from elsewhere than where its first part ended.

    As `order[600:]` after `order[:700]`.
    """
    found = []
    for file in _reading.files(facts):
        ends: dict[str, set[str]] = {}
        made = sorted(_reading.nodes(file, ast.Assign), key=lambda one: one.lineno)  # type: ignore[attr-defined]
        for one in made:
            for thing, first, last in _cuts(one):
                if first is None and last is not None:
                    ends.setdefault(thing, set()).add(last)
                elif (
                    first not in (None, "1") and last is None and ends.get(thing, {first}).isdisjoint({first})
                ):
                    found.append(_reading.at(file, one))
    return found[0] if len(found) == 1 else None


def _cuts(statement: ast.AST) -> Iterator[tuple[str, str | None, str | None]]:
    """Iterate over the slices that a statement takes: of what, and from where to where, as written."""
    for one in ast.walk(statement):
        if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice):
            ends = [None if end is None else ast.unparse(end) for end in (one.slice.lower, one.slice.upper)]
            yield ast.unparse(one.value), ends[0], ends[1]


def _is_cut(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def _origin(facts: Facts, loader: int) -> tuple[Place | None, int]:
    """Return a loader's line and dataset: one that is made anew for each epoch is the same."""
    about = facts.loaders[loader]
    return about.built, about.dataset


def _goes_over_all_of_it(facts: Facts, loader: int, found: Batches) -> bool:
    """Return True if a loader goes over the whole dataset that another one trains on: a score on training data."""
    about = facts.loaders[loader]
    trained = {facts.loaders[one.loader].dataset for one in found.trained}
    return about.dataset in trained and about.sampler in _WHOLE


def _elsewhere(facts: Facts, found: Batches) -> bool:
    """Return True if forwards without gradients also saw rows that were not trained on."""
    seen = rows(found.trained)
    return any(
        not one.grad and one.rows is not None and not set(one.rows.tolist()) & seen
        for one in facts.of(ForwardRan)
    )


def _training_by_mistake(facts: Facts, loader: int) -> bool:
    """Return True if a loader is called one of held-out data and is given what is called training data."""
    place = facts.loaders[loader].built
    for one in _reading.around(place, ast.Assign) if place is not None else []:
        assert isinstance(one, ast.Assign)
        named = set().union(*map(_reading.words, one.targets))
        if named & _HELD_OUT and "train" not in named and "train" in _reading.words(one.value):
            return True
    return False


def _reading_of_training(facts: Facts, loader: int) -> bool:
    """Return True if a loader's line calls it one of training data."""
    place = facts.loaders[loader].built
    lines = _reading.around(place, ast.Assign) if place is not None else []
    return any("train" in _reading.words(one) for one in lines)


RULE = Rule(
    id="train-val-leak",
    severity="bug",
    title=Said("검증 데이터에 학습 데이터가 섞였어요", "Training rows leak into the validation data"),
    lesson=None,
    find=_find,
)
