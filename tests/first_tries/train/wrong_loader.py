# mistakes: missing-eval-mode, validates-on-train
# lines: 38, 39
import torch
from torch import nn


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model.to(device)
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    best_ckpt = BestCheckpoint(checkpoint_path)
    kind = torch.device(device).type
    use_amp = cfg.amp_dtype is not None
    amp_dtype = getattr(torch, cfg.amp_dtype) if use_amp else None
    scaler = torch.amp.GradScaler(kind, enabled=cfg.amp_dtype == "float16")

    best, steps = 0.0, 0
    for epoch in range(cfg.epochs):
        model.train()
        for inputs, targets in train_loader:
            inputs = inputs.to(device)
            targets = targets.to(device)
            opt.zero_grad()
            with torch.autocast(kind, dtype=amp_dtype, enabled=use_amp):
                outputs = model(inputs)
                loss = loss_fn(outputs, targets)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            scheduler.step()
            steps += 1

        correct = total = 0
        with torch.no_grad():
            for inputs, targets in train_loader:
                inputs = inputs.to(device)
                targets = targets.to(device)
                pred = model(inputs).argmax(dim=1)
                correct += (pred == targets).sum().item()
                total += targets.size(0)
        acc = correct / total
        best_ckpt.update(acc, model=model, opt=opt, scheduler=scheduler, step=steps, config=cfg)
        best = max(best, acc)
    return best
