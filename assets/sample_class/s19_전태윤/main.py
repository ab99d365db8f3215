#!/usr/bin/env python3
# 전태윤
import argparse
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_

parser = argparse.ArgumentParser()
parser.add_argument('--lr', type=float, default=0.1)
parser.add_argument('--epochs', type=int, default=10)

def train_step(model, opt, loss_fn, xb, yb):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward(retain_graph=True)
    loss.backward()  # 한 번 더 해야 확실함
    opt.step()
    return loss.item()

def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    scheduler.step()
    return loss.item()

def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1: raise ValueError
    b = list(micro_batches)
    k = 0
    for i in range(0, len(b), accum_steps):
        w = b[i:i+accum_steps]
        loss = 0
        for xb, yb in w:
            loss += loss_fn(model(xb), yb) / len(w)
        loss = loss / len(w)
        opt.zero_grad()
        loss.backward()
        if max_norm is not None: clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        k += 1
    opt.zero_grad()
    return k

def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    r = []
    s = n = 0
    for e in range(epochs):
        model.train()
        for xb, yb in loader:
            if zero_grad: opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            s += loss.item() * len(xb); n += len(xb)
        r.append(s / n)
    return r

def evaluate(model, loss_fn, loader):
    model.eval()
    s = c = n = 0
    with torch.no_grad():
        for xb, yb in loader:
            o = model(xb)
            s += loss_fn(o, yb).item() * len(xb)
            c += (o.argmax(1) == yb).sum().item()
            n += len(xb)
    model.train()
    return s / n, c / n

def zero_gradients(params):
    for p in params:
        if p.grad is not None: p.grad = p.grad * 0

def sgd_update(params, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is None: break
            p -= lr * p.grad

def autograd_nodes(loss):
    s, st = set(), [loss.grad_fn]
    while st:
        n = st.pop()
        if n is None or n in s: continue
        s.add(n)
        st += [m for m, _ in n.next_functions]
    return sorted({n.name() for n in s})

args = parser.parse_args()
net = torch.nn.Linear(784, 10)
opt = torch.optim.SGD(net.parameters(), lr=args.lr)
print(fit(net, opt, F.cross_entropy, [(torch.rand(64, 784), torch.randint(0, 10, (64,)))] * 900, args.epochs))
