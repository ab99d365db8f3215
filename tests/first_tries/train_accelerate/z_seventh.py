# mistakes: unmapped-precision, missing-eval-mode, returns-last-accuracy, missing-seed
# lines: 51, 59, 91, 48
# hidden:
import math
import os

import torch
import torch.nn.functional as F


def warmup_cosine(opt, warmup_steps, total_steps):
    def scale(k):
        if k >= total_steps:
            return 0.0
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, scale)


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config):
        score = float(score)
        if math.isnan(score) or (self.best is not None and score <= self.best):
            return False
        contents = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else config.to_dict(),
        }
        torch.save(contents, self.path + ".tmp")
        os.replace(self.path + ".tmp", self.path)
        self.best = score
        return True


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    from accelerate import Accelerator

    if cfg.amp_dtype is None:
        accelerator = Accelerator(mixed_precision="no")
    else:
        accelerator = Accelerator(mixed_precision=cfg.amp_dtype)

    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    wrapped, opt, train_loader = accelerator.prepare(model, opt, train_loader)
    scheduler = warmup_cosine(opt.optimizer, cfg.warmup_steps, cfg.total_steps)
    best_keeper = BestCheckpoint(checkpoint_path)

    def validate():
        right, total = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb = xb.to(accelerator.device)
                yb = yb.to(accelerator.device)
                right += (wrapped(xb).argmax(dim=-1) == yb).sum().item()
                total += len(yb)
        return right / total

    steps_done = 0
    accuracy = 0.0
    for _ in range(cfg.epochs):
        wrapped.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            loss = F.cross_entropy(wrapped(xb), yb)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(wrapped.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            steps_done += 1
        accuracy = validate()
        best_keeper.update(
            accuracy,
            model=accelerator.unwrap_model(wrapped),
            opt=opt.optimizer,
            scheduler=scheduler,
            step=steps_done,
            config=cfg,
        )

    accelerator.unwrap_model(wrapped).train()
    return accuracy
