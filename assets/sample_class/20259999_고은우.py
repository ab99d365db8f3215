# 고은우 20259999
import torch as t
class Trainer:
    # 클래스로 짜보려다가 포기
    def __init__(self, model, opt, loss_fn):
        self.model, self.opt, self.loss_fn = model, opt, loss_fn
    def step(self, xb, yb):
        self.opt.zero_grad()
        loss = self.loss_fn(self.model(xb), yb)
        loss.backward()
        self.opt.step()
        return loss.item()
def train_step(model, opt, loss_fn, xb, yb):
    tr = Trainer(model, opt, loss_fn)
    loss = tr.step(xb, yb)
    opt.step()
    return loss
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad(); l = loss_fn(model(xb), yb); l.backward()
    if max_norm is not None: t.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    if scheduler is not None: scheduler.step()
    print(l.item())
def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1: raise ValueError(accum_steps)
    cnt, done = 0, 0
    buf = []
    def go():
        opt.zero_grad()
        for x, y in buf: (loss_fn(model(x), y) / len(buf)).backward()
        if max_norm is not None: t.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step(); opt.zero_grad(); buf.clear()
    for x, y in micro_batches:
        buf.append((x, y)); cnt += 1
        if len(buf) == accum_steps: go()
    if buf: go()
    return cnt
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    h = []
    for _ in range(epochs):
        model.train(); a = b = 0
        for x, y in loader:
            if zero_grad: opt.zero_grad()
            l = loss_fn(model(x), y); l.backward()
            a += l.item() * len(x); b += len(x)
        h.append(a / b)
    return h
def evaluate(model, loss_fn, loader):
    ms = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with t.no_grad():
            a = b = c = 0
            for x, y in loader:
                o = model(x); a += loss_fn(o, y).item() * len(x); c += (o.argmax(1) == y).sum().item(); b += len(x)
                return a / b, c / b
    finally:
        for m, f in ms: m.training = f
def zero_gradients(params):
    [p.grad.zero_() for p in params if p.grad is not None]
def sgd_update(params, lr):
    with t.no_grad(): [p.sub_(p.grad, alpha=lr) for p in params if p.grad is not None]
def autograd_nodes(loss):
    out, st = set(), [loss.grad_fn]
    vis = set()
    while st:
        f = st.pop()
        if f is None or f in vis: continue
        vis.add(f)
        for g, _ in f.next_functions:
            if g is not None:
                out.add(type(g).__name__); st.append(g)
    return sorted(out)
