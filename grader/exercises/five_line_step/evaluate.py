"""Driver of `evaluate`, which returns the mean loss over all samples and the accuracy, in eval mode and without a
graph.

Each value that it returns, and each switch that it sets or restores (modes, gradients; also after an exception), has a
scenario of its own. Scenarios about modes and graphs compare no numbers, and those about numbers compare no modes, so
each mistake costs its own check.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence

import torch

from grader.exercises.fixtures.classifiers import (
    CLASSES,
    Batch,
    Modes,
    Net,
    OneTimeLoader,
    batches,
    flat_buffers,
    loss_function,
    mlp,
    norm_dropout_mlp,
    set_modes,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL, type_witness
from grader.exercises.fixtures.usual import Case, add_usual
from grader.exercises.fixtures.witnesses import ForwardWitness, gradients_of_next_backward
from grader.observe.forward_notes import mode_words
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number, type_name
from grader.observe.wording import left_by, true_or_false, yes_or_no

driver = Driver("evaluate")


def _batches_partly_right(
    env: Env, model: Net, sizes: tuple[int, ...], *, everywhere: bool = False
) -> list[Batch]:
    """Return batches in which the model is right about some samples: 4 of 9, 3 of 8, 1 of 1 and 1 of 5.

    So the accuracy is neither 0, where a percentage would pass, nor the mean of the batches' accuracies, and few wrong
    ways to count give the same number. With `everywhere`, the model is right about all samples.
    """
    examined = copy.deepcopy(model).eval()
    data = batches(env, sizes)
    with torch.no_grad():
        for number, (xb, yb) in enumerate(data):
            right = len(yb) if everywhere else max(1, len(yb) // 2 - number)
            predicted = examined(xb).argmax(dim=1)
            yb[:right] = predicted[:right]
            yb[right:] = (predicted[right:] + 1) % CLASSES
    return data


def _evaluate(stage: Stage, model: Net, loader: Iterable[Batch] | None = None) -> object:
    """Call the student's function once, over two small batches or over `loader`."""
    recorder = stage.recorder
    if model.observer is None:
        recorder.watch(model, states=False)
    given = batches(stage.env, (4, 2)) if loader is None else loader
    value = recorder.call(stage.student("evaluate"), model, loss_function(stage.env), given)
    # A function that does nothing also restores everything, so a forward pass is required.
    recorder.fact("순전파를 함", yes_or_no(bool(recorder.forward_notes.modes)))
    return value


def _record_number(stage: Stage, place: int, name: str, value: object) -> None:
    """Record the number at `place` of a returned value; nothing is there if too few numbers were returned."""
    numbers = list(value) if isinstance(value, tuple | list) else [value]
    stage.recorder.array(name, [as_number(number) for number in numbers[place : place + 1]])


def _record_numbers(stage: Stage, place: int, name: str, *, once: bool = False) -> None:
    """Evaluate on uneven batches, and record the returned number at `place` (0: loss, 1: accuracy).

    With `once`, the loader can be read only once, and the model is right about every sample: there, floor division
    gives the right accuracy, which tells it apart from other wrong accuracies.
    """
    model = mlp(stage.env)
    model.eval()
    # One batch has a single sample: there the largest of all logits is that of the sample, so that an argmax without
    # its axis is right by chance.
    data = _batches_partly_right(stage.env, model, (9, 8, 1, 5), everywhere=once)
    _record_number(stage, place, name, _evaluate(stage, model, OneTimeLoader(data) if once else data))


@driver.scenario("values", "손실", atol=FLOAT32_ATOL)
def _values(stage: Stage) -> None:
    _record_numbers(stage, 0, "손실")


@driver.scenario("accuracy", "정확도", check="values", atol=FLOAT32_ATOL)
def _accuracy(stage: Stage) -> None:
    _record_numbers(stage, 1, "정확도")


@driver.scenario("once", "한 번만 돌 수 있는 loader", check="values", atol=FLOAT32_ATOL)
def _once(stage: Stage) -> None:
    _record_numbers(stage, 1, "정확도", once=True)


def _case(stage: Stage, sizes: Sequence[int] = (4, 2)) -> Case:
    model, data = mlp(stage.env).eval(), batches(stage.env, sizes)
    return Case(stage, "evaluate", model, None, loss_function(stage.env), data)


def _evaluate_case(case: Case, data: Iterable[Batch]) -> object:
    return _evaluate(case.stage, case.model, data)


add_usual(driver, lambda stage: _case(stage, (3, 2)), _evaluate_case, float32="values")


@driver.scenario("eval-mode", "학습 모드로 받은 모델")
def _eval_mode(stage: Stage) -> None:
    """Two evaluations of a model with dropout and BatchNorm that is handed over in train mode."""
    model = norm_dropout_mlp(stage.env)
    witness = ForwardWitness(stage.env, model)
    for _ in range(2):
        model.train()
        _evaluate(stage, model)
    stage.recorder.claim("순전파할 때의 모드", [*stage.recorder.forward_notes.modes], witness.modes())
    stage.recorder.array("buffers", flat_buffers(model))


@driver.scenario("mixed", "하위 모듈마다 모드가 다른 모델", check="eval-mode")
def _mixed(stage: Stage) -> None:
    """A model with a frozen BatchNorm; then one whose own flag says eval while all its submodules are in train mode."""
    for mode in (Modes.NORM_EVAL, Modes.TOP_EVAL):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        _evaluate(stage, model)
    stage.recorder.fact("순전파할 때의 모드", [*stage.recorder.forward_notes.modes])


@driver.scenario("no-graph", "계산 그래프")
def _no_graph(stage: Stage) -> None:
    """Forward passes must not build graphs."""
    model = mlp(stage.env)
    model.eval()
    witness = ForwardWitness(stage.env, model)
    _evaluate(stage, model)
    stage.recorder.claim("순전파", [*stage.recorder.forward_notes.graphs], witness.graphs())


def _record_gradients(stage: Stage, model: Net, when: str) -> None:
    """Record whether training could go on now, then switch gradients on again for what follows in the scenario."""
    recorder = stage.recorder
    recorder.fact(f"{when} 그레이디언트 계산", "켜짐" if torch.is_grad_enabled() else "꺼짐")
    trainable = all(p.requires_grad for p in model.parameters())
    recorder.fact(f"{when} 매개변수의 requires_grad", true_or_false(trainable))
    left = "남음" if recorder.gradients_left() else "없음"
    recorder.claim(f"{when} 그레이디언트", left, gradients_of_next_backward(stage.env, model.parameters()))
    torch.set_grad_enabled(True)


@driver.scenario("trains-on", "평가한 뒤에 이어서 학습하기", check="no-graph")
def _trains_on(stage: Stage) -> None:
    """A frozen parameter must stay frozen, and all others trainable."""
    model = mlp(stage.env)
    _evaluate(stage, model)
    _record_gradients(stage, model, "평가한 뒤의")
    frozen = mlp(stage.env, "frozen")
    frozen.layers[0].requires_grad_(False)
    _evaluate(stage, frozen)
    thawed = any(p.requires_grad for p in frozen.layers[0].parameters())
    stage.recorder.fact("얼린 매개변수의 requires_grad", true_or_false(thawed))
    torch.set_grad_enabled(True)


@driver.scenario("restores", "학습 모드와 평가 모드 되돌리기")
def _restores(stage: Stage) -> None:
    """A model in train mode, then one in eval mode, evaluated twice each."""
    for mode in (Modes.ALL_TRAIN, Modes.ALL_EVAL):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        after, numbers = left_by(mode_words(model)), []
        for _ in range(2):
            witness = ForwardWitness(stage.env, model)
            _evaluate(stage, model)
            stage.recorder.append_fact(after, mode_words(model))
            numbers += witness.modes_left(model)
            torch.set_grad_enabled(True)
        stage.recorder.array(after, numbers)


@driver.scenario("submodules", "하위 모듈의 모드 되돌리기", check="restores")
def _restores_submodules(stage: Stage) -> None:
    """A frozen BatchNorm must stay in eval mode, and a model's own flag that differs from the rest must be restored."""
    for mode in (Modes.NORM_EVAL, Modes.TOP_EVAL):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        after, witness = left_by(mode_words(model)), ForwardWitness(stage.env, model)
        _evaluate(stage, model)
        stage.recorder.claim(after, mode_words(model), witness.modes_left(model))
        torch.set_grad_enabled(True)


class BrokenLoader(Exception):
    """An exception class that no `except (OSError, ValueError)` lists: a loader may raise anything."""


def _record_failure(
    stage: Stage, model: Net, broken: type[BaseException], loader: Iterable[Batch], when: str
) -> None:
    """Evaluate on a loader that raises, and record whether the exception comes through, whether the mode is restored
    and whether training can go on.
    """
    model.train()
    witness = ForwardWitness(stage.env, model)
    given = (model, loss_function(stage.env), loader)
    stage.recorder.record_raised(broken, f"{when} 예외", stage.student("evaluate"), *given)
    stage.recorder.claim(f"{when} 모드", mode_words(model), witness.modes_left(model))
    _record_gradients(stage, model, when)


@driver.scenario("loader-fails", "loader가 오류를 낼 때")
def _loader_fails(stage: Stage) -> None:
    """A loader that works, then three that raise half-way; Ctrl+C arrives as an exception that is no `Exception`."""
    model = norm_dropout_mlp(stage.env)
    model.train()
    _evaluate(stage, model)
    torch.set_grad_enabled(True)

    def loader(broken: type[BaseException]) -> Iterator[Batch]:
        yield from batches(stage.env, (4, 3))
        raise broken("데이터 파일을 읽다가 끊겼습니다")

    for broken in (OSError, BrokenLoader, KeyboardInterrupt):
        _record_failure(stage, model, broken, loader(broken), f"loader가 오류({broken.__name__})를 낸 뒤의")


class _NeverStarts:
    def __iter__(self) -> Iterator[Batch]:
        raise BrokenLoader("데이터 파일을 열 수 없습니다")


@driver.scenario("never-starts", "첫 배치도 주지 못하는 loader", check="loader-fails")
def _never_starts(stage: Stage) -> None:
    """A loader that raises as soon as it is asked for its batches."""
    _record_failure(
        stage, norm_dropout_mlp(stage.env), BrokenLoader, _NeverStarts(), "loader를 열지 못한 뒤의"
    )
    model = norm_dropout_mlp(stage.env)
    _evaluate(stage, model)


@driver.scenario("types", "반환 타입")
def _types(stage: Stage) -> None:
    """Only the types of the returned values are recorded."""
    model = mlp(stage.env).eval()
    witness = ForwardWitness(stage.env, model)
    value = _evaluate(stage, model)
    items = list(value)[:10] if isinstance(value, list | tuple) else []
    types = [type_name(value), *(type_name(item) for item in items)]
    stage.recorder.claim("반환 타입", [*types], type_witness(float, items, witness.first_sum))


add_usual(driver, _case, _evaluate_case, quiet="types")
