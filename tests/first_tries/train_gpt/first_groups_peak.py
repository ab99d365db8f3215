# mistakes: leaves-eval-mode, one-lr-for-all-groups, clip-after-warmup-late, ends-in-callback-mode
# lines: 56, 13, 48, 63
import math

import torch
from torch.nn.functional import cross_entropy


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False,
              on_epoch_end=None):
    last = n_epochs * len(train_loader) - 1
    top = optimizer.param_groups[0]["lr"]
    record = {name: [] for name in ("train_losses", "val_losses", "tokens_seen", "lrs")}

    def rate(k):
        if k < warmup_steps:
            share = k / warmup_steps
            return (1 - share) * initial_lr + share * top
        if k >= last:
            return min_lr
        angle = math.pi * (k - warmup_steps) / (last - warmup_steps)
        return min_lr + (top - min_lr) * (1 + math.cos(angle)) / 2

    def surprise(words, following):
        scores = model(words.to(device))
        return cross_entropy(scores.transpose(1, 2), following.to(device))

    def look(loader):
        seen = []
        for words, following in loader:
            seen.append(surprise(words, following).item())
            if len(seen) == eval_iter:
                break
        return sum(seen) / len(seen)

    k = tokens = 0
    for _ in range(n_epochs):
        model.train()
        for words, following in train_loader:
            # 학습률
            now = rate(k)
            record["lrs"].append(now)
            for group in optimizer.param_groups:
                group["lr"] = now
            # 업데이트
            surprise(words, following).backward()
            skip = clip_after_warmup and k <= warmup_steps
            if not skip:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            optimizer.zero_grad()
            tokens += words.shape[0] * words.shape[1]
            # 평가
            if k % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    record["train_losses"].append(look(train_loader))
                    record["val_losses"].append(look(val_loader))
                record["tokens_seen"].append(tokens)
            k += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    return record
