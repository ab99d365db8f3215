"""Drivers of lesson 04, third part: `train_qa`, whole runs on a reader of 58 parameters."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ExponentialLR, LRScheduler

from grader.observe.fixtures.classifiers import adamw, initialised, sgd
from grader.observe.fixtures.sam import FixtureSAM
from grader.observe.fixtures.training import flat_state, plain, read_checkpoint, scratch_folder
from grader.observe.play import Driver, Env, Problem, Scenario, Stage
from grader.observe.recorder import as_number, type_name
from grader.observe.trace import Fact

CLIP_ATOL = 1e-5
"""torch divides by norm + 1e-6; a clip written by hand without it is right too."""

FLOAT32_ATOL = 1e-6
"""A loss may pass through float32 on its way out."""

_NO_CLIP = 1e3
"""A limit no gradient reaches."""

_TOKENS, _TIME, _WIDTH = 11, 6, 4
_PAD, _TRAIN, _DEV = 0, 1, 2
"""Ids of the padding and of a sample's first token, which tells where it comes from."""

_MICRO, _MICRO_BATCHES, _ACCUM = 3, 5, 2
"""Five micro-batches of three samples by twos: windows of 2, 2 and 1."""
_DEV_SIZES = (4, 4, 1)

_HANDICAPS = (1.0, 4.0, 0.0, 3.0)
"""Added to the dev loss after each epoch, far more than learning moves it: the third epoch is best and the second
worst, while a mean over all epochs so far is lowest after the first."""

Batch = dict[str, Tensor]
Make = Callable[[nn.Module], Optimizer]


# ---- fixture -------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """What Hugging Face models for extractive questions return."""

    loss: Tensor | None
    start_logits: Tensor
    end_logits: Tensor

    def __getitem__(self, key: Any) -> Any:
        """By position, and by name as well."""
        return getattr(self, key) if isinstance(key, str) else tuple(self)[key]


@dataclass
class _Rounds:
    """How often the training data have been gone through to their end."""

    done: int = 0


@dataclass
class _Loader:
    """Batches that can be gone through again and again; each of them a dict of its own."""

    held: list[Batch]
    rounds: _Rounds = field(default_factory=_Rounds)

    def __iter__(self) -> Iterator[Batch]:
        for batch in self.held:
            yield dict(batch)
        self.rounds.done += 1

    def __len__(self) -> int:
        return len(self.held)


class Reader(nn.Module):
    """Start and end logits for every token, from the token and its two neighbours.

    In eval mode it is half as sure, and its loss carries the handicap of the epoch: what mode a pass was made in
    shows in every number. The head has no bias, whose true gradient would be zero.
    """

    def __init__(self, rounds: _Rounds, temper: float) -> None:
        super().__init__()
        self.tokens = nn.Embedding(_TOKENS, _WIDTH)
        self.mix = nn.Linear(_WIDTH, 2)
        self.head = nn.Linear(2, 2, bias=False)
        self.observer: Any = None
        self.rounds = rounds
        self.temper = temper
        self.modes_seen: dict[int, set[bool]] = {_TRAIN: set(), _DEV: set()}

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
    ) -> Answer:
        """Logits (batch, time), and the mean loss where the positions are given."""
        if self.observer is not None:
            self.observer.forward(input_ids)
        self.modes_seen.setdefault(int(input_ids[0, 0]), set()).add(self.training)
        if attention_mask is not None:
            mask = attention_mask.bool()
        elif start_positions is None:  # asked for logits alone, to find out what an update is made of
            mask = input_ids != _PAD
        else:  # as in Hugging Face's models: without a mask every token counts, padding too
            mask = torch.ones_like(input_ids, dtype=torch.bool)
        hidden = self.mix(self.tokens(input_ids))
        hidden = torch.tanh(hidden + hidden.roll(1, dims=1) * 0.5 - hidden.roll(-1, dims=1) * 0.3)
        logits = self.head(hidden) * self.temper * (1.0 if self.training else 0.5)
        logits = logits.masked_fill(~mask[:, :, None], -torch.inf)
        start, end = logits.unbind(dim=-1)
        if self.observer is not None:
            self.observer.forwarded(start, self.training)
        if start_positions is None or end_positions is None:
            return Answer(None, start, end)
        loss = (F.cross_entropy(start, start_positions) + F.cross_entropy(end, end_positions)) / 2
        if not self.training:
            loss = loss + _HANDICAPS[max(self.rounds.done - 1, 0) % len(_HANDICAPS)]
        return Answer(loss, start, end)


def _samples(env: Env, kind: int, sizes: tuple[int, ...]) -> list[Batch]:
    """Questions of different lengths; answers lie within what the mask shows."""
    generator = env.generator(f"samples {kind}")
    result = []
    for size in sizes:
        ids = torch.randint(3, _TOKENS, (size, _TIME), generator=generator)
        lengths = torch.randint(3, _TIME + 1, (size,), generator=generator)
        mask = torch.arange(_TIME) < lengths[:, None]
        ids[~mask] = _PAD
        ids[:, 0] = kind
        ends = [torch.randint(0, int(n), (2,), generator=generator).sort().values for n in lengths]
        spans = torch.stack(ends)
        batch = {
            "input_ids": ids,
            "attention_mask": mask.long(),
            "start_positions": spans[:, 0].clone(),
            "end_positions": spans[:, 1].clone(),
        }
        result.append({key: value.to(env.device) for key, value in batch.items()})
    return result


@dataclass(frozen=True)
class _Case:
    model: Any
    train: _Loader
    dev: _Loader


def _case(env: Env, temper: float = 1.0) -> _Case:
    train = _Loader(_samples(env, _TRAIN, (_MICRO,) * _MICRO_BATCHES))
    dev = _Loader(_samples(env, _DEV, _DEV_SIZES))
    model: Any = Reader(train.rounds, temper)
    return _Case(initialised(model, env, "model"), train, dev)


def _problem(env: Env) -> Problem:
    case = _case(env)
    pairs = [
        (b["input_ids"], torch.stack([b["start_positions"], b["end_positions"]])) for b in case.train.held
    ]

    def loss_fn(output: Any, target: Tensor) -> Tensor:
        return (F.cross_entropy(output[1], target[0]) + F.cross_entropy(output[2], target[1])) / 2

    return Problem(case.model, pairs, loss_fn)


# ---- runs ----------------------------------------------------------------------------------------


def _trained(
    stage: Stage,
    case: _Case,
    make: Make,
    path: Path | str,
    *,
    epochs: int,
    decay: float | None = None,
    **kwargs: Any,
) -> Any:
    """One call of the student's function; `decay`: a scheduler that multiplies the rate so after each update."""
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
        accum_steps=_ACCUM,
        checkpoint_path=path,
        **kwargs,
    )
    recorder.array("rates", [group["lr"] for group in base.param_groups])
    return returned


def _sgd(stage: Stage) -> None:
    with scratch_folder() as folder:
        _trained(stage, _case(stage.env), sgd, folder / "best.pt", epochs=2, max_norm=_NO_CLIP)


def _momentum(model: nn.Module) -> Optimizer:
    return sgd(model, momentum=0.9)


def _clips(stage: Stage) -> None:
    """Clipping that acts in some windows only, and a rate that falls."""
    with scratch_folder() as folder:
        path = str(folder / "best.pt")
        _trained(stage, _case(stage.env), _momentum, path, epochs=2, decay=0.8, max_norm=0.2)


def _clips_by_default(stage: Stage) -> None:
    """`max_norm` is not given: 1.0, which the gradients of a model this sure of itself exceed."""
    with scratch_folder() as folder:
        _trained(stage, _case(stage.env, temper=6.0), adamw, folder / "best.pt", epochs=2)


def _losses(stage: Stage) -> None:
    recorder = stage.recorder
    with scratch_folder() as folder:
        path = folder / "best.pt"
        returned = _trained(stage, _case(stage.env), sgd, path, epochs=4, max_norm=_NO_CLIP)
    result = returned if isinstance(returned, dict) else {}
    recorder.fact("반환 타입", type_name(returned))
    for key, name in (("train_losses", "학습 손실"), ("dev_losses", "검증 손실")):
        values = result.get(key)
        items = list(values) if isinstance(values, list | tuple) else []
        recorder.array(f"{key} ({name})", torch.tensor([as_number(v) for v in items], dtype=torch.float64))
        types: list[Fact] = [type_name(item) for item in items]
        recorder.fact(f"{key}의 타입", [type_name(values), *types])
    recorder.fact("best_epoch", plain(result.get("best_epoch")))


def _checkpoint(stage: Stage) -> None:
    recorder, case = stage.recorder, _case(stage.env)
    with scratch_folder() as folder:
        path = folder / "best.pt"
        _trained(stage, case, sgd, path, epochs=4, decay=0.9, max_norm=_NO_CLIP)
        state, opened = read_checkpoint(path)
    recorder.fact("체크포인트", opened)
    recorder.array("저장된 가중치", flat_state(state, case.model))


def _modes(stage: Stage) -> None:
    """The model is handed over in eval mode."""
    recorder, case = stage.recorder, _case(stage.env)
    case.model.eval()
    with scratch_folder() as folder:
        _trained(stage, case, sgd, folder / "best.pt", epochs=2, max_norm=_NO_CLIP)
    for kind, name in ((_TRAIN, "학습 데이터의 순전파"), (_DEV, "검증 데이터의 순전파")):
        seen: list[Fact] = [*sorted(case.model.modes_seen[kind])]
        recorder.fact(f"{name}가 쓴 모드", seen)
    recorder.modes("끝난 뒤의 모드")


DRIVERS = (
    Driver(
        "train_qa",
        (
            Scenario("sgd", "SGD 위의 SAM", _sgd, problem=_problem),
            Scenario("clip", "모멘텀에 클리핑과 스케줄러를 함께", _clips, CLIP_ATOL),
            Scenario("default-clip", "AdamW 위의 SAM (max_norm은 기본값)", _clips_by_default, CLIP_ATOL),
            Scenario("modes", "평가 모드로 받은 모델", _modes),
            Scenario("losses", "에폭마다의 손실", _losses, FLOAT32_ATOL),
            Scenario("checkpoint", "가장 좋은 에폭의 가중치", _checkpoint),
        ),
    ),
)
