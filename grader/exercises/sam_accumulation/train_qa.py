"""Driver of `train_qa`: whole runs on a tiny reader, for the weights, the losses and the checkpoint they end with."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim.lr_scheduler import ExponentialLR, LRScheduler

from grader.exercises.sam_accumulation._base_optimizers import Make, momentum
from grader.exercises.sam_accumulation._reader import ACCUM, DEV, TRAIN, Case, make_case
from grader.exercises.sam_accumulation._tolerances import CLIP_ATOL, FLOAT32_ATOL
from grader.observe.fixtures.checkpoints import flat_state, plain, read_checkpoint, scratch_folder
from grader.observe.fixtures.classifiers import adamw, sgd
from grader.observe.fixtures.sam import FixtureSAM
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.trace import Fact
from grader.observe.values import as_number, type_name

driver = Driver("train_qa")

_NO_CLIP = 1e3
"""A limit no gradient reaches."""


def _problem(env: Env) -> Problem:
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
    make: Make,
    path: Path | str,
    *,
    epochs: int,
    decay: float | None = None,
    **kwargs: Any,
) -> Any:
    """One call of the student's function; with `decay`, a scheduler multiplies the rate by it after each update."""
    recorder, base = stage.recorder, make(case.model)
    scheduler: LRScheduler | None = None if decay is None else ExponentialLR(base, decay)
    ids = [batch["input_ids"] for batch in case.train.held]
    recorder.watch(case.model, base, scheduler, batches=ids, at_forwards=False)
    sam = FixtureSAM(base, recorder)
    if scheduler is not None:
        kwargs["scheduler"] = scheduler
    returned = recorder.call(
        stage.student("train_qa"),
        *(case.model, sam, case.train, case.dev),
        epochs=epochs,
        accum_steps=ACCUM,
        checkpoint_path=path,
        **kwargs,
    )
    recorder.array("rates", [group["lr"] for group in base.param_groups])
    return returned


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    with scratch_folder() as folder:
        _trained(stage, make_case(stage.env), sgd, folder / "best.pt", epochs=2, max_norm=_NO_CLIP)


@driver.scenario("clip", "모멘텀에 클리핑과 스케줄러를 함께", atol=CLIP_ATOL)
def _clips(stage: Stage) -> None:
    """Clipping that acts in some windows only, and a rate that falls."""
    with scratch_folder() as folder:
        path = str(folder / "best.pt")
        _trained(stage, make_case(stage.env), momentum, path, epochs=2, decay=0.8, max_norm=0.2)


@driver.scenario("default-clip", "AdamW 위의 SAM (max_norm은 기본값)", check="clip", atol=CLIP_ATOL)
def _clips_by_default(stage: Stage) -> None:
    """`max_norm` is not given, so the limit is 1.0; with so large a `temper` the gradients exceed it."""
    with scratch_folder() as folder:
        _trained(stage, make_case(stage.env, temper=6.0), adamw, folder / "best.pt", epochs=2)


@driver.scenario("modes", "평가 모드로 받은 모델")
def _modes(stage: Stage) -> None:
    """The model is handed over in eval mode."""
    recorder, case = stage.recorder, make_case(stage.env)
    case.model.eval()
    with scratch_folder() as folder:
        _trained(stage, case, sgd, folder / "best.pt", epochs=2, max_norm=_NO_CLIP)
    for kind, name in ((TRAIN, "학습 데이터의 순전파"), (DEV, "검증 데이터의 순전파")):
        seen: list[Fact] = [*sorted(case.model.modes_seen[kind])]
        recorder.fact(f"{name}가 쓴 모드", seen)
    recorder.modes("끝난 뒤의 모드")


@driver.scenario("losses", "에폭마다의 손실", atol=FLOAT32_ATOL)
def _losses(stage: Stage) -> None:
    recorder = stage.recorder
    with scratch_folder() as folder:
        path = folder / "best.pt"
        returned = _trained(stage, make_case(stage.env), sgd, path, epochs=4, max_norm=_NO_CLIP)
    result = returned if isinstance(returned, dict) else {}
    recorder.fact("반환 타입", type_name(returned))
    for key, name in (("train_losses", "학습 손실"), ("dev_losses", "검증 손실")):
        values = result.get(key)
        items = list(values) if isinstance(values, list | tuple) else []
        recorder.array(f"{key} ({name})", torch.tensor([as_number(v) for v in items], dtype=torch.float64))
        types: list[Fact] = [type_name(item) for item in items]
        recorder.fact(f"{key}의 타입", [type_name(values), *types])
    recorder.fact("best_epoch", plain(result.get("best_epoch")))


@driver.scenario("checkpoint", "가장 좋은 에폭의 가중치")
def _checkpoint(stage: Stage) -> None:
    recorder, case = stage.recorder, make_case(stage.env)
    with scratch_folder() as folder:
        path = folder / "best.pt"
        _trained(stage, case, sgd, path, epochs=4, decay=0.9, max_norm=_NO_CLIP)
        state, opened = read_checkpoint(path)
    recorder.fact("체크포인트", opened)
    recorder.array("저장된 가중치", flat_state(state, case.model))
