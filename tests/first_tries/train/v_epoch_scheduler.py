# mistakes: missing-seed, ignores-weight-decay, scheduler-per-epoch, mean-of-batch-means, leaves-eval-mode
# lines: 11, 12, 34, 43, 46
# hidden:
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    device = torch.device(device)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    ckpt = BestCheckpoint(checkpoint_path)

    amp = {None: None, "bfloat16": torch.bfloat16, "float16": torch.float16}[cfg.amp_dtype]
    scaler = torch.amp.GradScaler(device.type, enabled=amp is torch.float16)

    step = 0
    best_acc = 0.0
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(device.type, dtype=amp, enabled=amp is not None):
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
        accs = []
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                accs.append((model(xb).argmax(dim=1) == yb).float().mean().item())
        acc = sum(accs) / len(accs)
        best_acc = max(best_acc, acc)
        ckpt.update(acc, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
    return best_acc
