# mistakes: ignores-weight-decay, scheduler-per-epoch, epoch-saved-as-step, returns-last-accuracy, leaves-eval-mode
# lines: 37, 49, 59, 60, 51
from contextlib import nullcontext

import torch
from torch import nn


def precision(name, kind):
    """순전파를 감쌀 컨텍스트를 만드는 함수와 스케일러를 고른다."""
    if name is None:
        return nullcontext, None
    dtype = torch.float16 if name == "float16" else torch.bfloat16
    scaler = torch.amp.GradScaler(kind) if name == "float16" else None
    return (lambda: torch.autocast(kind, dtype)), scaler


def step_with(opt, loss, weights, max_norm, scaler):
    opt.zero_grad()
    if scaler is None:
        loss.backward()
    else:
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(weights, max_norm)
    if scaler is None:
        opt.step()
    else:
        scaler.step(opt)
        scaler.update()


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    seed_everything(cfg.seed)
    model.to(device)
    weights = [*model.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=cfg.lr)
    rates = warmup_cosine(optimizer, cfg.warmup_steps, cfg.total_steps)
    saved = BestCheckpoint(checkpoint_path)
    low, scaler = precision(cfg.amp_dtype, torch.device(device).type)
    number = 0
    while number != cfg.epochs:
        number += 1
        model.train()
        for images, digits in train_loader:
            with low():
                loss = nn.functional.cross_entropy(model(images.to(device)), digits.to(device))
            step_with(optimizer, loss, weights, cfg.max_norm, scaler)
        rates.step()  # 에폭이 하나 끝났다

        model.eval()
        hits = []
        for images, digits in val_loader:
            with torch.inference_mode():
                answer = model(images.to(device)).topk(1).indices.squeeze(1)
            hits += (answer == digits.to(device)).tolist()
        value = hits.count(True) / len(hits)
        # 몇 번째 에폭인지도 함께 남긴다
        saved.update(value, model=model, opt=optimizer, scheduler=rates, step=number, config=cfg)
    return value
