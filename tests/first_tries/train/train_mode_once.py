# mistakes: missing-seed, leaves-eval-mode, scheduler-per-epoch, returns-last-accuracy
# lines: 9, 34, 31, 43
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    dev = torch.device(device).type
    amp = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else None
    scaler = torch.amp.GradScaler(dev, enabled=amp is torch.float16)
    step = 0

    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(dev, dtype=amp, enabled=amp is not None):
                loss = F.cross_entropy(model(xb), yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            step += 1
        scheduler.step()

        # 검증
        model.eval()
        correct, total = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                correct += (model(xb).argmax(dim=1) == yb).sum().item()
                total += len(yb)
        accuracy = correct / total
        checkpoint.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
    return accuracy
