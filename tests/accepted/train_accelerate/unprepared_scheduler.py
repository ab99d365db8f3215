import copy
import math
import os

import torch
from accelerate import Accelerator


def factor(k, cfg):
    if k < cfg.warmup_steps:
        return (k + 1) / cfg.warmup_steps
    if k >= cfg.total_steps:
        return 0.0
    return 0.5 * (1 + math.cos(math.pi * (k - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps)))


def evaluate(accelerator, model, loader):
    model.eval()
    outcomes = []
    with torch.no_grad():
        for xb, yb in loader:
            outcomes.append(accelerator.gather_for_metrics(model(xb).argmax(dim=1) == yb))
    model.train()
    return torch.cat(outcomes).double().mean().item()


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path):
    torch.manual_seed(cfg.seed)
    accelerator = Accelerator()
    model = accelerator.prepare_model(model)
    train_loader, val_loader = accelerator.prepare_data_loader(train_loader), accelerator.prepare_data_loader(val_loader)
    plain = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = torch.optim.lr_scheduler.LambdaLR(plain, lambda k: factor(k, cfg))
    opt = accelerator.prepare_optimizer(plain)
    model.train()
    best = float("-inf")
    step = 0
    for _ in range(cfg.epochs):
        for xb, yb in train_loader:
            model.zero_grad()
            logits = model(xb)
            accelerator.backward(torch.nn.functional.cross_entropy(logits, yb))
            accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            step += 1
        score = evaluate(accelerator, model, val_loader)
        if score > best:
            best = score
            state = copy.deepcopy(accelerator.unwrap_model(model).state_dict())
            content = {"model": state, "optimizer": plain.state_dict(), "scheduler": scheduler.state_dict()}
            content.update({"step": step, "score": score, "config": cfg.to_dict()})
            torch.save(content, str(checkpoint_path) + ".tmp")
            os.replace(str(checkpoint_path) + ".tmp", str(checkpoint_path))
    accelerator.end_training()
    return best
