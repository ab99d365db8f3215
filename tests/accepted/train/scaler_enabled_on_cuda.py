"""float16 with a scaler that is switched on only where there is CUDA, as many programs write it."""

import math

import torch
import torch.nn.functional as F


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    device_type = torch.device(device).type
    use_amp = cfg.amp_dtype is not None
    dtype = getattr(torch, cfg.amp_dtype) if use_amp else torch.float32
    scaler = torch.amp.GradScaler(device_type, enabled=cfg.amp_dtype == "float16" and device_type == "cuda")
    best, step = -math.inf, 0
    for _ in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad(set_to_none=True)
            with torch.autocast(device_type, dtype=dtype, enabled=use_amp):
                loss = F.cross_entropy(model(xb), yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            scheduler.step()
            step += 1
        model.eval()
        correct = total = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                correct += (model(xb.to(device)).argmax(1) == yb.to(device)).sum().item()
                total += len(yb)
        model.train()
        accuracy = correct / total
        best = max(best, accuracy)
        checkpoint.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
    return best
