"""Driver of `Trainer`, a training loop in a class: it accumulates, clips, validates and goes on from a saved state.

Promises of the exercise, and the scenarios that check them:
    one update for each window, on the gradient of the mean loss over its samples: `windows`, `plain`, `float32`
    a short last window updates too: `short`
    gradients of other windows, or from before, do not count: `windows`, `before`
    all gradients of an update are clipped together, once: `clip`; `max_norm=0.0` clips, too: `zero-limit`
    the scheduler is stepped once an update, after the optimizer: `schedule`
    training passes in train mode: `train-mode`; one graph at a time: `graphs`, `memory`
    `evaluate` in eval mode, without a graph, and each module's mode restored: `eval-mode`; in `fit` too: `fit-modes`
    means over samples: `evaluate`, `history`; the training loss is that of the updates: `training-loss`
    a list of tuples of floats, which grows from call to call: `history`, `types`
    the state after the best epoch, the first one of equal ones: `best`, `ties`
    a new trainer goes on as if there had been no break: `resume`, `resume-plain`, `resume-history`, `resume-best`
    a state can be written and opened: `file`; training does not change it: `resume`, `again`

The contract of all exercises adds: nothing is printed (`quiet`).

Scenarios about states compare runs of the same program with one another, and those about losses, except
`training-loss`, have a model that does not move. So they do not judge where an update leads.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.exercises.fixtures.checkpoints import read_checkpoint, scratch_folder
from grader.exercises.fixtures.classifiers import (
    CLIP_ATOL,
    Batch,
    Modes,
    SizedLoader,
    adamw,
    batches,
    gradient_norm,
    loss_function,
    mlp,
    momentum_sgd,
    norm_dropout_mlp,
    set_modes,
    sgd,
    zero_rate_sgd,
)
from grader.exercises.fixtures.memory import record_loop_memory
from grader.exercises.fixtures.returned import FLOAT32_ATOL, type_witness
from grader.exercises.fixtures.usual import Case, add_usual, record_difference
from grader.exercises.fixtures.witnesses import ForwardWitness, seeded_number
from grader.exercises.why_it_does_not_learn._trainings import (
    NotedModes,
    ResumableTraining,
    fit,
    scripted_case,
    trainer_case,
    validation_loader,
)
from grader.observe.forward_notes import ForwardNotes, mode_words
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import as_number, items_of, type_name
from grader.observe.wording import fact_of_modes_left, yes_or_no

driver = Driver("Trainer")

_WINDOWS = (3, 1, 2, 5)
"""Sizes of micro-batches that make two windows of two, in each of which the mean of the means is wrong."""
_SHORT = (3, 1, 2, 4, 1)
"""Sizes of micro-batches that make a window of three and a short one."""


def _fit_in_twos(case: Case, data: Sequence[Batch]) -> Any:
    """Train for an epoch with windows of two micro-batches."""
    return fit(case, data, accum_steps=2)


# ---- updates -------------------------------------------------------------------------------------


def _problem(env: Env) -> Problem:
    """Return model, batches and loss, for the recipe of an update."""
    return Problem(mlp(env), batches(env, _WINDOWS), loss_function(env))


@driver.scenario("windows", "크기가 다른 마이크로 배치 (SGD)", check="update", problem=_problem)
def _windows(stage: Stage) -> None:
    """Train for two epochs with windows of two unlike micro-batches.

    A program that takes the mean of the micro-batches' means weighs small ones too much.
    """
    case = trainer_case(stage, _WINDOWS).watch()
    fit(case, case.data, 2, accum_steps=2)


@driver.scenario("plain", "누적하지 않는 AdamW", check="update")
def _plain(stage: Stage) -> None:
    """Train with the defaults, for a number of epochs that follows from the seed.

    A program that needs a scheduler or a `max_norm`, or trains one epoch, differs.
    """
    case = trainer_case(stage, (4, 3), adamw).watch()
    fit(case, case.data, 2 + stage.env.number("epochs") % 2)


@driver.scenario("short", "짧은 마지막 구간", check="update")
def _short(stage: Stage) -> None:
    """Train for two epochs that end in a short window, with momentum.

    A program that drops it, carries it into the next epoch, or weighs it as a whole one moves differently.
    """
    case = trainer_case(stage, _SHORT, momentum_sgd).watch()
    fit(case, case.data, 2, accum_steps=3)


add_usual(
    driver,
    lambda stage: trainer_case(stage, _WINDOWS),
    _fit_in_twos,
    checks={"float32": "update", "before": "update"},
)


# ---- clipping and the schedule -------------------------------------------------------------------


@driver.scenario("clip", "그레이디언트가 큰 학습", check="clip", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """Train with a `max_norm` far below the norm of each micro-batch's gradient.

    A program that clips every micro-batch, or each parameter by itself, turns the update. There are two epochs, each
    with a short window: one that clips only the whole windows, or only in the first epoch, goes too far in the others.
    """
    case = trainer_case(stage, _SHORT)
    max_norm = 0.2 * min(gradient_norm(case.model, case.loss_fn, batch) for batch in case.data)
    case.watch()
    fit(case, case.data, 2, accum_steps=3, max_norm=max_norm)


@driver.scenario("zero-limit", "max_norm=0.0", check="clip", atol=CLIP_ATOL)
def _zero_limit(stage: Stage) -> None:
    """Train with `max_norm=0.0`, where AdamW's weight decay alone moves the parameters.

    A program that tests `if max_norm:` does not clip, perhaps only in a copy of the code for the short window.
    """
    case = trainer_case(stage, (4, 3, 2), adamw).watch()
    fit(case, case.data, 2, accum_steps=2, max_norm=0.0)


@driver.scenario("schedule", "업데이트마다 줄어드는 학습률", check="clip")
def _schedule(stage: Stage) -> None:
    """Train for two epochs with a scheduler.

    A program that steps it each micro-batch, each epoch or before the optimizer updates at other rates.
    """
    case = trainer_case(stage, _SHORT, schedules=True).watch()
    fit(case, case.data, 2, accum_steps=3)
    stage.recorder.array("끝난 뒤의 학습률", [group["lr"] for group in case.opt.param_groups])


# ---- modes and graphs ----------------------------------------------------------------------------


def _record_modes_of_fit(stage: Stage, name: str, *, of_validation: bool) -> None:
    """Hand over a model in each of several modes, train it for two epochs, and record its modes in forward passes.

    Args:
        stage: the scenario's stage.
        name: end of the facts' names; each begins with the modes in which the model was given.
        of_validation: record the modes of validation; otherwise those of training.
    """
    for mode in (Modes.ALL_EVAL, Modes.NORM_EVAL, Modes.TOP_EVAL):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        given = mode_words(model)
        notes = NotedModes(stage, model, of_validation=of_validation)
        data = batches(stage.env, (4, 3))
        case = Case(stage, "Trainer", model, sgd(model), loss_function(stage.env), data).watch_model()
        fit(case, data, 2)
        notes.record(f"{given}로 받았을 때, {name}")


@driver.scenario("train-mode", "학습할 때의 모드", check="modes")
def _train_mode(stage: Stage) -> None:
    """Record the modes at the forward passes of training.

    A program that never calls `train()` leaves a model in eval mode there, or a part of it.
    """
    _record_modes_of_fit(stage, "학습할 때의 모드", of_validation=False)


@driver.scenario("fit-modes", "검증할 때의 모드", check="modes")
def _fit_modes(stage: Stage) -> None:
    """Record the modes at the forward passes of validation. A program that leaves the modes validates in train mode."""
    _record_modes_of_fit(stage, "검증할 때의 모드", of_validation=True)


@driver.scenario("eval-mode", "`evaluate`의 모드와 계산 그래프", check="modes")
def _eval_mode(stage: Stage) -> None:
    """Evaluate models in several modes, and record modes, graphs, and the modes that are left.

    A program that ends with `train()` wakes a layer that was frozen in eval mode.
    """
    env, recorder = stage.env, stage.recorder
    for mode in (Modes.ALL_TRAIN, Modes.NORM_EVAL, Modes.TOP_EVAL):
        model = set_modes(norm_dropout_mlp(env, mode), mode)
        given, witness = mode_words(model), ForwardWitness(env, model)
        recorder.forward_notes = notes = ForwardNotes()  # note the passes of each model separately
        case = Case(
            stage, "Trainer", model, sgd(model), loss_function(env), batches(env, (4, 3))
        ).watch_model()
        recorder.call(case.call().evaluate, SizedLoader(case.data))
        during = f"{given}로 받았을 때, 순전파할 때의 모드"
        recorder.claim(during, [*notes.modes], witness.modes())
        recorder.claim(f"{given}로 받았을 때의 계산 그래프", [*notes.graphs], witness.graphs())
        recorder.claim(
            fact_of_modes_left(given), mode_words(model), witness.modes_left(model, case.data[0][0])
        )


@driver.scenario("graphs", "살아 있는 계산 그래프", check="modes", watches_memory=True)
def _graphs(stage: Stage) -> None:
    """Measure how much of the batches' graphs is alive at the same time.

    A program that adds up losses with their graphs keeps them all, perhaps from the second epoch on.
    """
    case = trainer_case(stage, [2] * 7).watch_model()
    meter = stage.recorder.measure_memory(case.model)
    fit(case, case.data, 2)
    record_loop_memory(stage, meter)


add_usual(
    driver,
    lambda stage: trainer_case(stage, [2] * 7),
    lambda case, data: fit(case, data, 2, accum_steps=4),
    checks={"memory": "modes"},
)


# ---- losses and the best epoch -------------------------------------------------------------------

_MAX_PAIRS = 20
"""Maximum number of epochs whose losses are recorded; no scenario trains for so many."""


@driver.scenario("evaluate", "`evaluate`가 돌려준 손실", check="history", atol=FLOAT32_ATOL)
def _evaluate(stage: Stage) -> None:
    """Evaluate on batches of unlike sizes. A program that takes the mean of the batches' means weighs them alike."""
    case = trainer_case(stage, (5, 1, 3)).watch_model()
    loss = stage.recorder.call(case.call().evaluate, SizedLoader(case.data))
    stage.recorder.array("손실", [as_number(loss)])


def _pairs(trainer: Any) -> list[list[Any]]:
    """Return the first items of the trainer's history, at most `_MAX_PAIRS`, each as a list."""
    return [items_of(pair) for pair in items_of(trainer.history)[:_MAX_PAIRS]]


def _losses_of(trainer: Any) -> list[float]:
    """Return the losses in `_pairs`: training loss and validation loss of each epoch in turn."""
    return [as_number(loss) for pair in _pairs(trainer) for loss in pair]


def _trainer_at_rest(stage: Stage) -> Any:
    """Return a trainer that has made three epochs in two calls of `fit`, with learning rates of 0."""
    case = trainer_case(stage, (4, 1, 3, 2, 1), zero_rate_sgd).watch_model()
    trainer = case.call(accum_steps=2)
    validation = validation_loader(stage.env, (5, 1))
    for epochs in (2, 1):
        stage.recorder.call(trainer.fit, SizedLoader(case.data), validation, epochs)
    return trainer


@driver.scenario("history", "history", atol=FLOAT32_ATOL)
def _history(stage: Stage) -> None:
    """Record the losses of three epochs, in which the model never moves.

    A program that takes means of means, or begins a new list in each call, records others.
    """
    stage.recorder.array("손실", _losses_of(_trainer_at_rest(stage)))


@driver.scenario("types", "history와 반환값의 타입", check="history")
def _types(stage: Stage) -> None:
    """Record the types in the history, and that of what `evaluate` returns. A program that keeps tensors shows."""
    trainer = _trainer_at_rest(stage)
    loss = stage.recorder.call(trainer.evaluate, validation_loader(stage.env))
    items = [*(item for pair in _pairs(trainer) for item in pair), loss]
    outer = [type_name(trainer.history), *sorted({type_name(pair) for pair in items_of(trainer.history)})]
    kinds = [*outer, *sorted({type_name(item) for item in items})]
    number = seeded_number(stage.env, "types")
    stage.recorder.claim("history, 그 항목, 손실의 타입", [*kinds], type_witness(float, items[-1:], number))


@driver.scenario("training-loss", "움직이는 모델의 학습 손실", check="history", atol=FLOAT32_ATOL)
def _training_loss(stage: Stage) -> None:
    """Record the losses of a model that moves, over two epochs.

    A program that measures the training loss after the epoch, adds up over epochs, or takes a mean of means where a
    window is short, records others.
    """
    case = trainer_case(stage, _SHORT).watch_model()
    stage.recorder.array("손실", _losses_of(fit(case, case.data, 2, accum_steps=3)))


def _rising_losses(env: Env, count: int) -> list[float]:
    """Return `count` rising losses, each at least 0.2 above the one before."""
    draw = env.draw("losses")
    return [number + draw.real(0.1, 0.9) for number in range(count)]


def _record_best(stage: Stage, name: str, case: Case, best: Any) -> None:
    """Record after which epoch the model of a `scripted_case` had the state `best`; the witness tells the epoch too."""
    epoch = case.loss_fn.epoch_of(best)
    stage.recorder.claim(name, epoch, [seeded_number(stage.env, epoch)])


@driver.scenario("best", "가장 좋은 에폭의 상태", check="history")
def _best(stage: Stage) -> None:
    """Record `best` before training and after six epochs, of which the second or third is best.

    A program that keeps the last state, or a reference that later updates change, has another one. So has one that
    compares with the epoch before only: the losses fall again before the last epoch. Weights that change after the
    training show a reference where the last state is kept, too.
    """
    low, first, second, middle, last, high = _rising_losses(stage.env, 6)
    script = [first, second, high, middle, last]
    script.insert(1 + stage.env.number("place") % 2, low)
    case = scripted_case(stage, script)
    trainer = case.call()
    _record_best(stage, "처음의 best", case, trainer.best)
    stage.recorder.call(trainer.fit, SizedLoader(case.data), validation_loader(stage.env), len(script))
    _record_best(stage, "끝난 뒤의 best", case, trainer.best)
    with torch.no_grad():
        for parameter in case.model.parameters():
            parameter.add_(1.0)
    _record_best(stage, "가중치를 더 바꾼 뒤의 best", case, trainer.best)


@driver.scenario("ties", "검증 손실이 같은 두 에폭", check="history")
def _ties(stage: Stage) -> None:
    """Record which of two epochs with equal losses is best. A program that compares by `<=` keeps the later one."""
    low, last, high = _rising_losses(stage.env, 3)
    for ordinal, script in (("첫", [low, high, low, last]), ("두", [high, low, low, last])):
        case = scripted_case(stage, script)
        best = fit(case, case.data, len(script)).best
        _record_best(stage, f"{ordinal} 번째 에폭이 처음으로 가장 좋을 때 끝난 뒤의 best", case, best)


add_usual(
    driver,
    lambda stage: trainer_case(stage, (4, 3)),
    lambda case, data: fit(case, data, 2),
    checks={"quiet": "history"},
)


# ---- going on from a state -----------------------------------------------------------------------


class _SavedAndDone(NamedTuple):
    """A training that was saved after one epoch and went on for two more."""

    state: Any
    """The state that was saved."""
    end: Tensor
    """Weights and learning rates at the end."""


def _train_and_save(
    stage: Stage, keep: Callable[[Any], Any] = lambda state: state, *, schedules: bool = True
) -> _SavedAndDone:
    """Train for an epoch, take the trainer's state, and train for two more epochs.

    Args:
        stage: the scenario's stage.
        keep: applied to the state as soon as it is taken; `deepcopy` protects it from the training that goes on.
        schedules: train with a scheduler.
    """
    training = ResumableTraining(stage, "model", schedules=schedules).fit()
    state = keep(stage.recorder.call(training.trainer.state_dict))
    return _SavedAndDone(state, training.fit(2).weights_and_rates())


def _record_resumed(stage: Stage, what: str, *, schedules: bool) -> None:
    """Go on with a new trainer from the state of a first one; record the distance of where the two end.

    Args:
        stage: the scenario's stage.
        what: Korean name of what is compared.
        schedules: train with a scheduler.
    """
    first = _train_and_save(stage, schedules=schedules)
    second = ResumableTraining(stage, "fresh", schedules=schedules)
    before = second.weights_and_rates()
    resumed = second.load(first.state).fit(2).weights_and_rates()
    record_difference(stage.recorder, what, resumed, first.end, before)


@driver.scenario("resume", "이어 간 학습", check="resume")
def _resume(stage: Stage) -> None:
    """Go on from a state with a scheduler.

    A program that leaves something out, or hands over what later updates change, goes another way.
    """
    _record_resumed(stage, "이어 간 학습과 끊지 않은 학습의 가중치와 학습률 값", schedules=True)


@driver.scenario("resume-plain", "스케줄러 없이 이어 간 학습", check="resume")
def _resume_plain(stage: Stage) -> None:
    """Go on from a state without a scheduler. A program that loads only if it has a scheduler loads nothing."""
    _record_resumed(stage, "이어 간 학습과 끊지 않은 학습의 가중치 값", schedules=False)


@driver.scenario("file", "파일에 쓴 state", check="resume")
def _file(stage: Stage) -> None:
    """Write the state to a file, open it and load it.

    A program that puts objects into its state writes a file that `weights_only=True` does not open.
    """
    first, second = ResumableTraining(stage, "model").fit(), ResumableTraining(stage, "fresh")
    with scratch_folder() as folder:
        torch.save(stage.recorder.call(first.trainer.state_dict), folder / "state.pt")
        state, outcome = read_checkpoint(folder / "state.pt")
    if state:
        second.load(deepcopy(state))
    is_same = torch.equal(first.weights_and_rates(), second.weights_and_rates())
    stage.recorder.claim("state를 쓴 파일", outcome, [seeded_number(stage.env, outcome)])
    stage.recorder.claim(
        "읽은 가중치와 학습률이 쓸 때와 같음", yes_or_no(is_same), [seeded_number(stage.env, is_same)]
    )


@driver.scenario("resume-history", "이어 간 history", check="resume")
def _resume_history(stage: Stage) -> None:
    """Record how long the history of a resumed training is, and whether it begins as that of the first one.

    A program that leaves it out begins anew.
    """
    epochs = 1 + stage.env.number("epochs") % 3
    first = ResumableTraining(stage, "model").fit(epochs)
    earlier = torch.tensor(_losses_of(first.trainer), dtype=torch.float64)
    state = stage.recorder.call(first.trainer.state_dict)
    first.fit()
    trainer = ResumableTraining(stage, "fresh").load(state).fit().trainer
    length = len(items_of(trainer.history))
    stage.recorder.claim("이어 간 history의 길이", length, [seeded_number(stage.env, length)])
    kept = torch.tensor(_losses_of(trainer), dtype=torch.float64)[: len(earlier)]
    is_same = torch.equal(kept, earlier)
    number = seeded_number(stage.env, "begins", is_same) * (len(earlier) > 0)
    stage.recorder.claim("이어 간 history의 앞부분이 앞선 학습과 같음", yes_or_no(is_same), [number])


@driver.scenario("resume-best", "이어 간 best", check="resume")
def _resume_best(stage: Stage) -> None:
    """Record `best` of a resumed training whose best epoch was before the break, at once and after it went on.

    A program that forgets the state has none at once; one that forgets the best loss takes a later epoch.
    """
    low, *higher = _rising_losses(stage.env, 4)
    script = [low, higher[0]] if stage.env.number("place") % 2 else [higher[0], low]
    first = scripted_case(stage, script)
    state = stage.recorder.call(fit(first, first.data, 2).state_dict)
    second = scripted_case(stage, higher[1:])
    trainer = second.call()
    stage.recorder.call(trainer.load_state_dict, state)
    _record_best(stage, "이어받은 직후의 best", first, trainer.best)
    stage.recorder.call(trainer.fit, SizedLoader(second.data), validation_loader(stage.env), 2)
    _record_best(stage, "이어 간 뒤의 best", first, trainer.best)


@driver.scenario("again", "같은 state로 두 번", check="resume")
def _again(stage: Stage) -> None:
    """Go on from one state twice, and record how far the two are apart.

    A program that loads a state without a copy trains the state too.
    """
    state = _train_and_save(stage, deepcopy).state
    before = ResumableTraining(stage, "fresh").weights_and_rates()
    ends, lengths = [], []
    for _ in range(2):
        resumed = ResumableTraining(stage, "fresh").load(state).fit(2)
        ends.append(resumed.weights_and_rates())
        lengths.append(len(items_of(resumed.trainer.history)))
    record_difference(stage.recorder, "두 번째와 첫 번째의 가중치와 학습률 값", ends[1], ends[0], before)
    is_same = lengths[0] == lengths[1]
    number = seeded_number(stage.env, "lengths", is_same) * (lengths[0] > 0)
    stage.recorder.claim("두 번째와 첫 번째의 history의 길이가 같음", yes_or_no(is_same), [number])
