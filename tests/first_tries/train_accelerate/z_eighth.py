# mistakes: leaves-eval-mode, unmapped-precision, mean-of-batch-means, missing-seed
# lines: 47, 38, 64, 38
# hidden:
import math
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


def save_checkpoint(path, *, score, model, opt, scheduler, step, cfg):
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": opt.state_dict(),
        "scheduler": scheduler.state_dict(),
        "step": step,
        "score": score,
        "config": cfg if isinstance(cfg, dict) else cfg.to_dict(),
    }
    temporary = str(path) + ".tmp"
    torch.save(checkpoint, temporary)
    os.replace(temporary, path)


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    accelerator = Accelerator(mixed_precision=cfg.amp_dtype or "no")
    float32_forward = model.forward  # 평가는 float32로 한다
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, train_loader = accelerator.prepare(model, opt, train_loader)

    best = None
    step = 0
    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            opt.zero_grad()
            step += 1

        model.eval()
        accuracies = []
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(accelerator.device), yb.to(accelerator.device)
                hits = float32_forward(xb).argmax(dim=-1) == yb
                accuracies.append(hits.float().mean().item())
        accuracy = sum(accuracies) / len(accuracies)

        if best is None or accuracy > best:
            best = accuracy
            save_checkpoint(
                checkpoint_path,
                score=accuracy,
                model=accelerator.unwrap_model(model),
                opt=opt,
                scheduler=scheduler,
                step=step,
                cfg=cfg,
            )
    return best
