import math
import os

import torch
from torch import nn


def factor(k, cfg):
    if k < cfg.warmup_steps:
        return (k + 1) / cfg.warmup_steps
    if k >= cfg.total_steps:
        return 0.0
    return 0.5 * (1 + math.cos(math.pi * (k - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps)))


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path):
    import accelerate

    torch.manual_seed(cfg.seed)
    accelerator = accelerate.Accelerator(mixed_precision="bf16" if cfg.amp_dtype == "bfloat16" else "no")
    raw = model
    opt = torch.optim.AdamW(raw.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: factor(k, cfg))
    net = accelerator.prepare(raw)
    opt = accelerator.prepare(opt)
    train_loader = accelerator.prepare(train_loader)
    criterion = nn.CrossEntropyLoss()
    best = -1.0
    step = 0
    net.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            opt.zero_grad(set_to_none=True)
            with accelerator.autocast():
                loss = criterion(net(xb), yb)
            accelerator.backward(loss)
            accelerator.unscale_gradients()
            nn.utils.clip_grad_norm_(net.parameters(), cfg.max_norm)
            opt.step()
            sched.step()
            step += 1
        net.eval()
        with torch.inference_mode():
            hits = [(net(xb.to(accelerator.device)).argmax(1).cpu() == yb) for xb, yb in val_loader]
        net.train()
        acc = torch.cat(hits).sum().item() / sum(len(h) for h in hits)
        if acc > best:
            best = acc
            torch.save(
                {
                    "model": raw.state_dict(),
                    "optimizer": opt.state_dict(),
                    "scheduler": sched.state_dict(),
                    "step": step,
                    "score": best,
                    "config": cfg.to_dict(),
                },
                str(checkpoint_path) + ".tmp",
            )
            os.replace(str(checkpoint_path) + ".tmp", checkpoint_path)
    return best
