"""Cross-validation with one model: from the second fold on it has been trained on the rows that it is judged with."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, ForwardRan
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.things import ModuleFacts

_FEWEST = 3
_FOLDS = {"fold", "folds", "kfold", "kf", "skf", "stratifiedkfold", "crossval", "cv"}
_IN_TIME = {"time", "timeseries", "series", "walk", "forward", "expanding", "rolling", "window", "windows"}
"""A fold behind the others may go on with their model: it was trained on the past only."""
_ANEW = (
    *("load_state_dict", "reset_parameters", "deepcopy", "apply", "reset", "copy_", "init_weights"),
    *("reinit", "reset_model", "reset_weights", "functional_call"),
)


def _loops(file: str) -> Iterator[ast.For]:
    for loop in _reading.nodes(file, ast.For):
        assert isinstance(loop, ast.For)
        words = _reading.words(loop.target) | _reading.words(loop.iter)
        if (
            words & _FOLDS
            and not words & _IN_TIME
            and not any(isinstance(one, ast.Break) for one in loop.body)
        ):
            yield loop


def _trained(facts: Facts, file: str, loop: ast.For) -> dict[int, int]:
    """Return by module how many backwards of it were started in a loop."""
    found: dict[int, int] = {}
    for backward in facts.of(BackwardRan):
        lines = [one for one in (backward.place, *backward.callers) if one is not None]
        if backward.contributed and any(_lies_in(loop, one, file) for one in lines):
            for serial in backward.forwards:
                forward = facts.events[serial]
                if isinstance(forward, ForwardRan):
                    found[forward.module] = found.get(forward.module, 0) + 1
    return found


def _lies_in(loop: ast.For, place: Place, file: str) -> bool:
    return place.file == file and loop.lineno <= place.line <= (loop.end_lineno or 0)


def _built(facts: Facts, module: ModuleFacts) -> tuple[Place, ...]:
    """Return the lines that led to the construction of a module's first layer; empty if it was not seen."""
    return next(
        (
            facts.parameters[one].module_callers
            for one in sorted(module.parameters)
            if facts.parameters[one].module_callers
        ),
        (),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    for file in _reading.files(facts):
        loops = list(_loops(file))
        if not loops or any(_reading.calls(one, *_ANEW) for one in _reading.nodes(file, ast.Module)):
            continue
        for loop in loops:
            for number, count in _trained(facts, file, loop).items():
                module = facts.modules[number]
                lines = _built(facts, module)
                judged = sum(one.module == number and not one.grad for one in facts.of(ForwardRan))
                known = {one.module_serial for one in map(facts.parameters.__getitem__, module.parameters)}
                if not lines or None in known or count < _FEWEST or not judged:
                    continue
                if any(_lies_in(loop, one, file) for one in lines) or module.copied_from is not None:
                    continue
                before = [one for one in lines if one.file == file and one.line < loop.lineno]
                yield _told((before or list(lines))[-1], loop, count, judged)


def _told(place: Place, loop: ast.For, count: int, judged: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            f"모델을 {loop.lineno}번째 줄의 폴드 반복문 앞에서 한 번만 만들어요. 두 번째 폴드부터는 검증할 행으로 이미 "
            "학습한 모델이라 점수가 실제보다 높게 나와요.",
            f"The model is made once before the loop over folds on line {loop.lineno}: from the second fold on it has "
            "been trained on the rows that it is judged with, and its score is too good.",
        ),
        evidence=Said(
            f"그 반복문 안에서 시작한 `backward()` {count}번이 모두 이 모델의 것이고, 그래프 없는 순전파가 {judged}번 "
            "있었어요. 읽어 보니 반복문 안에서 모델을 새로 만들거나 가중치를 되돌리는 곳이 없어요.",
            f"{count} backward passes that began in that loop went through this model, which also ran {judged} times "
            "without gradients. From reading: nothing in the loop builds it anew or resets its weights.",
        ),
        mend=Said(
            "모델과 옵티마이저를 폴드마다 새로 만드세요.",
            "Build model and optimizer anew in each fold.",
        ),
    )


RULE = Rule(
    id="folds-share-model",
    severity="bug",
    title=Said("폴드마다 같은 모델을 썼어요", "The folds share one model"),
    lesson=None,
    find=_find,
)
