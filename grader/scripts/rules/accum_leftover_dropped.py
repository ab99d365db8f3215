"""The last micro-batches of an epoch are back-propagated, and cleared before any step reads them."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import (
    BackwardRan,
    BatchLoaded,
    Cleared,
    Facts,
    ForwardRan,
    LoaderBegan,
    LoaderEnded,
    ScalerCalled,
    Stepped,
)
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.source import enclosing_tests


def _skipped_by_scaler(facts: Facts, cleared: Cleared, first: int) -> bool:
    return any(isinstance(one, ScalerCalled) and one.skipped for one in facts.between(first, cleared.serial))


def _kind(backward: BackwardRan) -> tuple[Place | None, frozenset[int]]:
    """Tell backwards of one line apart by whose parameters they reach: two losses may share a helper."""
    return backward.place, backward.contributed


def _guard(backward: BackwardRan, step: Stepped) -> Place | None:
    """Return the condition in the backward's function that decides about the step; else the backward's line."""
    place = backward.place
    around = {one.line for one, _ in enclosing_tests(place)} if place is not None else set()
    for line in (step.place, *step.callers):
        if place is None or line is None or (line.file, line.function) != (place.file, place.function):
            continue
        tests = [one for one, _ in enclosing_tests(line) if one.line not in around]
        return tests[0] if tests and tests[0].line > place.line else place
    return place


def _moved(first: BackwardRan, second: BackwardRan, optimizer: int) -> bool:
    return first.weights.get(optimizer) != second.weights.get(optimizer)


def _perturbs(facts: Facts, backward: BackwardRan, optimizer: int) -> bool:
    """Return True if the weights are moved by hand before the next step: the first pass of SAM."""
    for event in facts.events[backward.serial + 1 :]:
        if isinstance(event, Stepped) and event.optimizer == optimizer:
            return False
        if (
            isinstance(event, BackwardRan)
            and optimizer in event.contributed
            and _moved(backward, event, optimizer)
        ):
            return True
    return False


def _groups(file: str) -> Iterator[ast.Call]:
    """Iterate over the calls of `zip` that take several items at a time from one iterator, and drop the last few."""
    for call in _reading.nodes(file, ast.Call):
        if not isinstance(call, ast.Call) or _reading.called(call) != "zip":
            continue
        star = call.args[0].value if call.args and isinstance(call.args[0], ast.Starred) else None
        repeated = isinstance(star, ast.BinOp) and isinstance(star.op, ast.Mult)
        names = [one.id for one in call.args if isinstance(one, ast.Name)]
        alike = len(names) > 1 and len(names) == len(call.args) and len(set(names)) == 1
        if (repeated and len(call.args) == 1) or alike:
            yield call


def _never_run(facts: Facts) -> Iterator[Finding]:
    """Find loaders whose last batches of a pass never come to a forward, as `zip` gives whole groups only."""
    ran = {tuple(one.rows.tolist()) for one in facts.of(ForwardRan) if one.grad and one.rows is not None}
    ended = {(one.loader, one.pass_) for one in facts.of(LoaderEnded)}
    for file in _reading.files(facts):
        for call in _groups(file):
            began = [one for one in facts.of(LoaderBegan) if _by(call, one, file)]
            passes = {(one.loader, one.pass_) for one in began if not facts.loaders[one.loader].drop_last}
            given = [
                one
                for one in facts.of(BatchLoaded)
                if (one.loader, one.pass_) in passes & ended and one.rows is not None
            ]
            left = [one for one in given if one.rows is not None and tuple(one.rows.tolist()) not in ran]
            whole = {(one.loader, one.pass_) for one in given} - {(one.loader, one.pass_) for one in left}
            if not left or whole or 2 * len(left) > len(given):
                continue
            yield Finding(
                place=_reading.at(file, call),
                sentence=Said(
                    "`zip`은 반복자 하나에서 같은 수만큼씩 묶다가, 묶음을 다 채우지 못한 마지막 배치들을 버려요. 그 "
                    "데이터는 그 에폭의 학습에 쓰이지 않아요.",
                    "zip takes whole groups from one iterator and throws away the last batches of an epoch, which do "
                    "not fill a group: their data is not trained on.",
                ),
                evidence=Said(
                    f"끝까지 돈 {len({one.pass_ for one in left})}번의 에폭에서 로더가 준 배치 {len(given)}개 가운데 "
                    f"{len(left)}개가 순전파에 한 번도 들어가지 않았어요.",
                    f"Of {len(given)} batches that the loader gave in {len({one.pass_ for one in left})} whole epochs, "
                    f"{len(left)} never came to a forward.",
                ),
                mend=Said(
                    "다 차지 않은 묶음도 받으세요: `itertools.batched(loader, k)`나 `zip_longest`.",
                    "Take the last group, too: `itertools.batched(loader, k)`, or `zip_longest`.",
                ),
            )


def _by(call: ast.Call, began: LoaderBegan, file: str) -> bool:
    """Return True if an iteration began in a call or, for `it = iter(loader); zip(it, it)`, in its function."""
    if _reading.runs_in(call, began, file):
        return True
    place = began.place
    around = _reading.around(_reading.at(file, call), ast.FunctionDef)[:1]
    named = not any(isinstance(one, ast.Starred) for one in call.args)
    return (
        named
        and place is not None
        and place.file == file
        and _reading.around(place, ast.FunctionDef)[:1] == around
    )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _cleared(facts)
    yield from _never_run(facts)


def _cleared(facts: Facts) -> Iterator[Finding]:
    backwards = {one.number: one for one in facts.of(BackwardRan)}
    for optimizer in facts.optimizers:
        steps = facts.steps(optimizer.number)
        read = {number for step in steps for number in step.recipe}
        windows = [len(step.recipe) for step in steps]
        if not windows or sorted(windows)[len(windows) // 2] < 2:
            continue
        kinds = {_kind(backwards[number]) for number in read}
        dropped: list[int] = []
        times = 0
        for cleared in facts.of(Cleared):
            gone = [
                n
                for n in cleared.dropped.get(optimizer.number, ())
                if _kind(backwards[n]) in kinds and not _perturbs(facts, backwards[n], optimizer.number)
            ]
            if gone and not _skipped_by_scaler(facts, cleared, backwards[gone[0]].serial):
                dropped += gone
                times += 1
        if not dropped or len(dropped) > len(read):
            continue
        yield Finding(
            place=_guard(backwards[dropped[-1]], steps[-1]),
            sentence=Said(
                "에폭 끝에 남은 마이크로 배치는 `backward()`만 하고 `step()` 없이 지워져서, "
                "그 데이터는 학습에 쓰이지 않아요.",
                "The micro-batches left over at an epoch's end are back-propagated and then cleared without "
                "a step: their data is never used.",
            ),
            evidence=Said(
                f"`backward()` {len(read) + len(dropped)}번 가운데 {len(dropped)}번이 어느 업데이트에도 들어가지 "
                f"않았어요 ({times}번에 걸쳐 버려졌고, 보통은 {sorted(windows)[len(windows) // 2]}번을 모아요).",
                f"{len(dropped)} of {len(read) + len(dropped)} backward passes are in no update (thrown away at "
                f"{times} moments; a window usually has {sorted(windows)[len(windows) // 2]}).",
            ),
            mend=Said(
                "마지막 배치에서도 `step()`을 하세요: `or i + 1 == len(loader)`.",
                "Also step at the last batch: `or i + 1 == len(loader)`.",
            ),
        )


RULE = Rule(
    id="accum-leftover-dropped",
    severity="bug",
    title=Said("남은 마이크로 배치를 버렸어요", "Leftover micro-batches are thrown away"),
    lesson="01_five_line_step/4_accumulation_loop",
    find=_find,
)
