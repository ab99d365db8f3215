# mistakes: counts-total-steps, scheduler-before-step, validates-under-autocast
# lines: 12, 33, 45
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model = model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    total_steps = cfg.epochs * len(train_loader)
    lr_scheduler = warmup_cosine(optimizer, cfg.warmup_steps, total_steps)
    ckpt = BestCheckpoint(checkpoint_path)
    dev = torch.device(device).type
    dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else torch.float32
    enabled = cfg.amp_dtype is not None
    scaler = torch.amp.GradScaler(dev, enabled=dtype == torch.float16)

    step = 0
    accuracies = []
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb = xb.to(device)
            yb = yb.to(device)
            optimizer.zero_grad()
            with torch.autocast(dev, dtype=dtype, enabled=enabled):
                loss = F.cross_entropy(model(xb), yb)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), cfg.max_norm)
            lr_scheduler.step()
            scaler.step(optimizer)
            scaler.update()
            step += 1

        # 검증
        model.eval()
        right, n = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb = xb.to(device)
                yb = yb.to(device)
                with torch.autocast(dev, dtype=dtype, enabled=enabled):
                    logits = model(xb)
                right += (logits.argmax(dim=1) == yb).sum().item()
                n += len(yb)
        model.train()
        accuracies.append(right / n)
        ckpt.update(accuracies[-1], model=model, opt=optimizer, scheduler=lr_scheduler, step=step, config=cfg)
    return max(accuracies)
