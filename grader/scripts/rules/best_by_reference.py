"""The best weights are kept as `state_dict()` itself, which changes with the model."""

import ast
import linecache
from collections.abc import Iterator

from grader.scripts.facts import Facts, FileSaved, StateLoaded, StateTaken
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading


def _judged(place: Place) -> bool:
    """Return True if a line stands in an `if` that compares: kept because it was better."""
    return any(
        isinstance(one, ast.If)
        and one.lineno < place.line
        and any(isinstance(test, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for test in ast.walk(one.test))
        for one in _reading.around(place, ast.If)
    )


def _saved_at_once(facts: Facts, taken: StateTaken) -> bool:
    """Return True if a file was written before the next update: the dictionary was taken for it."""
    for event in facts.events[taken.serial + 1 :]:
        if event.update > taken.update:
            return False
        if isinstance(event, FileSaved) and "module" in event.holds:
            return True
    return False


def _restored(facts: Facts, taken: StateTaken) -> bool:
    return any(
        one.taken == taken.serial and one.owner == taken.owner and one.update > taken.update
        for one in facts.of(StateLoaded)
    )


def _mended(place: Place) -> tuple[str, str] | None:
    line = linecache.getline(place.file, place.line).strip()
    whole = [one for one in _reading.around(place, ast.Call) if _reading.called(one) == "state_dict"]
    text = ast.unparse(whole[0]) if whole else ""
    return (line, line.replace(text, f"copy.deepcopy({text})")) if line.count(text) == 1 and text else None


def _find(facts: Facts) -> Iterator[Finding]:
    taken = [one for one in facts.of(StateTaken) if one.kind == "module" and one.shares and one.place]
    for place in dict.fromkeys(one.place for one in taken):
        assert place is not None
        these = [one for one in taken if one.place == place]
        restored = [one for one in these if _restored(facts, one)]
        kept = [one for one in these if one.kept and not _saved_at_once(facts, one)]
        if not restored and not (kept and _judged(place)):
            continue
        passed = facts.updates - (restored or kept)[-1].update
        yield Finding(
            place=place,
            sentence=Said(
                "가장 좋았던 가중치로 남긴 것이 복사본이 아니라 모델 자신의 텐서예요. 학습하면서 함께 바뀌므로, "
                "되돌려도 마지막 가중치가 그대로예요.",
                "What is kept as the best weights are the model's own tensors, not a copy: they change with "
                "training, and restoring them restores the last weights.",
            ),
            evidence=Said(
                f"`state_dict()`를 {len(these)}번 받았고, 남아 있는 사전의 텐서가 모델과 메모리를 함께 써요. "
                f"그 뒤로 업데이트가 {passed}번 있었어요.",
                f"state_dict() was taken {len(these)} times; the kept tensors share the model's memory, and "
                f"{passed} updates followed.",
            ),
            mend=Said(
                "복사해서 남기세요: `copy.deepcopy(model.state_dict())`.",
                "Keep a copy: `copy.deepcopy(model.state_dict())`.",
            ),
            diff=_mended(place),
        )


RULE = Rule(
    id="best-by-reference",
    severity="bug",
    title=Said("가장 좋은 가중치를 복사하지 않았어요", "The best weights are kept by reference"),
    lesson="02_loop_anatomy/6_best_checkpoint",
    find=_find,
)
