import math
import os
import torch


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    torch.manual_seed(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), weight_decay=cfg.weight_decay)
    w, total = cfg.warmup_steps, cfg.total_steps
    half = cfg.amp_dtype == "float16"
    loss_scale, good = 2.0**12, 0  # a scaler by hand
    scores = [-1.0]
    step = 0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            if step < w:
                scale = (step + 1) / w
            elif step < total:
                scale = 0.5 * (1 + math.cos(math.pi * (step - w) / (total - w)))
            else:
                scale = 0.0
            for group in opt.param_groups:
                group["lr"] = cfg.lr * scale
            dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else torch.float32
            with torch.autocast(torch.device(device).type, dtype=dtype, enabled=cfg.amp_dtype is not None):
                loss = torch.nn.functional.cross_entropy(model(xb.to(device)), yb.to(device))
            opt.zero_grad()
            (loss * loss_scale if half else loss).backward()
            if half:
                for p in model.parameters():
                    p.grad /= loss_scale
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            if not half or norm.isfinite():
                opt.step()
                good += 1
            else:
                loss_scale, good = loss_scale / 2, 0
            if good == 2000:
                loss_scale, good = loss_scale * 2, 0
            step += 1
        model.eval()
        n = sum(len(y) for _, y in val_loader)
        with torch.no_grad():
            acc = sum((model(x.to(device)).argmax(1) == y.to(device)).sum().item() for x, y in val_loader) / n
        model.train()
        if acc > max(scores):
            keep = dict(model=model.state_dict(), optimizer=opt.state_dict(), scheduler={"step": step})
            torch.save(dict(keep, step=step, score=acc, config=cfg.to_dict()), str(checkpoint_path) + ".tmp")
            os.replace(str(checkpoint_path) + ".tmp", checkpoint_path)
        scores.append(acc)
    return max(scores)
