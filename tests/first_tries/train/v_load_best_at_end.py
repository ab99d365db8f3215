# mistakes: counts-total-steps, leaves-eval-mode, restores-best-weights
# lines: 14, 20, 50
# hidden:
import torch
from torch.nn import functional as F


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    device = torch.device(device)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    num_training_steps = cfg.epochs * len(train_loader)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, num_training_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    use_amp = cfg.amp_dtype is not None
    amp_dtype = getattr(torch, cfg.amp_dtype) if use_amp else None
    scaler = torch.amp.GradScaler(device.type, enabled=cfg.amp_dtype == "float16")

    model.train()
    global_step, best = 0, None
    for _ in range(cfg.epochs):
        for batch in train_loader:
            inputs, labels = [t.to(device) for t in batch]
            opt.zero_grad()
            with torch.autocast(device.type, dtype=amp_dtype, enabled=use_amp):
                loss = F.cross_entropy(model(inputs), labels)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            scheduler.step()
            global_step += 1

        model.eval()
        hits, n = 0, 0
        with torch.no_grad():
            for inputs, labels in val_loader:
                out = model(inputs.to(device))
                hits += int((out.argmax(dim=-1) == labels.to(device)).sum())
                n += len(labels)
        acc = hits / n
        checkpoint.update(acc, model=model, opt=opt, scheduler=scheduler, step=global_step, config=cfg)
        if best is None or acc > best:
            best = acc

    # 가장 좋았던 모델을 불러온다
    saved = torch.load(checkpoint_path, map_location=device, weights_only=True)
    model.load_state_dict(saved["model"])
    model.train()
    return best
