# mistakes: backward-under-autocast, mean-of-batch-means, accuracy-in-percent, returns-last-accuracy
# lines: 35, 25, 25, 51
import torch
import torch.nn.functional as F


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model = model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    saver = BestCheckpoint(checkpoint_path)
    device_type = torch.device(device).type
    dtype = None if cfg.amp_dtype is None else getattr(torch, cfg.amp_dtype)
    scaler = torch.amp.GradScaler(device_type) if cfg.amp_dtype == "float16" else None

    def validate():
        model.eval()
        accs = []
        with torch.no_grad():
            for x, y in val_loader:
                x, y = x.to(device), y.to(device)
                accs.append((model(x).argmax(dim=1) == y).float().mean().item())
        model.train()
        return 100 * sum(accs) / len(accs)

    step = 0
    for epoch in range(cfg.epochs):
        model.train()
        for x, y in train_loader:
            x, y = x.to(device), y.to(device)
            opt.zero_grad()
            with torch.autocast(device_type, dtype=dtype, enabled=dtype is not None):
                loss = F.cross_entropy(model(x), y)
                if scaler is not None:
                    scaler.scale(loss).backward()
                else:
                    loss.backward()
            if scaler is not None:
                scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            if scaler is not None:
                scaler.step(opt)
                scaler.update()
            else:
                opt.step()
            scheduler.step()
            step += 1
        acc = validate()
        saver.update(acc, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
    return acc
