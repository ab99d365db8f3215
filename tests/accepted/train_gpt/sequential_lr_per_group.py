import warnings

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


def schedule(peak, W, T, lo, end):
    """그룹 하나의 학습률을 PyTorch 스케줄러로 미리 뽑아 둡니다."""
    dummy = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    up = LinearLR(dummy, start_factor=lo / peak, total_iters=W)
    down = CosineAnnealingLR(dummy, T_max=T - 1 - W, eta_min=end)
    both = SequentialLR(dummy, [up, down], milestones=[W])
    rates = []
    for _ in range(T):
        rates.append(dummy.param_groups[0]["lr"])
        dummy.step()
        both.step()
    return rates


def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter,
              warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    steps = n_epochs * len(train_loader)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plans = [schedule(g["lr"], warmup_steps, steps, initial_lr, min_lr) for g in optimizer.param_groups]

    def nll(x, y):
        log_probs = model(x.to(device)).log_softmax(-1)
        return -log_probs.gather(-1, y.to(device).unsqueeze(-1)).sum() / y.numel()

    def average(loader):
        total, count = 0.0, 0
        for x, y in loader:
            if count == eval_iter:
                break
            total += nll(x, y).item()
            count += 1
        return total / count

    history = {k: [] for k in ("train_losses", "val_losses", "tokens_seen")}
    tokens = 0
    params = [p for g in optimizer.param_groups for p in g["params"]]
    batches = ((e, i, b) for e in range(n_epochs) for i, b in enumerate(train_loader))
    model.train(True)
    for s, (epoch, i, (x, y)) in enumerate(batches):
        for g, plan in zip(optimizer.param_groups, plans):
            g["lr"] = plan[s]
        grads = torch.autograd.grad(nll(x, y), params)
        for p, grad in zip(params, grads):
            p.grad = grad
        if not (clip_after_warmup and s < warmup_steps):
            torch.nn.utils.clip_grad_norm_(params, max_norm, foreach=True)
        optimizer.step()
        tokens += torch.numel(x)
        if s % eval_freq == 0:
            model.train(False)
            with torch.set_grad_enabled(False):
                history["train_losses"] += [average(train_loader)]
                history["val_losses"] += [average(val_loader)]
            model.train(True)
            history["tokens_seen"] += [tokens]
        if i + 1 == len(train_loader) and on_epoch_end is not None:
            on_epoch_end(model)
            model.train()
    return {**history, "lrs": plans[0]}
