"""Driver of `evaluate`: uneven batches, models with dropout and BatchNorm in every mode, and a loader that raises.

Half-way errors and frozen submodules show a function that does not put the modes back as they were.
"""

import copy
from collections.abc import Iterator

import torch

from grader.exercises.five_line_step._returned import record_sequence
from grader.exercises.five_line_step._tolerances import FLOAT32_ATOL
from grader.observe.fixtures.classifiers import (
    CLASSES,
    Batch,
    Net,
    Once,
    batches,
    buffers,
    loss_function,
    mlp,
    norm_dropout_mlp,
    set_modes,
)
from grader.observe.play import Driver, Env, Stage
from grader.observe.recorder import Recorder
from grader.observe.values import as_number

driver = Driver("evaluate")


def _partly_right(env: Env, model: Net, sizes: tuple[int, ...]) -> list[Batch]:
    """Batches in which the model is right about the first sample and wrong about the second.

    With an accuracy of 0, a function that returns a percentage (50 instead of 0.5) would pass.
    """
    examined = copy.deepcopy(model).eval()
    data = batches(env, sizes)
    with torch.no_grad():
        for xb, yb in data:
            predicted = examined(xb).argmax(dim=1)
            yb[0] = predicted[0]
            yb[1] = (predicted[1] + 1) % CLASSES
    return data


def _record_numbers(recorder: Recorder, value: object) -> None:
    """The returned numbers, whether they came in a tuple, in a list or alone."""
    numbers = list(value) if isinstance(value, tuple | list) else [value]
    recorder.array("returned", torch.tensor([as_number(n) for n in numbers], dtype=torch.float64))


def _evaluated(stage: Stage, model: Net, mode: str, *, once: bool = False) -> None:
    """Record loss, accuracy and buffers over uneven batches (`once`: the loader can be read only once)."""
    env, recorder = stage.env, stage.recorder
    set_modes(model, mode)
    recorder.watch(model)
    data = _partly_right(env, model, (5, 5, 2))
    loader = Once(data) if once else data
    torch.manual_seed(env.number("dropout"))
    value = recorder.call(stage.student("evaluate"), model, loss_function(env), loader)
    _record_numbers(recorder, value)
    recorder.array("buffers", buffers(model))


def _record_modes(stage: Stage, model: Net, name: str, title: str = "모드") -> None:
    """The modes as facts, and what the model computes in them: numbers nobody can know beforehand."""
    stage.recorder.modes(title)
    (batch,) = batches(stage.env, (4,), f"next/{name}")
    torch.manual_seed(stage.env.number("next"))
    with torch.no_grad():
        stage.recorder.array(f"outputs/{name}", model(batch[0]))


def _record_gradients(stage: Stage, model: Net) -> None:
    """Whether training can go on after an evaluation. Gradients are then switched on again, for the next call."""
    recorder = stage.recorder
    recorder.append_fact("그레이디언트 계산이 켜져 있음", torch.is_grad_enabled())
    recorder.append_fact("requires_grad", all(p.requires_grad for p in model.parameters()))
    recorder.append_fact("그레이디언트가 남음", recorder.gradients_left())
    torch.set_grad_enabled(True)


@driver.scenario("values", "손실과 정확도", atol=FLOAT32_ATOL)
def _values(stage: Stage) -> None:
    _evaluated(stage, mlp(stage.env), "eval", once=True)


@driver.scenario("eval-mode", "드롭아웃과 배치 정규화가 있는 모델", atol=FLOAT32_ATOL)
def _eval_mode(stage: Stage) -> None:
    _evaluated(stage, norm_dropout_mlp(stage.env), "train")


@driver.scenario("no-graph", "계산 그래프", atol=FLOAT32_ATOL)
def _no_graph(stage: Stage) -> None:
    _evaluated(stage, mlp(stage.env), "eval")
    stage.recorder.fact("계산 그래프를 만든 순전파", stage.recorder.graphs_built)


@driver.scenario("restores", "모드 되돌리기", atol=FLOAT32_ATOL)
def _restores(stage: Stage) -> None:
    """The model is handed over in train mode, then in eval mode; both times it must come back in that mode."""
    for mode in ("train", "eval"):
        model = norm_dropout_mlp(stage.env, mode)
        _evaluated(stage, model, mode)
        _record_modes(stage, model, mode)
        _record_gradients(stage, model)


@driver.scenario("submodules", "얼린 배치 정규화의 모드", check="restores", atol=FLOAT32_ATOL)
def _restores_submodules(stage: Stage) -> None:
    """A model in train mode with a frozen BatchNorm comes back exactly so."""
    model = norm_dropout_mlp(stage.env)
    _evaluated(stage, model, "frozen")
    _record_modes(stage, model, "frozen")


class BrokenLoader(Exception):
    """A class of its own, in no list such as `except (OSError, ValueError)`: a loader may raise anything."""


@driver.scenario("loader-fails", "loader가 오류를 낼 때", atol=FLOAT32_ATOL)
def _loader_fails(stage: Stage) -> None:
    """A loader that works, then two that raise half-way: the exception comes through and the mode is back."""
    env, recorder = stage.env, stage.recorder
    model, loss_fn = norm_dropout_mlp(env), loss_function(env)
    model.train()
    recorder.watch(model)
    loader_that_works = _partly_right(env, model, (4, 2))
    value = recorder.call(stage.student("evaluate"), model, loss_fn, loader_that_works)
    _record_numbers(recorder, value)
    torch.set_grad_enabled(True)

    def loader(broken: type[Exception]) -> Iterator[Batch]:
        yield from batches(env, (4, 3))
        raise broken("데이터 파일을 읽다가 끊겼습니다")

    for broken in (OSError, BrokenLoader):
        model.train()
        recorder.expect(
            broken, f"loader의 {broken.__name__}", stage.student("evaluate"), model, loss_fn, loader(broken)
        )
        recorder.array(f"buffers/{broken.__name__}", buffers(model))
        _record_modes(stage, model, broken.__name__, "예외 뒤의 모드")
        _record_gradients(stage, model)


@driver.scenario("types", "반환 타입", atol=FLOAT32_ATOL)
def _types(stage: Stage) -> None:
    """As `values`, but for the types of what comes back."""
    recorder = stage.recorder
    model = mlp(stage.env)
    model.eval()
    recorder.watch(model)
    loader = _partly_right(stage.env, model, (4, 2))
    value = recorder.call(stage.student("evaluate"), model, loss_function(stage.env), loader)
    record_sequence(recorder, value)
