# 손다인
# 친구랑 같이 공부했지만 코드는 각자 짰습니다
import torch
from torch import nn


def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    probs = torch.softmax(model(xb), dim=-1)
    loss = loss_fn(probs, yb)
    loss.backward()
    opt.step()
    opt.step()
    return loss.item()


def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    if scheduler is not None:
        scheduler.step()
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return loss.item()


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("잘못된 accum_steps")
    opt.zero_grad()
    group = []
    count = 0
    for mb in micro_batches:
        group.append(mb)
        if len(group) == accum_steps:
            count += run_group(model, opt, loss_fn, group, max_norm)
            group = []
    if group:
        count += run_group(model, opt, loss_fn, group, max_norm)
    return count


def run_group(model, opt, loss_fn, group, max_norm):
    """한 구간. 스텝을 밟고 그 안의 개수를 돌려줌"""
    for x, y in group:
        loss_fn(model(x), y).backward()
    if max_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    opt.zero_grad()
    return len(group)


def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    history = []
    model.train()
    for _ in range(epochs):
        if zero_grad:
            opt.zero_grad()
        s, n = 0.0, 0
        for x, y in loader:
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
            s += loss.item() * len(x)
            n += len(x)
        history.append(s / n)
    return history


def evaluate(model, loss_fn, loader):
    model.eval()
    s, c, n = 0.0, 0, 0
    for x, y in loader:
        out = model(x)
        s += loss_fn(out, y).item() * len(x)
        c += (out.argmax(1) == y).sum().item()
        n += len(x)
    return s / n, c / n


def zero_gradients(params):
    for p in params:
        p.grad = None


def sgd_update(params, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p.sub_(p.grad * lr)


def autograd_nodes(loss):
    result = []
    todo = [loss.grad_fn]
    while todo:
        f = todo.pop()
        if f is None:
            continue
        result.append(f.name())
        todo.extend(g for g, _ in f.next_functions)
    return sorted(result)
