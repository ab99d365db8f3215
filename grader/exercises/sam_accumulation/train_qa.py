"""Driver of `train_qa`, which trains a question-answering model with SAM and accumulation and keeps the best epoch.

Promises of the exercise, and the scenarios that check them:
    a SAM update for each window, a short one at an epoch's end included: `sgd`, `leftover`
    the gradient of the update is clipped to `max_norm`: `clip`, `default-clip`, `zero-norm`
    the scheduler steps once for each update: `scheduler`
    training in train mode, the dev loss in eval mode, train mode at the end: `modes`, `modes-eval`
    each batch's loss is the model's own, with the mask: all that train on padded questions, as `sgd`
    each epoch's losses are means over its samples: `losses`, `together`; the returned dict: `returned`
    the epoch with the lowest dev loss, the first of equals: `best-epoch`, `best-epoch-tie`; its weights are saved:
        `checkpoint`, `checkpoint-tie`
    one micro-batch at a time, and graphs of earlier ones do not pile up: `memory`
    updates, clip, scheduler, short windows, modes and losses at once, with AdamW; only here does a wrong mode change
        losses and updates: `together`

Except `checkpoint` and `together`, the scenarios about modes, losses and the best epoch train with a rate of zero: what
they record does not depend on the updates. A *stamp* is a number that the model (`_qa_case.Reader`) writes into a
buffer in each pass that trains, so that a saved file tells which epoch it is from. Stamp and weights are noted when an
epoch is *scored*, which is at its first pass over dev data. The SAM is the fixtures' own, so that a learner's mistake
in `SAM` is not counted again here (`fixtures/sam.py`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim.lr_scheduler import ExponentialLR

from grader.exercises.fixtures.checkpoints import (
    as_fact,
    find_saved_parameters,
    read_checkpoint,
    scratch_folder,
)
from grader.exercises.fixtures.classifiers import CLIP_ATOL, MakeOptimizer, adamw, sgd, zero_rate_sgd
from grader.exercises.fixtures.memory import record_loop_memory, record_window_memory
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.sam import FixtureSAM
from grader.exercises.fixtures.witnesses import seeded_number
from grader.exercises.sam_accumulation._qa_case import (
    ACCUM_STEPS,
    DEV,
    MICRO_BATCH_SIZE,
    SCORED_EPOCHS,
    TRAIN,
    QACase,
    make_qa_case,
)
from grader.observe.memory import HELD_BY_NAMES
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.trace import Fact
from grader.observe.values import as_number, items_of, type_name

driver = Driver("train_qa", cost=1.8)  # whole trainings, some of them of seven epochs

_NO_CLIP = 1e3
"""A `max_norm` that no gradient reaches."""


def _problem(env: Env) -> Problem:
    """Return model, batches and loss of the scenario `sgd`, for the recipe of its updates.

    Inputs are token ids, and targets are start and end positions, shape (2, batch).
    """
    case = make_qa_case(env)
    case.model.guesses_mask = True
    pairs = [
        (batch["input_ids"], torch.stack([batch["start_positions"], batch["end_positions"]]))
        for batch in case.train.batches
    ]

    def loss_fn(output: Any, target: Tensor) -> Tensor:
        start, end = output.start_logits, output.end_logits
        return (F.cross_entropy(start, target[0]) + F.cross_entropy(end, target[1])) / 2

    return Problem(case.model, pairs, loss_fn)


def _train(
    stage: Stage,
    case: QACase,
    make_base: MakeOptimizer,
    *,
    epochs: int,
    decay: float | None = None,
    watch: bool = True,
    inspect: Callable[[Path], object] | None = None,
    accum_steps: int = ACCUM_STEPS,
    **kwargs: Any,
) -> Any:
    """Call the learner's function once and return its result.

    Args:
        stage: the scenario's stage.
        case: model and data.
        make_base: makes the base optimizer.
        epochs: number of epochs.
        decay: factor by which a scheduler that is passed on multiplies the rate at each of its steps; None: none is.
        watch: record what happens to the parameters.
        inspect: called with the checkpoint's path while the file is there. The learner's function is given the path as
            a `Path` then, otherwise as a `str`.
        accum_steps: micro-batches in a window.
        kwargs: further arguments of the function.
    """
    recorder, base = stage.recorder, make_base(case.model)
    if decay is not None:
        kwargs["scheduler"] = ExponentialLR(base, decay)
    if watch:
        ids = [batch["input_ids"] for batch in case.train.batches]
        recorder.watch(case.model, base, kwargs.get("scheduler"), batches=ids, at_forwards=False)
    sam = FixtureSAM(base, recorder)
    with scratch_folder() as folder:
        path = folder / "best.pt"
        returned = recorder.call(
            stage.student("train_qa"),
            *(case.model, sam, case.train, case.dev),
            epochs=epochs,
            accum_steps=accum_steps,
            checkpoint_path=str(path) if inspect is None else path,
            **kwargs,
        )
        if inspect is not None:
            inspect(path)
    return returned


# ---- updates -------------------------------------------------------------------------------------


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Train on whole windows.

    A wrong program sees only one batch of the window in its second pass, does not divide by the window, or keeps the
    first gradient.
    """
    _train(stage, make_qa_case(stage.env), sgd, epochs=1, max_norm=_NO_CLIP)


@driver.scenario("leftover", "에폭 끝의 짧은 구간")
def _leftover(stage: Stage) -> None:
    """Train on five micro-batches in windows of three: each epoch ends with a short window of two.

    A wrong program drops it, divides it like a whole one or not at all, or fills it with batches of the next epoch.
    """
    _train(stage, make_qa_case(stage.env, 5), sgd, epochs=2, max_norm=_NO_CLIP, accum_steps=3)


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """Train for two epochs with a clip that acts in every window; `sgd` judges updates without a clip.

    A wrong program clips by value, by tensor or by group, only the gradient of the first pass, or not in the short
    window at the end of each epoch.
    """
    _train(stage, make_qa_case(stage.env, 5), sgd, epochs=2, max_norm=0.1)


@driver.scenario("default-clip", "max_norm의 기본값", check="clip", atol=CLIP_ATOL)
def _default_clip(stage: Stage) -> None:
    """Train without `max_norm`, so that it is 1.0; the scaled logits make gradients that exceed it.

    A wrong program has another default, or does not clip then.
    """
    _train(stage, make_qa_case(stage.env, logit_scale=6.0), sgd, epochs=1)


@driver.scenario("zero-norm", "max_norm=0.0", check="clip", atol=CLIP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """Train with `max_norm=0.0`, under which AdamW only decays.

    A wrong program tests `if max_norm:` and does not clip, perhaps only in a copy of the code for the short window.
    """
    _train(stage, make_qa_case(stage.env, 3), adamw, epochs=2, max_norm=0.0)


@driver.scenario("scheduler", "업데이트마다의 학습률")
def _scheduler(stage: Stage) -> None:
    """Record the rate of each update and the rate that is left, whatever the updates did to the weights.

    A wrong program steps the scheduler for each micro-batch, pass or epoch, before the update, or never. Each epoch
    ends with a short window, of two micro-batches.
    """
    case = make_qa_case(stage.env, 5)
    base = sgd(case.model)
    rates: list[float] = []
    base.register_step_pre_hook(lambda opt, *_: rates.append(opt.param_groups[0]["lr"]))
    decay = 0.7 + 0.2 * seeded_number(stage.env, "decay")
    # The hook above is to be there before training: give the optimizer that has it.
    _train(stage, case, lambda _: base, epochs=2, decay=decay, watch=False, accum_steps=3, max_norm=_NO_CLIP)
    stage.recorder.array("업데이트마다의 학습률", rates)
    stage.recorder.array("끝난 뒤의 학습률", [base.param_groups[0]["lr"]])


@driver.scenario(
    "together", "AdamW, 클리핑, 스케줄러, 짧은 구간, 모드를 함께", check="leftover", atol=CLIP_ATOL
)
def _together(stage: Stage) -> None:
    """Train with AdamW, a clip, a scheduler and short windows; the model comes in eval mode, where its numbers differ.

    A wrong program has most of the mistakes above, or is in the wrong mode somewhere. Mistakes that only scale a
    gradient are hidden by the clip.
    """
    case = make_qa_case(stage.env, 5, logit_scale=3.0, halve_in_eval=True)
    case.model.eval()
    returned = _train(stage, case, adamw, epochs=2, decay=0.8)
    _record_losses(stage, returned)


# ---- modes ---------------------------------------------------------------------------------------


def _train_and_record_modes(stage: Stage, case: QACase, epochs: int) -> None:
    """Train, then record the modes of forward passes on training and dev data, and the modes that are left."""
    _train_without_moving(stage, case, epochs)
    recorder, modes_seen = stage.recorder, case.model.modes_seen
    for split, fact in ((TRAIN, "학습 데이터의 순전파가 쓴 모드"), (DEV, "검증 데이터의 순전파가 쓴 모드")):
        modes = sorted(modes_seen[split])
        names = ["학습" if is_training else "평가" for is_training in modes]
        recorder.claim(fact, "와 ".join(names), [modes_seen[split][is_training] for is_training in modes])
        modes_seen[split].clear()  # so that the pass below is the only one
    with torch.enable_grad():  # one more pass, whose mode is the witness of the modes that are left
        case.model(case.train.batches[0]["input_ids"])
    modes_left: list[Fact] = [module.training for module in case.model.modules()]
    recorder.claim("끝난 뒤의 모드", modes_left, [*modes_seen[TRAIN].values()])


@driver.scenario("modes", "학습 모드로 받은 모델")
def _modes(stage: Stage) -> None:
    """Hand over a model in train mode and train it for two epochs.

    A wrong program computes the dev loss in train mode, or trains the second epoch in eval mode.
    """
    _train_and_record_modes(stage, make_qa_case(stage.env, 2), epochs=2)


@driver.scenario("modes-eval", "평가 모드로 받은 모델", check="modes")
def _modes_eval(stage: Stage) -> None:
    """Hand over a model in eval mode; it must be trained in train mode all the same.

    A wrong program never calls `train()`, or leaves the model in eval mode.
    """
    case = make_qa_case(stage.env, 2)
    case.model.eval()
    _train_and_record_modes(stage, case, epochs=1)


# ---- the returned dict and the saved file --------------------------------------------------------

_LOSS_TITLES = {"train_losses": "학습 손실", "dev_losses": "검증 손실"}
"""Key of the returned dict -> Korean name."""


def _value_of(key: str, returned: Any) -> Any:
    """Return the value under `key` in the returned dict; None if there is none, or if no dict was returned."""
    return returned.get(key) if isinstance(returned, dict) else None


def _record_losses(stage: Stage, returned: Any) -> None:
    """Record the returned training and dev losses as arrays."""
    for key, title in _LOSS_TITLES.items():
        losses = [as_number(loss) for loss in items_of(_value_of(key, returned))]
        stage.recorder.array(f"{key} ({title})", torch.tensor(losses, dtype=torch.float64))


def _train_without_moving(stage: Stage, case: QACase, epochs: int) -> Any:
    """Call the learner's function with rates of zero, so that no update changes a loss, and return its result."""
    return _train(stage, case, zero_rate_sgd, epochs=epochs, watch=False, max_norm=_NO_CLIP)


@driver.scenario("losses", "에폭마다의 손실", atol=FLOAT32_ATOL)
def _losses(stage: Stage) -> None:
    """Record the losses of three epochs with long and with short questions, each of which counts as one sample.

    A wrong program takes a mean over tokens or over batches, goes on adding over epochs, or takes the second pass.
    """
    case = make_qa_case(stage.env, 4, epochs=3, uneven=True)
    _record_losses(stage, _train_without_moving(stage, case, 3))


@driver.scenario("returned", "돌려주는 dict", check="losses")
def _returned(stage: Stage) -> None:
    """Record the type of what is returned, and which keys it has. No type is promised of the losses and the epoch.

    A wrong program returns a tuple or nothing, or forgets a key.
    """
    returned = _train_without_moving(stage, make_qa_case(stage.env, 2, epochs=2), 2)
    stage.recorder.fact("반환 타입", type_name(returned))
    keys = [*_LOSS_TITLES, "best_epoch"]
    stage.recorder.fact("들어 있는 키", [key for key in keys if _value_of(key, returned) is not None])


@driver.scenario("best-epoch", "가장 좋은 에폭의 번호")
def _best_epoch(stage: Stage) -> None:
    """Record which epoch of several is returned as the best one.

    A wrong program counts from one, compares with the epoch before, or goes by the training loss. Every known wrong way
    of choosing finds another epoch here, except taking the later one of two equals, which `best-epoch-tie` shows.
    """
    case = make_qa_case(stage.env, 2, epochs=SCORED_EPOCHS)
    _record_best_epoch(stage, case, _train_without_moving(stage, case, SCORED_EPOCHS))


def _record_best_epoch(stage: Stage, case: QACase, returned: Any) -> None:
    """Record the returned number of the best epoch, with the model's stamp of that epoch as the witness."""
    number = _value_of("best_epoch", returned)
    if isinstance(number, np.generic | Tensor) and number.ndim == 0:  # as `argmin` returns
        number = number.item()
    best_epoch = as_fact(number)
    stamps = case.model.stamps_scored
    stamp = stamps[best_epoch : best_epoch + 1] if isinstance(best_epoch, int) and best_epoch >= 0 else []
    stage.recorder.claim("best_epoch", best_epoch, stamp)


_EPOCHS_WITH_TIE = 3
"""Number of epochs in the case of `_make_tied_case`, of which the last two are tied."""


def _make_tied_case(stage: Stage) -> QACase:
    """Return a case in which the last two of three epochs have the same dev loss, to the bit, below the first epoch's.

    This holds as long as no update moves the weights.
    """
    return make_qa_case(stage.env, 2, epochs=_EPOCHS_WITH_TIE, added_dev_losses=(2.0, 1.0, 1.0))


@driver.scenario("best-epoch-tie", "검증 손실이 같은 두 에폭", check="best-epoch")
def _best_epoch_tie(stage: Stage) -> None:
    """Record which of two equal epochs is returned as the best one.

    A wrong program takes the later one (`<=`).
    """
    case = _make_tied_case(stage)
    _record_best_epoch(stage, case, _train_without_moving(stage, case, _EPOCHS_WITH_TIE))


def _saved_keys(state: Mapping[Any, Any]) -> str:
    """Return a checkpoint's keys, or that it is a dict around the `state_dict`: one mistake, whatever keys it has."""
    if any(isinstance(value, Mapping) for value in state.values()):
        return "다른 dict에 담긴 state_dict"
    return ", ".join(str(key) for key in state)


@driver.scenario("checkpoint", "가장 좋은 에폭의 가중치")
def _checkpoint(stage: Stage) -> None:
    """Record from which epoch the saved weights are, by comparing them with the weights at each epoch's first dev pass.

    A wrong program saves the last weights, those of another epoch, or a dict around the `state_dict`.
    """
    case = make_qa_case(stage.env, 2)

    def record_epoch_of_weights(path: Path) -> None:
        state, outcome = read_checkpoint(path)
        stage.recorder.fact("체크포인트", outcome)
        number = find_saved_parameters(state, case.model, case.model.weights_scored)
        epoch = "알 수 없음" if number is None else f"에폭 {number}"
        stage.recorder.claim("저장된 가중치의 에폭(0부터)", epoch, [as_number(state.get("stamp"))])
        stage.recorder.fact("저장된 키", _saved_keys(state))

    _train(
        stage,
        case,
        sgd,
        epochs=SCORED_EPOCHS,
        watch=False,
        inspect=record_epoch_of_weights,
        max_norm=_NO_CLIP,
    )


@driver.scenario("checkpoint-tie", "검증 손실이 같은 두 에폭의 저장", check="checkpoint")
def _checkpoint_tie(stage: Stage) -> None:
    """Record which of two equal epochs was saved. Their weights are equal, so the stamp in the checkpoint tells.

    A wrong program saves the later one.
    """
    case = _make_tied_case(stage)

    def record_epoch_of_stamp(path: Path) -> None:
        state = read_checkpoint(path).content
        stamp = as_number(state.get("stamp"))
        stamps = case.model.stamps_scored
        epoch = f"에폭 {stamps.index(stamp)}" if stamp in stamps else "알 수 없음"
        stage.recorder.claim("저장된 에폭(0부터)", epoch, [stamp])

    _train(
        stage,
        case,
        zero_rate_sgd,
        epochs=_EPOCHS_WITH_TIE,
        watch=False,
        inspect=record_epoch_of_stamp,
        max_norm=_NO_CLIP,
    )


# ---- memory --------------------------------------------------------------------------------------


@driver.scenario("memory", "살아 있는 계산 그래프", watches_memory=True)
def _memory(stage: Stage) -> None:
    """Measure which graphs are alive during two epochs, each with a window of four micro-batches and one of three.

    A wrong program joins the window into one batch, runs backward once for it, or keeps losses with their graphs, those
    of the dev pass too: it has enough batches for these to pile up. A dev pass that builds graphs and lets each go is
    right.
    """
    case = make_qa_case(stage.env, 7, dev_batches=HELD_BY_NAMES + 2)
    stage.recorder.watch(case.model, states=False)
    meter = stage.recorder.measure_memory(case.model)
    _train(stage, case, sgd, epochs=2, watch=False, accum_steps=4)
    record_window_memory(stage, meter, MICRO_BATCH_SIZE, validates=True)
    record_loop_memory(stage, meter)
