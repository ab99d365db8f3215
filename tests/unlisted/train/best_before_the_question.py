# mistakes: best를 먼저 바꾸고 나서 물어서 한 번도 저장하지 않음
# lines: 39
import torch
import torch.nn.functional as F


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path):
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)
    kind = torch.device(device).type
    dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else None
    scaler = torch.amp.GradScaler(kind, enabled=dtype is torch.float16)
    best, step = 0.0, 0
    for _ in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            with torch.autocast(kind, dtype=dtype, enabled=dtype is not None):
                loss = F.cross_entropy(model(xb), yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            scheduler.step()
            step += 1
        model.eval()
        right = seen = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                right += (model(xb.to(device)).argmax(1) == yb.to(device)).sum().item()
                seen += len(yb)
        accuracy = right / seen
        best = max(best, accuracy)
        if accuracy > best:
            keeper.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
    model.train()
    return best
