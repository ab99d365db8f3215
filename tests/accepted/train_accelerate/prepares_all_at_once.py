import math
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed


def factor(k, cfg):
    if k < cfg.warmup_steps:
        return (k + 1) / cfg.warmup_steps
    if k >= cfg.total_steps:
        return 0.0
    return 0.5 * (1 + math.cos(math.pi * (k - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps)))


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path):
    set_seed(cfg.seed)
    accelerator = Accelerator()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: factor(k, cfg))
    model, opt, train_loader, val_loader, sched = accelerator.prepare(model, opt, train_loader, val_loader, sched)
    best, step = None, 0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            sched.step()
            opt.zero_grad()
            step += 1
        model.eval()
        right = total = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                pred, y = accelerator.gather_for_metrics((model(xb).argmax(-1), yb))
                right += (pred == y).sum().item()
                total += y.numel()
        acc = right / total
        if best is None or acc > best:
            best = acc
            state = {
                "model": accelerator.get_state_dict(model),
                "optimizer": opt.state_dict(),
                "scheduler": sched.state_dict(),
                "step": step,
                "score": acc,
                "config": cfg.to_dict(),
            }
            accelerator.save(state, f"{checkpoint_path}.tmp")
            os.replace(f"{checkpoint_path}.tmp", checkpoint_path)
        accelerator.wait_for_everyone()
    model.train()
    return best
