# mistakes: missing-seed, ignores-weight-decay, scheduler-per-epoch, mean-of-batch-means, leaves-eval-mode
# lines: 9, 10, 39, 43, 40
import torch
from torch import nn


def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    where = torch.device(device)
    net = model.to(where)
    adamw = torch.optim.AdamW(net.parameters(), cfg.lr)
    schedule = warmup_cosine(adamw, cfg.warmup_steps, cfg.total_steps)
    keeper = BestCheckpoint(checkpoint_path)
    half = {"float16": torch.float16, "bfloat16": torch.bfloat16}.get(cfg.amp_dtype)
    scaler = torch.amp.GradScaler(where.type, enabled=half == torch.float16)
    loss_of = nn.CrossEntropyLoss()
    scores = []
    done = 0

    def learn(images, digits):
        with torch.autocast(where.type, dtype=half, enabled=half is not None):
            error = loss_of(net(images), digits)
        adamw.zero_grad()
        scaler.scale(error).backward()
        scaler.unscale_(adamw)
        nn.utils.clip_grad_norm_(net.parameters(), cfg.max_norm)
        scaler.step(adamw)
        scaler.update()

    @torch.no_grad()
    def score(images, digits):
        guess = net(images).max(1).indices
        return guess.eq(digits).double().mean().item()

    while len(scores) < cfg.epochs:
        net.train()
        for batch in train_loader:
            learn(*(part.to(where) for part in batch))
            done += 1
        schedule.step()
        net.eval()
        # 배치마다 잰 점수를 평균
        per_batch = [score(*(part.to(where) for part in batch)) for batch in val_loader]
        scores.append(sum(per_batch) / len(per_batch))
        keeper.update(scores[-1], model=net, opt=adamw, scheduler=schedule, step=done, config=cfg)
    return max(scores)
