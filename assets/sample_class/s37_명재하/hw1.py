# 명재하 / 2분반
import torch
import torch.nn as nn


def train_step(model, opt, loss_fn, xb, yb):
    batch_size = xb.size(0)
    opt.zero_grad()
    loss = loss_fn(model(xb), yb) / batch_size   # 배치 평균
    loss.backward()
    opt.step()
    return loss.item()


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.zero_grad()
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps >= 1")
    n = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0 or (i + 1) == len(micro_batches):
            if max_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            n += 1
    return n


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    train_loss = []
    for epoch in range(epochs):
        model.train()
        total = 0
        for xb, yb in loader:
            if not zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(xb)
        train_loss.append(total / sum(len(xb) for xb, _ in loader))
    return train_loss


def evaluate(model, loss_fn, loader):
    was = {m: m.training for m in model.modules()}
    model.eval()
    total, correct, n = 0.0, 0, 0
    try:
        with torch.no_grad():
            for xb, yb in loader:
                out = model(xb)
                total += loss_fn(out, yb).item() * len(xb)
                correct += (out.argmax(dim=1) == yb).sum().item()
                n += len(xb)
    finally:
        for m, t in was.items():
            m.training = t
        return total / n, correct / n


def zero_gradients(params):
    torch.optim.SGD(params, lr=0.1).zero_grad()


def sgd_update(params, lr):
    torch.optim.SGD(params, lr=lr).step()


def autograd_nodes(loss):
    names = set()

    def visit(node):
        names.add(type(node).__name__)
        for child, _ in node.next_functions:
            if child:
                visit(child)

    visit(loss.grad_fn)
    return sorted(names)
