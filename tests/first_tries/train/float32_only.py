# mistakes: adam-not-adamw, saves-last, missing-zero-grad, missing-autocast, missing-scaler, clip-after-step
# lines: 10, 35, 19, 20, 22, 23
import torch
import torch.nn.functional as F


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model = model.to(device)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    best = 0.0
    step = 0
    for epoch in range(cfg.epochs):
        model.train()
        checkpoint = BestCheckpoint(checkpoint_path)
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            logits = model(xb)
            loss = F.cross_entropy(logits, yb)
            loss.backward()
            opt.step()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scheduler.step()
            step += 1

        model.eval()
        n_correct, n_total = 0, 0
        with torch.no_grad():
            for xb, yb in val_loader:
                xb, yb = xb.to(device), yb.to(device)
                n_correct += (model(xb).argmax(dim=1) == yb).sum().item()
                n_total += len(yb)
        acc = n_correct / n_total
        checkpoint.update(acc, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
        if acc > best:
            best = acc
    model.train()
    return best
