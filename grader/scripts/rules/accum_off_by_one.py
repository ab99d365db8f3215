"""A counter is off by one: the first window holds one micro-batch, or each one more than its losses are divided by."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, BatchLoaded, Facts, LoaderBegan, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._windows import Window, one_line, usual_length, windows
from grader.scripts.source import enclosing_tests

_FEWEST = 4
_MOST_OFTEN = 0.8


def _first_windows(facts: Facts, optimizer: int) -> list[tuple[Stepped, int, int]]:
    """Return the first step of each epoch, the micro-batches that its loader gave before it, and the backwards."""
    found: list[tuple[Stepped, int, int]] = []
    for began in facts.of(LoaderBegan):
        batches, backwards = 0, 0
        for event in facts.events[began.serial :]:
            if isinstance(event, BatchLoaded) and event.loader == began.loader and event.pass_ == began.pass_:
                batches += 1
            elif isinstance(event, LoaderBegan) and event is not began:
                break
            elif isinstance(event, BackwardRan):
                backwards += optimizer in event.contributed
            elif isinstance(event, Stepped) and event.optimizer == optimizer:
                if backwards:
                    found.append((event, batches, backwards))
                break
    return found


def _batches_between(facts: Facts, optimizer: int) -> list[int]:
    """Count the batches that came between the steps of an optimizer."""
    found, batches = [], 0
    for event in facts.events:
        batches += isinstance(event, BatchLoaded)
        if isinstance(event, Stepped) and event.optimizer == optimizer and not event.inside:
            found.append(batches)
            batches = 0
    return found


def _usual_backwards(facts: Facts, optimizer: int) -> int:
    """Return how many backwards usually reach this optimizer alone between its steps, also those that no step reads."""
    found, count = [], 0
    for event in facts.events:
        count += isinstance(event, BackwardRan) and event.contributed == {optimizer}
        if isinstance(event, Stepped) and event.optimizer == optimizer and not event.inside:
            found.append(count)
            count = 0
    return sorted(found)[len(found) // 2] if found else 0


def _grows(facts: Facts, optimizer: int) -> bool:
    """Return True if windows get longer on purpose: short ones come first, and never again."""
    lengths = [len(one.backwards) for one in windows(facts, optimizer)]
    return (
        usual_length(windows(facts, optimizer)) > 1
        and len(lengths) > 3
        and lengths[0] < lengths[1] < lengths[-1]
    )


def _counter(window: Window) -> Place | None:
    """Return the innermost test that decides whether a window's step follows its last backward."""
    backward = window.backwards[-1]
    inside, tests = (
        [test for line in lines if line is not None for test, _ in enclosing_tests(line)]
        for lines in ((backward.place, *backward.callers), (window.step.place, *window.step.callers))
    )
    around = {(one.file, one.line) for one in inside}
    found = next((one for one in tests if (one.file, one.line) not in around), None)
    return (found and (_deciding(found) or found)) or _skipping(backward.place, window.step.place)


def _deciding(test: Place) -> Place | None:
    """Return the `if` that decides in a function of the file which a test calls, `if due():`, whether it is true."""
    for branch in _reading.around(test, ast.If):
        assert isinstance(branch, ast.If)
        if branch.lineno != test.line or not isinstance(branch.test, ast.Call):
            continue
        function = _reading.function_called(test.file, branch.test)
        for one in _reading.nodes_of(function, ast.If) if function is not None else ():
            assert isinstance(one, ast.If)
            if any(ast.unparse(last) == "return True" for last in one.body):
                return _reading.at(test.file, one, getattr(function, "name", ""))
    return None


def _skipping(backward: Place | None, step: Place | None) -> Place | None:
    """Return the last `if` between a backward and a step of its loop that goes on with the next round."""
    if backward is None or step is None or backward.file != step.file:
        return None
    found = None
    for loop in _reading.around(step, *_reading.LOOPS)[:1]:
        for one in ast.iter_child_nodes(loop):
            if not isinstance(one, ast.If) or not isinstance(one.body[-1], ast.Continue):
                continue
            if loop.lineno < backward.line < one.lineno < step.line:  # type: ignore[attr-defined]
                found = _reading.at(step.file, one, step.function)
    return found


def _one_too_many(facts: Facts) -> Iterator[Finding]:
    """Find windows of n + 1 micro-batches whose losses are all divided by n."""
    for optimizer in facts.optimizers:
        found = windows(facts, optimizer.number)
        length = usual_length(found)
        these = [
            one
            for one in found
            if len(one.backwards) == length
            and one_line(one)
            and all(backward.divisor == length - 1 for backward in one.backwards)
        ]
        if length < 3 or len(these) < _FEWEST or len(these) < _MOST_OFTEN * len(found):
            continue
        test = _counter(these[-1])
        if test is not None:
            yield _told_too_many(test, length, len(these), len(found))


def _told_too_many(place: Place, length: int, count: int, of: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            f"손실은 {length - 1}로 나누는데 마이크로 배치 {length}개를 모은 다음에 `step()`해요. 세는 조건이 한 번 "
            "늦게 참이 돼요.",
            f"The losses are divided by {length - 1}, but step() comes after {length} micro-batches: the counter's "
            "test is true one too late.",
        ),
        evidence=Said(
            f"업데이트 {of}번 가운데 {count}번이 {length - 1}로 나눈 그레이디언트 {length}개의 합이었어요.",
            f"{count} of {of} updates were the sum of {length} gradients, each divided by {length - 1}.",
        ),
        mend=Said(
            f"마이크로 배치 {length - 1}개마다 참이 되게 세세요. `>`로 견주었다면 `>=`로 바꾸세요.",
            f"Make the test true after every {length - 1} micro-batches; where it compares with `>`, use `>=`.",
        ),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    yield from _short_first(facts)
    yield from _one_too_many(facts)


def _short_first(facts: Facts) -> Iterator[Finding]:
    for optimizer in facts.optimizers:
        if _grows(facts, optimizer.number):
            continue
        lengths = _batches_between(facts, optimizer.number)
        usual = sorted(lengths)[len(lengths) // 2] if lengths else 0
        first = _first_windows(facts, optimizer.number)
        gathered = max(
            usual_length(windows(facts, optimizer.number)), _usual_backwards(facts, optimizer.number)
        )
        # Of several loaders in a `zip` each gives one batch, and the window is whole.
        short = [step for step, batches, backwards in first if batches == 1 and backwards < gathered]
        accumulates = gathered > 1  # a critic's batches are not its own
        if accumulates and usual >= 2 and short and len(short) == len(first):
            test = _remainder(short[-1])
            if len(short) > 1 or test:
                yield _told(test or short[-1].place, usual, len(first))
            continue
        steps = facts.steps(optimizer.number)
        own = [len(one.window) for one in steps if not one.closure]  # also of gradients that are not finite
        if not lengths or max(lengths) == 0:  # batches are cut by hand
            usual = sorted(own)[len(own) // 2] if own else 0
            test = _remainder(steps[0]) if steps else None
            if test and usual >= 2 and len(own) > _FEWEST and own[0] == 1 and set(own[1:4]) == {usual}:
                yield _told(test, usual, 1)


def _remainder(step: Stepped) -> Place | None:
    """Return the line of the test with a remainder that a step stands behind."""
    lines = [one for one in (step.place, *step.callers) if one is not None]
    tests = [test for line in lines for test in enclosing_tests(line)]
    return next((where for where, test in tests if "%" in test), None)


def _told(place: Place | None, usual: int, count: int) -> Finding:
    return Finding(
        place=place,
        sentence=Said(
            f"첫 업데이트가 마이크로 배치 {usual}개가 아니라 1개로 이루어져요. "
            "0부터 세면서 나머지가 0인지 물어서, 첫 배치에서 바로 참이 돼요.",
            f"The first update is made of 1 micro-batch instead of {usual}: the remainder of a counter that begins "
            "at 0 is 0 at once.",
        ),
        evidence=Said(
            f"처음에 오는 업데이트 {count}번이 마이크로 배치 1개 뒤에 왔고, 다른 업데이트는 보통 {usual}개 "
            "뒤에 왔어요.",
            f"{count} first updates came after 1 micro-batch, the others usually after {usual}.",
        ),
        mend=Said("`(i + 1) % n == 0`으로 세세요.", "Count with `(i + 1) % n == 0`."),
    )


RULE = Rule(
    id="accum-off-by-one",
    severity="bug",
    title=Said("모으는 개수가 하나 어긋났어요", "The window's counter is off by one"),
    lesson="01_five_line_step/9_find_the_bug",
    find=_find,
)
