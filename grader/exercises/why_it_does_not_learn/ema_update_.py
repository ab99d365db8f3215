"""Driver of `ema_update_`, which moves an average of the weights towards the present ones.

Promises of the exercise, and the scenarios that check them:
    parameters become d times the average and 1 - d times the present value: `early`, `late`, `frozen`, `tied`
    d is the smaller of the decay and (1 + step) / (10 + step), and is returned as a float: `ratio`
    buffers are copied, integer and non-persistent ones too: `buffers`, `hidden`
    the average's tensors are its own and are changed in place: `own`
    no graph is built: `graph`
    the model's values stay, and modes, `requires_grad` and `.grad` of both: `stays`, `settings`

The contract of all exercises adds: nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import (
    FEATURES,
    Net,
    fill_gradients,
    flat_weights,
    holds_gradients,
    initialize,
    norm_dropout_mlp,
)
from grader.observe.play import Driver, Stage
from grader.observe.wording import yes_or_no

driver = Driver("ema_update_")


class _Models(NamedTuple):
    """A model that holds an average, and the model that is averaged."""

    average: Net
    model: Net


def _models(stage: Stage) -> _Models:
    """Return two models of the same structure, with different weights and buffers."""
    models = _Models(norm_dropout_mlp(stage.env, "average"), norm_dropout_mlp(stage.env, "model"))
    for number, one in enumerate(models):
        _add_noise(stage, one, -1 - number)  # negative, because steps have the numbers from 0 on
    return models


def _add_noise(stage: Stage, model: nn.Module, number: int) -> None:
    """Add noise to all parameters and buffers, in place of a step of training; `number` decides which noise."""
    generator = stage.env.generator(f"step {number}")
    with torch.no_grad():
        for tensor in _parameters_and_buffers(model):
            noise = torch.rand(tensor.shape, generator=generator, dtype=torch.float64).to(tensor.device)
            tensor.add_(noise if tensor.is_floating_point() else (1 + 9 * noise).to(tensor.dtype))


def _parameters_and_buffers(model: nn.Module) -> list[Tensor]:
    """Return all parameters, then all buffers."""
    return [*model.parameters(), *model.buffers()]


def _call(stage: Stage, average: nn.Module, model: nn.Module, decay: float, step: int) -> Any:
    """Call the learner's function and return its result."""
    return stage.recorder.call(stage.student("ema_update_"), average, model, decay, step)


def _witness_of_move(before: Tensor, average: nn.Module) -> Tensor:
    """Return the weights from before the call if any has changed since, else zeros.

    As a witness, they keep a program from passing that does nothing.
    """
    return before * bool((before != flat_weights(average)).any())


# ---- the average ---------------------------------------------------------------------------------


def _record_six_updates(stage: Stage, average: Net, model: Net, first: int = 0, decay: float = 0.6) -> None:
    """Change the model and call the learner's function, six times; record the average's parameters after each call.

    Args:
        stage: the scenario's stage.
        average: the model that holds the average.
        model: the model that is averaged.
        first: `step` of the first call.
        decay: `decay` of all calls.
    """
    stage.recorder.watch(average)
    for step in range(first, first + 6):
        _add_noise(stage, model, step)
        _call(stage, average, model, decay, step)


@driver.scenario("early", "처음 여섯 번", check="average")
def _early(stage: Stage) -> None:
    """Average from the first call on. A wrong program swaps the shares, or uses the decay from the beginning."""
    _record_six_updates(stage, *_models(stage))


@driver.scenario("late", "학습이 한참 지난 뒤", check="average")
def _late(stage: Stage) -> None:
    """Average at large steps. A wrong program takes the larger of both ratios, or copies the model's parameters."""
    _record_six_updates(stage, *_models(stage), first=400)


@driver.scenario("frozen", "얼린 매개변수", check="average")
def _frozen(stage: Stage) -> None:
    """Average with the model's first layer frozen. A wrong program leaves out what is not trained."""
    average, model = _models(stage)
    model.layers[0].requires_grad_(False)
    _record_six_updates(stage, average, model)


@driver.scenario("tied", "함께 쓰는 가중치", check="average")
def _tied(stage: Stage) -> None:
    """Average models in which two layers share a weight. A wrong program averages it once for each of its names."""
    models = []
    for salt in ("average", "model"):
        layers = [nn.Linear(FEATURES, FEATURES), nn.Tanh(), nn.Linear(FEATURES, FEATURES)]
        layers[2].weight = layers[0].weight
        models.append(initialize(Net(layers), stage.env, salt))
    _record_six_updates(stage, models[0], models[1])


@driver.scenario("ratio", "돌려준 비율", check="ratio")
def _ratio(stage: Stage) -> None:
    """Record the ratio at steps before and after the one where the decay takes over.

    A wrong program counts from 1, returns the decay, or returns nothing.
    """
    average, model = _models(stage)
    decay = stage.env.draw("decay").real(0.88, 0.92)
    crossing = round((10 * decay - 1) / (1 - decay))  # there (1 + step) / (10 + step) reaches the decay
    for step in (0, 1, 7, crossing - 2, crossing + 2, 5000):
        stage.recorder.returned(_call(stage, average, model, decay, step))


# ---- buffers -------------------------------------------------------------------------------------


def _record_buffers(stage: Stage, average: nn.Module) -> None:
    """Record all buffers of the average, and their dtypes."""
    for name, buffer in average.named_buffers():
        stage.recorder.array(f"버퍼 {name}", buffer.detach().double().ravel())
        stage.recorder.fact(f"버퍼 {name}의 dtype", str(buffer.dtype).removeprefix("torch."))


@driver.scenario("buffers", "배치 정규화의 버퍼", check="buffers")
def _buffers(stage: Stage) -> None:
    """Call twice and record the buffers. A wrong program leaves them, averages them, or copies only some."""
    average, model = _models(stage)
    for step in (400, 401):
        _add_noise(stage, model, step)
        _call(stage, average, model, 0.6, step)
    _record_buffers(stage, average)


@driver.scenario("hidden", "`state_dict`에 없는 버퍼", check="buffers")
def _hidden(stage: Stage) -> None:
    """Give both models a non-persistent buffer. A wrong program copies only what `state_dict` holds."""
    average, model = _models(stage)
    for one in (average, model):
        one.register_buffer(
            "scale", torch.ones(4, dtype=torch.float64, device=stage.env.device), persistent=False
        )
    _add_noise(stage, model, 400)
    _call(stage, average, model, 0.6, 400)
    stage.recorder.array("버퍼 scale", average.get_buffer("scale"))


# ---- what must stay ------------------------------------------------------------------------------


@driver.scenario("own", "평균 모델의 텐서", check="own")
def _own(stage: Stage) -> None:
    """Call once, change the model, and look at the average.

    A wrong program lets both share tensors, or gives the average new ones.
    """
    average, model = _models(stage)
    before = flat_weights(average)
    getters = {"매개변수": nn.Module.parameters, "버퍼": nn.Module.buffers}
    held = {name: [(tensor, tensor.data_ptr()) for tensor in get(average)] for name, get in getters.items()}
    _call(stage, average, model, 0.6, 0)
    witness = _witness_of_move(before, average)
    after_call = [tensor.detach().clone() for tensor in _parameters_and_buffers(average)]
    _add_noise(stage, model, 0)
    are_kept = all(
        torch.equal(now, then) for now, then in zip(_parameters_and_buffers(average), after_call, strict=True)
    )
    stage.recorder.claim("model이 바뀐 뒤에도 그대로", yes_or_no(are_kept), witness)
    for name, get in getters.items():
        pairs = zip(get(average), held[name], strict=True)
        are_same = all(now is then and now.data_ptr() == address for now, (then, address) in pairs)
        stage.recorder.claim(f"부르기 전과 같은 {name}", yes_or_no(are_same), witness)


@driver.scenario("graph", "`requires_grad`가 False인 평균 모델", check="kept")
def _graph(stage: Stage) -> None:
    """Call with an average that needs no gradients. A wrong program makes its parameters part of a graph."""
    average, model = _models(stage)
    average.requires_grad_(False)
    before = flat_weights(average)
    _call(stage, average, model, 0.6, 0)
    has_graph = any(p.grad_fn is not None or p.requires_grad for p in _parameters_and_buffers(average))
    stage.recorder.claim("계산 그래프가 생김", yes_or_no(has_graph), _witness_of_move(before, average))


@driver.scenario("stays", "model의 값", check="kept")
def _stays(stage: Stage) -> None:
    """Call once and record whether the model's values stay. A wrong program moves the model towards the average."""
    average, model = _models(stage)
    before = flat_weights(average)
    given = [tensor.detach().clone() for tensor in _parameters_and_buffers(model)]
    _call(stage, average, model, 0.6, 0)
    are_kept = all(
        torch.equal(now, then) for now, then in zip(_parameters_and_buffers(model), given, strict=True)
    )
    stage.recorder.claim("model의 값이 그대로", yes_or_no(are_kept), _witness_of_move(before, average))


@driver.scenario("settings", "모드, requires_grad, .grad", check="kept")
def _settings(stage: Stage) -> None:
    """Call with different modes, a frozen layer and gradients. A wrong program sets eval mode, freezes or clears."""
    average, model = _models(stage)
    model.eval()
    model.layers[0].requires_grad_(False)
    before = flat_weights(average)
    gradients = {name: fill_gradients(stage.env, one) for name, one in (("ema", average), ("model", model))}
    _call(stage, average, model, 0.6, 0)
    witness = _witness_of_move(before, average)
    for name, one, is_training in (("ema", average, True), ("model", model, False)):
        keeps_mode = all(module.training is is_training for module in one.modules())
        frozen: list[Any] = [number for number, p in enumerate(one.parameters()) if not p.requires_grad]
        keeps_gradients = holds_gradients(list(one.parameters()), gradients[name])
        stage.recorder.claim(f"{name}의 상태가 그대로", yes_or_no(keeps_mode), witness)
        stage.recorder.claim(f"{name}에서 얼린 매개변수의 번호", frozen, witness)
        stage.recorder.claim(f"{name}의 `.grad`가 그대로", yes_or_no(keeps_gradients), witness)


@driver.scenario("quiet", "화면 출력", check="kept")
def _quiet(stage: Stage) -> None:
    """Record whether the call prints anything."""
    average, model = _models(stage)
    before = flat_weights(average)
    _call(stage, average, model, 0.6, 0)
    stage.recorder.claim(
        "print를 부름", yes_or_no(stage.recorder.print_count > 0), _witness_of_move(before, average)
    )
