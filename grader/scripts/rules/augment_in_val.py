"""The evaluation's inputs are transformed at random, as in training: each evaluation sees other data."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import Facts, ForwardRan, LossComputed
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._evaluations import changed_passes, rearranged_passes
from grader.scripts.rules.inplace_input import sample_write

_WORDS = {
    *("augment", "augmentation", "aug", "augmented", "jitter", "mixup", "cutmix", "cutout", "flip", "crop"),
    *("distort", "perturb", "transform", "noisy", "erase", "corrupt"),
}
_TASKS = {"noisy", "corrupt", "perturb"}
"""Of a model that is trained to undo it, the same is asked in the evaluation."""
_CHANGED = 0.25
"""Share of rows that differ from pass to pass; a random transformation may leave some as they are."""
_REARRANGED = 0.1
"""The same of targets; empty and symmetric ones look the same in the mirror."""


def _evaluations(events: list[ForwardRan]) -> list[tuple[int, ...]]:
    """Return the rows of each evaluation at one line: one for each update at which it ran."""
    found: dict[int, list[int]] = {}
    for one in events:
        assert one.rows is not None
        found.setdefault(one.update, []).extend(one.rows.tolist())
    return [tuple(rows) for rows in found.values()]


def _words(facts: Facts) -> set[str]:
    """Return what augmentations are called in this script."""
    classifies = any(one.grad and one.targets is not None for one in facts.of(LossComputed))
    return _WORDS if classifies else _WORDS - _TASKS


def _augmenting(place: Place, words: set[str]) -> ast.Call | None:
    """Return the call of an augmentation that makes the input of the model on a line."""
    for call in _reading.around(place, ast.Call):
        for inner in ast.walk(call):
            if isinstance(inner, ast.Call) and _reading.words(_reading.called(inner)) & words:
                return inner
    return None


def _used_in_training(facts: Facts, name: str, evaluated: Place) -> bool:
    """Return True if a function is also called on a line of training forwards, or near one."""
    trained = {one.place for one in facts.of(ForwardRan) if one.grad and one.place is not None}
    return any(
        abs(call.lineno - place.line) <= 5 and place.file == file and call.lineno != evaluated.line
        for file in _reading.files(facts)
        for call in _reading.nodes(file, ast.Call)
        if isinstance(call, ast.Call) and _reading.called(call) == name
        for place in trained
    )


def _in_forward(facts: Facts) -> Iterator[Finding]:
    ran = [one for one in facts.of(ForwardRan) if not one.grad and one.rows is not None and one.place]
    for place in dict.fromkeys(one.place for one in ran):
        assert place is not None
        seen = _evaluations([one for one in ran if one.place == place])
        call = _augmenting(place, _words(facts))
        if len(seen) < 2 or call is None or not _used_in_training(facts, _reading.called(call), place):
            continue
        if len({len(rows) for rows in seen}) > 1 or set(seen[0]) & set(seen[1]):
            continue
        name = _reading.called(call)
        yield _finding(
            place,
            Said(
                f"평가 {len(seen)}번의 입력 {len(seen[0])}행이 매번 모두 달랐어요. 읽어 보니 이 "
                f"줄이 학습 때와 같은 `{name}` 함수를 불러요.",
                f"The {len(seen[0])} input rows were all different in each of {len(seen)} evaluations. From reading: "
                f"this line calls `{name}`, as training does.",
            ),
        )


def _from_loader(facts: Facts) -> Iterator[Finding]:
    for loader, rows, changed in changed_passes(facts):
        if loader.built is None or changed < _CHANGED * rows or sample_write(facts, loader.dataset_kind):
            continue
        yield _finding(
            _dataset_line(loader.built),
            Said(
                f"검증 로더를 두 번 도는 동안 정답은 순서까지 같았는데, 입력 {rows}행 가운데 "
                f"{changed}행이 달라졌어요.",
                f"In two passes over the validation loader the labels were the same in the same order, but "
                f"{changed} of {rows} input rows had changed.",
            ),
        )


def _from_loader_of_pictures(facts: Facts) -> Iterator[Finding]:
    """Find the same where targets are pictures that are transformed with the inputs."""
    for loader, targets, moved in rearranged_passes(facts):
        if loader.built is None or moved < _REARRANGED * targets or sample_write(facts, loader.dataset_kind):
            continue
        yield _finding(
            _dataset_line(loader.built),
            Said(
                f"검증 로더를 두 번 도는 동안 정답 {targets}개가 같은 순서로 왔는데, 그 가운데 {moved}개는 값은 "
                "그대로이고 자리만 바뀌었어요 (뒤집거나 돌린 것처럼).",
                f"In two passes over the validation loader the same {targets} targets came in the same order, but "
                f"the entries of {moved} stood elsewhere, as if they had been mirrored or turned.",
            ),
        )


def _dataset_line(built: Place) -> Place:
    """Return the line that made the dataset of a loader; the loader's own if it was made there."""
    for call in _reading.around(built, ast.Call):
        if _reading.called(call) == "DataLoader" and isinstance(call, ast.Call) and call.args:
            given = call.args[0]
            if isinstance(given, ast.Name):
                return _reading.assigned_line(built, given.id) or built
    return built


def _finding(place: Place, evidence: Said) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            "검증 데이터도 학습 때처럼 무작위로 변형돼요. 점수가 실제와 다르고 평가할 때마다 흔들려요.",
            "The evaluation's data go through the random training augmentation, so the score is another one "
            "and varies from evaluation to evaluation.",
        ),
        evidence=evidence,
        mend=Said(
            "평가에는 무작위 변형 없이 같은 전처리만 하세요.",
            "Evaluate without random augmentation, with the same preprocessing only.",
        ),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _in_forward(facts)
    yield from _from_loader(facts)
    yield from _from_loader_of_pictures(facts)


RULE = Rule(
    id="augment-in-val",
    severity="bug",
    title=Said("검증 데이터를 무작위로 변형했어요", "The evaluation is augmented at random"),
    lesson=None,
    find=_find,
)
