# mistakes: missing-unscale, epoch-saved-as-step, validates-under-autocast, returns-last-accuracy
# lines: 37, 63, 44, 67
# hidden:
import contextlib

import torch
from torch import nn

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    kind = torch.device(device).type
    model = model.to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = warmup_cosine(optimizer, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)
    scaler = torch.amp.GradScaler(kind) if cfg.amp_dtype == "float16" else None

    def amp():
        if cfg.amp_dtype is None:
            return contextlib.nullcontext()
        return torch.autocast(kind, dtype=DTYPES[cfg.amp_dtype])

    def training_step(x, y):
        optimizer.zero_grad()
        with amp():
            loss = criterion(model(x), y)
        if scaler is None:
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(optimizer)
            scaler.update()
        sched.step()

    def validation_epoch():
        right = seen = 0
        with torch.no_grad(), amp():
            for x, y in val_loader:
                x, y = x.to(device), y.to(device)
                right += (model(x).argmax(1) == y).sum().item()
                seen += y.shape[0]
        return right / seen

    score = 0.0
    for epoch in range(cfg.epochs):
        model.train()
        for x, y in train_loader:
            training_step(x.to(device), y.to(device))
        model.eval()
        score = validation_epoch()
        keeper.update(
            score,
            model=model,
            opt=optimizer,
            scheduler=sched,
            step=epoch + 1,
            config=cfg,
        )
    model.train()
    return score
