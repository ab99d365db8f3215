"""Driver of `evaluate`, which returns the mean loss over all samples and the accuracy.

Promises of the exercise, and the scenarios that check them:
    the mean loss over samples, and the accuracy between 0 and 1: `values`, `accuracy`
    a float32 model stays one, and is evaluated in float32: `float32`
    any loader, also one that can be read only once: `once`
    eval mode: `eval-mode`, `mixed`; BatchNorm's running statistics as before: `eval-mode`
    no graph, and training can go on afterwards: `no-graph`, `trains-on`
    each module's mode is restored: `restores`, `submodules`
    modes are restored also if the loader raises, or Ctrl+C stops the call: `loader-fails`, `never-starts`
    a tuple of two floats: `types`; nothing is printed: `quiet`

Scenarios about modes and graphs compare no returned numbers, and those about numbers compare no modes, so that a
mistake in the ones costs no points of the others.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import copy
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

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
from grader.exercises.fixtures.witnesses import ForwardWitness, gradients_of_next_backward, seeded_number
from grader.observe.forward_notes import mode_words
from grader.observe.play import Driver, Env, Stage
from grader.observe.trace import Fact
from grader.observe.values import as_number, type_name
from grader.observe.wording import RETURN_TYPES, fact_of_modes_left, true_or_false, yes_or_no

driver = Driver("evaluate")

_LOSS_INDEX, _ACCURACY_INDEX = 0, 1
"""Where the two numbers stand in the returned tuple."""


def _labelled_batches(
    env: Env, model: Net, sizes: tuple[int, ...], *, all_correct: bool = False
) -> list[Batch]:
    """Return batches whose labels are made from the model's predictions, so that it is right about all or some samples.

    Some are 4 of 9, 3 of 8, 1 of 1 and 1 of 5 if the sizes are 9, 8, 1 and 5. So the accuracy is not 0, where a
    percentage would pass; it is not the mean of the batches' accuracies; and few wrong ways to count give the same
    number.
    """
    examined = copy.deepcopy(model).eval()
    data = batches(env, sizes)
    with torch.no_grad():
        for number, (xb, yb) in enumerate(data):
            correct = len(yb) if all_correct else max(1, len(yb) // 2 - number)
            predicted = examined(xb).argmax(dim=1)
            yb[:correct] = predicted[:correct]
            yb[correct:] = (predicted[correct:] + 1) % CLASSES
    return data


def _evaluate(stage: Stage, model: Net, loader: Iterable[Batch] | None = None) -> object:
    """Call the learner's function once, over `loader` or else over two small batches, and return its result.

    Record, too, whether it made a forward pass: a function that does nothing leaves everything as it was.
    """
    recorder = stage.recorder
    if model.observer is None:
        recorder.watch(model, states=False)
    if loader is None:
        loader = batches(stage.env, (4, 2))
    value = recorder.call(stage.student("evaluate"), model, loss_function(stage.env), loader)
    recorder.fact("순전파를 함", yes_or_no(bool(recorder.forward_notes.modes)))
    return value


def _record_number(stage: Stage, index: int, name: str, value: object) -> None:
    """Record the number at `index` of a returned tuple or list under `name`; an empty array if it has fewer numbers.

    A single number counts as a tuple of one.
    """
    numbers = list(value) if isinstance(value, tuple | list) else [value]
    stage.recorder.array(name, [as_number(number) for number in numbers[index : index + 1]])


def _evaluate_uneven(
    stage: Stage,
    make_loader: Callable[[list[Batch]], Iterable[Batch]] = list,
    *,
    all_correct: bool = False,
    in_train_mode: bool = False,
) -> object:
    """Evaluate an `mlp` on batches of unlike sizes, and return what the learner's function returned.

    Args:
        stage: the scenario's stage.
        make_loader: makes the loader of the batches.
        all_correct: let the model be right about every sample; otherwise about some (see `_labelled_batches`).
        in_train_mode: hand over the model in train mode, which changes none of its numbers; otherwise in eval mode.
    """
    model = mlp(stage.env).train(in_train_mode)
    # For a single sample, `argmax()` equals `argmax(dim=1)`, so a program that forgets `dim=1` is right about one batch
    # and differs from a program that is wrong everywhere.
    data = _labelled_batches(stage.env, model, (9, 8, 1, 5), all_correct=all_correct)
    return _evaluate(stage, model, make_loader(data))


# ---- the returned numbers ------------------------------------------------------------------------


@driver.scenario("values", "손실", atol=FLOAT32_ATOL)
def _values(stage: Stage) -> None:
    """Record the loss over batches of unlike sizes.

    A program that takes the mean of the batches' means weighs a small batch too much.
    """
    _record_number(stage, _LOSS_INDEX, "손실", _evaluate_uneven(stage))


@driver.scenario("accuracy", "정확도", check="values", atol=FLOAT32_ATOL)
def _accuracy(stage: Stage) -> None:
    """Record the accuracy over batches of unlike sizes.

    A program that averages over batches, returns percent or forgets `dim=1` gives another accuracy.
    """
    _record_number(stage, _ACCURACY_INDEX, "정확도", _evaluate_uneven(stage))


@driver.scenario("once", "한 번만 돌 수 있는 loader", check="values", atol=FLOAT32_ATOL)
def _once(stage: Stage) -> None:
    """Record the loss and the accuracy with a loader that can be read only once.

    A program that reads its loader twice finds nothing the second time, and so returns another loss or accuracy,
    whichever it computes then. The model is right about every sample: a program that rounds the accuracy down by floor
    division, another known mistake, is right here, so that the two can be told apart. The model comes in train mode, in
    which a program may return other numbers.
    """
    value = _evaluate_uneven(stage, OneTimeLoader, all_correct=True, in_train_mode=True)
    _record_number(stage, _LOSS_INDEX, "손실", value)
    _record_number(stage, _ACCURACY_INDEX, "정확도", value)


def _case(stage: Stage) -> Case:
    """Return a case in eval mode, without an optimizer; the model is right about some samples."""
    model = mlp(stage.env).eval()
    data = _labelled_batches(stage.env, model, (5, 2))
    return Case(stage, "evaluate", model, None, loss_function(stage.env), data)


def _evaluate_case(case: Case, data: Iterable[Batch]) -> object:
    """Make one call, over all these batches."""
    return _evaluate(case.stage, case.model, data)


add_usual(driver, _case, _evaluate_case, checks={"float32": "values"})


# ---- modes and graphs ----------------------------------------------------------------------------


@driver.scenario("eval-mode", "학습 모드로 받은 모델")
def _eval_mode(stage: Stage) -> None:
    """Evaluate a model in train mode twice, and record the modes at its forward passes.

    A program that does not call `model.eval()` evaluates with dropout, and moves BatchNorm's running statistics.
    """
    model = norm_dropout_mlp(stage.env)
    witness = ForwardWitness(stage.env, model)
    for _ in range(2):
        model.train()
        _evaluate(stage, model)
    stage.recorder.claim("순전파할 때의 모드", [*stage.recorder.forward_notes.modes], witness.modes())
    stage.recorder.array("buffers", flat_buffers(model))


@driver.scenario("mixed", "하위 모듈마다 모드가 다른 모델", check="eval-mode")
def _mixed(stage: Stage) -> None:
    """Evaluate models whose submodules are in different modes, and record the modes at their forward passes.

    In the first model only BatchNorm is in eval mode. In the second the model itself is, but its submodules are in
    train mode: a program that calls `model.eval()` only `if model.training` leaves them there.
    """
    for mode in (Modes.NORM_EVAL, Modes.TOP_EVAL):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        _evaluate(stage, model)
    stage.recorder.fact("순전파할 때의 모드", [*stage.recorder.forward_notes.modes])


@driver.scenario("no-graph", "계산 그래프")
def _no_graph(stage: Stage) -> None:
    """Record whether forward passes build graphs.

    A program without `torch.no_grad()` or the like builds graphs in its forward passes.
    """
    model = mlp(stage.env)
    model.eval()
    witness = ForwardWitness(stage.env, model)
    _evaluate(stage, model)
    stage.recorder.claim("순전파", [*stage.recorder.forward_notes.graphs], witness.graphs())


def _record_if_training_can_go_on(stage: Stage, model: Net, when: str) -> None:
    """Record whether gradients are switched on, all parameters are trainable, and none holds a gradient.

    The names of all recorded facts begin with `when`, a Korean phrase.
    """
    recorder = stage.recorder
    recorder.fact(f"{when} 그레이디언트 계산", "켜짐" if torch.is_grad_enabled() else "꺼짐")
    is_trainable = all(p.requires_grad for p in model.parameters())
    recorder.fact(f"{when} 매개변수의 requires_grad", true_or_false(is_trainable))
    left = "남음" if recorder.gradients_left() else "없음"
    recorder.claim(f"{when} 그레이디언트", left, gradients_of_next_backward(stage.env, model.parameters()))


@driver.scenario("trains-on", "평가한 뒤에 이어서 학습하기", check="no-graph")
def _trains_on(stage: Stage) -> None:
    """Record whether training can go on after an evaluation, and whether a frozen parameter stays frozen.

    A program that sets `requires_grad` or `torch.set_grad_enabled`, and does not set it back, stops later training. One
    that sets `requires_grad` back for all parameters makes frozen ones trainable.
    """
    model = mlp(stage.env)
    _evaluate(stage, model)
    _record_if_training_can_go_on(stage, model, "평가한 뒤의")
    torch.set_grad_enabled(True)  # whatever the learner's function left
    frozen = mlp(stage.env, "frozen")
    frozen.layers[0].requires_grad_(False)
    _evaluate(stage, frozen)
    is_trainable = any(p.requires_grad for p in frozen.layers[0].parameters())
    stage.recorder.fact("얼린 매개변수의 requires_grad", true_or_false(is_trainable))


# ---- modes after the call ------------------------------------------------------------------------


def _some_inputs(stage: Stage) -> Tensor:
    """Return inputs for the pass that tells the modes: several samples, which batch normalization needs."""
    return batches(stage.env, (4,))[0][0]


@driver.scenario("restores", "학습 모드와 평가 모드 되돌리기")
def _restores(stage: Stage) -> None:
    """Evaluate models in train and in eval mode, twice each, and record the modes afterwards.

    A program that always ends with `model.train()`, or does not restore the mode, leaves another mode.
    """
    for mode in (Modes.ALL_TRAIN, Modes.ALL_EVAL):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        after, witness_numbers = fact_of_modes_left(mode_words(model)), []
        for _ in range(2):
            witness = ForwardWitness(stage.env, model)
            _evaluate(stage, model)
            stage.recorder.append_fact(after, mode_words(model))
            witness_numbers += witness.modes_left(model, _some_inputs(stage))
            torch.set_grad_enabled(True)  # whatever the learner's function left
        stage.recorder.array(after, witness_numbers)


@driver.scenario("submodules", "하위 모듈의 모드 되돌리기", check="restores")
def _submodules(stage: Stage) -> None:
    """Evaluate models whose submodules are in different modes, and record the modes afterwards.

    A program that notes only `model.training`, and calls `model.train(noted)`, puts all submodules into that mode.
    """
    for mode in (Modes.NORM_EVAL, Modes.TOP_EVAL):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        after, witness = fact_of_modes_left(mode_words(model)), ForwardWitness(stage.env, model)
        _evaluate(stage, model)
        stage.recorder.claim(after, mode_words(model), witness.modes_left(model, _some_inputs(stage)))
        torch.set_grad_enabled(True)  # whatever the learner's function left


# ---- loaders that fail ---------------------------------------------------------------------------


class BrokenLoader(Exception):
    """An exception of a loader: a class of our own, which an `except (OSError, ValueError)` does not catch.

    Learners read its name.
    """


def _record_failure(
    stage: Stage, model: Net, error_type: type[BaseException], loader: Iterable[Batch], when: str
) -> None:
    """Evaluate on a loader that raises; record what comes out, the modes, and whether training can go on.

    Args:
        stage: the scenario's stage.
        model: the model. It is put into train mode first.
        error_type: type of the exception that the loader raises.
        loader: the loader.
        when: Korean phrase with which the names of all recorded facts begin.
    """
    model.train()
    witness = ForwardWitness(stage.env, model)
    arguments = (model, loss_function(stage.env), loader)
    stage.recorder.record_raised(error_type, f"{when} 예외", stage.student("evaluate"), *arguments)
    # Not the inputs of the last pass: a program may read the whole loader before its first.
    witness_numbers = witness.modes_left(model, _some_inputs(stage))
    stage.recorder.claim(f"{when} 모드", mode_words(model), witness_numbers)
    _record_if_training_can_go_on(stage, model, when)
    torch.set_grad_enabled(True)  # whatever the learner's function left


@driver.scenario("loader-fails", "loader가 오류를 낼 때")
def _loader_fails(stage: Stage) -> None:
    """Evaluate on a loader that works, then on three that raise after two batches; record what each failure leaves.

    A program without `finally` leaves the model in eval mode. One that restores modes in `except Exception` does not
    after Ctrl+C (`KeyboardInterrupt`).
    """
    model = norm_dropout_mlp(stage.env)
    model.train()
    _evaluate(stage, model)
    torch.set_grad_enabled(True)  # whatever the learner's function left

    def loader(error_type: type[BaseException]) -> Iterator[Batch]:
        yield from batches(stage.env, (4, 3))
        raise error_type("데이터 파일을 읽다가 끊겼습니다")

    for error_type in (OSError, BrokenLoader, KeyboardInterrupt):
        when = f"loader가 오류({error_type.__name__})를 낸 뒤의"
        _record_failure(stage, model, error_type, loader(error_type), when)


class _NeverStarts:
    """A loader that raises as soon as it is asked for its batches."""

    def __iter__(self) -> Iterator[Batch]:
        raise BrokenLoader("데이터 파일을 열 수 없습니다")


@driver.scenario("never-starts", "첫 배치도 주지 못하는 loader", check="loader-fails")
def _never_starts(stage: Stage) -> None:
    """Let the loader raise before its first batch, and record what that leaves.

    A program that begins its `try` only inside the loop does not restore modes if `iter(loader)` raises.
    """
    _record_failure(
        stage, norm_dropout_mlp(stage.env), BrokenLoader, _NeverStarts(), "loader를 열지 못한 뒤의"
    )
    # A program that only reads the loader passes the above, so let another evaluation record a forward pass.
    _evaluate(stage, norm_dropout_mlp(stage.env))


# ---- types and output ----------------------------------------------------------------------------


@driver.scenario("types", "반환 타입")
def _types(stage: Stage) -> None:
    """Record the types of the returned value and of its items.

    A program that returns tensors, a list or a single number differs. The numbers themselves are not compared.
    """
    model = mlp(stage.env).eval()
    stage.recorder.watch(model, states=False)
    value = _evaluate(stage, model)
    items = list(value)[:10] if isinstance(value, list | tuple) else []
    # A program may join batches or take them apart, so only whether there was a pass counts.
    witness_number = seeded_number(stage.env, "types") * bool(stage.recorder.forward_notes.modes)
    types: list[Fact] = [type_name(value), *(type_name(item) for item in items)]
    stage.recorder.claim(RETURN_TYPES, types, type_witness(float, items, witness_number))


add_usual(driver, _case, _evaluate_case, checks={"quiet": "types"})
