# mistakes: scheduler-per-epoch, missing-unscale, returns-last-accuracy, leaves-eval-mode, ignores-weight-decay
# lines: 99, 90, 117, 79, 70
# hidden:
import math
import os
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import LambdaLR

# --- 앞에서 쓴 함수들 ---


def seed_everything(seed) -> torch.Generator:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return torch.Generator().manual_seed(seed)


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        if k >= total_steps:
            return 0.0
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return LambdaLR(opt, factor)


class BestCheckpoint:
    def __init__(self, path):
        self.path = Path(path)
        self.best = -math.inf

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if not score > self.best:
            return False
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        temporary = self.path.with_name(self.path.name + ".tmp")
        torch.save(state, temporary)
        os.replace(temporary, self.path)
        self.best = score
        return True


# --- 연습 8 ---


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    # 1. 시드
    seed_everything(cfg.seed)

    # 2. 모델, 옵티마이저, 스케줄러, 체크포인트
    device = torch.device(device)
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scheduler = warmup_cosine(optimizer, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    amp_dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else None
    scaler = torch.amp.GradScaler(device.type) if cfg.amp_dtype == "float16" else None

    num_updates = 0
    accuracy = 0.0
    # 3. 학습 모드
    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            # 4. 지우기, 순전파, 역전파
            optimizer.zero_grad()
            with torch.autocast(device.type, dtype=amp_dtype, enabled=amp_dtype is not None):
                loss = F.cross_entropy(model(xb), yb)
            # 5. 클리핑하고 업데이트
            if scaler is not None:
                scaler.scale(loss).backward()
                clip_grad_norm_(model.parameters(), cfg.max_norm)
                scaler.unscale_(optimizer)
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                clip_grad_norm_(model.parameters(), cfg.max_norm)
                optimizer.step()
            num_updates += 1
        scheduler.step()

        # 6. 검증
        model.eval()
        correct, total = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                correct += (model(xb).argmax(dim=1) == yb).sum().item()
                total += len(yb)
        accuracy = correct / total

        # 7. 가장 좋으면 저장
        checkpoint.update(
            accuracy, model=model, opt=optimizer, scheduler=scheduler, step=num_updates, config=cfg
        )

    # 8. 정확도를 돌려준다
    return accuracy
