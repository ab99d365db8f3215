# mistakes: missing-zero-grad, scheduler-before-step
# lines: 28, 30
# hidden:
import math

import torch
from accelerate import Accelerator
from torch import nn


def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    seed_everything(cfg.seed)
    names = {"bfloat16": "bf16", "float16": "fp16"}
    acc = Accelerator(mixed_precision=names.get(cfg.amp_dtype, "no"))
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, sched, train_loader, val_loader = acc.prepare(model, opt, sched, train_loader, val_loader)
    inner = acc.unwrap_model(model, keep_fp32_wrapper=False)
    saver = BestCheckpoint(checkpoint_path)

    best, n_updates = -math.inf, 0
    for _ in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            with acc.autocast():
                loss = loss_fn(model(xb), yb)
            acc.backward(loss)
            acc.clip_grad_norm_(model.parameters(), cfg.max_norm)
            sched.step()
            opt.step()
            n_updates += 1

        model.eval()
        ok, n = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                p, t = acc.gather_for_metrics((inner(xb).argmax(dim=1), yb))
                ok += (p == t).sum().item()
                n += len(t)
        score = ok / n
        saver.update(score, model=inner, opt=opt, scheduler=sched, step=n_updates, config=cfg)
        best = max(best, score)
    model.train()
    return best
