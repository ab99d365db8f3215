"""Driver of `Dashboard`, which reads a model's layers by hooks.

Promises of the exercise, and the scenarios that check them:
    which modules are layers, and how they are called: `layers`, `single`
    `read` returns plain floats: `types`
    gradient norm and update ratio of a layer's own parameters: `grads`, `none`, `zero`, `tied`; without any: `bare`
    spread and dead units of a layer's outputs of any number of dimensions: `outputs`, `flat`, `sample`; as the layer
        gave them: `in-place`
    only training passes count, for each layer apart: `eval`, `no-grad`, `modes`; the last one, as often as it is read:
        `latest`; without one the values are absent: `never`
    outputs, gradients and random numbers are the same to the bit: `untouched`; no graph is kept: `graph`
    `close` leaves nothing, and may be called twice: `close`; other instruments stay: `several`

The contract of all exercises adds: nothing is printed (`quiet`).

Scenarios about passes and hooks compare the learner's readings with one another, so that a wrong formula costs its own
check only.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import CLASSES, FEATURES, HIDDEN, fixture_loss, norm_dropout_mlp
from grader.exercises.fixtures.returned import type_witness
from grader.exercises.fixtures.witnesses import seeded_number
from grader.exercises.why_it_does_not_learn._layered_net import (
    LAYERS,
    OWNERS,
    PLAIN,
    LayeredNet,
    draw_inputs,
    make_training_pass,
)
from grader.exercises.why_it_does_not_learn._leftovers import FollowedGraphs, attribute_names, hook_count
from grader.observe.play import Driver, Stage
from grader.observe.values import as_number, type_name
from grader.observe.wording import yes_or_no

driver = Driver("Dashboard")

_PARAMETER_KEYS = ("grad_norm", "update_ratio")
"""Keys of the values that a reading has of each layer's parameters."""
_OUTPUT_KEYS = ("output_std", "dead")
"""Keys of the values that it has of each layer's outputs in the last training pass, if there was one."""
_KEYS = (*_PARAMETER_KEYS, *_OUTPUT_KEYS)


def _open_dashboard(stage: Stage, model: nn.Module) -> Any:
    """Make the learner's dashboard, to be closed when the scenario ends: a hook on all modules would reach the next."""
    board = stage.recorder.call(stage.student("Dashboard"), model)

    def close() -> None:
        board.close()  # looked up only here, so that a dashboard without this method loses its own check only

    stage.recorder.at_end(close)
    return board


def _draw_rate(stage: Stage, salt: str = "lr") -> float:
    """Return a learning rate that follows from the seed."""
    return stage.env.draw(salt).real(0.05, 0.4)


def _read(stage: Stage, board: Any, lr: float | None = None) -> Any:
    """Call `read` and return its result: a reading, a dict of numbers by layer and key."""
    return stage.recorder.call(board.read, _draw_rate(stage) if lr is None else lr)


def _has_value(reading: Any, layer: str, key: str) -> bool:
    """Return True if a reading has a value of this layer under this key."""
    return isinstance(reading, dict) and isinstance(reading.get(layer), dict) and key in reading[layer]


def _values(reading: Any, key: str, layers: Sequence[str]) -> list[float]:
    """Return the value of each layer under this key; NaN where the reading has none."""
    return [
        as_number(reading[layer][key]) if _has_value(reading, layer, key) else torch.nan for layer in layers
    ]


def _all_values(reading: Any, layers: Sequence[str] = LAYERS) -> Tensor:
    """Return all values of these layers as one vector; NaN where the reading has none."""
    return torch.tensor([n for key in _KEYS for n in _values(reading, key, layers)], dtype=torch.float64)


def _is_same(one: Tensor, other: Tensor) -> bool:
    """Return True if two vectors of `_all_values` are equal to 1e-12; NaN equals NaN."""
    return torch.allclose(one, other, rtol=0.0, atol=1e-12, equal_nan=True)


def _claim_same(stage: Stage, name: str, one: Any, other: Any, after_other_pass: Any) -> None:
    """Record whether two readings are equal, with a witness that is 0 if a third one equals the first, too.

    Args:
        stage: the scenario's stage.
        name: name of the fact.
        one: a reading.
        other: a reading that is to equal it.
        after_other_pass: a reading that is not to: it was made after another training pass. So a dashboard whose
            readings never change does not pass.
    """
    ever_changes = not _is_same(_all_values(one), _all_values(after_other_pass))
    are_same = _is_same(_all_values(one), _all_values(other))
    witness = seeded_number(stage.env, name, are_same) * ever_changes
    stage.recorder.claim(name, yes_or_no(are_same), [witness])


def _has_read(reading: Any, layers: Sequence[str] = LAYERS) -> bool:
    """Return True if any value of these layers is a number other than 0: the dashboard has done something."""
    return bool(_all_values(reading, layers).nan_to_num().any())


# ---- layers and types ----------------------------------------------------------------------------


def _record_names(stage: Stage, model: nn.Module, inputs: Tensor) -> None:
    """Record the names of the layers in a reading, with a number for each as witness."""
    board = _open_dashboard(stage, model)
    make_training_pass(model, inputs)
    reading = _read(stage, board)
    names = sorted(str(name) or "(모델 자신)" for name in reading) if isinstance(reading, dict) else []
    stage.recorder.claim("읽은 계층", [*names], [seeded_number(stage.env, name) for name in names])


@driver.scenario("layers", "겹겹의 모델")
def _layers(stage: Stage) -> None:
    """Read a model with nested modules, one of which has a parameter and a child.

    A wrong program takes the modules at the top only, those without children only, those with parameters only, or all.
    """
    _record_names(stage, LayeredNet(stage.env), draw_inputs(stage.env, "layers", 4))


@driver.scenario("single", "계층 하나인 모델", check="layers")
def _single(stage: Stage) -> None:
    """Read a model that is itself a layer. A wrong program skips it because its name is empty."""
    layer = nn.Linear(FEATURES, CLASSES).double().to(stage.env.device)
    _record_names(stage, layer, draw_inputs(stage.env, "single", 4))


@driver.scenario("types", "값의 타입", check="layers")
def _types(stage: Stage) -> None:
    """Record the types of all values. A wrong program returns tensors."""
    model = LayeredNet(stage.env)
    board = _open_dashboard(stage, model)
    make_training_pass(model, draw_inputs(stage.env, "types", 4))
    reading = _read(stage, board)
    values = [reading[layer][key] for key in _KEYS for layer in LAYERS if _has_value(reading, layer, key)]
    kinds = sorted({type_name(value) for value in values})
    number = seeded_number(stage.env, "types")
    stage.recorder.claim("값의 타입", [*kinds], type_witness(float, values[:1], number))


@driver.scenario("bare", "매개변수가 없는 계층", check="layers")
def _bare(stage: Stage) -> None:
    """Read gradient norm and update ratio of layers without parameters. A wrong program leaves them out."""
    model = LayeredNet(stage.env)
    board = _open_dashboard(stage, model)
    make_training_pass(model, draw_inputs(stage.env, "bare", 4))
    reading = _read(stage, board)
    for key in _PARAMETER_KEYS:
        numbers = _values(reading, key, ("body.1", "body.3", "body.4"))
        are_zero = all(number == 0 for number in numbers)
        stage.recorder.claim(
            key, "모두 0" if are_zero else "0이 아님", [seeded_number(stage.env, key, are_zero)]
        )


# ---- what is measured ----------------------------------------------------------------------------


def _record_gradients(stage: Stage, reading: Any, when: str = "", layers: Sequence[str] = OWNERS) -> None:
    """Record gradient norm and update ratio of each layer, under names that end in `when`."""
    for key in _PARAMETER_KEYS:
        stage.recorder.array(f"{key}{when}", _values(reading, key, layers))


@driver.scenario("grads", "두 스텝의 그레이디언트")
def _grads(stage: Stage) -> None:
    """Read two steps with different learning rates.

    A wrong program adds norms, counts the parameters of children, or leaves out the learning rate.
    """
    model = LayeredNet(stage.env)
    board = _open_dashboard(stage, model)
    for number in (1, 2):
        model.zero_grad()
        make_training_pass(model, draw_inputs(stage.env, str(number), 4))
        reading = _read(stage, board, _draw_rate(stage, str(number)))
        _record_gradients(stage, reading, f" ({number}번째 스텝)")


@driver.scenario("none", "그레이디언트가 없는 매개변수", check="grads")
def _none(stage: Stage) -> None:
    """Freeze a weight, and leave a layer unused, and read before any backward pass too.

    A wrong program raises, or leaves out the frozen weight when it measures the parameters.
    """
    layers = (*PLAIN, "spare")
    model = LayeredNet(stage.env, with_spare=True)
    model.body[0].weight.requires_grad_(False)
    board = _open_dashboard(stage, model)
    _record_gradients(stage, _read(stage, board), " (역전파 앞)", layers)
    make_training_pass(model, draw_inputs(stage.env, "none", 4))
    _record_gradients(stage, _read(stage, board), " (역전파 뒤)", layers)


@driver.scenario("zero", "모두 0인 매개변수", check="grads")
def _zero(stage: Stage) -> None:
    """Read a layer whose parameters are all zero. A wrong program divides by their norm."""
    model = LayeredNet(stage.env)
    for parameter in model.head.parameters():
        nn.init.zeros_(parameter)
    board = _open_dashboard(stage, model)
    make_training_pass(model, draw_inputs(stage.env, "zero", 4))
    _record_gradients(stage, _read(stage, board), layers=PLAIN)


@driver.scenario("tied", "두 계층이 함께 쓰는 가중치", check="grads")
def _tied(stage: Stage) -> None:
    """Read two layers that share a weight. A wrong program counts it for the first of them only."""
    model = LayeredNet(stage.env)
    inner = model.get_submodule("body.2.linear")
    assert isinstance(inner, nn.Linear)
    tied = nn.Linear(HIDDEN, HIDDEN).double().to(stage.env.device)
    tied.weight = inner.weight
    model.body.append(tied)
    board = _open_dashboard(stage, model)
    make_training_pass(model, draw_inputs(stage.env, "tied", 4))
    _record_gradients(stage, _read(stage, board), layers=(*PLAIN, "body.5"))


def _record_outputs(stage: Stage, model: LayeredNet, *shape: int) -> None:
    """Make one training pass with inputs of this shape, and record spread and dead units of each layer."""
    board = _open_dashboard(stage, model)
    make_training_pass(model, draw_inputs(stage.env, "outputs", *shape))
    reading = _read(stage, board)
    for key in _OUTPUT_KEYS:
        stage.recorder.array(key, _values(reading, key, LAYERS))


@driver.scenario("outputs", "3차원 출력")
def _outputs(stage: Stage) -> None:
    """Measure outputs of three dimensions. A wrong program takes another dimension for the units, or another spread."""
    _record_outputs(stage, LayeredNet(stage.env), 4, 3)


@driver.scenario("flat", "2차원 출력", check="outputs")
def _flat(stage: Stage) -> None:
    """Measure outputs of two dimensions. A wrong program counts zeros in place of units."""
    _record_outputs(stage, LayeredNet(stage.env), 6)


@driver.scenario("sample", "1차원 출력", check="outputs")
def _sample(stage: Stage) -> None:
    """Measure the outputs of one sample without a batch dimension. A wrong program wants two dimensions."""
    _record_outputs(stage, LayeredNet(stage.env))


@driver.scenario("in-place", "다음 계층이 제자리에서 바꾼 출력", check="outputs")
def _in_place(stage: Stage) -> None:
    """Let ReLU overwrite the outputs of the layer before it. A wrong program keeps them and measures them too late."""
    _record_outputs(stage, LayeredNet(stage.env, in_place=True), 4, 3)


# ---- which passes count --------------------------------------------------------------------------


def _record_ignored(stage: Stage, name: str, passes: Callable[[nn.Module, Tensor], None]) -> None:
    """Record under `name` whether a reading is the same before and after `passes`, which are not to count.

    Two dashboards watch one model. The first is read before `passes`; the second after them, and again after a training
    pass, which counts.
    """
    model = LayeredNet(stage.env)
    boards = [_open_dashboard(stage, model), _open_dashboard(stage, model)]
    make_training_pass(model, draw_inputs(stage.env, "first", 4))
    first = _read(stage, boards[0])
    passes(model, draw_inputs(stage.env, "ignored", 6))
    model.train()  # `passes` may have set eval mode
    second = _read(stage, boards[1])
    make_training_pass(model, draw_inputs(stage.env, "later", 4))
    _claim_same(stage, name, first, second, _read(stage, boards[1]))


@driver.scenario("eval", "평가 모드의 순전파", check="passes")
def _eval(stage: Stage) -> None:
    """Make a pass in eval mode with gradients switched on. A wrong program counts it."""

    def passes(model: nn.Module, inputs: Tensor) -> None:
        model.eval()
        model(inputs)

    _record_ignored(stage, "평가 모드의 순전파 앞뒤에 읽은 값이 같음", passes)


@driver.scenario("no-grad", "그레이디언트를 끈 순전파", check="passes")
def _no_grad(stage: Stage) -> None:
    """Make a pass in train mode with gradients switched off. A wrong program counts it."""

    def passes(model: nn.Module, inputs: Tensor) -> None:
        with torch.no_grad():
            model(inputs)

    _record_ignored(stage, "`torch.no_grad()`의 순전파 앞뒤에 읽은 값이 같음", passes)


@driver.scenario("modes", "계층마다 다른 모드", check="passes")
def _modes(stage: Stage) -> None:
    """Put the model in eval mode and one of its layers in train mode, or the other way round.

    A wrong program reads the mode of the model, not that of the layer.
    """
    for is_training, name in ((True, "학습"), (False, "평가")):
        model = LayeredNet(stage.env)
        model.train(is_training)
        model.head.train(not is_training)
        board = _open_dashboard(stage, model)
        make_training_pass(model, draw_inputs(stage.env, "modes", 4))
        reading = _read(stage, board)
        seen = [
            layer
            for layer in PLAIN
            if _has_value(reading, layer, "output_std") and _has_value(reading, layer, "dead")
        ]
        witness = [seeded_number(stage.env, name, layer) for layer in seen]
        stage.recorder.claim(f"head만 빼고 {name} 모드일 때 출력을 읽은 계층", [*seen], witness)


@driver.scenario("latest", "학습 순전파 두 번", check="passes")
def _latest(stage: Stage) -> None:
    """Make two training passes, and compare with another dashboard that saw the second only; read twice.

    A wrong program keeps the first pass, averages both, or forgets the values once they are read.
    """
    model = LayeredNet(stage.env)
    boards = [_open_dashboard(stage, model)]
    make_training_pass(model, draw_inputs(stage.env, "early", 5))
    early = _read(stage, boards[0])
    boards.append(_open_dashboard(stage, model))
    model.zero_grad()
    make_training_pass(model, draw_inputs(stage.env, "late", 4))
    once, twice, fresh = (_read(stage, board) for board in (boards[0], boards[0], boards[1]))
    _claim_same(stage, "두 번째 순전파만 본 계기와 같음", once, fresh, early)
    _claim_same(stage, "다시 읽어도 같음", once, twice, early)


@driver.scenario("never", "한 번도 하지 않은 학습 순전파", check="passes")
def _never(stage: Stage) -> None:
    """Read before any pass, and after one that leaves a layer out. A wrong program makes up the outputs."""
    layers = (*PLAIN, "spare")
    model = LayeredNet(stage.env, with_spare=True)
    board = _open_dashboard(stage, model)
    before = _read(stage, board)
    make_training_pass(model, draw_inputs(stage.env, "never", 4))
    after = _read(stage, board)
    for when, reading in (("순전파 앞", before), ("순전파 뒤", after)):
        seen = [
            layer
            for layer in layers
            if _has_value(reading, layer, "output_std") or _has_value(reading, layer, "dead")
        ]
        witness = [
            seeded_number(stage.env, when, layer)
            for layer in layers
            if _has_value(reading, layer, "grad_norm")
        ]
        stage.recorder.claim(f"출력을 읽은 계층 ({when})", [*seen], witness)


# ---- what is left alone --------------------------------------------------------------------------


@driver.scenario("untouched", "드롭아웃과 배치 정규화가 있는 모델")
def _untouched(stage: Stage) -> None:
    """Make the same two training passes without and with a dashboard.

    A wrong program changes what a layer gives, cuts the graph, or draws random numbers.
    """
    results: list[list[Tensor]] = []
    has_read = False
    for is_watched in (False, True):
        model = norm_dropout_mlp(stage.env)
        stage.env.set_random_state("dropout")
        board = _open_dashboard(stage, model) if is_watched else None
        outputs = []
        for number in (1, 2):
            model.zero_grad()
            outputs.append(model(draw_inputs(stage.env, str(number), 4)))
            fixture_loss(outputs[-1]).backward()
            if board is not None:
                has_read |= _has_read(_read(stage, board), ("layers.0",))
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
        state = [value.detach().clone() for value in model.state_dict().values()]
        results.append([torch.cat(outputs), *grads, *state, torch.get_rng_state()])
    count = len(list(norm_dropout_mlp(stage.env).parameters()))
    parts = {
        "출력": slice(0, 1),
        "그레이디언트": slice(1, 1 + count),
        "매개변수와 버퍼": slice(1 + count, -1),
        "난수 상태": slice(-1, None),
    }
    for name, part in parts.items():
        are_same = all(torch.equal(a, b) for a, b in zip(results[0][part], results[1][part], strict=True))
        witness = seeded_number(stage.env, name, are_same) * has_read
        stage.recorder.claim(f"계기를 달았을 때의 {name}", "비트까지 같음" if are_same else "다름", [witness])


@driver.scenario("graph", "역전파한 뒤의 계산 그래프", check="untouched")
def _graph(stage: Stage) -> None:
    """Follow the graph of every module's output. A wrong program keeps an output, or a number with its graph."""
    model = LayeredNet(stage.env)
    graphs = FollowedGraphs(model)
    board = _open_dashboard(stage, model)
    make_training_pass(model, draw_inputs(stage.env, "graph", 4))
    reading = _read(stage, board)
    is_any_alive = graphs.are_any_alive()
    witness = seeded_number(stage.env, "graph", is_any_alive) * _has_read(reading)
    stage.recorder.claim("역전파한 뒤의 계산 그래프", "남음" if is_any_alive else "남지 않음", [witness])


@driver.scenario("quiet", "화면 출력", check="untouched")
def _quiet(stage: Stage) -> None:
    """Make, read and close a dashboard. A wrong program prints."""
    model = LayeredNet(stage.env)
    board = _open_dashboard(stage, model)
    make_training_pass(model, draw_inputs(stage.env, "quiet", 4))
    has_read = _has_read(_read(stage, board))
    stage.recorder.call(board.close)
    has_printed = stage.recorder.print_count > 0
    witness = seeded_number(stage.env, "quiet", has_printed) * has_read
    stage.recorder.claim("print를 부름", yes_or_no(has_printed), [witness])


# ---- taking the instruments off ------------------------------------------------------------------


@driver.scenario("close", "계기를 뗀 모델")
def _close(stage: Stage) -> None:
    """Close a dashboard, twice. A wrong program leaves hooks or attributes, or fails the second time."""
    model = LayeredNet(stage.env)
    hooks_before, attributes_before = hook_count(model), len(attribute_names(model))
    board = _open_dashboard(stage, model)
    make_training_pass(model, draw_inputs(stage.env, "close", 4))
    has_read = _has_read(_read(stage, board))
    stage.recorder.call(board.close)
    stage.recorder.call(board.close)
    for what, left in (
        ("훅", hook_count(model) - hooks_before),
        ("속성", len(attribute_names(model)) - attributes_before),
    ):
        witness = seeded_number(stage.env, what, left) * has_read
        stage.recorder.claim(f"`close()` 뒤에 모델에 남은 {what}", left, [witness])


@driver.scenario("several", "계기판 둘과 다른 훅", check="close")
def _several(stage: Stage) -> None:
    """Close one of two dashboards, beside a hook of someone else.

    A wrong program removes every hook there is, or keeps its readings where the other one finds them.
    """
    model = LayeredNet(stage.env)
    calls: list[str] = []
    model.head.register_forward_hook(lambda *_: calls.append("head"))
    stays, goes = _open_dashboard(stage, model), _open_dashboard(stage, model)
    make_training_pass(model, draw_inputs(stage.env, "first", 4))
    first = _read(stage, stays)
    stage.recorder.call(goes.close)
    calls.clear()
    model.zero_grad()
    make_training_pass(model, draw_inputs(stage.env, "second", 4))
    second = _read(stage, stays)
    fresh = _open_dashboard(stage, model)
    model.zero_grad()
    make_training_pass(model, draw_inputs(stage.env, "second", 4))
    _claim_same(stage, "다른 계기판을 떼어도 같은 값을 읽음", second, _read(stage, fresh), first)
    was_called = bool(calls)
    stage.recorder.claim(
        "남의 훅", "불림" if was_called else "불리지 않음", [seeded_number(stage.env, "hook", was_called)]
    )
