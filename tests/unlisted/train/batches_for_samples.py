# mistakes: 검증한 샘플 수가 아니라 배치 수로 나눔
# lines: 39
import torch
import torch.nn.functional as F


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    seed_everything(cfg.seed)
    model = model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    ckpt = BestCheckpoint(checkpoint_path)
    amp = {None: None, "float16": torch.float16, "bfloat16": torch.bfloat16}[cfg.amp_dtype]
    dev = torch.device(device).type
    scaler = torch.amp.GradScaler(dev, enabled=amp == torch.float16)
    best_acc = 0.0
    n_updates = 0
    for epoch in range(cfg.epochs):
        model.train()
        hits, total = 0, 0
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(dev, dtype=amp, enabled=amp is not None):
                logits = model(xb)
                loss = F.cross_entropy(logits, yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            sched.step()
            n_updates += 1
        model.eval()
        with torch.no_grad():
            for xb, yb in val_loader:
                logits = model(xb.to(device))
                hits += (logits.argmax(dim=1) == yb.to(device)).sum().item()
                total += 1
        acc = hits / total
        ckpt.update(acc, model=model, opt=opt, scheduler=sched, step=n_updates, config=cfg)
        best_acc = max(best_acc, acc)
    model.train()
    return best_acc
