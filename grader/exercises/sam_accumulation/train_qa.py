"""Driver of `train_qa`, which trains a question-answering model with SAM and accumulation and keeps the best epoch.

Scenarios isolate updates, short windows, clipping, rates, modes, losses and the saved file. Only in the scenario that
combines everything does the mode change a number. Losses are judged where no update moves the weights, and the file by
the epoch that its weights come from.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ExponentialLR

from grader.exercises.fixtures.checkpoints import as_fact, find_saved_moment, read_checkpoint, scratch_folder
from grader.exercises.fixtures.classifiers import CLIP_ATOL, MakeOptimizer, adamw, sgd, zero_rate_sgd
from grader.exercises.fixtures.memory import record_loop_memory, record_window_memory
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.sam import FixtureSAM
from grader.exercises.fixtures.witnesses import seeded_number
from grader.exercises.sam_accumulation._reader import ACCUM, DEV, JUDGED_EPOCHS, MICRO, TRAIN, Case, make_case
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import as_number, items_of, type_name

driver = Driver("train_qa", cost=1.8)  # whole trainings, some of them of seven epochs

_NO_CLIP = 1e3
"""A limit that no gradient reaches."""


def _problem(env: Env) -> Problem:
    """Return the recipe's problem: token ids as inputs, start and end positions as targets."""
    case = make_case(env)
    pairs = [
        (b["input_ids"], torch.stack([b["start_positions"], b["end_positions"]])) for b in case.train.held
    ]

    def loss_fn(output: Any, target: Tensor) -> Tensor:
        return (F.cross_entropy(output[1], target[0]) + F.cross_entropy(output[2], target[1])) / 2

    return Problem(case.model, pairs, loss_fn)


def _trained(
    stage: Stage,
    case: Case,
    make: MakeOptimizer,
    *,
    epochs: int,
    decay: float | None = None,
    watch: bool = True,
    after: Callable[[Path], object] | None = None,
    accum_steps: int = ACCUM,
    **kwargs: Any,
) -> Any:
    """Call the student's function once and return its result.

    Args:
        stage: the scenario's stage.
        case: model and data.
        make: makes the base optimizer.
        epochs: number of epochs.
        decay: if given, a scheduler multiplies the rate by it after each update.
        watch: record what happens to the parameters.
        after: called with the checkpoint's path while the file is there.
        accum_steps: micro-batches in a window.
        kwargs: further arguments of the function.
    """
    recorder, base = stage.recorder, make(case.model)
    if decay is not None:
        kwargs["scheduler"] = ExponentialLR(base, decay)
    ids = [batch["input_ids"] for batch in case.train.held]
    if watch:
        recorder.watch(case.model, base, kwargs.get("scheduler"), batches=ids, at_forwards=False)
    sam = FixtureSAM(base, recorder)
    with scratch_folder() as folder:
        path = folder / "best.pt"
        returned = recorder.call(
            stage.student("train_qa"),
            *(case.model, sam, case.train, case.dev),
            epochs=epochs,
            accum_steps=accum_steps,
            checkpoint_path=str(path) if after is None else path,
            **kwargs,
        )
        if after is not None:
            after(path)
    return returned


# ---- updates -------------------------------------------------------------------------------------


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    _trained(stage, make_case(stage.env), sgd, epochs=1, max_norm=_NO_CLIP)


@driver.scenario("leftover", "에폭 끝의 짧은 구간")
def _leftover(stage: Stage) -> None:
    """Three micro-batches in windows of two: each epoch ends with a short window."""
    _trained(stage, make_case(stage.env, 3), sgd, epochs=2, max_norm=_NO_CLIP)


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _clips(stage: Stage) -> None:
    """A clip that is active in every window; updates without one are judged above."""
    _trained(stage, make_case(stage.env), sgd, epochs=1, max_norm=0.1)


@driver.scenario("default-clip", "max_norm의 기본값", check="clip", atol=CLIP_ATOL)
def _clips_by_default(stage: Stage) -> None:
    """`max_norm` is not given, so the limit is 1.0; with such a large `temper`, the gradients exceed it."""
    _trained(stage, make_case(stage.env, temper=6.0), sgd, epochs=1)


@driver.scenario("zero-norm", "max_norm=0.0", check="clip", atol=CLIP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """A limit of zero is a limit, under which AdamW only decays. Code that asks `if max_norm:` does not clip at all."""
    _trained(stage, make_case(stage.env, 2), adamw, epochs=1, max_norm=0.0)


@driver.scenario("scheduler", "업데이트마다의 학습률")
def _scheduler(stage: Stage) -> None:
    """The rate of each update and the rate that is left, whatever the updates were."""
    rates: list[float] = []

    def noting(model: Any) -> Optimizer:
        base = sgd(model)
        base.register_step_pre_hook(lambda opt, *_: rates.append(opt.param_groups[0]["lr"]))
        made.append(base)
        return base

    made: list[Optimizer] = []
    decay = 0.7 + 0.2 * seeded_number(stage.env, "decay")
    _trained(stage, make_case(stage.env), noting, epochs=2, decay=decay, watch=False, max_norm=_NO_CLIP)
    stage.recorder.array("업데이트마다의 학습률", rates)
    stage.recorder.array("끝난 뒤의 학습률", [made[0].param_groups[0]["lr"]])


@driver.scenario(
    "together", "AdamW, 클리핑, 스케줄러, 짧은 구간, 모드를 함께", check="leftover", atol=CLIP_ATOL
)
def _together(stage: Stage) -> None:
    """The model is handed over in eval mode, in which its numbers differ."""
    case = make_case(stage.env, 5, temper=3.0, moody=True)
    case.model.eval()
    returned = _trained(stage, case, adamw, epochs=2, decay=0.8)
    _record_losses(stage, returned)


# ---- modes ---------------------------------------------------------------------------------------


def _modes_seen(stage: Stage, case: Case, epochs: int) -> None:
    """Train, then record the modes of forward passes on training and dev data, and the modes that are left."""
    _trained(stage, case, zero_rate_sgd, epochs=epochs, watch=False, max_norm=_NO_CLIP)
    recorder, seen = stage.recorder, case.model.modes_seen
    for kind, name in ((TRAIN, "학습 데이터의 순전파가 쓴 모드"), (DEV, "검증 데이터의 순전파가 쓴 모드")):
        recorder.claim(name, [*sorted(seen[kind])], [seen[kind][training] for training in sorted(seen[kind])])
        seen[kind].clear()
    with torch.no_grad():
        case.model(case.train.held[0]["input_ids"])
    recorder.claim("끝난 뒤의 모드", [m.training for m in case.model.modules()], [*seen[TRAIN].values()])


@driver.scenario("modes", "학습 모드로 받은 모델")
def _modes(stage: Stage) -> None:
    _modes_seen(stage, make_case(stage.env, 2), epochs=2)


@driver.scenario("modes-eval", "평가 모드로 받은 모델", check="modes")
def _modes_from_eval(stage: Stage) -> None:
    """A model handed over in eval mode must be trained in train mode all the same."""
    case = make_case(stage.env, 2)
    case.model.eval()
    _modes_seen(stage, case, epochs=1)


# ---- what is returned and what is saved ----------------------------------------------------------

_KEYS = (("train_losses", "학습 손실"), ("dev_losses", "검증 손실"))


def _field(returned: Any, key: str) -> Any:
    return returned.get(key) if isinstance(returned, dict) else None


def _record_losses(stage: Stage, returned: Any) -> None:
    """Record the returned training and dev losses as arrays."""
    for key, name in _KEYS:
        values = [as_number(value) for value in items_of(_field(returned, key))]
        stage.recorder.array(f"{key} ({name})", torch.tensor(values, dtype=torch.float64))


def _judged_case(stage: Stage, epochs: int) -> Case:
    """Return a case with a reader and different training data in each epoch."""
    return make_case(stage.env, 2, epochs=epochs)


def _judged(stage: Stage, case: Case, epochs: int) -> Any:
    """Run the student's function such that no update moves the weights, and return its result."""
    return _trained(stage, case, zero_rate_sgd, epochs=epochs, watch=False, max_norm=_NO_CLIP)


@driver.scenario("losses", "에폭마다의 손실", atol=FLOAT32_ATOL)
def _losses(stage: Stage) -> None:
    """Windows with more and with fewer tokens: every question counts as one, however long it is."""
    case = make_case(stage.env, 4, epochs=3, uneven=True)
    _record_losses(stage, _trained(stage, case, zero_rate_sgd, epochs=3, watch=False, max_norm=_NO_CLIP))


@driver.scenario("returned", "돌려주는 dict", check="losses")
def _returned(stage: Stage) -> None:
    """The types of the returned dict and of the values in it."""
    returned = _judged(stage, _judged_case(stage, 2), 2)
    stage.recorder.fact("반환 타입", type_name(returned))
    for key, _ in _KEYS:
        value = _field(returned, key)
        items = ", ".join(sorted({type_name(item) for item in items_of(value)}))
        stage.recorder.fact(f"{key}의 타입", f"{type_name(value)} ({items})")
    keys = sorted(str(key) for key in returned) if isinstance(returned, dict) else []
    stage.recorder.fact("best_epoch가 들어 있음", "best_epoch" in keys)


@driver.scenario("best-epoch", "가장 좋은 에폭의 번호")
def _best_epoch(stage: Stage) -> None:
    """Every known wrong way of choosing the best epoch chooses another epoch than the right one."""
    case = _judged_case(stage, JUDGED_EPOCHS)
    _claim_best_epoch(stage, case, _judged(stage, case, JUDGED_EPOCHS))


def _claim_best_epoch(stage: Stage, case: Case, returned: Any) -> None:
    """Record the returned number of the best epoch, with the model's stamp of that epoch as the witness."""
    best = as_fact(_field(returned, "best_epoch"))
    stamps = case.model.stamps
    of_best = stamps[best : best + 1] if isinstance(best, int) and best >= 0 else []
    stage.recorder.claim("best_epoch", best, of_best)


def _tied_case(stage: Stage) -> Case:
    """Return a case of which the second and third epoch have the same dev loss, to the bit, below the first epoch's.

    This holds as long as no update moves the weights.
    """
    case = _judged_case(stage, 3)
    case.model.dev_handicaps = (2.0, 1.0, 1.0)
    return case


@driver.scenario("best-epoch-tie", "검증 손실이 같은 두 에폭", check="best-epoch")
def _best_epoch_tie(stage: Stage) -> None:
    case = _tied_case(stage)
    _claim_best_epoch(stage, case, _judged(stage, case, 3))


@driver.scenario("checkpoint", "가장 좋은 에폭의 가중치")
def _checkpoint(stage: Stage) -> None:
    """The epoch whose weights were saved: they must be those that the epoch was judged with."""
    case = make_case(stage.env, 2)

    def look(path: Path) -> None:
        state, opened = read_checkpoint(path)
        stage.recorder.fact("체크포인트", opened)
        number = find_saved_moment(state, case.model, case.model.judged)
        epoch = "알 수 없음" if number is None else f"에폭 {number}"
        stage.recorder.claim("저장된 가중치의 에폭(0부터)", epoch, [as_number(state.get("stamp"))])
        stage.recorder.fact("저장된 키", ", ".join(str(key) for key in state))

    _trained(stage, case, sgd, epochs=JUDGED_EPOCHS, watch=False, after=look, max_norm=_NO_CLIP)


@driver.scenario("checkpoint-tie", "검증 손실이 같은 두 에폭의 저장", check="checkpoint")
def _checkpoint_tie(stage: Stage) -> None:
    """Which of the two epochs was saved. Their weights are equal, so the stamp in the checkpoint tells."""
    case = _tied_case(stage)

    def look(path: Path) -> None:
        stamp = as_number(read_checkpoint(path)[0].get("stamp"))
        stamps = case.model.stamps
        epoch = f"에폭 {stamps.index(stamp)}" if stamp in stamps else "알 수 없음"
        stage.recorder.claim("저장된 에폭(0부터)", epoch, [stamp])

    _trained(stage, case, zero_rate_sgd, epochs=3, watch=False, after=look, max_norm=_NO_CLIP)


@driver.scenario("memory", "살아 있는 계산 그래프", watches_memory=True)
def _memory(stage: Stage) -> None:
    """One epoch of two windows: one micro-batch at a time, and nothing from the batches before."""
    case = make_case(stage.env, 8)
    stage.recorder.watch(case.model, states=False)
    meter = stage.recorder.measure_memory(case.model)
    _trained(stage, case, sgd, epochs=1, watch=False, accum_steps=4)
    record_window_memory(stage, meter, MICRO)
    record_loop_memory(stage, meter)
