import math
import os
import time

import torch
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    torch.manual_seed(cfg.seed)
    model.to(device)
    model.train(True)
    kind = str(device).split(":")[0]
    use_amp = cfg.amp_dtype not in (None, "")
    scaler = torch.amp.GradScaler(kind, enabled=cfg.amp_dtype == "float16" and kind == "cuda")
    opt = torch.optim.AdamW(model.parameters(), cfg.lr, weight_decay=cfg.weight_decay)

    def f(k):
        if k < cfg.warmup_steps:
            return (k + 1) / cfg.warmup_steps
        if k >= cfg.total_steps:
            return 0.0
        return 0.5 * (1 + math.cos(math.pi * (k - cfg.warmup_steps) / (cfg.total_steps - cfg.warmup_steps)))

    scheduler = LambdaLR(opt, f)
    started = time.perf_counter()
    best, losses = 0.0, []
    saved = False
    step = 0
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            with torch.autocast(kind, dtype=getattr(torch, cfg.amp_dtype or "bfloat16"), enabled=use_amp):
                loss = F.nll_loss(F.log_softmax(model(xb.to(device)), dim=-1), yb.to(device))
            opt.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            scheduler.step()
            losses.append(loss.item())
            step += 1
        model.eval()
        correct = total = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                pred = model(xb.to(device)).float().softmax(-1).argmax(-1)
                correct += pred.eq(yb.to(device)).sum().item()
                total += yb.numel()
        model.train()
        acc = correct / total
        if acc > best or not saved:
            best, saved = acc, True
            state = {"model": {k: v.clone() for k, v in model.state_dict().items()}, "optimizer": opt.state_dict()}
            state.update(scheduler=scheduler.state_dict(), step=step, score=acc, config=dict(cfg.to_dict()))
            state["seconds"] = time.perf_counter() - started
            torch.save(state, os.fspath(checkpoint_path) + ".tmp")
            os.replace(os.fspath(checkpoint_path) + ".tmp", checkpoint_path)
    return best
