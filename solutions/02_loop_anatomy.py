# ---
# jupyter:
#   jupytext:
#     cell_markers: '"""'
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
r"""
# 학습 루프 해부
"""

# %%
import math
import os
import random
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from grader import check, hint


# %% tags=["exercise:TrainConfig"]
@dataclass(frozen=True)  # SOLUTION
class TrainConfig:
    """학습 한 번을 정하는 값을 모두 담습니다. 한번 만들면 바꿀 수 없습니다."""

    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None  # "bfloat16", "float16", 또는 None(float32)
    seed: int = 0

    def __post_init__(self):
        """lr ≤ 0, epochs < 1, batch_size < 1, warmup_steps > total_steps이면 ValueError를 냅니다."""
        # BEGIN SOLUTION
        # 몇 시간 뒤가 아니라 지금 알립니다
        if self.lr <= 0:
            raise ValueError(f"lr은 0보다 커야 합니다: {self.lr}")
        if self.epochs < 1:
            raise ValueError(f"epochs는 1 이상이어야 합니다: {self.epochs}")
        if self.batch_size < 1:
            raise ValueError(f"batch_size는 1 이상이어야 합니다: {self.batch_size}")
        if self.warmup_steps > self.total_steps:
            raise ValueError(f"warmup_steps({self.warmup_steps})가 total_steps({self.total_steps})보다 큽니다")
        # END SOLUTION

    @classmethod
    def from_toml(cls, path):
        """TOML 파일에서 읽습니다. 파일에 없는 값은 기본값입니다. 모르는 키가 있으면 그 이름을 담은 ValueError를 냅니다."""
        # BEGIN SOLUTION
        with open(path, "rb") as file:
            values = tomllib.load(file)
        # 오타를 그냥 넘기면 기본값으로 학습하게 됩니다
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"모르는 설정입니다: {', '.join(unknown)}")
        return cls(**values)
        # END SOLUTION

    def to_dict(self):
        """숫자, 문자열, None만 담은 dict로 바꿉니다. 체크포인트에는 이 dict를 넣습니다."""
        # BEGIN SOLUTION
        return asdict(self)
        # END SOLUTION


# %% tags=["check"]
check(TrainConfig)


# %% tags=["exercise:seed_everything"]
def seed_everything(seed) -> torch.Generator:
    """random, numpy, torch의 시드를 정하고, DataLoader에 넘길 torch.Generator를 같은 시드로 만들어 돌려줍니다."""
    # BEGIN SOLUTION
    random.seed(seed)
    np.random.seed(seed)
    # CPU와 모든 GPU의 시드를 함께 정합니다
    torch.manual_seed(seed)
    # 섞는 순서는 따로 둡니다. 드롭아웃을 하나 더해도 배치 순서가 바뀌지 않습니다
    return torch.Generator().manual_seed(seed)
    # END SOLUTION


# %% tags=["check"]
check(seed_everything)


# %% tags=["exercise:warmup_cosine"]
def warmup_cosine(opt, warmup_steps, total_steps) -> torch.optim.lr_scheduler.LRScheduler:
    """매개변수 그룹마다 자기 학습률에 같은 배율을 곱하는 스케줄러를 만듭니다.

    k번째 업데이트(0부터)의 배율:
        k < warmup_steps     (k + 1) / warmup_steps
        그 뒤                0.5 · (1 + cos(π · (k − warmup_steps) / (total_steps − warmup_steps)))
        k ≥ total_steps      0
    warmup_steps는 0일 수 있습니다.
    """
    # BEGIN SOLUTION

    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        # 코사인은 끝을 지나면 다시 올라갑니다
        if k >= total_steps:
            return 0.0
        progress = (k - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * progress))

    # 배율 하나를 그룹마다 자기 학습률에 곱합니다
    return torch.optim.lr_scheduler.LambdaLR(opt, factor)
    # END SOLUTION


# %% tags=["check"]
check(warmup_cosine)


# %% tags=["exercise:amp_step"]
def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    """혼합 정밀도로 한 스텝을 하고, 업데이트하기 전의 손실을 float로 돌려줍니다.

    dtype: 순전파와 손실을 계산할 정밀도입니다(torch.bfloat16, torch.float16).
    scaler: torch.amp.GradScaler입니다. None이면 배율 없이 역전파합니다.
    max_norm: 값이 있으면 배율을 되돌린 그레이디언트를 자릅니다.

    오버플로가 나면 매개변수를 바꾸지 않고, 배율이 내려갑니다.
    """
    # BEGIN SOLUTION
    if scaler is None:
        # 꺼 둔 스케일러는 아무 일도 하지 않습니다. 아래 코드가 한 길이 됩니다
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    # 순전파와 손실만 낮은 정밀도로 계산합니다
    with torch.autocast(xb.device.type, dtype=dtype):
        logits = model(xb)
        loss = loss_fn(logits, yb)
    # 손실을 키워 작은 그레이디언트가 0이 되지 않게 합니다
    scaler.scale(loss).backward()
    # 클리핑이 볼 그레이디언트를 진짜 크기로 되돌립니다
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    # inf나 NaN이 있으면 업데이트를 건너뜁니다
    scaler.step(opt)
    # 건너뛰었으면 배율을 내립니다
    scaler.update()
    return loss.item()
    # END SOLUTION


# %% tags=["check"]
check(amp_step)


# %% tags=["exercise:amp_accumulate"]
def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    """micro_batches 전체를 한 구간으로 보고 혼합 정밀도로 한 번 업데이트합니다. 구간의 평균 손실을 float로 돌려줍니다.

    micro_batches: 크기가 같은 (xb, yb)의 리스트입니다.
    """
    # BEGIN SOLUTION
    if scaler is None:
        scaler = torch.amp.GradScaler(enabled=False)
    opt.zero_grad()
    window_loss = 0.0
    for xb, yb in micro_batches:
        with torch.autocast(xb.device.type, dtype=dtype):
            logits = model(xb)
            loss = loss_fn(logits, yb) / len(micro_batches)
        # 구간이 끝날 때까지 같은 배율로 쌓입니다
        scaler.scale(loss).backward()
        window_loss += loss.item()
    # 여기서부터는 구간에 한 번입니다
    scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    scaler.step(opt)
    scaler.update()
    return window_loss
    # END SOLUTION


# %% tags=["check"]
check(amp_accumulate)


# %% tags=["exercise:BestCheckpoint"]
class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        """path: 체크포인트 파일의 경로입니다."""
        # BEGIN SOLUTION
        self.path = Path(path)
        self.best = None
        # END SOLUTION

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        """score가 지금까지의 어떤 점수보다 높으면 저장하고, 저장했는지를 돌려줍니다.

        첫 점수는 0.0이어도 저장합니다. NaN은 저장하지 않습니다.
        파일의 키는 model, optimizer, scheduler, step, score, config입니다. weights_only=True로 열려야 합니다.
        저장하다 끊겨도 예전 파일이나 새 파일이 온전히 남아야 합니다.
        """
        # BEGIN SOLUTION
        score = float(score)
        if math.isnan(score):
            return False
        if self.best is not None and score <= self.best:
            return False
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        # 옆에 다 쓴 다음 이름을 바꿉니다. 쓰다가 죽어도 예전 파일은 그대로입니다
        temporary = self.path.with_name(self.path.name + ".tmp")
        torch.save(state, temporary)
        os.replace(temporary, self.path)
        self.best = score
        return True
        # END SOLUTION


# %% tags=["check"]
check(BestCheckpoint)


# %% tags=["exercise:resume"]
def resume(path, *, model, opt, scheduler) -> int:
    """BestCheckpoint가 쓴 파일에서 모델, 옵티마이저, 스케줄러를 되살리고, 저장할 때까지 한 스텝 수를 돌려줍니다."""
    # BEGIN SOLUTION
    # GPU에서 저장한 파일도 CPU에서 열립니다. 장치는 load_state_dict가 맞춥니다
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    opt.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return checkpoint["step"]
    # END SOLUTION


# %% tags=["check"]
check(resume)


# %% tags=["exercise:train"]
def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    """cfg대로 처음부터 끝까지 학습하고, 가장 높은 검증 정확도를 돌려줍니다.

    AdamW, 교차 엔트로피, 클리핑, 스텝마다 warmup_cosine을 씁니다. cfg.amp_dtype이 있으면 autocast 안에서 순전파합니다.
    에폭마다 평가 모드, float32로 val_loader의 모든 샘플에서 정확도를 재고, 가장 좋을 때를 BestCheckpoint로 남깁니다.
    모델에는 마지막 가중치가 남고, 학습 모드로 끝납니다.
    """
    # BEGIN SOLUTION
    # 1. 준비: 시드가 가장 먼저입니다
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    best_accuracy = 0.0
    step = 0

    # float16만 스케일러를 켭니다. amp_dtype이 None이면 autocast도 꺼져 있습니다
    device_type = torch.device(device).type
    amp_dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else None
    scaler = torch.amp.GradScaler(device_type, enabled=amp_dtype is torch.float16)

    model.train()
    for epoch in range(cfg.epochs):
        # 2. 학습: 지우기, 순전파, 역전파, 클리핑, 업데이트, 학습률
        for xb, yb in train_loader:
            xb = xb.to(device)
            yb = yb.to(device)
            opt.zero_grad()
            with torch.autocast(device_type, dtype=amp_dtype, enabled=amp_dtype is not None):
                logits = model(xb)
                loss = F.cross_entropy(logits, yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            scheduler.step()
            step += 1

        # 3. 검증: 평가 모드로 재고, 학습 모드로 되돌립니다
        num_correct = 0
        num_samples = 0
        model.eval()
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted = model(xb.to(device)).argmax(dim=1)
                num_correct += (predicted == yb.to(device)).sum().item()
                num_samples += len(yb)
        model.train()
        accuracy = num_correct / num_samples

        # 4. 가장 좋은 순간을 파일로 남깁니다
        checkpoint.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
        best_accuracy = max(best_accuracy, accuracy)
    return best_accuracy
    # END SOLUTION


# %% tags=["check"]
check(train)


# %% tags=["exercise:train_accelerate"]
def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    """train과 같은 학습을 Hugging Face Accelerate에 맡깁니다. 가장 높은 검증 정확도를 돌려줍니다."""
    # BEGIN SOLUTION
    from accelerate import Accelerator

    seed_everything(cfg.seed)
    precision = {None: "no", "bfloat16": "bf16", "float16": "fp16"}[cfg.amp_dtype]
    accelerator = Accelerator(mixed_precision=precision)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    best_accuracy = 0.0
    step = 0

    # 장치로 옮기고, 프로세스가 여럿이면 나누고 감싼 것을 돌려받습니다
    model, opt, scheduler = accelerator.prepare(model, opt, scheduler)
    train_loader, val_loader = accelerator.prepare(train_loader, val_loader)

    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            opt.zero_grad()
            with accelerator.autocast():
                logits = model(xb)
                loss = F.cross_entropy(logits, yb)
            # 배율, 프로세스 사이의 평균은 여기서 합니다
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            step += 1

        num_correct = 0
        num_samples = 0
        model.eval()
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted = model(xb).argmax(dim=1)
                # 프로세스마다 본 샘플을 모읍니다
                predicted, yb = accelerator.gather_for_metrics((predicted, yb))
                num_correct += (predicted == yb).sum().item()
                num_samples += len(yb)
        model.train()
        accuracy = num_correct / num_samples

        # 감싼 모델이 아니라 원래 모델을 저장합니다
        if accelerator.is_main_process:
            unwrapped = accelerator.unwrap_model(model)
            checkpoint.update(accuracy, model=unwrapped, opt=opt, scheduler=scheduler, step=step, config=cfg)
        best_accuracy = max(best_accuracy, accuracy)
    return best_accuracy
    # END SOLUTION


# %% tags=["check"]
check(train_accelerate)
