# 남궁민 20263210
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
    if max_norm is not None
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()

def evaluate(model, loss_fn, loader):
    was = [m.training for m in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            s, c, n = 0.0, 0, 0
            for xb, yb in loader:
                out = model(xb)
                s += loss_fn(out, yb).item() * len(xb)
                c += (out.argmax(1) == yb).sum().item()
                n += len(xb)
    finally:
        for m, t in zip(model.modules(), was):
            m.training = t
    return s / n, c / n
