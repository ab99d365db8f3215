"""Driver of `train_gpt`, a training loop for a language model with a schedule, clipping and evaluations.

Each scenario is a short run on a tiny GPT that isolates one part of the loop: rates, clipping, evaluations, modes,
graphs, the returned history, callbacks, or a second call. The loop's `lr_at` is lent (`_lent_schedule`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from grader.exercises.bells_and_whistles._gpt_case import Case, make_case
from grader.exercises.bells_and_whistles._lent_schedule import lent_schedule
from grader.exercises.fixtures.classifiers import Batch, two_groups
from grader.exercises.fixtures.language import token_loss
from grader.exercises.fixtures.marks import ForwardMarks, drawn
from grader.exercises.fixtures.memory import record_loop_memory
from grader.exercises.fixtures.precision import record_precision
from grader.exercises.fixtures.tolerances import CLIP_ATOL, FLOAT32_ATOL
from grader.observe.forward_notes import mode_words
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.recorder import Recorder
from grader.observe.values import as_number, type_name

driver = Driver("train_gpt", cost=2)

_WARMUP = 2
"""Warm-up steps: the warm-up ends in the middle of the first epoch, at a batch of large gradients."""

_QUIET = {"eval_freq": 100, "eval_iter": 1}
"""Arguments for evaluating once, on one batch: for scenarios that are about something else."""
_RATES = {"initial_lr": 0.004, "min_lr": 0.002}
_NEVER_CLIPS = {"max_norm": 1e9}
_TINY_RATES = {"initial_lr": 1e-12, "min_lr": 1e-13}
"""Rates so small that no update, however wrong, changes a loss. Not 0,
because a schedule may be a multiple of the peak.
"""


class _Loader:
    """A loader with a length that gives the same batches every time."""

    def __init__(self, data: Sequence[Batch]) -> None:
        self.held = data

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)


def _problem(env: Env) -> Problem:
    case = make_case(env)
    return Problem(case.model, case.train, token_loss)


def _sgd(model: nn.Module) -> Optimizer:
    """Return SGD with small steps, so that the gradients' norms stay near those at the start."""
    return torch.optim.SGD(two_groups(model, (0.05, 0.03)), lr=0.05)


def _tiny_rate_sgd(model: nn.Module) -> Optimizer:
    """Return SGD with tiny rates, so that the weights stay where they are."""
    return torch.optim.SGD(two_groups(model, (1e-11, 1e-11)), lr=1e-11)


def _call(stage: Stage, case: Case, optimizer: Optimizer, **arguments: Any) -> Any:
    """Call the student's function, with `lr_at` lent, and return its result."""
    device = stage.env.device
    extra = {} if device.type == "cpu" else {"device": str(device)}
    student = stage.student("train_gpt")
    with lent_schedule(stage, student):
        return stage.recorder.call(
            student,
            *(case.model, _Loader(case.train), _Loader(case.val), optimizer),
            **{"warmup_steps": _WARMUP, **extra, **arguments},
        )


def _train(stage: Stage, case: Case, optimizer: Optimizer, **arguments: Any) -> Mapping[str, Any]:
    """Call the student's function; return the dict it returned, or an empty one if it returned something else."""
    result = _call(stage, case, optimizer, **arguments)
    return result if isinstance(result, Mapping) else {}


def _watched(stage: Stage, case: Case, optimizer: Optimizer, *, states: bool = True) -> None:
    """Let the recorder watch the model, the optimizer and the training batches."""
    inputs = [inputs for inputs, _ in case.train]
    stage.recorder.watch(case.model, optimizer, batches=inputs, states=states)


def _record(recorder: Recorder, history: Mapping[str, Any], *names: str) -> None:
    """Record lists of the returned history as arrays."""
    for name in names:
        values = history.get(name)
        items = list(values) if isinstance(values, list | tuple) else []
        recorder.array(name, [as_number(item) for item in items[:100]])


@driver.scenario("sgd", "SGD", atol=FLOAT32_ATOL, problem=_problem)
def _train_sgd(stage: Stage) -> None:
    """One group and no clipping: only the gradients and the rate of each update matter."""
    case = make_case(stage.env)
    optimizer = torch.optim.SGD(case.model.parameters(), lr=0.3)
    _watched(stage, case, optimizer)
    rates = {"initial_lr": 0.03, "min_lr": 0.01}
    _train(stage, case, optimizer, n_epochs=2, **_QUIET, **rates, **_NEVER_CLIPS)


@driver.scenario("float32", "float32 모델", check="sgd")
def _train_float32(stage: Stage) -> None:
    """The dtypes of a float32 model after a run, because autocast leaves float64 alone."""
    case = make_case(stage.env)
    case.model.float()
    optimizer = _sgd(case.model)
    _watched(stage, case, optimizer, states=False)
    _train(stage, case, optimizer, n_epochs=1, **_QUIET, **_RATES)
    record_precision(stage.recorder, case.model)


@driver.scenario("adamw", "AdamW와 두 매개변수 그룹", atol=FLOAT32_ATOL)
def _train_adamw(stage: Stage) -> None:
    """Two groups, each with a peak rate of its own."""
    case = make_case(stage.env)
    optimizer = torch.optim.AdamW(two_groups(case.model, (0.02, 0.05)), lr=0.1, weight_decay=0.05)
    _watched(stage, case, optimizer)
    _train(stage, case, optimizer, n_epochs=1, **_QUIET, **_RATES, **_NEVER_CLIPS)


def _clip(stage: Stage, case: Case, max_norm: float, *, n_epochs: int, **arguments: Any) -> None:
    """Train with a rate that never changes, so that a wrong schedule costs nothing here."""
    rate = 0.05
    optimizer = torch.optim.SGD(two_groups(case.model, (rate, rate)), lr=rate)
    _watched(stage, case, optimizer)
    given = {"initial_lr": rate, "min_lr": rate, "max_norm": max_norm, **_QUIET, **arguments}
    _train(stage, case, optimizer, n_epochs=n_epochs, **given)


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _train_clip(stage: Stage) -> None:
    """Clipping at every step; the large gradients of the second epoch come well after the warm-up."""
    case = make_case(stage.env, limits=True)
    _clip(stage, case, case.max_norm, n_epochs=2)


@driver.scenario("late-clip", "워밍업 뒤부터 클리핑", check="clip", atol=CLIP_ATOL)
def _train_late_clip(stage: Stage) -> None:
    """Clipping only from the end of the warm-up on."""
    case = make_case(stage.env, limits=True)
    _clip(stage, case, case.below_largest, n_epochs=1, clip_after_warmup=True)


def _record_evaluations(stage: Stage, *names: str, eval_freq: int, eval_iter: int) -> None:
    """Record the losses of a model that does not move."""
    case = make_case(stage.env)
    optimizer = _tiny_rate_sgd(case.model)
    _watched(stage, case, optimizer, states=False)
    given = {"eval_freq": eval_freq, "eval_iter": eval_iter, **_TINY_RATES, **_NEVER_CLIPS}
    _record(stage.recorder, _train(stage, case, optimizer, n_epochs=1, **given), *names)


@driver.scenario("evaluations", "배치 두 개로 평가", atol=FLOAT32_ATOL)
def _train_evaluations(stage: Stage) -> None:
    """Two batches for each evaluation: batches of different sizes must count the same, and later batches not at all."""
    _record_evaluations(stage, "train_losses", "val_losses", eval_freq=2, eval_iter=2)


@driver.scenario("long-eval", "loader보다 큰 eval_iter", check="evaluations", atol=FLOAT32_ATOL)
def _train_long_evaluation(stage: Stage) -> None:
    """More batches asked for than either loader has."""
    _record_evaluations(stage, "train_losses", "val_losses", eval_freq=3, eval_iter=9)


@driver.scenario("when", "평가하는 때", check="evaluations")
def _train_when(stage: Stage) -> None:
    """The number of updates before each look at the validation batches."""
    case, recorder = make_case(stage.env), stage.recorder
    optimizer = _sgd(case.model)
    recorder.watch(case.model, optimizer, batches=[inputs for inputs, _ in case.val], states=False)
    _train(stage, case, optimizer, n_epochs=1, eval_freq=2, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    updates, seen = 0, []
    for event in recorder.run.events:
        updates += event.kind == "step"
        if event.kind == "forward" and event.batch is not None and updates not in seen:
            seen.append(updates)
    recorder.fact("검증하기까지의 업데이트", [*seen])


@driver.scenario("modes", "평가 모드로 받은 모델")
def _train_modes(stage: Stage) -> None:
    """A model handed over in eval mode: it must train in train mode, be
    evaluated in eval mode, and end in train mode.
    """
    case = make_case(stage.env, dropout=0.4)
    case.model.eval()
    optimizer, marks, recorder = _sgd(case.model), ForwardMarks(stage.env, case.model), stage.recorder
    _watched(stage, case, optimizer, states=False)
    _train(stage, case, optimizer, n_epochs=1, eval_freq=2, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    recorder.fact("학습 모드로 한 순전파", sum(recorder.forward_modes))
    recorder.array("학습 모드로 한 순전파", [marks.in_train_mode])
    recorder.fact("순전파할 때의 모드", [*sorted(recorder.forwards.modes)])
    recorder.array("순전파할 때의 모드", marks.modes())
    recorder.fact("끝난 뒤의 모드", mode_words(case.model))
    recorder.array("끝난 뒤의 모드", marks.modes_left(case.model))


@driver.scenario("callback-modes", "on_epoch_end가 평가 모드로 바꿔 놓을 때", check="modes")
def _train_modes_after_callback(stage: Stage) -> None:
    """The callback leaves the model in eval mode after each of two epochs, as one that writes a sample may."""
    case = make_case(stage.env, dropout=0.4)
    optimizer, marks = _sgd(case.model), ForwardMarks(stage.env, case.model)
    _watched(stage, case, optimizer, states=False)
    given = {**_QUIET, **_RATES, **_NEVER_CLIPS}
    _train(stage, case, optimizer, n_epochs=2, on_epoch_end=lambda model: model.eval(), **given)
    stage.recorder.fact("학습 모드로 한 순전파", sum(stage.recorder.forward_modes))
    stage.recorder.array("학습 모드로 한 순전파", [marks.in_train_mode])
    stage.recorder.fact("끝난 뒤의 모드", mode_words(case.model))
    stage.recorder.array("끝난 뒤의 모드", marks.modes_left(case.model))


@driver.scenario("graphs", "평가의 계산 그래프")
def _train_graphs(stage: Stage) -> None:
    """A graph for each update, none for an evaluation, and gradients still enabled afterwards."""
    case = make_case(stage.env)
    optimizer, marks = _sgd(case.model), ForwardMarks(stage.env, case.model)
    _watched(stage, case, optimizer, states=False)
    _train(stage, case, optimizer, n_epochs=1, eval_freq=2, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    stage.recorder.fact("계산 그래프를 만든 순전파", stage.recorder.graphs_built)
    stage.recorder.array("계산 그래프를 만든 순전파", [marks.with_graph])
    stage.recorder.fact("그레이디언트 계산", "켜짐" if torch.is_grad_enabled() else "꺼짐")


@driver.scenario("log", "기본값으로 학습한 기록", atol=FLOAT32_ATOL)
def _train_log(stage: Stage) -> None:
    """The history of a run with all defaults."""
    case = make_case(stage.env)
    optimizer = _sgd(case.model)
    _watched(stage, case, optimizer, states=False)
    history = _train(stage, case, optimizer, n_epochs=2, eval_freq=3, eval_iter=1)
    _record(stage.recorder, history, "lrs", "tokens_seen")


@driver.scenario("defaults", "기본값으로 학습한 가중치와 손실", check="log", atol=CLIP_ATOL)
def _train_defaults(stage: Stage) -> None:
    """Weights and losses of a run with all defaults, where everything acts together."""
    case = make_case(stage.env)
    optimizer = _sgd(case.model)
    _watched(stage, case, optimizer)
    history = _train(stage, case, optimizer, n_epochs=1, eval_freq=2, eval_iter=1)
    _record(stage.recorder, history, "train_losses", "val_losses")


@driver.scenario("epochs", "에폭이 끝날 때")
def _train_epochs(stage: Stage) -> None:
    """When `on_epoch_end` is called, and with what.

    Each update adds a number of its own to a sum, which is the witness for the number of updates before a call.
    """
    case, env, recorder = make_case(stage.env), stage.env, stage.recorder
    optimizer = _sgd(case.model)
    _watched(stage, case, optimizer, states=False)
    until = "on_epoch_end가 불리기까지의 업데이트"
    taken: list[float] = []
    sums: list[float] = []
    optimizer.register_step_post_hook(lambda *_: taken.append(drawn(env, "update", len(taken))))

    def on_epoch_end(*args: Any) -> None:
        updates = sum(event.kind == "step" for event in recorder.run.events)
        recorder.append_fact(until, updates)
        sums.append(sum(taken))
        recorder.append_fact(
            "on_epoch_end가 받은 것", ["모델" if a is case.model else type_name(a) for a in args]
        )

    epochs = 2 + env.number("epochs") % 2
    given = {**_QUIET, **_RATES, **_NEVER_CLIPS}
    _train(stage, case, optimizer, n_epochs=epochs, **given, on_epoch_end=on_epoch_end)
    recorder.array(until, sums[:100])


@driver.scenario("again", "두 번째 호출", atol=FLOAT32_ATOL)
def _train_again(stage: Stage) -> None:
    """A second call, after the groups got other rates, which this call must take as its peaks."""
    case = make_case(stage.env)
    optimizer = torch.optim.SGD(two_groups(case.model, (0.2, 0.1)), lr=0.2, momentum=0.9)
    _watched(stage, case, optimizer, states=False)
    first = _train(stage, case, optimizer, n_epochs=1, **_QUIET, **_RATES, **_NEVER_CLIPS)
    for number, group in enumerate(optimizer.param_groups):
        group["lr"] = 0.05 + 0.1 * number + 0.05 * drawn(stage.env, "rate", number)
    used: list[list[float]] = []
    optimizer.register_step_pre_hook(
        lambda *_: used.append([group["lr"] for group in optimizer.param_groups])
    )
    history = _train(stage, case, optimizer, n_epochs=1, **_QUIET, **_RATES, **_NEVER_CLIPS, warmup_steps=1)
    rates = torch.tensor(used[:100], dtype=torch.float64).reshape(-1, 2)
    stage.recorder.array("두 번째 호출의 업데이트에 쓴 학습률", rates)
    anew = first.get("tokens_seen") == history.get("tokens_seen")
    stage.recorder.fact("토큰을 처음부터 다시 셈", "예" if anew else "아니요")


@driver.scenario("types", "반환 타입", check="log")
def _train_types(stage: Stage) -> None:
    """The types of the returned dict and of the values in it."""
    case = make_case(stage.env)
    optimizer = _sgd(case.model)
    _watched(stage, case, optimizer, states=False)
    result = _call(stage, case, optimizer, n_epochs=1, eval_freq=3, eval_iter=1, **_RATES, **_NEVER_CLIPS)
    history = result if isinstance(result, Mapping) else {}
    stage.recorder.fact("반환 타입", "dict" if isinstance(result, Mapping) else type_name(result))
    for name in ("train_losses", "val_losses", "tokens_seen", "lrs"):
        values = history.get(name)
        items = list(values)[:20] if isinstance(values, list | tuple) else [values]
        stage.recorder.fact(f'"{name}"에 든 것', [*sorted({type_name(item) for item in items})])


@driver.scenario("memory", "살아 있는 계산 그래프")
def _train_memory(stage: Stage) -> None:
    """Losses that are kept with their graphs pile up step by step."""
    case = make_case(stage.env)
    case = replace(case, train=[*case.train, *case.train])
    optimizer = _sgd(case.model)
    _watched(stage, case, optimizer, states=False)
    meter = stage.recorder.measure_memory(case.model)
    _call(stage, case, optimizer, n_epochs=2, eval_freq=2, eval_iter=1, **_RATES)
    record_loop_memory(stage.recorder, meter)
