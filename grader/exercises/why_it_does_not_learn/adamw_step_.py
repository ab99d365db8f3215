"""Driver of `adamw_step_`, which does by hand the step of `torch.optim.AdamW`.

Promises of the exercise, and the scenarios that check them:
    the update is torch's: `updates`, `no-decay`, `large-eps`, `defaults`
    the arguments' defaults are torch's: `defaults`
    a parameter whose gradient is None stays, and its state with it: `pause`, `others`, `keys`
    a parameter that joins late is corrected by its own count: `late`
    the state holds the count and both averages under the parameter's number: `first-state`, `state`, `keys`,
        `dtypes`
    nothing is remembered but what is in the state: `resumed`
    gradients stay as they are: `gradients`; there is no graph: `graph`
    parameters are moved in place: `leaves`, `places`

The contract of all exercises adds: nothing is printed (`quiet`).

Only the check `update` compares the parameters with the solution's; scenarios of other checks that need their values
compare the function with itself (`record_difference`). So a wrong update of parameters costs only the points of
`update`.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.usual import record_difference
from grader.exercises.fixtures.witnesses import gradients_of_next_backward
from grader.observe.play import Driver, Stage
from grader.observe.values import type_name
from grader.observe.wording import yes_or_no

driver = Driver("adamw_step_")

_SHAPES = ((4, 3), (3,), (), (2, 5))
"""Shapes of the parameters; one is a scalar."""
_SETTINGS: Mapping[str, Any] = {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-12, "weight_decay": 0.4}
"""Arguments of the update, no default among them: a decay that shows after one update, and an eps that does not."""

_State = dict[Any, Any]
"""What the learner's function keeps between calls."""
_Gradients = list[Tensor | None]
"""A gradient, or None, for each parameter."""


def _parameters(stage: Stage, shapes: Sequence[tuple[int, ...]] = _SHAPES) -> list[nn.Parameter]:
    """Return parameters of these shapes, the same ones at each call."""
    generator = stage.env.generator("values")
    return [nn.Parameter(_noise(shape, generator).to(stage.env.device)) for shape in shapes]


def _gradients(
    stage: Stage, params: Sequence[nn.Parameter], number: int, without: Iterable[int] = ()
) -> _Gradients:
    """Return the gradients of one update.

    Args:
        stage: the scenario's stage.
        params: the parameters.
        number: number of the update, from 0; it decides the numbers drawn.
        without: indices of the parameters that get None.
    """
    drawn = [
        _noise(p.shape, stage.env.generator(f"gradient {number} {index}")).to(p.device, p.dtype)
        for index, p in enumerate(params)
    ]
    return [None if index in without else gradient for index, gradient in enumerate(drawn)]


def _noise(shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Return normal random numbers in float64."""
    return torch.randn(tuple(shape), generator=generator, dtype=torch.float64)


def _call(
    stage: Stage,
    params: Sequence[nn.Parameter],
    grads: Sequence[Tensor | None],
    state: _State,
    **settings: Any,
) -> None:
    """Call the learner's function.

    The recorder compares the tensors among a function's arguments before and after the call. Here it does not see them,
    because only the scenario `gradients` judges whether gradients change.

    Args:
        stage: the scenario's stage.
        params: the parameters.
        grads: a gradient, or None, for each parameter.
        state: what the function keeps between calls.
        settings: its keyword arguments; if there are none, `_SETTINGS`.
    """
    student, chosen_settings = stage.student("adamw_step_"), settings or _SETTINGS
    stage.recorder.call(lambda: student(params, grads, state, **chosen_settings))


def _flat(params: Iterable[Tensor]) -> Tensor:
    """Return a copy of all parameters' values as one vector."""
    return torch.cat([p.detach().double().ravel() for p in params])


def _moved_values(before: Tensor, params: Iterable[Tensor]) -> Tensor:
    """Return the values from before the call if any has changed since, else zeros.

    As a witness, they keep a program from passing that does nothing.
    """
    return before * bool((before != _flat(params)).any())


# ---- the update ----------------------------------------------------------------------------------


def _record_updates(stage: Stage, updates: int, scale: float = 1.0, **settings: Any) -> None:
    """Record the parameters after each of several updates.

    Args:
        stage: the scenario's stage.
        updates: number of updates.
        scale: standard deviation of the gradients.
        settings: keyword arguments of the learner's function.
    """
    params, state = _parameters(stage), _State()
    stage.recorder.watch(nn.ParameterList(params))
    for number in range(updates):
        gradients = [g if g is None else g * scale for g in _gradients(stage, params, number)]
        _call(stage, params, gradients, state, **settings)


@driver.scenario("updates", "업데이트 열두 번", check="update")
def _updates(stage: Stage) -> None:
    """Update twelve times, with a rate that falls. A wrong program forgets a correction, or decays at another place."""
    params, state = _parameters(stage), _State()
    stage.recorder.watch(nn.ParameterList(params))
    for number in range(12):
        settings = {**_SETTINGS, "lr": 0.05 / (1 + number)}
        _call(stage, params, _gradients(stage, params, number), state, **settings)


@driver.scenario("large-eps", "eps가 클 때", check="update")
def _large_eps(stage: Stage) -> None:
    """Update three times with a large eps and no decay. A wrong program adds eps elsewhere, such as inside the root."""
    _record_updates(stage, 3, **{**_SETTINGS, "eps": 0.3, "weight_decay": 0.0})


@driver.scenario("no-decay", "감쇠하지 않을 때", check="update")
def _no_decay(stage: Stage) -> None:
    """Update three times without decay. A wrong program forgets a correction; how it decays does not count here."""
    _record_updates(stage, 3, **{**_SETTINGS, "weight_decay": 0.0})


@driver.scenario("defaults", "기본값", check="update")
def _defaults(stage: Stage) -> None:
    """Update with the defaults and tiny gradients, where eps counts. A wrong program has other defaults."""
    _record_updates(stage, 3, 1e-8, lr=0.05)


# ---- parameters without a gradient ---------------------------------------------------------------


@driver.scenario("pause", "그레이디언트가 한 번 None이던 매개변수", check="none")
def _pause(stage: Stage) -> None:
    """Make two updates with a call between them in which no parameter has a gradient, and the same two without it.

    A wrong program decays the parameters in that call, counts it, or takes None as zero.
    """
    after: list[Tensor] = []
    before = _flat(_parameters(stage))
    for has_pause in (True, False):
        params, state = _parameters(stage), _State()
        for number in (0, 1):
            _call(stage, params, _gradients(stage, params, number), state)
            if has_pause and number == 0:
                _call(stage, params, [None] * len(params), state)
        after.append(_flat(params))
    record_difference(stage.recorder, "쉬었을 때와 쉬지 않았을 때의 매개변수", after[0], after[1], before)


@driver.scenario("late", "늦게 들어온 매개변수", check="none")
def _late(stage: Stage) -> None:
    """Let one parameter join after three updates, and update an equal one alone, in a list of its own.

    A wrong program corrects it by the count of the others.
    """
    params, state = _parameters(stage), _State()
    alone, own_state = [_parameters(stage)[1]], _State()
    before = _flat(alone)
    for number in range(5):
        _call(stage, params, _gradients(stage, params, number, without=(1,) if number < 3 else ()), state)
        if number >= 3:
            _call(stage, alone, _gradients(stage, params, number)[1:2], own_state)
    record_difference(
        stage.recorder,
        "다른 매개변수와 함께 업데이트한 값과 혼자 업데이트한 값",
        _flat([params[1]]),
        _flat(alone),
        before,
    )


@driver.scenario("others", "None 뒤에 있는 매개변수", check="none")
def _others(stage: Stage) -> None:
    """Update with the first gradient None, and update the remaining parameters alone. A wrong program stops at None."""
    params, rest = _parameters(stage), _parameters(stage)[1:]
    before = _flat(rest)
    _call(stage, params, _gradients(stage, params, 0, without=(0,)), _State())
    _call(stage, rest, _gradients(stage, params, 0)[1:], _State())
    record_difference(
        stage.recorder,
        "None과 함께 업데이트한 값과 None 없이 업데이트한 값",
        _flat(params[1:]),
        _flat(rest),
        before,
    )


# ---- the state -----------------------------------------------------------------------------------


def _record_state(stage: Stage, updates: int) -> None:
    """Make this many updates, and record what the state holds."""
    params, state = _parameters(stage), _State()
    for number in range(updates):
        _call(stage, params, _gradients(stage, params, number), state)
    for number in range(len(params)):
        for key in ("exp_avg", "exp_avg_sq"):
            stage.recorder.array(f"{number}번 매개변수의 {key}", state[number][key].detach().ravel())
    counts: list[Any] = [float(state[number]["step"]) for number in range(len(params))]
    stage.recorder.fact("매개변수마다 움직인 횟수", counts)


@driver.scenario("first-state", "첫 업데이트 뒤의 상태", check="state")
def _first_state(stage: Stage) -> None:
    """Update once and record the state. A wrong program mixes the decay in, or starts from the first gradient.

    Where the parameters went does not count here.
    """
    _record_state(stage, 1)


@driver.scenario("state", "상태에 든 값", check="state")
def _state_values(stage: Stage) -> None:
    """Update three times and record the state. A wrong program keeps corrected averages, or other ones."""
    _record_state(stage, 3)


@driver.scenario("keys", "상태의 키", check="state")
def _keys(stage: Stage) -> None:
    """Update twice, with one parameter that never has a gradient, and record the keys.

    A wrong program makes a state for it all the same, or finds states by something else than the number.
    """
    params, state = _parameters(stage), _State()
    before = _flat(params)
    for number in range(2):
        _call(stage, params, _gradients(stage, params, number, without=(2,)), state)
    keys: list[Any] = sorted(str(key) if isinstance(key, int | str) else type_name(key) for key in state)
    stage.recorder.claim("상태의 키", keys, _moved_values(before, params))
    inner: list[Any] = sorted({str(key) for kept in state.values() if isinstance(kept, dict) for key in kept})
    stage.recorder.claim("매개변수마다 든 것의 키", inner, _moved_values(before, params))


@driver.scenario("dtypes", "float32와 float64 매개변수", check="state")
def _dtypes(stage: Stage) -> None:
    """Update a float32 and a float64 parameter, and record dtypes and shapes.

    A wrong program keeps its averages in another dtype, or always in the default one.
    """
    first, second = _parameters(stage)[:2]
    params = [nn.Parameter(first.detach().float()), second]
    before, state = _flat(params), _State()
    _call(stage, params, _gradients(stage, params, 0), state)
    kept = [state[number][key] for number in range(2) for key in ("exp_avg", "exp_avg_sq")]
    described: list[Any] = [str(t.dtype).removeprefix("torch.") + str([*t.shape]) for t in (*params, *kept)]
    stage.recorder.claim("매개변수와 상태의 dtype과 모양", described, _moved_values(before, params))


@driver.scenario("resumed", "이어서 학습하기", check="state")
def _resumed(stage: Stage) -> None:
    """Make four updates twice: with a copy of parameters and state after the second, as a checkpoint is, and without.

    A wrong program finds states by the tensors, remembers them elsewhere, or starts them anew.
    """
    after: list[Tensor] = []
    before = _flat(_parameters(stage))
    for is_copied in (True, False):
        params, state = _parameters(stage), _State()
        for number in range(4):
            if is_copied and number == 2:
                params, state = copy.deepcopy((params, state))
            _call(stage, params, _gradients(stage, params, number), state)
        after.append(_flat(params))
    record_difference(
        stage.recorder, "복사해 이어 간 매개변수와 끊지 않은 매개변수", after[0], after[1], before
    )
    # A program that starts anew in each call is the same with and without the copy, but counts to 1 only.
    stage.recorder.fact("0번 매개변수가 움직인 횟수", float(state[0]["step"]))


# ---- what must stay ------------------------------------------------------------------------------


@driver.scenario("gradients", "그레이디언트의 값", check="kept")
def _gradient_values(stage: Stage) -> None:
    """Update once and record whether the gradients stayed. A wrong program adds the decay to them, or scales them."""
    params = _parameters(stage)
    before, gradients = _flat(params), _gradients(stage, params, 0)
    _call(stage, params, gradients, _State())
    pairs = zip(gradients, _gradients(stage, params, 0), strict=True)
    are_kept = all(now is not None and given is not None and torch.equal(now, given) for now, given in pairs)
    stage.recorder.claim("그레이디언트가 그대로", yes_or_no(are_kept), _moved_values(before, params))


@driver.scenario("graph", "계산 그래프가 붙은 그레이디언트", check="kept")
def _graph(stage: Stage) -> None:
    """Update with gradients that have a graph, as `create_graph=True` gives. A wrong program keeps it in the state."""
    params, state = _parameters(stage), _State()
    before = _flat(params)
    sources = [None if g is None else g.requires_grad_() for g in _gradients(stage, params, 0)]
    _call(stage, params, [None if source is None else source * 1.0 for source in sources], state)
    tensors = [value for kept in state.values() for value in kept.values() if isinstance(value, Tensor)]
    has_graph = any(t.grad_fn is not None for t in (*params, *tensors))
    stage.recorder.claim("남은 계산 그래프", yes_or_no(has_graph), _moved_values(before, params))


@driver.scenario("leaves", "잎(leaf) 텐서로 남는 매개변수", check="kept")
def _leaves(stage: Stage) -> None:
    """Update once and make another backward pass. A wrong program leaves parameters that cannot be trained."""
    params = _parameters(stage)
    before, given = _flat(params), [*params]
    _call(stage, params, _gradients(stage, params, 0), _State())
    is_same = len(params) == len(given) and all(p is q for p, q in zip(params, given, strict=True))
    stage.recorder.claim("리스트에 든 텐서가 그대로", yes_or_no(is_same), _moved_values(before, given))
    stage.recorder.array("다음 역전파의 그레이디언트", gradients_of_next_backward(stage.env, given))


@driver.scenario("places", "매개변수의 메모리", check="kept")
def _places(stage: Stage) -> None:
    """Update once and record whether the parameters lie where they lay. A wrong program gives them new memory.

    What shares their memory, as a vector of all parameters does, would keep the old values.
    """
    params = _parameters(stage)
    before, given, places = _flat(params), [*params], [p.data_ptr() for p in params]
    _call(stage, params, _gradients(stage, params, 0), _State())
    is_same = all(p.data_ptr() == place for p, place in zip(given, places, strict=True))
    stage.recorder.claim("매개변수의 메모리가 그대로", yes_or_no(is_same), _moved_values(before, params))


@driver.scenario("quiet", "화면 출력", check="kept")
def _quiet(stage: Stage) -> None:
    """Record whether the call prints anything."""
    params = _parameters(stage)
    before = _flat(params)
    _call(stage, params, _gradients(stage, params, 0), _State())
    printed = yes_or_no(stage.recorder.print_count > 0)
    stage.recorder.claim("print를 부름", printed, _moved_values(before, params))
