"""Driver of `guarded_step`, which updates unless the norm of the gradients is far above its usual size.

Promises of the exercise, and the scenarios that check them:
    a norm above `factor` times the median of the last `window` norms is skipped: `sequence`, `window`, `limit`,
        `middle`
    before there are `window` norms in `history`, every finite norm is usual: `short`
    the norm is that of all gradients that the optimizer holds, together: `groups`, `one-norm`; parameters without a
        gradient do not count: `none`
    NaN and infinity are always skipped: `not-finite`
    an ordinary update, then the scheduler: `update`
    a skipped batch leaves parameters, optimizer and scheduler as they were: `skip`, `skip-adamw`
    `history` grows by the norm of an update only: `history`
    the gradients are cleared either way: `cleared`
    a bool is returned: `types`; nothing is printed: `quiet`

Gradients are written into `.grad` by the driver, with a norm of its choice. Scenarios on the decision give a history of
their own to each call and compare what is returned only, so that a wrong update or history costs nothing there.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import ExponentialLR

from grader.exercises.fixtures.classifiers import MakeOptimizer, adamw, mlp, momentum_sgd
from grader.exercises.fixtures.returned import type_witness
from grader.exercises.fixtures.witnesses import gradients_of_next_backward, seeded_number
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number, as_plain_fact, type_name
from grader.observe.wording import RETURN_TYPES, yes_or_no

driver = Driver("guarded_step")

_WINDOW = 5
"""The `window` of a `_Training`; odd, so that the median is one of the norms. The history of a `_Training` begins
longer than that, and the norms that scenarios with it give for updates are below the median. So forgetting the factor,
or taking a window one too long, costs nothing there."""

_Groups = Sequence[Sequence[Sequence[float] | None]]
"""For each group of an optimizer, and each parameter in it, the elements of its gradient; None: it has no gradient."""


class _History(list[float]):
    """A list of norms, of a type of its own: the recorder would record that a plain list changes in a call.

    Only the scenario `history` judges how the list changes.
    """


class _Training:
    """A model with its optimizer and scheduler, which the recorder watches, and a history of norms from 2 to 4."""

    def __init__(
        self, stage: Stage, make_optimizer: MakeOptimizer = momentum_sgd, *, states: bool = True
    ) -> None:
        """Make model, optimizer, scheduler and history.

        Args:
            stage: the scenario's stage.
            make_optimizer: makes the optimizer.
            states: compare the parameters; False: a wrong update costs nothing.
        """
        self.stage, self.model = stage, mlp(stage.env)
        self.opt = make_optimizer(self.model)
        self.scheduler = ExponentialLR(self.opt, stage.env.draw("gamma").real(0.5, 0.9))
        self.history = _History(2 * norm for norm in _usual_norms(stage.env, _WINDOW + 2))
        stage.recorder.watch(self.model, self.opt, self.scheduler, states=states)

    def step(self, norm: float) -> Any:
        """Give the model gradients of this norm, call the learner's function, and return its result."""
        salt = f"step {self.stage.recorder.call_count}"
        _give_gradients(self.stage.env, list(self.model.parameters()), norm, salt)
        student, history = self.stage.student("guarded_step"), self.history
        return self.stage.recorder.call(
            student, self.opt, self.scheduler, history, factor=3.0, window=_WINDOW
        )

    def record_state(self) -> None:
        """Record the optimizer's moments and counters, and the learning rates."""
        numbers = [
            value.double().cpu().ravel()  # AdamW counts its steps on the CPU
            for parameter in self.model.parameters()
            for value in self.opt.state[parameter].values()
            if isinstance(value, Tensor)
        ]
        self.stage.recorder.array("옵티마이저의 상태", torch.cat(numbers) if numbers else torch.zeros(1))
        self.stage.recorder.array("학습률", [group["lr"] for group in self.opt.param_groups])


def _usual_norms(env: Env, count: int, salt: str = "norms") -> list[float]:
    """Return norms between 1 and 2."""
    draw = env.draw(salt)
    return [draw.real(1.0, 2.0) for _ in range(count)]


def _give_gradients(env: Env, parameters: Sequence[nn.Parameter], norm: float, salt: str) -> None:
    """Write gradients of this joint norm into `.grad`."""
    generator = env.generator(salt)
    noise = [torch.randn(p.shape, generator=generator, dtype=torch.float64) for p in parameters]
    length = math.sqrt(sum(float(part.square().sum()) for part in noise))
    for parameter, part in zip(parameters, noise, strict=True):
        parameter.grad = (part * (norm / length)).to(parameter.device, parameter.dtype)


def _shuffled(env: Env, cases: Sequence[Any]) -> list[Any]:
    """Return the cases in a drawn order, so that the answers cannot be written down beforehand."""
    order = torch.randperm(len(cases), generator=env.generator("order")).tolist()
    return [cases[number] for number in order]


def _record_decision(
    stage: Stage,
    history: Sequence[float],
    groups: _Groups,
    **options: Any,
) -> None:
    """Call once with these gradients, and append what is returned to a fact.

    Args:
        stage: the scenario's stage.
        history: norms of earlier updates.
        groups: the gradients; they also say how many groups, parameters and elements there are.
        options: `factor` and `window`; left out: their defaults.
    """
    params: list[dict[str, Any]] = []
    for gradients in groups:
        parameters = [nn.Parameter(torch.zeros(len(g or [0.0]), dtype=torch.float64)) for g in gradients]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            if gradient is not None:
                parameter.grad = torch.tensor(gradient, dtype=torch.float64)
        params.append({"params": parameters})
    opt = torch.optim.SGD(params, lr=0.1)
    student = stage.student("guarded_step")
    decided = stage.recorder.call(student, opt, ExponentialLR(opt, 0.9), _History(history), **options)
    stage.recorder.append_fact("부를 때마다 업데이트했는지", _decision_as_fact(decided))


def _updated_witness(stage: Stage) -> float:
    """Return the witness that the optimizer was stepped, however wrongly: a number from the seed; 0 if it was not."""
    is_updated = any(event.kind == "step" for event in stage.recorder.run.events)
    return seeded_number(stage.env, "updated") if is_updated else 0.0


def _decision_as_fact(decided: Any) -> Any:
    """Return a decision as a fact; a tensor or number counts as True or False, since types are judged elsewhere."""
    return (
        bool(as_number(decided))
        if isinstance(decided, bool | int | float | Tensor)
        else as_plain_fact(decided)
    )


# ---- the decision --------------------------------------------------------------------------------


@driver.scenario("sequence", "기본값으로 부른 배치들", check="decide")
def _sequence(stage: Stage) -> None:
    """Give batches of which some are outliers, with the default factor and window.

    A wrong program forgets the factor, or takes a mean, which outliers in the history pull up.
    """
    draw = stage.env.draw("sequence")
    history = _usual_norms(stage.env, 26)
    for place in (-7, -12, -17):
        history[place] = draw.real(60.0, 90.0)
    for low, high in _shuffled(stage.env, [(9.0, 12.0)] * 3 + [(2.5, 3.5)] * 5):
        _record_decision(stage, history, [[[draw.real(low, high)]]])


@driver.scenario("window", "노름이 크게 바뀐 history", check="decide")
def _window(stage: Stage) -> None:
    """Give a norm after the usual ones have become smaller, or larger.

    A wrong program reads the whole history, or only its last norm.
    """
    draw = stage.env.draw("window")
    # (factor on the older norms, lowest and highest norm to give); that norm is judged otherwise if older norms count.
    cases = [(10.0, (8.0, 9.0)), (0.1, (2.2, 2.6))] * 3
    for number, (factor, (low, high)) in enumerate(_shuffled(stage.env, cases)):
        older = [factor * norm for norm in _usual_norms(stage.env, 12, f"older {number}")]
        recent = _usual_norms(stage.env, 5, f"recent {number}")
        recent[-1] *= 0.2
        _record_decision(stage, older + recent, [[[draw.real(low, high)]]], factor=3.0, window=5)


@driver.scenario("short", "아직 짧은 history", check="decide")
def _short(stage: Stage) -> None:
    """Call with an outlier and with histories of no norm to eight norms; the window, from three to seven, is drawn.

    The answer changes where the history is as long as the window. A wrong program begins to judge too early or too
    late.
    """
    window = stage.env.draw("short").whole(3, 7)
    for count in range(9):
        norms = _usual_norms(stage.env, count, f"norms {count}")
        _record_decision(stage, norms, [[[80.0]]], factor=3.0, window=window)


@driver.scenario("middle", "짝수인 window", check="decide")
def _middle(stage: Stage) -> None:
    """Let the median lie between two norms. A wrong program takes the lower or the upper one of them.

    The history is longer than the window, so that a program that begins to judge too late is right here. Its oldest
    norm changes no decision: the median of all five gives the same limit.
    """
    draw = stage.env.draw("middle")
    for low, high in _shuffled(stage.env, [(4.0, 4.8), (7.0, 8.0)] * 3):
        _record_decision(stage, [2.1, 1.0, 1.2, 3.0, 3.2], [[[draw.real(low, high)]]], factor=3.0, window=4)


@driver.scenario("limit", "꼭 factor배인 노름", check="decide")
def _limit(stage: Stage) -> None:
    """Give norms that are exactly at the limit, and so do not exceed it, and norms above it.

    A wrong program skips a norm at the limit. One whose window is one too long has another limit. All numbers that
    decide are exact in binary, however the norm of (3, 4) is computed.
    """
    draw = stage.env.draw("limit")
    for above in _shuffled(stage.env, [0.0, 1.0] * 3):
        scale = 2.0 ** draw.whole(-2, 2)
        gradient = [3.0 * scale, (4.0 + above) * scale]
        _record_decision(stage, [0.01, 0.1, 2.5 * scale, 100.0], [[gradient]], factor=2.0, window=3)


@driver.scenario("groups", "매개변수 그룹 둘", check="norm")
def _groups(stage: Stage) -> None:
    """Give one of two groups a large gradient, or neither. A wrong program looks at the first group only."""
    draw = stage.env.draw("groups")
    sizes_of_groups = _shuffled(stage.env, [(0.5, 15.0), (0.5, 0.5), (15.0, 0.5)] * 2)
    for number, (first, second) in enumerate(sizes_of_groups):
        gradients = [[[first * draw.real(0.8, 1.2)]], [[second * draw.real(0.8, 1.2)]]]
        norms = _usual_norms(stage.env, 7, f"norms {number}")
        _record_decision(stage, norms, gradients, factor=3.0, window=5)


@driver.scenario("one-norm", "여러 매개변수의 노름 하나", check="norm")
def _one_norm(stage: Stage) -> None:
    """Give gradients whose joint norm is above the limit, or a little below; none alone reaches the limit.

    A wrong program takes the largest one, or their sum.
    """
    draw = stage.env.draw("one norm")
    for low, high in _shuffled(stage.env, [(1.4, 1.6), (2.5, 2.9)] * 3):
        size = draw.real(low, high)
        gradients = [[[size], [-size]], [[size], [-size]]]
        _record_decision(stage, [1.3, 1.3, 1.3], gradients, factor=3.0, window=3)


@driver.scenario("none", "`.grad`가 None인 매개변수", check="norm")
def _none(stage: Stage) -> None:
    """Leave some parameters without a gradient. A wrong program stops there."""
    draw = stage.env.draw("none")
    for number, (low, high) in enumerate(_shuffled(stage.env, [(0.4, 0.9), (9.0, 20.0)] * 3)):
        gradients = [[None, [draw.real(low, high)]], [[0.1], None]]
        norms = _usual_norms(stage.env, 7, f"norms {number}")
        _record_decision(stage, norms, gradients, factor=3.0, window=5)


@driver.scenario("not-finite", "NaN과 무한대")
def _not_finite(stage: Stage) -> None:
    """Give gradients that are NaN or infinite, among usual ones, with a history that is full, short or empty.

    A wrong program trusts a short history, or catches one of the two only.
    """
    cases = [(value, count) for value in (math.nan, math.inf, -math.inf) for count in (0, 3, 5)]
    for number, (value, count) in enumerate(_shuffled(stage.env, [*cases, *[(1.0, 0), (1.0, 5)] * 2])):
        norms = _usual_norms(stage.env, count, f"norms {number}")
        _record_decision(stage, norms, [[[0.5, value]], [[0.5]]], factor=3.0, window=5)


# ---- updates and skips ---------------------------------------------------------------------------


@driver.scenario("update", "보통 배치와 스케줄러")
def _update(stage: Stage) -> None:
    """Update three times.

    A wrong program steps the scheduler before the optimizer, does not step one of them, or reads the norm from a
    function that clips to 1. (The squares of the norms, too, are below three times the median.)
    """
    training = _Training(stage)
    for norm in (1.2, 1.8, 1.6):
        training.step(norm)
    training.record_state()


def _skip_between_updates(stage: Stage, make_optimizer: MakeOptimizer) -> None:
    """Update, skip two batches, and update again; record the parameters, and optimizer state and rates at the end."""
    training = _Training(stage, make_optimizer)
    for norm in (0.6, 50.0, 70.0, 0.9):
        training.step(norm)
    training.record_state()


@driver.scenario("skip", "모멘텀 SGD에서 건너뛴 배치")
def _skip(stage: Stage) -> None:
    """Skip between updates with momentum.

    A wrong program clips and updates, updates with zero gradients, with which momentum still moves the parameters, or
    lets the scheduler go on.
    """
    _skip_between_updates(stage, momentum_sgd)


@driver.scenario("skip-adamw", "AdamW에서 건너뛴 배치", check="skip")
def _skip_adamw(stage: Stage) -> None:
    """Skip between updates of AdamW. A wrong program that steps with zero gradients decays the weights."""
    _skip_between_updates(stage, adamw)


@driver.scenario("history", "여러 번 부른 뒤의 history", check="history")
def _history(stage: Stage) -> None:
    """Record the history after updates and skips. A wrong program adds the skipped ones, or adds nothing."""
    training = _Training(stage, states=False)
    draw = stage.env.draw("history")
    for number in range(4):
        training.step(draw.real(30.0, 40.0) if number in (1, 2) else draw.real(0.4, 0.9))
    stage.recorder.array("history", [as_number(norm) for norm in training.history])
    kinds = sorted({type_name(norm) for norm in training.history})
    stage.recorder.fact("history에 든 것의 타입", [*kinds])


@driver.scenario("cleared", "남은 그레이디언트", check="skip")
def _cleared(stage: Stage) -> None:
    """Record the gradients of one more backward pass, after an update, after a skip, and after a NaN.

    A wrong program leaves gradients in one of the cases, or in all.
    """
    for name, norm in (("업데이트한", 0.9), ("건너뛴", 50.0), ("NaN이라 건너뛴", math.nan)):
        training = _Training(stage, states=False)
        training.step(norm)
        left = gradients_of_next_backward(stage.env, training.model.parameters())
        stage.recorder.array(f"{name} 다음의 역전파", left)


@driver.scenario("types", "반환 타입", check="returns")
def _types(stage: Stage) -> None:
    """Record the type of the returned value. A wrong program returns the norm, or nothing."""
    training = _Training(stage, states=False)
    decided = [training.step(norm) for norm in (0.9, 50.0)]
    witness = type_witness(bool, decided, _updated_witness(stage))
    stage.recorder.claim(RETURN_TYPES, [type_name(value) for value in decided], witness)


@driver.scenario("quiet", "화면 출력", check="returns")
def _quiet(stage: Stage) -> None:
    """Record whether the call prints anything."""
    training = _Training(stage, states=False)
    decided = [training.step(norm) for norm in (0.9, 50.0)]
    witness = type_witness(bool, decided, _updated_witness(stage))
    stage.recorder.claim("print를 부름", yes_or_no(stage.recorder.print_count > 0), witness)
