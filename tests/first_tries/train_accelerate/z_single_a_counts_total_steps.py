# mistakes: missing-seed, counts-total-steps
# lines: 19, 66
# hidden:
import math
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator


def make_accelerator(precision):
    try:
        from accelerate.state import AcceleratorState

        AcceleratorState._reset_state()
    except ImportError:
        pass
    return Accelerator(mixed_precision=precision)


def save_checkpoint(path, model, opt, scheduler, step, score, cfg):
    payload = {
        "model": model.state_dict(),
        "optimizer": opt.state_dict(),
        "scheduler": scheduler.state_dict(),
        "step": step,
        "score": score,
        "config": cfg.to_dict(),
    }
    tmp = os.fspath(path) + ".tmp"
    torch.save(payload, tmp)
    os.replace(tmp, path)


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


PRECISION = {None: "no", "bfloat16": "bf16", "float16": "fp16"}


def accuracy(model, loader, device):
    forward = getattr(model, "_original_forward", model)  # float32로 잽니다
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for xb, yb in loader:
            xb, yb = xb.to(device), yb.to(device)
            correct += (forward(xb).argmax(-1) == yb).sum().item()
            total += len(yb)
    model.train()
    return correct / total


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    accelerator = make_accelerator(PRECISION[cfg.amp_dtype])
    raw_opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    total_steps = len(train_loader) * cfg.epochs
    scheduler = warmup_cosine(raw_opt, cfg.warmup_steps, max(total_steps, cfg.warmup_steps))
    wrapped, opt, loader = accelerator.prepare(model, raw_opt, train_loader)
    best, step = None, 0
    for _ in range(cfg.epochs):
        wrapped.train()
        for inputs, labels in loader:
            opt.zero_grad()
            loss = F.cross_entropy(wrapped(inputs), labels)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(wrapped.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            step += 1
        score = accuracy(model, val_loader, accelerator.device)
        if best is None or score > best:
            best = score
            save_checkpoint(checkpoint_path, model, raw_opt, scheduler, step, score, cfg)
    model.train()
    return best
