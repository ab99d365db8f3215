"""The best weights are kept as `state_dict()` itself, which changes with the model."""

import ast
import linecache
from collections.abc import Iterator

from grader.scripts.facts import Facts, ForwardRan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.states import FileSaved, StateLoaded, StateTaken


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
        (one.taken == taken.serial or _came_back(facts, taken, one))
        and one.owner == taken.owner
        and one.update > taken.update
        for one in facts.of(StateLoaded)
    )


def _came_back(facts: Facts, taken: StateTaken, loaded: StateLoaded) -> bool:
    """Return True if a module was given its own memory, under other tensors, where the best state was taken last."""
    if not loaded.itself or loaded.taken is not None or taken.place is None or not _judged(taken.place):
        return False
    before = [
        one
        for one in facts.of(StateTaken)
        if one.kind == "module" and one.owner == loaded.owner and one.serial < loaded.serial and not one.late
    ]
    return bool(before) and before[-1] is taken


def _mended(place: Place) -> tuple[str, str] | None:
    line = linecache.getline(place.file, place.line).strip()
    whole = [one for one in _reading.around(place, ast.Call) if _reading.called(one) == "state_dict"]
    text = ast.unparse(whole[0]) if whole else ""
    return (line, line.replace(text, f"copy.deepcopy({text})")) if line.count(text) == 1 and text else None


def _kept_models(facts: Facts) -> Iterator[tuple[Place, str]]:
    """Iterate over the lines that keep the trained model itself where it was better, and its name.

    Of a model that the loop around the line makes anew, the best one is kept rightly.
    """
    called = {one.place for one in facts.of(ForwardRan) if one.grad and one.place is not None}
    for file in _reading.files(facts):
        trained = {
            ast.unparse(call.func)
            for call in _reading.nodes(file, ast.Call)
            if isinstance(call, ast.Call) and any(_stands_on(call, place, file) for place in called)
        }
        for made in _reading.nodes(file, ast.Assign):
            assert isinstance(made, ast.Assign)
            place, name = _reading.at(file, made), ast.unparse(made.value)
            if name not in trained or not isinstance(made.value, ast.Name | ast.Attribute):
                continue
            loops = _reading.around(place, *_reading.LOOPS)
            kept = "best" in _reading.words(made.targets[0]) and _judged(place)
            if kept and loops and not _made_anew(loops[0], name):
                yield place, name


def _stands_on(call: ast.Call, place: Place, file: str) -> bool:
    return place.file == file and call.lineno <= place.line <= (call.end_lineno or 0)


def _made_anew(loop: ast.AST, name: str) -> bool:
    """Return True if a loop binds a name."""
    return any(
        isinstance(one, ast.Name | ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and ast.unparse(one) == name
        for one in ast.walk(loop)
    )


def _find(facts: Facts) -> Iterator[Finding]:
    for place, name in _kept_models(facts):
        yield Finding(
            place=place,
            sentence=Said(
                f"가장 좋은 모델을 복사하지 않고 `{name}` 자체에 이름만 하나 더 붙였어요. 학습을 계속하면 이것도 함께 "
                "바뀌어요.",
                f"The best model is `{name}` itself under another name, not a copy: it changes with further training.",
            ),
            evidence=Said(
                f"읽어 보니 이 줄은 더 좋을 때 `{name}`을 그대로 남겨요. 지켜보는 동안 업데이트가 {facts.updates}번 "
                "있었어요.",
                f"From reading: where it was better this line keeps `{name}` as it is; {facts.updates} updates were "
                "watched.",
            ),
            mend=Said(
                f"복사해서 남기세요: `copy.deepcopy({name})`.", f"Keep a copy: `copy.deepcopy({name})`."
            ),
        )
    yield from _states(facts)


def _states(facts: Facts) -> Iterator[Finding]:
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
    late=True,
)
