# mistakes: ignores-dtype, missing-train-mode, zero-grad-once, restores-best-weights, leaves-eval-mode
# lines: 22, 28, 27, 52, 40
import contextlib

import torch
import torch.nn.functional as F


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model.to(device)
    device_type = torch.device(device).type

    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    scaler = torch.amp.GradScaler(device_type, enabled=cfg.amp_dtype == "float16")
    ckpt = BestCheckpoint(checkpoint_path)

    def maybe_autocast():
        if cfg.amp_dtype is None:
            return contextlib.nullcontext()
        return torch.autocast(device_type, dtype=torch.bfloat16)

    best_acc = 0.0
    global_step = 0
    for epoch in range(cfg.epochs):
        opt.zero_grad()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            with maybe_autocast():
                loss = F.cross_entropy(model(xb), yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            scheduler.step()
            global_step += 1

        model.eval()
        hits, count = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                hits += (model(xb).argmax(dim=1) == yb).sum().item()
                count += len(yb)
        acc = hits / count
        ckpt.update(acc, model=model, opt=opt, scheduler=scheduler, step=global_step, config=cfg)
        best_acc = max(best_acc, acc)

    # 가장 좋았던 모델을 돌려놓는다
    model.load_state_dict(torch.load(checkpoint_path, weights_only=True)["model"])
    return best_acc
