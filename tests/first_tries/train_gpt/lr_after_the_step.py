# mistakes: lr-after-step, clip-before-backward, records-step-loss, returns-tensors
# lines: 45, 39, 58, 59
import math

import torch
import torch.nn.functional as F


def train_gpt(
    model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps,
    initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None,
) -> dict:
    history = dict(train_losses=[], val_losses=[], tokens_seen=[], lrs=[])
    total_steps = len(train_loader) * n_epochs
    for group in optimizer.param_groups:
        group["peak"] = group["lr"]

    def lr_for(step, peak):
        if step < warmup_steps:
            return initial_lr + (peak - initial_lr) * step / warmup_steps
        if step >= total_steps - 1:
            return min_lr
        ratio = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
        return min_lr + (peak - min_lr) * (1 + math.cos(math.pi * ratio)) / 2

    def compute(batch):
        inputs, targets = (t.to(device) for t in batch)
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    step = 0
    tokens = 0
    for epoch in range(n_epochs):
        model.train()
        for batch in train_loader:
            optimizer.zero_grad()
            loss = compute(batch)
            # 그레이디언트가 커지기 전에 자른다
            if not clip_after_warmup or step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            loss.backward()
            optimizer.step()

            # 학습률 업데이트
            for group in optimizer.param_groups:
                group["lr"] = lr_for(step, group["peak"])
            history["lrs"].append(optimizer.param_groups[0]["lr"])
            tokens += batch[0].numel()

            if step % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    val = []
                    for i, val_batch in enumerate(val_loader):
                        if i == eval_iter:
                            break
                        val.append(compute(val_batch))
                model.train()
                history["train_losses"].append(loss.item())
                history["val_losses"].append(torch.stack(val).mean())
                history["tokens_seen"].append(tokens)
            step += 1
        if on_epoch_end is not None:
            on_epoch_end(model)
    model.train()
    return history
