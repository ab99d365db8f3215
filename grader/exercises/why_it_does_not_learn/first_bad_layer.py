"""Driver of `first_bad_layer`, which names the layer that made the first NaN or infinity of a forward pass.

Promises of the exercise, and the scenarios that check them:
    the first layer in time, by its name: `nan`, `first`, `order`, `nested`, `alone`
    NaN and both infinities count, finite values however large do not: `infinite`, `large`
    only layers count, no modules that hold others: `container`
    a NaN that is in the batch already is the fault of no layer: `bad-batch`, `bad-batch-later`
    a layer that is called again counts from its first bad call: `reused`, `reused-later`
    one pass, in the modes given: `once`, `train-mode`
    buffers, the random state, hooks, modes, weights and gradients stay as they are: `buffers`, `hidden-buffer`,
        `random-state`, `hooks`, `modes`, `gradients`
    all this after an error, too, which is passed on unless a layer was found: `error-before`, `error-after`,
        `error-hooks`, `error-buffers`

The contract of all exercises adds: nothing is printed (`quiet`).

Scenarios about what must stay as it is do not compare the name, so that a wrong name costs nothing there; the witness
that the model was called keeps a function that does nothing from passing.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import (
    FEATURES,
    Net,
    batches,
    fill_gradients,
    flat_gradients,
    flat_weights,
    initialize,
    norm_dropout_mlp,
)
from grader.exercises.fixtures.witnesses import ForwardWitness, seeded_number
from grader.exercises.why_it_does_not_learn._special_layers import (
    CallInOrder,
    Count,
    LogOfNegative,
    NearMaximum,
    Raise,
    ReplaceNonFinite,
)
from grader.observe.play import Driver, Env, Stage
from grader.observe.trace import Fact
from grader.observe.values import as_plain_fact
from grader.observe.wording import yes_or_no

driver = Driver("first_bad_layer")

_RANDOM_STATE_SALT = "dropout"
"""Salt of the random state that is set before the call."""
_HUGE = 1e200
"""A factor whose square is beyond the largest float64."""


class _Spoil(nn.Module):
    """A layer that puts a value that is not finite at one drawn place, in any row but the first.

    Learners read this class's name, or that of the next two, if their function returns a bad layer instead of its name.
    """

    def __init__(self, env: Env, value: float, salt: str = "place") -> None:
        super().__init__()
        draw = env.draw(salt)
        self.row, self.column, self.value = draw.whole(1, 3), draw.whole(0, FEATURES - 1), value

    def forward(self, x: Tensor) -> Tensor:
        """Return a copy of `x` with the value in it."""
        spoiled = x.clone()
        spoiled[self.row, self.column] = self.value
        return spoiled


class _Multiply(nn.Module):
    """Multiply by a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` times the factor."""
        return x * self.factor


class _DivideBySpread(nn.Module):
    """Divide by the batch's spread in train mode, and by 1 in eval mode."""

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`, divided by the standard deviation of each feature in train mode."""
        return x / x.std(dim=0) if self.training else x


def _net(env: Env, layers: Sequence[nn.Module]) -> Net:
    """Return a net of these layers, with weights from the seed."""
    return initialize(Net(layers), env, "model")


def _healthy_layers(count: int) -> list[nn.Module]:
    """Return `count` linear layers, each followed by tanh, which makes infinities finite again."""
    return [layer for _ in range(count) for layer in (nn.Linear(FEATURES, FEATURES), nn.Tanh())]


def _net_with_spoiling_layer(env: Env, value: float) -> Net:
    """Return a model of seven layers, of which one puts `value` into its outputs; which one is drawn."""
    layers = _healthy_layers(3)
    layers.insert(2 * env.draw("layer").whole(1, 2) + 1, _Spoil(env, value))
    return _net(env, layers)


def _batch(env: Env) -> Tensor:
    """Return inputs of shape (4, features)."""
    inputs, _ = batches(env, (4,))[0]
    return inputs


def _name_as_fact(name: Any) -> Fact:
    """Return a returned name as a fact; for the empty name, which nobody could see, a Korean word."""
    return "빈 문자열" if name == "" else as_plain_fact(name)


def _passes(stage: Stage) -> int:
    """Return how many forward passes of the model have begun, those too that a hook ended by an exception."""
    return sum(event.kind == "forward" for event in stage.recorder.run.events)


def _called_witness(stage: Stage) -> list[float]:
    """Return the witness that the model was called, in whatever mode: a number from the seed; 0 if it was not."""
    return [seeded_number(stage.env, "called") if _passes(stage) else 0.0]


def _call(stage: Stage, model: nn.Module, batch: Tensor | None = None) -> Any:
    """Call the learner's function from a drawn random state, and return its result."""
    if isinstance(model, Net):
        model.observer = stage.recorder
    stage.env.set_random_state(_RANDOM_STATE_SALT)
    return stage.recorder.call(
        stage.student("first_bad_layer"), model, _batch(stage.env) if batch is None else batch
    )


def _record_name(stage: Stage, model: Net, batch: Tensor | None = None) -> None:
    """Call the learner's function, and append what it returned to a fact; record that the model was called."""
    name = _call(stage, model, batch)
    stage.recorder.append_fact("돌려준 이름", _name_as_fact(name))
    stage.recorder.array("모델을 부름", _called_witness(stage))


def _random_state_is_kept(stage: Stage) -> bool:
    """Return True if the random state is the one that `_call` set before the call, and set that one again."""
    after = torch.get_rng_state()
    stage.env.set_random_state(_RANDOM_STATE_SALT)
    return torch.equal(after, torch.get_rng_state())


def _hook_count(model: nn.Module) -> int:
    """Return how many hooks the modules of a model have together."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(getattr(module, kind)) for module in model.modules() for kind in kinds)


def _flat_buffers(model: nn.Module) -> Tensor:
    """Return all buffers as one vector."""
    return torch.cat([buffer.double().ravel() for buffer in model.buffers()])


# ---- the name ------------------------------------------------------------------------------------


@driver.scenario("nan", "NaN을 내는 계층", check="name")
def _nan(stage: Stage) -> None:
    """Let one layer make a NaN. A wrong program returns the layer itself, its block, or another name."""
    _record_name(stage, _net_with_spoiling_layer(stage.env, math.nan))


@driver.scenario("infinite", "무한대를 내는 계층", check="kinds")
def _infinite(stage: Stage) -> None:
    """Let one layer make an infinity, which the next one makes finite again. A wrong program looks for NaN only."""
    for value in (math.inf, -math.inf):
        _record_name(stage, _net_with_spoiling_layer(stage.env, value))


@driver.scenario("large", "유한하지만 아주 큰 값", check="kinds")
def _large(stage: Stage) -> None:
    """Let all values be finite, but not their sum. A wrong program sums before it looks."""
    _record_name(
        stage, _net(stage.env, [*_healthy_layers(1), NearMaximum(), _Multiply(1e-308), *_healthy_layers(1)])
    )


@driver.scenario("first", "잘못된 계층 둘", check="name")
def _first(stage: Stage) -> None:
    """Let two layers spoil a value, and the layer after each make it finite again, so that no third one spoils any.

    A wrong program returns the last one, or finds only the kind that the second one makes.
    """
    first, second = _Spoil(stage.env, math.inf, "first"), _Spoil(stage.env, math.nan, "second")
    start = [nn.BatchNorm1d(FEATURES), *_healthy_layers(1), first, nn.Tanh()]
    end = [*_healthy_layers(1), second, ReplaceNonFinite(), *_healthy_layers(1)]
    _record_name(stage, _net(stage.env, [*start, *end]))


@driver.scenario("order", "등록한 순서와 다르게 불리는 계층", check="name")
def _order(stage: Stage) -> None:
    """Call three groups of layers, each with a layer that spoils a value, and register the second one first.

    A wrong program goes by the order of `named_modules()` and returns that of the second group, or returns the last
    one, that of the third.
    """
    groups = [
        [*_healthy_layers(1), _Spoil(stage.env, math.nan, f"group {number}"), ReplaceNonFinite()]
        for number in range(3)
    ]
    size = len(groups[0])
    order = [*range(size, 2 * size), *range(size), *range(2 * size, 3 * size)]
    path = CallInOrder([*groups[1], *groups[0], *groups[2]], order)
    _record_name(stage, _net(stage.env, [path]))


@driver.scenario("nested", "블록 안의 블록", check="name")
def _nested(stage: Stage) -> None:
    """Put the layer into a block of a block. A wrong program looks at the model's own children only."""
    inner = _healthy_layers(2)
    inner.insert(stage.env.draw("layer").whole(0, 3), _Spoil(stage.env, math.nan))
    block = nn.Sequential(*_healthy_layers(1), nn.Sequential(*inner))
    _record_name(stage, _net(stage.env, [*_healthy_layers(1), block]))


@driver.scenario("alone", "계층 하나뿐인 모델", check="name")
def _alone(stage: Stage) -> None:
    """Give a model that is itself a layer, whose name is empty. A wrong program takes an empty name for none."""
    draw = stage.env.draw("weight")
    layer = nn.Linear(FEATURES, FEATURES, dtype=torch.float64, device=stage.env.device)
    with torch.no_grad():
        layer.weight[draw.whole(0, FEATURES - 1), draw.whole(0, FEATURES - 1)] = math.inf
    stage.recorder.fact("돌려준 이름", _name_as_fact(_call(stage, layer)))


# ---- none ----------------------------------------------------------------------------------------


@driver.scenario("container", "계층 사이에서 생긴 NaN", check="none")
def _container(stage: Stage) -> None:
    """Let a block itself make a NaN, which the next layer removes. A wrong program names the block."""
    _record_name(
        stage,
        _net(stage.env, [*_healthy_layers(1), LogOfNegative(), ReplaceNonFinite(), *_healthy_layers(1)]),
    )


@driver.scenario("bad-batch", "NaN이 든 배치", check="none")
def _bad_batch(stage: Stage) -> None:
    """Give a batch with a NaN in it, which one layer passes on. A wrong program names that layer."""
    batch = _Spoil(stage.env, math.nan)(_batch(stage.env))
    _record_name(
        stage,
        _net(stage.env, [nn.Linear(FEATURES, FEATURES), ReplaceNonFinite(), *_healthy_layers(1)]),
        batch,
    )


@driver.scenario("bad-batch-later", "NaN이 든 배치와 잘못된 계층", check="none")
def _bad_batch_later(stage: Stage) -> None:
    """Give a batch with a NaN in it, which the first layer removes; a later layer makes one of its own.

    A wrong program returns None as soon as it sees the batch.
    """
    layers = [ReplaceNonFinite(), *_healthy_layers(3)]
    layers.insert(stage.env.draw("layer").whole(2, 6), _Spoil(stage.env, math.nan, "layer"))
    _record_name(stage, _net(stage.env, layers), _Spoil(stage.env, math.nan)(_batch(stage.env)))


def _record_name_of_reused(stage: Stage, order: Sequence[int], factor: float) -> None:
    """Call with a model that calls some of its layers twice, and record the name.

    Args:
        stage: the scenario's stage.
        order: the layers in the order of their calls: 0 multiplies by a huge factor, 1 passes on, 2 replaces what is
            not finite, 3 is tanh. The order in which the model registers them is drawn.
        factor: what the batch is multiplied by.
    """
    parts = (_Multiply(_HUGE), nn.Identity(), ReplaceNonFinite(), nn.Tanh())
    places = torch.randperm(len(parts), generator=stage.env.generator("places")).tolist()
    registered = [parts[places.index(number)] for number in range(len(parts))]
    path = CallInOrder(registered, [places[part] for part in order])
    batch = _batch(stage.env)
    away_from_zero = batch.sign() * (1.0 + batch.abs())
    _record_name(stage, _net(stage.env, [path]), away_from_zero * factor)


@driver.scenario("reused", "여러 번 불리는 계층")
def _reused(stage: Stage) -> None:
    """Let a layer overflow at its second call. A wrong program looks at each layer once."""
    _record_name_of_reused(stage, (0, 1, 0, 2, 3), 1.0)


@driver.scenario("reused-later", "나중에는 멀쩡하게 불린 계층", check="reused")
def _reused_later(stage: Stage) -> None:
    """Let a layer overflow at its first call only. A wrong program remembers the layer's last call instead."""
    _record_name_of_reused(stage, (0, 1, 2, 0, 3), _HUGE)


# ---- one pass, in the modes given ----------------------------------------------------------------


@driver.scenario("train-mode", "학습 모드에서만 생기는 NaN", check="pass")
def _train_mode(stage: Stage) -> None:
    """Let a layer divide by zero in train mode, and not in eval mode. A wrong program changes the mode."""
    layers = _healthy_layers(2)
    place = 2 * stage.env.draw("layer").whole(0, 2)
    layers[place:place] = [_Multiply(0.0), _DivideBySpread()]
    for training in (True, False):
        _record_name(stage, _net(stage.env, layers).train(training))


@driver.scenario("once", "순전파의 횟수", check="pass")
def _once(stage: Stage) -> None:
    """Count forward passes. A wrong program first looks whether the output is finite, and then runs again."""
    model = _net_with_spoiling_layer(stage.env, math.nan)
    _call(stage, model)
    stage.recorder.claim("순전파의 횟수", _passes(stage), _called_witness(stage))


@driver.scenario("quiet", "화면 출력", check="pass")
def _quiet(stage: Stage) -> None:
    """Record whether the call prints anything."""
    model = _net_with_spoiling_layer(stage.env, math.nan)
    _call(stage, model)
    stage.recorder.claim("print를 부름", yes_or_no(stage.recorder.print_count > 0), _called_witness(stage))


# ---- what stays as it is -------------------------------------------------------------------------


@driver.scenario("buffers", "배치 정규화의 통계량", check="untouched")
def _buffers(stage: Stage) -> None:
    """Record running statistics and the counter of batches. A wrong program leaves what the pass made of them."""
    model = norm_dropout_mlp(stage.env).train()
    before = _flat_buffers(model)
    _call(stage, model)
    is_same = torch.equal(_flat_buffers(model), before)
    stage.recorder.claim("버퍼", "그대로" if is_same else "바뀜", _flat_buffers(model))
    stage.recorder.array("모델을 부름", _called_witness(stage))


@driver.scenario("hidden-buffer", "`state_dict`에 없는 버퍼", check="untouched")
def _hidden_buffer(stage: Stage) -> None:
    """Record a buffer that is not persistent. A wrong program restores what `state_dict` holds."""
    counter = Count()
    _call(stage, _net(stage.env, [*_healthy_layers(1), counter, *_healthy_layers(1)]))
    is_same = not counter.calls.any()
    stage.recorder.claim("`state_dict`에 없는 버퍼", "그대로" if is_same else "바뀜", _called_witness(stage))


@driver.scenario("random-state", "난수 상태", check="untouched")
def _random_state(stage: Stage) -> None:
    """Record whether the random state is as before. A wrong program lets dropout draw from it."""
    model = norm_dropout_mlp(stage.env).train()
    _call(stage, model)
    is_same = _random_state_is_kept(stage)
    stage.recorder.claim("부른 다음의 난수 상태", "그대로" if is_same else "달라짐", _called_witness(stage))


@driver.scenario("hooks", "남은 훅", check="untouched")
def _hooks(stage: Stage) -> None:
    """Record how many more hooks the modules have afterwards; one of them had a hook before.

    A wrong program leaves its own hooks, or removes all.
    """
    model = norm_dropout_mlp(stage.env).train()
    model.layers[2].register_forward_hook(lambda *_: None)
    before = _hook_count(model)
    _call(stage, model)
    stage.recorder.claim("훅의 수가 바뀐 만큼", _hook_count(model) - before, _called_witness(stage))


@driver.scenario("modes", "모드", check="untouched")
def _modes(stage: Stage) -> None:
    """Record the modes afterwards, of a model in train mode with one layer in eval mode.

    A wrong program calls `eval()`, and perhaps `train()` in the end.
    """
    model = norm_dropout_mlp(stage.env).train()
    model.layers[1].eval()
    _call(stage, model)
    left = ForwardWitness(stage.env, model).modes_left(model, _batch(stage.env))
    stage.recorder.claim("부른 다음의 모드", [module.training for module in model.modules()], left)
    stage.recorder.array("모델을 부름", _called_witness(stage))


@driver.scenario("gradients", "가중치와 쌓여 있던 그레이디언트", check="untouched")
def _gradients(stage: Stage) -> None:
    """Record weights and gradients, of which there were some. A wrong program clears them, or adds to them."""
    model = norm_dropout_mlp(stage.env).train()
    fill_gradients(stage.env, model)
    _call(stage, model)
    stage.recorder.array("그레이디언트", flat_gradients(model))
    stage.recorder.array("가중치", flat_weights(model))
    stage.recorder.array("모델을 부름", _called_witness(stage))


# ---- errors --------------------------------------------------------------------------------------


def _call_with_raising_model(stage: Stage) -> Net:
    """Call the learner's function with a model whose last layer raises, record the error, and return the model."""
    model = norm_dropout_mlp(stage.env).train()
    model.layers.append(Raise())
    model.observer = stage.recorder
    stage.env.set_random_state(_RANDOM_STATE_SALT)
    stage.recorder.record_raised(
        LookupError, "오류가 난 순전파", stage.student("first_bad_layer"), model, _batch(stage.env)
    )
    return model


@driver.scenario("error-before", "찾기 전에 난 오류", check="errors")
def _error_before(stage: Stage) -> None:
    """Let the model raise before anything is wrong. A wrong program swallows the error, or raises another one."""
    _call_with_raising_model(stage)


@driver.scenario("error-after", "찾은 다음에 난 오류", check="errors")
def _error_after(stage: Stage) -> None:
    """Let the model raise after a layer made a NaN. A wrong program lets the error out, and the name is lost."""
    layers = _healthy_layers(2)
    layers.insert(stage.env.draw("layer").whole(1, 3), _Spoil(stage.env, math.nan))
    stage.recorder.fact("돌려준 이름", _name_as_fact(_call(stage, _net(stage.env, [*layers, Raise()]))))


@driver.scenario("error-hooks", "오류가 난 다음의 훅", check="errors")
def _error_hooks(stage: Stage) -> None:
    """Count the hooks after an error. A wrong program removes them only where nothing was raised."""
    model = _call_with_raising_model(stage)
    stage.recorder.fact("남은 훅의 수", _hook_count(model))


@driver.scenario("error-buffers", "오류가 난 다음의 버퍼", check="errors")
def _error_buffers(stage: Stage) -> None:
    """Record buffers after an error. A wrong program restores them only where nothing was raised."""
    model = _call_with_raising_model(stage)
    stage.recorder.array("버퍼", _flat_buffers(model))
