# 오시우 1주차
import torch
import torch.nn as nn


def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        # 각 값을 max_norm 이하로
        nn.utils.clip_grad_value_(model.parameters(), max_norm)
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    updates = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        if i % accum_steps == 0:
            if max_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            updates += 1
    opt.zero_grad()  # 남은 건 버린다
    return updates


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    for _ in range(epochs):
        model.train()
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
        history.append(loss.item())
    return history


def evaluate(model, loss_fn, loader):
    flags = {m: m.training for m in model.modules()}
    model.eval()
    try:
        total, correct, n = 0.0, 0, 0
        for xb, yb in loader:
            out = model(xb)
            total += loss_fn(out, yb).item() * len(xb)
            correct += (out.argmax(dim=1) == yb).sum().item()
            n += len(xb)
    finally:
        for m, f in flags.items():
            m.training = f
    return total / n, correct / n


def zero_gradients(params):
    for p in params:
        p.grad = None


def sgd_update(params, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is None:
                continue
            p += lr * p.grad


def autograd_nodes(loss):
    names = set()
    node = loss.grad_fn
    while node is not None:
        names.add(type(node).__name__)
        if len(node.next_functions) == 0:
            break
        node = node.next_functions[0][0]
    return sorted(names)
