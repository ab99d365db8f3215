import torch
from torch import nn
import torch.nn.utils as U
# 신유나 (20240777)


# 1
def train_step(model, opt, loss_fn, xb, yb):
    pred = model(xb)
    loss = loss_fn(pred, yb)
    loss.backward()
    opt.zero_grad()
    opt.step()
    return loss.item()


# 2
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    pred = model(xb)
    loss = loss_fn(pred, yb)
    if max_norm is not None:
        U.clip_grad_norm_(model.parameters(), max_norm)
    loss.backward()
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()


# 3
def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps < 1")
    buf = []
    total_updates = 0

    def update(window):
        opt.zero_grad()
        for xb, yb in window:
            (loss_fn(model(xb), yb) / len(window)).backward()
        if max_norm is not None:
            U.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()

    for mb in micro_batches:
        buf.append(mb)
        if len(buf) > accum_steps:
            update(buf)
            total_updates += 1
            buf = []
    if buf:
        update(buf)
        total_updates += 1
    return total_updates


# 4
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    losses = []
    for epoch in range(epochs):
        model.train()
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            epoch_loss = loss.item()
        losses.append(epoch_loss)
    return losses


# 5
def evaluate(model, loss_fn, loader):
    was = {k: m.training for k, m in model.named_modules()}
    model.eval()
    s, ok, n = 0.0, 0, 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                pred = model(xb)
                s += loss_fn(pred, yb).item() * len(xb)
                cls = pred.argmax(1)
                ok += (cls == yb).sum().item()
                n += len(xb)
    finally:
        for k, m in model.named_modules():
            m.training = was[k]
    return torch.tensor(s / n), torch.tensor(ok / n)


# 6
def zero_gradients(params):
    for p in params:
        g = p.grad
        if g is not None:
            g = torch.zeros_like(g)


# 7
def sgd_update(params, lr):
    for p in params:
        if p.grad is not None:
            p = p - lr * p.grad


# 8
def autograd_nodes(loss):
    seen = set()

    def visit(f):
        if f is None or f in seen:
            return
        seen.add(f)
        for g, _ in f.next_functions:
            visit(g)

    visit(loss.grad_fn)
    return sorted({type(f).__name__ for f in seen})


if __name__ == '__main__':
    m = nn.Linear(4, 2)
    o = torch.optim.Adam(m.parameters())
    while True:   # ctrl+c로 끄기
        print(train_step(m, o, nn.CrossEntropyLoss(), torch.randn(8, 4), torch.randint(0, 2, (8,))))
