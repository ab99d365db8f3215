"""Gradients are computed again and again, and the optimizer that holds their parameters never steps."""

import ast
from collections.abc import Iterator

from grader.scripts.facts import BackwardRan, Facts, LoaderEnded, ScalerCalled, Stepped
from grader.scripts.findings import Finding, Rule, Said
from grader.scripts.places import Place
from grader.scripts.rules import _reading
from grader.scripts.rules._evaluations import batches
from grader.scripts.source import enclosing_tests
from grader.scripts.things import OptimizerFacts

_FEWEST = 3
_SURELY = 100
"""So many backwards without any update are no study of gradients."""
_WORDS = {"opt", "optim", "optimizer", "optimiser", "optimizers", "scaler"}


def never_stepped(facts: Facts) -> Iterator[tuple[OptimizerFacts, list[BackwardRan]]]:
    """Iterate over optimizers without a step whose parameters got gradients and stayed, with those backwards."""
    stepped = {one.optimizer for one in facts.of(Stepped)}
    tried = {one.optimizer for one in facts.of(ScalerCalled) if one.method == "step"}
    for optimizer in facts.optimizers:
        own = [one for one in facts.of(BackwardRan) if optimizer.number in one.contributed]
        moved = any(facts.parameters[one].moved is not False for one in optimizer.parameters)
        if len(own) >= _FEWEST and optimizer.number not in stepped | tried and not moved:
            yield optimizer, own


def _step_line(facts: Facts, optimizer: OptimizerFacts) -> Place | None:
    """Return the line of a `step()` that by its name is the optimizer's; None if there is none."""
    name = _reading.name_at(optimizer.built, "optimizer").rpartition(".")[2]
    for file in _reading.files(facts):
        for call in _reading.nodes(file, ast.Call):
            if _reading.called(call) != "step" or not isinstance(call.func, ast.Attribute):  # type: ignore[attr-defined]
                continue
            owner = ast.unparse(call.func.value)  # type: ignore[attr-defined]
            if owner.rpartition(".")[2] == name or _reading.words(owner) & _WORDS:
                return _reading.at(file, call)
    return None


def _condition(facts: Facts, step: Place) -> tuple[Place, Said]:
    """Return the line that decides about a step, and what is read there."""
    tests = [one for one in enclosing_tests(step) if "__name__" not in one[1]]
    if not tests:
        return step, Said(
            f"읽어 보니 `step()`은 {step.line}번째 줄에 있는데, 그 줄은 한 번도 실행되지 않았어요.",
            f"From reading: step() stands on line {step.line}, which never ran.",
        )
    place, test = tests[0]
    trained = {one.loader for one in batches(facts).trained}
    passes = sorted({one.batches for one in facts.of(LoaderEnded) if one.loader in trained})
    several = " · ".join(map(str, passes[-3:]))
    return place, Said(
        f"읽어 보니 {step.line}번째 줄의 `step()`은 `{test}`일 때만 실행되는데 한 번도 그렇지 않았어요."
        + (f" 학습 로더 한 바퀴는 배치 {several}개예요." if passes else ""),
        f"From reading: the step() of line {step.line} runs only if `{test}`, which was never so."
        + (f" A pass over the training loader has {several} batches." if passes else ""),
    )


def _find(facts: Facts) -> Iterator[Finding]:
    if not facts.ended:
        return  # a step may come later
    for optimizer, own in never_stepped(facts):
        step = _step_line(facts, optimizer)
        name = _reading.name_at(optimizer.built, "optimizer")
        place, read = (
            _condition(facts, step)
            if step is not None
            else (own[-1].place, Said("`step()`을 부르는 줄이 없어요.", "No line calls step()."))
        )
        yield Finding(
            place=place,
            severity="bug" if step is not None or (not facts.updates and len(own) >= _SURELY) else "warning",
            sentence=Said(
                f"`backward()`를 {len(own)}번 했는데 {optimizer.kind}(`{name}`)의 `step()`은 0번이에요. 그레이디언트만 "
                "구하고 가중치는 처음 그대로예요.",
                f"backward() ran {len(own)} times and {optimizer.kind} (`{name}`) never stepped: the weights are those "
                "of the beginning.",
            ),
            evidence=Said(
                f"매개변수 {len(optimizer.parameters)}개 가운데 움직인 것이 없어요. {read.ko}",
                f"None of {len(optimizer.parameters)} parameters moved. {read.en}",
            ),
            mend=Said(
                "`step()`이 실행되게 하세요. 그레이디언트를 모으는 중이라면 마지막 배치에서도: "
                "`or i + 1 == len(loader)`."
                if step is not None
                else f"학습하려면 `backward()` 뒤에 `{name}.step()`을 부르세요.",
                "Let the step run; when accumulating, also at the last batch: `or i + 1 == len(loader)`."
                if step is not None
                else f"To train, call {name}.step() after backward().",
            ),
        )


RULE = Rule(
    id="no-step",
    severity="bug",
    title=Said("step이 한 번도 실행되지 않았어요", "The optimizer never steps"),
    lesson="01_five_line_step/4_accumulation_loop",
    find=_find,
)
