"""The seed is set again inside the loop: the same batches and the same dropout masks each time."""

import ast
from collections.abc import Iterator
from itertools import pairwise, takewhile

from grader.scripts.facts import (
    BackwardRan,
    BatchLoaded,
    Facts,
    ForwardRan,
    LoaderBegan,
    OptimizerBuilt,
)
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.random_events import Drawn, Seeded
from grader.scripts.rules import _reading
from grader.scripts.rules._orders import same_orders
from grader.scripts.source import in_loop

_FEWEST, _FEWEST_INPUTS = 5, 3
_DRAWING = (
    "randperm",
    "rand",
    "randn",
    "randint",
    "permutation",
    "shuffle",
    "choice",
    "sample",
    "multinomial",
)


def _same_passes(facts: Facts) -> tuple[int, int]:
    """Return how many passes of shuffling loaders began, and how many of them with a batch that came before."""
    shuffling = {one.number for one in facts.loaders if one.sampler == "RandomSampler"}
    first = [
        one
        for one in facts.of(BatchLoaded)
        if one.loader in shuffling and one.index == 0 and one.rows is not None
    ]
    seen: set[tuple[object, ...]] = set()
    again = 0
    for batch in first:
        assert batch.rows is not None
        loader = facts.loaders[batch.loader]  # an epoch may make its own
        key = (loader.dataset, loader.built, *batch.rows.tolist())
        again += key in seen
        seen.add(key)
    return sum(one.loader in shuffling for one in facts.of(LoaderBegan)), again


def _same_inputs(facts: Facts, seeds: list[Seeded]) -> tuple[int, int]:
    """Return how many training forwards came first after a seed, and how many of them saw an input seen before."""
    serials = {one.serial for one in seeds}
    seen: set[tuple[int, ...]] = set()
    first = again = 0
    fresh = False
    for event in facts.events:
        if event.serial in serials:
            fresh = True
        elif fresh and isinstance(event, ForwardRan) and event.grad and event.rows is not None:
            key = tuple(event.rows.reshape(-1).tolist())
            first, again, fresh = first + 1, again + (key in seen), False
            seen.add(key)
    return first, again


def _same_stretches(facts: Facts, seeds: list[Seeded]) -> tuple[int, int]:
    """Return how many stretches of training forwards began with a seed, and how many repeat the one before.

    A stretch repeats another if its forwards see the same inputs in the same order; a run that begins anew after a
    seed, with an optimizer of its own, is left out.
    """
    serials = {one.serial for one in seeds}
    stretches: list[list[tuple[int, ...]]] = []
    for event in facts.events:
        if event.serial in serials:
            stretches.append([])
        elif isinstance(event, OptimizerBuilt) and stretches:
            stretches = []
        elif stretches and isinstance(event, ForwardRan) and event.grad and event.rows is not None:
            stretches[-1].append(tuple(event.rows.reshape(-1).tolist()))
    long = [one for one in stretches if len(set(one)) >= _FEWEST_INPUTS]
    again = sum(len(one) >= _FEWEST_INPUTS and one == before[: len(one)] for before, one in pairwise(long))
    return len(long), again


def _repeated(seed: Seeded) -> Place | None:
    """Return the line to blame for a seed in a loop.

    That is, from the seed's own line outwards, the first one in a function that has loops of its own, or else the
    call that stands in a loop.
    """
    looped = next((place for place in seed.callers if in_loop(place)), None)
    if looped is None or seed.place is None or looped == seed.place:
        return looped
    inner = [seed.place, *takewhile(lambda place: place != looped, seed.callers)]
    return next((place for place in inner if _has_loops(place)), looped)


def _has_loops(place: Place) -> bool:
    """Return True if the function around a line has a loop."""
    functions = _reading.around(place, ast.FunctionDef, ast.AsyncFunctionDef)
    return bool(functions) and any(isinstance(one, _reading.LOOPS) for one in ast.walk(functions[0]))


def _draws(place: Place) -> bool:
    """Return True if the loop around a line draws random numbers."""
    return any(_reading.calls(loop, *_DRAWING) for loop in _reading.around(place, *_reading.LOOPS)[:1])


def _generators(facts: Facts) -> Iterator[Finding]:
    """Find a generator of the script's own that a training loop seeds with one number in every update."""
    backwards = [one for one in facts.of(BackwardRan) if one.place is not None]
    for place in dict.fromkeys(one.place for one in backwards):
        assert place is not None
        for loop in _reading.around(place, *_reading.LOOPS)[:1]:
            for call in (one for made in loop.body for one in _seeding(made)):  # type: ignore[attr-defined]
                count = sum(one.place == place for one in backwards)
                if count >= _FEWEST:
                    yield Finding(
                        place=_reading.at(place.file, call),
                        sentence=Said(
                            "난수 생성기의 시드를 업데이트마다 같은 수로 다시 정해서, 매번 똑같은 난수가 나와요.",
                            "The generator is seeded with the same number in every update, so each draws the same.",
                        ),
                        evidence=Said(
                            f"읽어 보니 이 줄은 `backward()`를 {count}번 부른 반복문 안에 있어요.",
                            f"From reading: this line stands in the loop that called backward() {count} times.",
                        ),
                        mend=Said(
                            "생성기는 반복문 앞에서 한 번만 만들고 시드를 정하세요.",
                            "Make and seed the generator once, before the loop.",
                        ),
                    )


def _drawn_again(facts: Facts) -> Iterator[Finding]:
    """Find lines that draw the same numbers from their own generator for different inputs of the training.

    Fixed numbers may be meant for a thing that stays, such as a projection, and so is an evaluation's noise: only those
    count that come with each update, one row for each of its model's.
    """
    found: dict[Place, list[tuple[Drawn, ForwardRan]]] = {}
    waiting: list[Drawn] = []
    for event in facts.events:
        if isinstance(event, Drawn):
            waiting.append(event)
        elif isinstance(event, ForwardRan):
            for one in waiting if event.grad else ():
                if one.place is not None:
                    found.setdefault(one.place, []).append((one, event))
            waiting = []
    told: set[Place] = set()
    for place, those in found.items():
        rows = [one.rows.tolist() for one, _ in those if one.rows is not None]
        inputs = {tuple(ran.rows.tolist()) for _, ran in those if ran.rows is not None}
        sizes = {ran.batch for one, ran in those if one.rows is not None and len(one.rows) == ran.batch > 1}
        updates = {one.update for one, _ in those}
        again = sum(one == rows[0] for one in rows)
        if min(len(updates), len(inputs), again) < _FEWEST or not sizes or again < 0.9 * len(those):
            continue
        seeding = _seeding_line(those[-1][0])
        if (seeding or place) not in told:
            told.add(seeding or place)
            yield _told_of_draws(seeding or place, place.line, again, len(inputs), seeding is not None)


def _seeding_line(drawn: Drawn) -> Place | None:
    """Return the only line that seeds a generator in the function of a draw, in one that it calls, or in its caller."""
    for place in (drawn.place, *drawn.callers) if drawn.place else ():
        assert place is not None
        for function in _reading.around(place, ast.FunctionDef)[:1]:
            names = {_reading.called(one) for one in ast.walk(function)}
            parts = [
                function,
                *(one for one in _reading.nodes(place.file, ast.FunctionDef) if _name(one) in names),
            ]
            calls = {
                call.lineno: call
                for part in parts
                for call in _reading.calls(part, "manual_seed", "default_rng", "RandomState")
                if ast.unparse(call.func) != "torch.manual_seed"
            }
            if len(calls) == 1:
                return _reading.at(place.file, next(iter(calls.values())))
    return None


def _name(function: ast.AST) -> str:
    return function.name if isinstance(function, ast.FunctionDef) else ""


def _told_of_draws(place: Place, line: int, again: int, inputs: int, seeded: bool) -> Finding:
    return Finding(
        place=place,
        severity=None if seeded else "warning",
        sentence=Said(
            "난수 생성기의 시드를 매번 같은 수로 다시 정해서, 배치는 달라지는데 뽑는 난수는 늘 똑같아요."
            if seeded
            else "배치는 달라지는데 여기서 뽑는 난수는 늘 똑같아요. 생성기의 시드를 매번 다시 정하나요?",
            "The generator is seeded with the same number each time: the batches differ but the numbers drawn for "
            "them are always the same."
            if seeded
            else "The batches differ but the numbers drawn for them are always the same: is the generator seeded anew?",
        ),
        evidence=Said(
            f"{line}번째 줄에서 학습에 쓸 난수를 뽑은 {again}번이 모두 같은 값이었어요. "
            f"모델의 입력은 {inputs}가지였어요.",
            f"All {again} draws of line {line} for the training had the same values; the model's inputs were {inputs} "
            "different ones.",
        ),
        mend=Said(
            "생성기의 시드는 학습하기 전에 한 번만 정하세요.",
            "Seed the generator once, before the training.",
        ),
    )


def _seeding(statement: ast.stmt) -> list[ast.Call]:
    """Return the calls of a plain statement that seed a generator with a fixed number."""
    if not isinstance(statement, ast.Assign | ast.Expr):
        return []
    return [
        call
        for call in _reading.calls(statement, "manual_seed", "default_rng", "RandomState")
        if call.args
        and isinstance(call.args[0], ast.Constant)
        and ("Generator" in ast.unparse(call.func) or _reading.called(call) != "manual_seed")
    ]


def _find(facts: Facts) -> Iterator[Finding]:
    looped = list(_generators(facts))
    yield from looped or _drawn_again(facts)
    passes, again = _same_passes(facts)
    seeds = [one for one in facts.of(Seeded) if one.package == "torch" and one.seed is not None]
    alike = None if any(one.update for one in facts.of(Seeded)) else same_orders(facts)
    if alike is not None:
        yield _told_of_orders(*alike)
    for seed in dict.fromkeys(one.seed for one in seeds):
        these = [one for one in seeds if one.seed == seed and one.update > 0]
        places = [_repeated(one) for one in these]
        repeated = next((place for place in places if place is not None), None)
        if repeated is None:
            continue
        count = places.count(repeated)
        first, same = (0, 0) if again else _same_inputs(facts, these)
        whole, repeats = (0, 0) if again else _same_stretches(facts, these)
        if same >= _FEWEST and same >= 0.8 * (first - 1):
            yield _told(repeated, seed, count, first, same)
        elif repeats and repeats == whole - 1:
            yield _told_of_stretches(repeated, seed, count, whole, repeats)
        if not again:
            continue
        yield Finding(
            place=repeated,
            sentence=Said(
                f"반복할 때마다 시드를 {seed}로 다시 정해서, 에폭마다 똑같은 배치와 똑같은 드롭아웃이 나와요.",
                f"The seed is set to {seed} again in the loop, so every epoch has the same batches and dropout masks.",
            ),
            evidence=Said(
                f"학습하는 동안 {count}번 다시 정했고, 섞는 로더를 {passes}번 도는 동안 {again}번은 "
                "앞에서 나온 것과 똑같은 배치로 시작했어요.",
                f"Set {count} times after training had begun; of {passes} passes over a shuffling loader {again} "
                "began with a batch that had come before.",
            ),
            mend=Said("시드는 반복문 앞에서 한 번만 정하세요.", "Seed once, before the loop."),
        )


def _told_of_orders(place: Place, passes: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            "섞는 로더의 난수 생성기에 에폭마다 같은 시드를 줘서, 에폭마다 똑같은 배치가 똑같은 순서로 나와요.",
            "The generator of a shuffling loader gets the same seed for every epoch, so every epoch has the same "
            "batches in the same order.",
        ),
        evidence=Said(
            f"이 로더로 학습한 에폭 {passes}번이 모두 앞 에폭과 순서까지 똑같은 배치를 줬어요.",
            f"All {passes} training passes over the loader gave the batches of the pass before, in the same order.",
        ),
        mend=Said(
            "생성기를 반복문 앞에서 한 번만 만들거나, 시드에 에폭 번호를 더하세요.",
            "Make the generator once, before the loop, or add the epoch's number to the seed.",
        ),
    )


def _told_of_stretches(place: Place, seed: int | None, count: int, whole: int, repeats: int) -> Finding:
    """Say it where whole epochs repeat; without random draws in the loop the order may be meant."""
    return Finding(
        place=place,
        severity=None if _draws(place) else "warning",
        sentence=Said(
            f"반복할 때마다 시드를 {seed}로 다시 정해서, 매번 똑같은 배치가 똑같은 순서로 나와요.",
            f"The seed is set to {seed} again in the loop, so the same batches come in the same order every time.",
        ),
        evidence=Said(
            f"학습하는 동안 {count}번 다시 정했어요. 그 뒤의 학습 구간 {whole}개 가운데 {repeats}개에서 모델의 입력이 "
            "앞 구간과 순서까지 똑같았어요.",
            f"Set {count} times after training had begun; in {repeats} of the {whole} stretches that followed the "
            "model saw the inputs of the stretch before, in the same order.",
        ),
        mend=Said("시드는 반복문 앞에서 한 번만 정하세요.", "Seed once, before the loop."),
    )


def _told(place: Place, seed: int | None, count: int, first: int, same: int) -> Finding:
    """Say it where batches are drawn by hand; a whole data set as one batch is the same input anyway."""
    return Finding(
        place=place,
        severity="warning",
        sentence=Said(
            f"반복할 때마다 시드를 {seed}로 다시 정해서, 스텝마다 똑같은 난수로 똑같은 입력을 만들어요.",
            f"The seed is set to {seed} again in the loop, so every step draws the same numbers and the same input.",
        ),
        evidence=Said(
            f"학습하는 동안 {count}번 다시 정했고, 그 뒤의 학습하는 순전파 {first}번 가운데 {same}번의 입력이 앞에서 "
            "나온 것과 똑같았어요.",
            f"Set {count} times after training had begun; {same} of {first} training forwards after it saw an input "
            "that had come before.",
        ),
        mend=Said("시드는 반복문 앞에서 한 번만 정하세요.", "Seed once, before the loop."),
    )


RULE = Rule(
    id="reseed-in-loop",
    severity="bug",
    title=Said("반복문 안에서 시드를 다시 정했어요", "The seed is set again in the loop"),
    lesson="02_loop_anatomy/1_seeds",
    find=_find,
)
