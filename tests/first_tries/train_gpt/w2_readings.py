# mistakes: one-lr-for-all-groups, leaves-callback-mode, clip-after-warmup-late, tokens-count-samples, divides-by-eval-iter
# lines: 21, 42, 53, 56, 38
import math

import torch
from torch import nn


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu",
              n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6,
              max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    model.to(device)
    criterion = nn.CrossEntropyLoss()
    curve_a = []   # 학습 손실
    curve_b = []   # 검증 손실
    reads = []
    lr_list = []

    n = len(train_loader) * n_epochs
    base = optimizer.param_groups[0]["lr"]   # 최고 학습률
    for t in range(n):
        if t < warmup_steps:
            lr_list.append(initial_lr + (base - initial_lr) * (t / warmup_steps))
        elif t == n - 1:
            lr_list.append(min_lr)
        else:
            ratio = (t - warmup_steps) / (n - warmup_steps - 1)
            lr_list.append(min_lr + (base - min_lr) * math.cos(ratio * math.pi / 2) ** 2)

    def measure(loader):
        acc = 0
        for b, (inp, out) in enumerate(loader, 1):
            pred = model(inp.to(device))
            acc += criterion(pred.view(-1, pred.shape[-1]), out.to(device).view(-1)).item()
            if b == eval_iter:
                break
        return acc / eval_iter

    t = 0
    total = 0
    model.train()
    for ep in range(n_epochs):
        for inp, out in train_loader:
            for i in range(len(optimizer.param_groups)):
                optimizer.param_groups[i]["lr"] = lr_list[t]

            pred = model(inp.to(device))
            loss = criterion(pred.view(-1, pred.shape[-1]), out.to(device).view(-1))
            optimizer.zero_grad()
            loss.backward()
            # 워밍업 동안에는 클리핑을 쉴 수 있다
            if t > warmup_steps or clip_after_warmup is False:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            total = total + len(inp)   # 지금까지 읽은 양

            if t % eval_freq == 0:
                with torch.inference_mode():
                    model.eval()
                    curve_a.append(measure(train_loader))
                    curve_b.append(measure(val_loader))
                    model.train()
                reads.append(total)
            t += 1
        if on_epoch_end is not None:
            on_epoch_end(model)

    return {"train_losses": curve_a, "val_losses": curve_b, "tokens_seen": reads, "lrs": lr_list}
