"""Driver of `train_gpt`, a training loop for a language model with a schedule, clipping and evaluations.

Promises of the exercise, and the scenarios that check them:
    the loss is the mean over all positions, for targets that are shifted already: `sgd`, `float32`
    batches are moved to `device`: `device`
    each group's rate follows `lr_at`, with the peak that the group had at the call: `sgd`, `adamw`, `again`
    clipping at each step, or from the end of the warm-up on: `clip`, `late-clip`
    evaluations, with how many batches and when: `evaluations`, `long-eval`, `when`; in eval mode: `modes`; without a
        graph: `graphs`
    `on_epoch_end`: `epochs`; train mode after it and at the end: `callback-modes`
    the returned history: `log`, `log-of-options`, `types`; a second call begins anew: `again`
    no graph of an earlier batch is kept: `memory`

Each scenario is a short training of a tiny GPT that isolates one part of the loop, except `defaults`, in which
everything acts together. The learner's `lr_at` is replaced by a right one (`_lr_at_stand_in`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.exercises.bells_and_whistles._gpt_case import make_gpt_case
from grader.exercises.bells_and_whistles._lr_at_stand_in import replace_lr_at
from grader.exercises.fixtures.classifiers import CLIP_ATOL, MakeOptimizer, SizedLoader, two_groups
from grader.exercises.fixtures.language import token_loss
from grader.exercises.fixtures.memory import record_loop_memory
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.usual import record_dtypes
from grader.exercises.fixtures.witnesses import ForwardWitness, seeded_number
from grader.observe.forward_notes import mode_words
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.recorder import Recorder
from grader.observe.values import as_number, items_of, type_name
from grader.observe.wording import yes_or_no

driver = Driver("train_gpt", cost=2, lends=("lr_at",))  # each scenario makes several updates and evaluations

_WARMUP_STEPS = 2
"""Updates of the warm-up. It ends in the middle of the first epoch, before a batch of large gradients."""

_EVALUATES_ONCE = {"eval_freq": 100, "eval_iter": 1}
"""Arguments for scenarios that are not about evaluations: evaluate after the first update only, on one batch."""
_RATES = {"initial_lr": 0.004, "min_lr": 0.002}
"""Arguments for rates at which updates show in the weights."""
_TINY_RATES = {"initial_lr": 1e-12, "min_lr": 1e-13}
"""Arguments for rates so small that no update changes a loss beyond the tolerance.

They are not 0, because a program may divide by them.
"""
_NEVER_CLIPS = {"max_norm": 1e9}
"""Argument for a limit that no norm reaches."""

_MAX_ITEMS = 100
"""Maximum number of items of a list that are recorded, so that a program that makes too many fills no memory."""


def _problem(env: Env) -> Problem:
    """Return model, batches and loss of the scenario `sgd`, for the recipe of its updates."""
    case = make_gpt_case(env)
    return Problem(case.model, case.train_batches, token_loss)


def _small_step_sgd(model: nn.Module) -> Optimizer:
    """Return SGD with small steps, so that the gradients' norms stay near those at the start."""
    return torch.optim.SGD(two_groups(model, (0.05, 0.03)), lr=0.05)


def _tiny_rate_sgd(model: nn.Module) -> Optimizer:
    """Return SGD with tiny rates, so that the weights stay where they are."""
    return torch.optim.SGD(two_groups(model, (1e-11, 1e-11)), lr=1e-11)


class _Training:
    """A watched model and optimizer with data, and the learner's function to train them with."""

    def __init__(
        self,
        stage: Stage,
        make_optimizer: MakeOptimizer = _small_step_sgd,
        *,
        states: bool = False,
        number_val_batches: bool = False,
        dropout: float = 0.0,
        with_limits: bool = False,
    ) -> None:
        """Make the model, the data and the optimizer, and let the recorder watch them.

        Args:
            stage: the scenario's stage.
            make_optimizer: makes the optimizer.
            states: compare the parameters after each update with the solution's.
            number_val_batches: let forward events number the validation batches instead of the training batches; a pass
                on any other batch has no number.
            dropout: the model's dropout.
            with_limits: give the case limits that fit its gradients' norms, for scenarios about clipping.
        """
        self.stage, self.case = stage, make_gpt_case(stage.env, dropout, with_limits=with_limits)
        self.model = self.case.model
        self.optimizer = make_optimizer(self.model)
        numbered = self.case.val_batches if number_val_batches else self.case.train_batches
        inputs = [inputs for inputs, _ in numbered]
        stage.recorder.watch(self.model, self.optimizer, batches=inputs, states=states)

    def train(self, **arguments: Any) -> Mapping[str, Any]:
        """Call the learner's function; return the dict it returned, or an empty one if it returned something else."""
        returned = self.call(**arguments)
        return returned if isinstance(returned, Mapping) else {}

    def call(self, **arguments: Any) -> Any:
        """Call the learner's function and return its result, whatever it is."""
        return self.call_through(self.stage.recorder.call, **arguments)

    def call_through(self, caller: Callable[..., Any], /, **arguments: Any) -> Any:
        """Let `caller` make the call, and return what it returns.

        Args:
            caller: called with the learner's function and the arguments for it, such as `Recorder.call`.
            arguments: keyword arguments beside the usual ones, or instead of them.
        """
        device = self.stage.env.device
        usual = {"warmup_steps": _WARMUP_STEPS}
        on_device = {} if device.type == "cpu" else {"device": str(device)}
        train_loader, val_loader = SizedLoader(self.case.train_batches), SizedLoader(self.case.val_batches)
        student = self.stage.student("train_gpt")
        with replace_lr_at(self.stage, student):
            return caller(
                student,
                *(self.model, train_loader, val_loader, self.optimizer),
                **{**usual, **on_device, **arguments},
            )


def _record_history(recorder: Recorder, history: Mapping[str, Any], *keys: str) -> None:
    """Record the history's lists under these keys as arrays; what is missing or no list as an empty one."""
    for key in keys:
        items = items_of(history.get(key))
        recorder.array(key, [as_number(item) for item in items[:_MAX_ITEMS]])


# ---- updates -------------------------------------------------------------------------------------


@driver.scenario("sgd", "SGD", atol=FLOAT32_ATOL, problem=_problem)
def _sgd(stage: Stage) -> None:
    """Train with one group and without clipping: only the gradients and the rate of each update matter.

    A wrong program takes other positions or targets, keeps gradients, or has its schedule off by a step or an epoch.
    """
    training = _Training(stage, lambda model: torch.optim.SGD(model.parameters(), lr=0.3), states=True)
    rates = {"initial_lr": 0.03, "min_lr": 0.01}
    training.train(n_epochs=2, **_EVALUATES_ONCE, **rates, **_NEVER_CLIPS)


@driver.scenario("float32", "float32 모델", check="sgd")
def _float32(stage: Stage) -> None:
    """Train a float32 model, and record dtypes.

    A wrong program uses autocast, which leaves the float64 of the other scenarios alone.
    """
    training = _Training(stage)
    training.model.float()
    training.train(n_epochs=1, **_EVALUATES_ONCE, **_RATES)
    record_dtypes(stage.recorder, training.model)


class _SeenEnough(Exception):
    """Ends a training at its first forward pass."""


class _InputDevice:
    """An observer of a model (`Net.observer`) that notes on which device the inputs of its first forward pass are."""

    def __init__(self) -> None:
        self.found = "순전파가 없음"
        """Type of that device; before the first forward pass, Korean words for there being none."""

    def forward_started(self, inputs: Tensor) -> None:
        """Note the device and end the training: on `meta` nothing can be computed."""
        self.found = inputs.device.type
        raise _SeenEnough


@driver.scenario("device", "`device`를 줬을 때", check="sgd")
def _device(stage: Stage) -> None:
    """Call with `device="meta"`, where the model is, and with batches on another device; record where inputs come from.

    A wrong program gives the model a batch that it has not moved. The device `meta` stands for a GPU, because every
    machine has it.
    """
    training, input_device = _Training(stage), _InputDevice()
    training.model.to("meta").observer = input_device

    def call_until_first_forward(student: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        def call_and_catch(*args: Any, **kwargs: Any) -> None:
            with suppress(Exception):  # `_SeenEnough`, or what the program makes of it
                student(*args, **kwargs)

        stage.recorder.call(call_and_catch, *args, **kwargs)

    training.call_through(call_until_first_forward, n_epochs=1, device="meta", **_EVALUATES_ONCE, **_RATES)
    stage.recorder.fact('`device="meta"`로 부른 순전파의 입력이 있는 장치', input_device.found)


@driver.scenario("adamw", "AdamW와 두 매개변수 그룹", atol=FLOAT32_ATOL)
def _adamw(stage: Stage) -> None:
    """Train with two groups, each with a peak rate of its own, which differs from the rate in the optimizer's defaults.

    A wrong program gives all groups one rate, changes the first group only, or reads the peak from `defaults`.
    """

    def two_adamw(model: nn.Module) -> Optimizer:
        return torch.optim.AdamW(two_groups(model, (0.02, 0.05)), lr=0.1, weight_decay=0.05)

    training = _Training(stage, two_adamw, states=True)
    training.train(n_epochs=1, **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS)


# ---- clipping ------------------------------------------------------------------------------------

_STEADY_RATE = 0.05
"""Learning rate of trainings whose rate never changes."""
_STEADY = {"initial_lr": _STEADY_RATE, "min_lr": _STEADY_RATE, **_EVALUATES_ONCE}
"""Arguments by which the learning rate is `_STEADY_RATE` from the first step to the last."""


def _steady_training(stage: Stage) -> _Training:
    """Return a training with limits for clipping, whose rate never changes if it is called with `_STEADY`.

    So a wrong schedule costs nothing in it.
    """

    def steady_sgd(model: nn.Module) -> Optimizer:
        return torch.optim.SGD(two_groups(model, (_STEADY_RATE, _STEADY_RATE)), lr=_STEADY_RATE)

    return _Training(stage, steady_sgd, states=True, with_limits=True)


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """Train for two epochs with a limit that acts on large gradients only; the second time they come after the warm-up.

    A wrong program clips by value, by group, before the gradients are there, only after the warm-up, or never.
    """
    training = _steady_training(stage)
    training.train(n_epochs=2, max_norm=training.case.limit_for_large, **_STEADY)


@driver.scenario("late-clip", "워밍업 뒤부터 클리핑", check="clip", atol=CLIP_ATOL)
def _late_clip(stage: Stage) -> None:
    """Clip only from the end of the warm-up on, with a limit that acts at every step.

    A wrong program begins to clip one step early or late, or does not look at `clip_after_warmup`.
    """
    training = _steady_training(stage)
    training.train(n_epochs=1, max_norm=training.case.limit_for_all, clip_after_warmup=True, **_STEADY)


# ---- evaluations ---------------------------------------------------------------------------------


def _record_evaluations(stage: Stage, *, n_epochs: int, eval_freq: int, eval_iter: int) -> None:
    """Train with tiny rates and record the losses: the model hardly moves, so wrong updates cost nothing here."""
    training = _Training(stage, _tiny_rate_sgd)
    history = training.train(
        n_epochs=n_epochs, eval_freq=eval_freq, eval_iter=eval_iter, **_TINY_RATES, **_NEVER_CLIPS
    )
    _record_history(stage.recorder, history, "train_losses", "val_losses")


@driver.scenario("evaluations", "배치 두 개로 평가", atol=FLOAT32_ATOL)
def _evaluations(stage: Stage) -> None:
    """Evaluate on two batches each time.

    A wrong program weights batches by their size, takes more or later batches, or swaps the two losses.
    """
    _record_evaluations(stage, n_epochs=1, eval_freq=2, eval_iter=2)


@driver.scenario("long-eval", "loader보다 큰 eval_iter", check="evaluations", atol=FLOAT32_ATOL)
def _long_eval(stage: Stage) -> None:
    """Ask for more batches than either loader has, in a training of two epochs.

    A wrong program divides by `eval_iter`, although there were fewer batches, or evaluates on a loader twice over.
    """
    _record_evaluations(stage, n_epochs=2, eval_freq=7, eval_iter=9)


@driver.scenario("when", "평가하는 때", check="evaluations")
def _when(stage: Stage) -> None:
    """Record the number of updates before each evaluation on validation batches.

    A wrong program evaluates before the update, at every step, not after the first update, or counts from one.
    """
    _Training(stage, number_val_batches=True).train(
        n_epochs=1, eval_freq=2, eval_iter=1, **_RATES, **_NEVER_CLIPS
    )
    updates = 0
    updates_before: list[int] = []
    for event in stage.recorder.run.events:
        updates += event.kind == "step"
        # Only validation batches have a number here, because of `number_val_batches`.
        if event.kind == "forward" and event.batch is not None and updates not in updates_before:
            updates_before.append(updates)
    stage.recorder.fact("검증하기까지의 업데이트", [*updates_before])


# ---- modes and graphs ----------------------------------------------------------------------------


@driver.scenario("modes", "평가 모드로 받은 모델")
def _modes(stage: Stage) -> None:
    """Hand the model over in eval mode: it must train in train mode, be evaluated in eval mode, and end in train mode.

    A wrong program never calls `train()`, evaluates in train mode, or stays in eval mode after an evaluation.
    """
    training, recorder = _Training(stage, dropout=0.4), stage.recorder
    training.model.eval()
    witness = ForwardWitness(stage.env, training.model)
    training.train(n_epochs=1, eval_freq=2, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    recorder.claim("학습 모드로 한 순전파", sum(recorder.training_at_forward), [witness.train_mode_sum])
    recorder.claim("순전파할 때의 모드", [*sorted(recorder.forward_notes.modes)], witness.modes())
    recorder.claim("끝난 뒤의 모드", mode_words(training.model), witness.modes_left(training.model))


@driver.scenario("callback-modes", "on_epoch_end가 평가 모드로 바꿔 놓을 때", check="modes")
def _callback_modes(stage: Stage) -> None:
    """Let the callback leave the model in eval mode after each of two epochs, as one that writes a sample may.

    A wrong program trains the second epoch in eval mode, or ends in it.
    """
    training = _Training(stage, dropout=0.4)
    witness = ForwardWitness(stage.env, training.model)
    training.train(
        n_epochs=2, on_epoch_end=lambda model: model.eval(), **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS
    )
    stage.recorder.claim(
        "학습 모드로 한 순전파", sum(stage.recorder.training_at_forward), [witness.train_mode_sum]
    )
    stage.recorder.claim("끝난 뒤의 모드", mode_words(training.model), witness.modes_left(training.model))


@driver.scenario("graphs", "평가의 계산 그래프")
def _graphs(stage: Stage) -> None:
    """Count the forward passes that built a graph: one for each update, none for an evaluation.

    A wrong program evaluates with gradients enabled, or leaves them disabled afterwards.
    """
    training = _Training(stage)
    witness = ForwardWitness(stage.env, training.model)
    training.train(n_epochs=1, eval_freq=2, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    stage.recorder.claim("계산 그래프를 만든 순전파", stage.recorder.graphs_built, [witness.graph_sum])
    stage.recorder.fact("그레이디언트 계산", "켜짐" if torch.is_grad_enabled() else "꺼짐")


# ---- the returned history ------------------------------------------------------------------------


@driver.scenario("log", "기본값으로 학습한 기록", atol=FLOAT32_ATOL)
def _log(stage: Stage) -> None:
    """Record the rates and the tokens of a training with all defaults.

    A wrong program counts batches or samples, counts targets too, starts anew each epoch, or notes rates at evaluations
    only.
    """
    history = _Training(stage).train(n_epochs=2, eval_freq=3, eval_iter=1)
    _record_history(stage.recorder, history, "lrs", "tokens_seen")


@driver.scenario("log-of-options", "기본값이 아닌 인자로 학습한 기록", check="log", atol=FLOAT32_ATOL)
def _log_of_options(stage: Stage) -> None:
    """Record the rates and the tokens of a training with late clipping and a callback.

    A wrong program notes them in the branch for one of these options, and so not at every update.
    """
    options = {"clip_after_warmup": True, "on_epoch_end": lambda *_: None, **_RATES}
    history = _Training(stage).train(n_epochs=1, eval_freq=1, eval_iter=1, **options)
    _record_history(stage.recorder, history, "lrs", "tokens_seen")


@driver.scenario("defaults", "기본값으로 학습한 가중치와 손실", check="log", atol=CLIP_ATOL)
def _defaults(stage: Stage) -> None:
    """Record the weights and losses of a training with all defaults, where everything acts together.

    A wrong program has other defaults, or most of the mistakes that other scenarios show.
    """
    history = _Training(stage, states=True).train(n_epochs=1, eval_freq=2, eval_iter=1)
    _record_history(stage.recorder, history, "train_losses", "val_losses")


# ---- callbacks and a second call -----------------------------------------------------------------


@driver.scenario("epochs", "에폭이 끝날 때")
def _epochs(stage: Stage) -> None:
    """Record when `on_epoch_end` is called, and with what.

    A wrong program calls it at every step, only once, when an epoch begins, or without the model. The fact is the
    number of updates before each call; its witness is the sum of as many drawn numbers.
    """
    training, env, recorder = _Training(stage), stage.env, stage.recorder
    fact = "on_epoch_end가 불리기까지의 업데이트"
    drawn: list[float] = []  # one number for each update so far
    sums: list[float] = []
    training.optimizer.register_step_post_hook(
        lambda *_: drawn.append(seeded_number(env, "update", len(drawn)))
    )

    def on_epoch_end(*args: Any) -> None:
        recorder.append_fact(fact, sum(event.kind == "step" for event in recorder.run.events))
        sums.append(sum(drawn))
        given = ["모델" if argument is training.model else type_name(argument) for argument in args]
        recorder.append_fact("on_epoch_end가 받은 것", [*given])

    n_epochs = 2 + env.number("epochs") % 2
    training.train(n_epochs=n_epochs, on_epoch_end=on_epoch_end, **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS)
    recorder.array(fact, sums[:_MAX_ITEMS])


@driver.scenario("again", "두 번째 호출", atol=FLOAT32_ATOL)
def _again(stage: Stage) -> None:
    """Train, give the groups other rates, and train again: the second call must take these as its peaks.

    A wrong program keeps the first call's peaks or goes on counting its tokens.
    """
    training = _Training(
        stage, lambda model: torch.optim.SGD(two_groups(model, (0.2, 0.1)), lr=0.2, momentum=0.9)
    )
    first_history = training.train(n_epochs=1, **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS)
    for number, group in enumerate(training.optimizer.param_groups):
        group["lr"] = 0.05 + 0.1 * number + 0.05 * seeded_number(stage.env, "rate", number)
    rates: list[list[float]] = []
    training.optimizer.register_step_pre_hook(
        lambda opt, *_: rates.append([group["lr"] for group in opt.param_groups])
    )
    second_history = training.train(n_epochs=1, **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS, warmup_steps=1)
    rates_used = torch.tensor(rates[:_MAX_ITEMS], dtype=torch.float64).reshape(-1, 2)
    stage.recorder.array("두 번째 호출의 업데이트에 쓴 학습률", rates_used)
    first_tokens, second_tokens = (items_of(h.get("tokens_seen")) for h in (first_history, second_history))
    is_counted_anew = first_tokens == second_tokens
    stage.recorder.fact("토큰을 처음부터 다시 셈", yes_or_no(is_counted_anew))


# ---- types and memory ----------------------------------------------------------------------------


@driver.scenario("types", "반환 타입", check="log")
def _types(stage: Stage) -> None:
    """Record the type of the returned dict, and whether the values in it are numbers, NumPy's or Python's.

    A wrong program collects tensors, or returns a tuple.
    """
    returned = _Training(stage).call(n_epochs=1, eval_freq=3, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    history = returned if isinstance(returned, Mapping) else {}
    stage.recorder.fact("반환 타입", "dict" if isinstance(returned, Mapping) else type_name(returned))
    for key in ("train_losses", "val_losses", "tokens_seen", "lrs"):
        values = history.get(key)
        items = items_of(values)[:_MAX_ITEMS] or [values]
        kinds = {"숫자" if isinstance(item, int | float | np.number) else type_name(item) for item in items}
        stage.recorder.fact(f'"{key}"에 든 것', [*sorted(kinds)])


@driver.scenario("memory", "살아 있는 계산 그래프", watches_memory=True)
def _memory(stage: Stage) -> None:
    """Measure which graphs are alive during two epochs, each of twice the usual number of batches.

    A wrong program keeps losses with their graphs, which pile up step by step.
    """
    training = _Training(stage)
    batches = [*training.case.train_batches, *training.case.train_batches]
    training.case = replace(training.case, train_batches=batches)
    meter = stage.recorder.measure_memory(training.model)
    training.call(n_epochs=2, eval_freq=2, eval_iter=1, **_RATES)
    record_loop_memory(stage, meter)
