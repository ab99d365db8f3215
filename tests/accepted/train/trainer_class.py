import math
import os

import numpy as np
import random
import torch


class Trainer:
    def __init__(self, model, cfg, device):
        self.model, self.cfg, self.device = model, cfg, device
        self.opt = torch.optim.AdamW([{"params": model.parameters()}], lr=cfg.lr, weight_decay=cfg.weight_decay)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, self.scale)
        self.dtype = None if cfg.amp_dtype is None else getattr(torch, cfg.amp_dtype)
        self.scaler = torch.amp.GradScaler(torch.device(device).type, enabled=self.dtype == torch.float16)
        self.loss = torch.nn.CrossEntropyLoss(reduction="sum")
        self.steps = 0

    def scale(self, k):
        w, t = self.cfg.warmup_steps, self.cfg.total_steps
        return (k + 1) / w if k < w else 0.5 * (1 + math.cos(math.pi * min(1, (k - w) / max(1, t - w))))

    def fit_epoch(self, loader):
        self.model.train()
        for batch in loader:
            x, y = (t.to(self.device) for t in batch)
            for p in self.model.parameters():
                p.grad = None
            with torch.autocast(torch.device(self.device).type, self.dtype, enabled=self.dtype is not None):
                loss = self.loss(self.model(x), y) / len(x)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.opt)
            grads = [p.grad for p in self.model.parameters() if p.grad is not None]
            norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
            if norm > self.cfg.max_norm:
                torch._foreach_mul_(grads, self.cfg.max_norm / norm.item())
            self.scaler.step(self.opt)
            self.scaler.update()
            self.sched.step()
            self.steps += 1

    @torch.no_grad()
    def score(self, loader):
        self.model.eval()
        ok = [self.model(x.to(self.device)).argmax(1).cpu() == y for x, y in loader]
        self.model.train()
        return torch.cat(ok).double().mean().item()

    def save(self, path, score):
        content = {"model": self.model.state_dict(), "optimizer": self.opt.state_dict()}
        content |= {"scheduler": self.sched.state_dict(), "step": self.steps, "score": score}
        torch.save(content | {"config": self.cfg.to_dict()}, str(path) + "~")
        os.replace(str(path) + "~", path)


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    for seed in (torch.manual_seed, np.random.seed, random.seed):
        seed(cfg.seed)
    model.to(device)
    trainer = Trainer(model, cfg, device)
    best = float("-inf")
    for epoch in range(cfg.epochs):
        trainer.fit_epoch(train_loader)
        score = trainer.score(val_loader)
        if score > best:
            best = score
            trainer.save(checkpoint_path, score)
    return best
