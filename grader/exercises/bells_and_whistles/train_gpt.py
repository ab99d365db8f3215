"""Driver of `train_gpt`, a training loop for a language model with a schedule, clipping and evaluations.

Each scenario is a short run on a tiny GPT that isolates one part of the loop: rates, clipping, evaluations, modes,
graphs, the returned history, callbacks, or a second call. The loop's `lr_at` is lent (`_lent_schedule`).
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from grader.exercises.bells_and_whistles._gpt_case import make_case
from grader.exercises.bells_and_whistles._lent_schedule import lent_schedule
from grader.exercises.fixtures.classifiers import CLIP_ATOL, MakeOptimizer, SizedLoader, two_groups
from grader.exercises.fixtures.language import token_loss
from grader.exercises.fixtures.memory import record_loop_memory
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.usual import record_dtypes
from grader.exercises.fixtures.witnesses import ForwardWitness, seeded_number
from grader.observe.forward_notes import mode_words
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.recorder import Recorder
from grader.observe.values import as_number, type_name
from grader.observe.wording import yes_or_no

driver = Driver("train_gpt", cost=2)  # each scenario is a run of several updates and evaluations

_WARMUP = 2
"""Warm-up steps: the warm-up ends in the middle of the first epoch, at a batch of large gradients."""

_EVALUATES_ONCE = {"eval_freq": 100, "eval_iter": 1}
"""Arguments for evaluating once, on one batch: for scenarios that are about something else."""
_RATES = {"initial_lr": 0.004, "min_lr": 0.002}
_NEVER_CLIPS = {"max_norm": 1e9}
_TINY_RATES = {"initial_lr": 1e-12, "min_lr": 1e-13}
"""Rates so small that no update, however wrong, changes a loss. Not 0, because a program may divide by them."""


def _problem(env: Env) -> Problem:
    case = make_case(env)
    return Problem(case.model, case.train, token_loss)


def _sgd(model: nn.Module) -> Optimizer:
    """Return SGD with small steps, so that the gradients' norms stay near those at the start."""
    return torch.optim.SGD(two_groups(model, (0.05, 0.03)), lr=0.05)


def _tiny_rate_sgd(model: nn.Module) -> Optimizer:
    """Return SGD with tiny rates, so that the weights stay where they are."""
    return torch.optim.SGD(two_groups(model, (1e-11, 1e-11)), lr=1e-11)


class _Run:
    """A case with an optimizer, which the recorder watches, and the student's function to train with them."""

    def __init__(
        self,
        stage: Stage,
        make_optimizer: MakeOptimizer = _sgd,
        *,
        states: bool = False,
        val: bool = False,
        dropout: float = 0.0,
        limits: bool = False,
    ) -> None:
        """Set everything up.

        Args:
            stage: the scenario's stage.
            make_optimizer: makes the optimizer.
            states: compare parameters.
            val: forward events name validation batches, not training batches.
            dropout: the model's dropout.
            limits: give the case norm limits that clip some steps, not infinite ones.
        """
        self.stage, self.case = stage, make_case(stage.env, dropout, limits=limits)
        self.model = self.case.model
        self.optimizer = make_optimizer(self.model)
        inputs = [inputs for inputs, _ in (self.case.val if val else self.case.train)]
        stage.recorder.watch(self.model, self.optimizer, batches=inputs, states=states)

    def call(self, **arguments: Any) -> Any:
        """Call the student's function, with `lr_at` lent, and return its result."""
        return self.call_through(self.stage.recorder.call, **arguments)

    def call_through(self, caller: Callable[..., Any], /, **arguments: Any) -> Any:
        """Let `caller` make the call, given the function and its arguments, and return what it returns."""
        device = self.stage.env.device
        extra = {} if device.type == "cpu" else {"device": str(device)}
        student = self.stage.student("train_gpt")
        with lent_schedule(self.stage, student):
            return caller(
                student,
                *(self.model, SizedLoader(self.case.train), SizedLoader(self.case.val), self.optimizer),
                **{"warmup_steps": _WARMUP, **extra, **arguments},
            )

    def train(self, **arguments: Any) -> Mapping[str, Any]:
        """Call the student's function; return the dict it returned, or an empty one if it returned something else."""
        result = self.call(**arguments)
        return result if isinstance(result, Mapping) else {}


def _record(recorder: Recorder, history: Mapping[str, Any], *names: str) -> None:
    """Record lists of the returned history as arrays."""
    for name in names:
        values = history.get(name)
        items = list(values) if isinstance(values, list | tuple) else []
        recorder.array(name, [as_number(item) for item in items[:100]])


@driver.scenario("sgd", "SGD", atol=FLOAT32_ATOL, problem=_problem)
def _train_sgd(stage: Stage) -> None:
    """One group and no clipping: only the gradients and the rate of each update matter."""
    run = _Run(stage, lambda model: torch.optim.SGD(model.parameters(), lr=0.3), states=True)
    rates = {"initial_lr": 0.03, "min_lr": 0.01}
    run.train(n_epochs=2, **_EVALUATES_ONCE, **rates, **_NEVER_CLIPS)


@driver.scenario("float32", "float32 모델", check="sgd")
def _train_float32(stage: Stage) -> None:
    """The dtypes of a float32 model after a run, because autocast leaves float64 alone."""
    run = _Run(stage)
    run.model.float()
    run.train(n_epochs=1, **_EVALUATES_ONCE, **_RATES)
    record_dtypes(stage.recorder, run.model)


class _SeenEnough(Exception):
    """Ends a run of which the rest does not matter."""


class _InputDevice:
    """An observer of a model that notes where the inputs of its first forward pass lie."""

    def __init__(self) -> None:
        self.found = "순전파가 없음"

    def forward_started(self, inputs: torch.Tensor) -> None:
        """Note the device and end the run: on `meta` nothing can be computed."""
        self.found = inputs.device.type
        raise _SeenEnough


@driver.scenario("device", "`device`를 줬을 때", check="sgd")
def _train_device(stage: Stage) -> None:
    """The model is on the device `meta`, the batches on the CPU: each batch must follow the model."""
    run, seen = _Run(stage), _InputDevice()
    run.model.to("meta").observer = seen

    def to_first_forward(student: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        def attempt(*args: Any, **kwargs: Any) -> None:
            with suppress(Exception):  # `_SeenEnough`, or what the program makes of it
                student(*args, **kwargs)

        stage.recorder.call(attempt, *args, **kwargs)

    run.call_through(to_first_forward, n_epochs=1, device="meta", **_EVALUATES_ONCE, **_RATES)
    stage.recorder.fact('`device="meta"`로 부른 순전파의 입력이 있는 장치', seen.found)


@driver.scenario("adamw", "AdamW와 두 매개변수 그룹", atol=FLOAT32_ATOL)
def _train_adamw(stage: Stage) -> None:
    """Two groups, each with a peak rate of its own."""

    def two_adamw(model: nn.Module) -> Optimizer:
        return torch.optim.AdamW(two_groups(model, (0.02, 0.05)), lr=0.1, weight_decay=0.05)

    _Run(stage, two_adamw, states=True).train(n_epochs=1, **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS)


_RATE = 0.05


def _clipped(stage: Stage) -> _Run:
    """Return a run with norm limits, with a rate that never changes, so that a wrong schedule costs nothing here."""

    def steady(model: nn.Module) -> Optimizer:
        return torch.optim.SGD(two_groups(model, (_RATE, _RATE)), lr=_RATE)

    return _Run(stage, steady, states=True, limits=True)


_STEADY = {"initial_lr": _RATE, "min_lr": _RATE, **_EVALUATES_ONCE}


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _train_clip(stage: Stage) -> None:
    """Clipping at every step; the large gradients of the second epoch come well after the warm-up."""
    run = _clipped(stage)
    run.train(n_epochs=2, max_norm=run.case.max_norm, **_STEADY)


@driver.scenario("late-clip", "워밍업 뒤부터 클리핑", check="clip", atol=CLIP_ATOL)
def _train_late_clip(stage: Stage) -> None:
    """Clipping only from the end of the warm-up on."""
    run = _clipped(stage)
    run.train(n_epochs=1, max_norm=run.case.below_largest, clip_after_warmup=True, **_STEADY)


def _record_evaluations(stage: Stage, *, n_epochs: int, eval_freq: int, eval_iter: int) -> None:
    """Record the losses of a model that does not move."""
    given = {"n_epochs": n_epochs, "eval_freq": eval_freq, "eval_iter": eval_iter}
    history = _Run(stage, _tiny_rate_sgd).train(**given, **_TINY_RATES, **_NEVER_CLIPS)
    _record(stage.recorder, history, "train_losses", "val_losses")


@driver.scenario("evaluations", "배치 두 개로 평가", atol=FLOAT32_ATOL)
def _train_evaluations(stage: Stage) -> None:
    """Two batches for each evaluation: batches of different sizes must count the same, and later batches not at all."""
    _record_evaluations(stage, n_epochs=1, eval_freq=2, eval_iter=2)


@driver.scenario("long-eval", "loader보다 큰 eval_iter", check="evaluations", atol=FLOAT32_ATOL)
def _train_long_evaluation(stage: Stage) -> None:
    """More batches asked for than either loader has, in two epochs: the number of epochs must not count."""
    _record_evaluations(stage, n_epochs=2, eval_freq=7, eval_iter=9)


@driver.scenario("when", "평가하는 때", check="evaluations")
def _train_when(stage: Stage) -> None:
    """The number of updates before each look at the validation batches."""
    _Run(stage, val=True).train(n_epochs=1, eval_freq=2, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    updates, seen = 0, []
    for event in stage.recorder.run.events:
        updates += event.kind == "step"
        if event.kind == "forward" and event.batch is not None and updates not in seen:
            seen.append(updates)
    stage.recorder.fact("검증하기까지의 업데이트", [*seen])


@driver.scenario("modes", "평가 모드로 받은 모델")
def _train_modes(stage: Stage) -> None:
    """A model handed over in eval mode: it must train in train mode, be
    evaluated in eval mode, and end in train mode.
    """
    run, recorder = _Run(stage, dropout=0.4), stage.recorder
    run.model.eval()
    witness = ForwardWitness(stage.env, run.model)
    run.train(n_epochs=1, eval_freq=2, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    recorder.claim("학습 모드로 한 순전파", sum(recorder.training_at_forward), [witness.train_mode_sum])
    recorder.claim("순전파할 때의 모드", [*sorted(recorder.forward_notes.modes)], witness.modes())
    recorder.claim("끝난 뒤의 모드", mode_words(run.model), witness.modes_left(run.model))


@driver.scenario("callback-modes", "on_epoch_end가 평가 모드로 바꿔 놓을 때", check="modes")
def _train_modes_after_callback(stage: Stage) -> None:
    """The callback leaves the model in eval mode after each of two epochs, as one that writes a sample may."""
    run = _Run(stage, dropout=0.4)
    witness = ForwardWitness(stage.env, run.model)
    run.train(
        n_epochs=2, on_epoch_end=lambda model: model.eval(), **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS
    )
    stage.recorder.claim(
        "학습 모드로 한 순전파", sum(stage.recorder.training_at_forward), [witness.train_mode_sum]
    )
    stage.recorder.claim("끝난 뒤의 모드", mode_words(run.model), witness.modes_left(run.model))


@driver.scenario("graphs", "평가의 계산 그래프")
def _train_graphs(stage: Stage) -> None:
    """A graph for each update, none for an evaluation, and gradients still enabled afterwards."""
    run = _Run(stage)
    witness = ForwardWitness(stage.env, run.model)
    run.train(n_epochs=1, eval_freq=2, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    stage.recorder.claim("계산 그래프를 만든 순전파", stage.recorder.graphs_built, [witness.graph_sum])
    stage.recorder.fact("그레이디언트 계산", "켜짐" if torch.is_grad_enabled() else "꺼짐")


@driver.scenario("log", "기본값으로 학습한 기록", atol=FLOAT32_ATOL)
def _train_log(stage: Stage) -> None:
    """The history of a run with all defaults."""
    history = _Run(stage).train(n_epochs=2, eval_freq=3, eval_iter=1)
    _record(stage.recorder, history, "lrs", "tokens_seen")


@driver.scenario("log-of-options", "기본값이 아닌 인자로 학습한 기록", check="log", atol=FLOAT32_ATOL)
def _train_log_of_options(stage: Stage) -> None:
    """Rates and tokens are recorded at every update, also at those that do not clip, and whatever is called back."""
    options = {"clip_after_warmup": True, "on_epoch_end": lambda *_: None, **_RATES}
    history = _Run(stage).train(n_epochs=1, eval_freq=1, eval_iter=1, **options)
    _record(stage.recorder, history, "lrs", "tokens_seen")


@driver.scenario("defaults", "기본값으로 학습한 가중치와 손실", check="log", atol=CLIP_ATOL)
def _train_defaults(stage: Stage) -> None:
    """Weights and losses of a run with all defaults, where everything acts together."""
    history = _Run(stage, states=True).train(n_epochs=1, eval_freq=2, eval_iter=1)
    _record(stage.recorder, history, "train_losses", "val_losses")


@driver.scenario("epochs", "에폭이 끝날 때")
def _train_epochs(stage: Stage) -> None:
    """When `on_epoch_end` is called, and with what.

    Each update adds a number of its own to a sum, which is the witness for the number of updates before a call.
    """
    run, env, recorder = _Run(stage), stage.env, stage.recorder
    until = "on_epoch_end가 불리기까지의 업데이트"
    taken: list[float] = []
    sums: list[float] = []
    run.optimizer.register_step_post_hook(lambda *_: taken.append(seeded_number(env, "update", len(taken))))

    def on_epoch_end(*args: Any) -> None:
        updates = sum(event.kind == "step" for event in recorder.run.events)
        recorder.append_fact(until, updates)
        sums.append(sum(taken))
        recorder.append_fact(
            "on_epoch_end가 받은 것", ["모델" if a is run.model else type_name(a) for a in args]
        )

    epochs = 2 + env.number("epochs") % 2
    run.train(n_epochs=epochs, on_epoch_end=on_epoch_end, **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS)
    recorder.array(until, sums[:100])


@driver.scenario("again", "두 번째 호출", atol=FLOAT32_ATOL)
def _train_again(stage: Stage) -> None:
    """A second call, after the groups got other rates, which this call must take as its peaks."""
    run = _Run(stage, lambda m: torch.optim.SGD(two_groups(m, (0.2, 0.1)), lr=0.2, momentum=0.9))
    first = run.train(n_epochs=1, **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS)
    for number, group in enumerate(run.optimizer.param_groups):
        group["lr"] = 0.05 + 0.1 * number + 0.05 * seeded_number(stage.env, "rate", number)
    used: list[list[float]] = []
    run.optimizer.register_step_pre_hook(
        lambda opt, *_: used.append([group["lr"] for group in opt.param_groups])
    )
    history = run.train(n_epochs=1, **_EVALUATES_ONCE, **_RATES, **_NEVER_CLIPS, warmup_steps=1)
    rates = torch.tensor(used[:100], dtype=torch.float64).reshape(-1, 2)
    stage.recorder.array("두 번째 호출의 업데이트에 쓴 학습률", rates)
    anew = first.get("tokens_seen") == history.get("tokens_seen")
    stage.recorder.fact("토큰을 처음부터 다시 셈", yes_or_no(anew))


@driver.scenario("types", "반환 타입", check="log")
def _train_types(stage: Stage) -> None:
    """The types of the returned dict and of the values in it."""
    result = _Run(stage).call(n_epochs=1, eval_freq=3, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    history = result if isinstance(result, Mapping) else {}
    stage.recorder.fact("반환 타입", "dict" if isinstance(result, Mapping) else type_name(result))
    for name in ("train_losses", "val_losses", "tokens_seen", "lrs"):
        values = history.get(name)
        items = list(values)[:20] if isinstance(values, list | tuple) else [values]
        stage.recorder.fact(f'"{name}"에 든 것', [*sorted({type_name(item) for item in items})])


@driver.scenario("memory", "살아 있는 계산 그래프", watches_memory=True)
def _train_memory(stage: Stage) -> None:
    """Losses that are kept with their graphs pile up step by step."""
    run = _Run(stage)
    run.case = replace(run.case, train=[*run.case.train, *run.case.train])
    meter = stage.recorder.measure_memory(run.model)
    run.call(n_epochs=2, eval_freq=2, eval_iter=1, **_RATES)
    record_loop_memory(stage, meter)
