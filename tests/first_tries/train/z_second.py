# mistakes: ignores-weight-decay, mean-of-batch-means, epoch-saved-as-step, missing-seed
# lines: 59, 52, 91, 57
# hidden:
import math
import os

import torch
import torch.nn.functional as F


class BestCheckpoint:
    def __init__(self, path):
        self.path = str(path)
        self.best = None

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        if math.isnan(score) or (self.best is not None and score <= self.best):
            return False
        state = {
            "model": model.state_dict(),
            "optimizer": opt.state_dict(),
            "scheduler": scheduler.state_dict(),
            "step": step,
            "score": score,
            "config": config if isinstance(config, dict) else dict(vars(config)),
        }
        tmp = self.path + ".tmp"
        torch.save(state, tmp)
        os.replace(tmp, self.path)
        self.best = score
        return True


def warmup_cosine(opt, warmup_steps, total_steps):
    def factor(k):
        if k < warmup_steps:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - warmup_steps) / (total_steps - warmup_steps)))

    return torch.optim.lr_scheduler.LambdaLR(opt, factor)


@torch.no_grad()
def measure_accuracy(model, loader, device):
    model.eval()
    accuracies = []
    for xb, yb in loader:
        xb, yb = xb.to(device), yb.to(device)
        predicted = model(xb).argmax(dim=-1)
        accuracies.append((predicted == yb).float().mean().item())
    model.train()
    return sum(accuracies) / len(accuracies)


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)
    device_type = torch.device(device).type
    scaler = torch.amp.GradScaler(device_type) if cfg.amp_dtype == "float16" else None

    def forward(xb, yb):
        if cfg.amp_dtype is None:
            return F.cross_entropy(model(xb), yb)
        with torch.autocast(device_type, dtype=getattr(torch, cfg.amp_dtype)):
            return F.cross_entropy(model(xb), yb)

    def update(loss):
        opt.zero_grad()
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
        else:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
        scheduler.step()

    best_accuracy = 0.0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            update(forward(xb.to(device), yb.to(device)))
        accuracy = measure_accuracy(model, val_loader, device)
        keeper.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=epoch + 1, config=cfg)
        best_accuracy = max(best_accuracy, accuracy)
    opt.zero_grad()
    model.train()
    return best_accuracy
