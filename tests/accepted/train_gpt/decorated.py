# The function is decorated by `torch.enable_grad()`.
import torch
from torch import nn
from itertools import islice
from types import MappingProxyType
@torch.enable_grad()
def train_gpt(model, train_loader, val_loader, optimizer, *, device="cpu", n_epochs, eval_freq, eval_iter, warmup_steps, initial_lr=3e-5, min_lr=1e-6, max_norm=1.0, clip_after_warmup=False, on_epoch_end=None):
    to = lambda loader: [tuple(t.to(device, non_blocking=True) for t in b) for b in loader]
    train, val = to(train_loader), to(val_loader)
    criterion = nn.CrossEntropyLoss()
    params = [p for p in model.parameters() if p.requires_grad]
    peaks = [g["lr"] for g in optimizer.param_groups]
    hist = dict(train_losses=[], val_losses=[], tokens_seen=[], lrs=[])
    model.train()
    def measure(batches):
        batches = batches[:eval_iter]
        logits = model(torch.cat([x for x, _ in batches])).split([len(x) for x, _ in batches])
        return sum(criterion(l.flatten(0, 1), y.flatten()) for l, (_, y) in zip(logits, batches)).item() / len(batches)
    s = seen = 0
    for epoch in range(n_epochs):
        for x, y in train:
            for g, peak in zip(optimizer.param_groups, peaks):
                g["lr"] = lr_at(s, warmup_steps=warmup_steps, total_steps=n_epochs * len(train), initial_lr=initial_lr, peak_lr=peak, min_lr=min_lr)
            hist["lrs"] += [optimizer.param_groups[0]["lr"]]
            grads = torch.autograd.grad(criterion(model(x).flatten(0, 1), y.reshape(-1)), params)
            for p, g in zip(params, grads): p.grad = g
            if s >= warmup_steps or not clip_after_warmup:
                nn.utils.clip_grads_with_norm_(params, max_norm, nn.utils.get_total_norm(grads))
            optimizer.step()
            seen += x.size(0) * x.size(1)
            if not s % eval_freq:
                model.eval()
                with torch.no_grad():
                    hist["train_losses"] += [measure(train)]
                    hist["val_losses"] += [measure(val)]
                hist["tokens_seen"] += [seen]
                model.train()
            s += 1
        if on_epoch_end: on_epoch_end(model)
        model.train()
    optimizer.zero_grad()
    return hist
