# 정서연 / 1분반
# 짧게 쓰는 연습 겸 :)
import torch as th, numpy as np
from torch.nn.utils import clip_grad_norm_ as clip


def train_step(m, o, crit, x, t):
    o.zero_grad(); o.zero_grad()          # 혹시 몰라서 두 번 ㅋㅋ
    l = crit(m(x), t); l.backward(); o.step()
    return l.tolist()


def train_step_extras(m, o, crit, x, t, *, max_norm=None, scheduler=None):
    def closure():
        o.zero_grad()
        l = crit(m(x), t)
        l.backward()
        if max_norm is not None: clip(m.parameters(), max_norm, foreach=True)
        return l
    l = o.step(closure)
    scheduler and scheduler.step()
    return l.item()


def accumulate(m, o, crit, micro_batches, accum_steps, *, max_norm=None):
    # 이어 붙이면 값은 같은데 메모리가 그대로라 하나씩 backward
    if not accum_steps >= 1: raise ValueError('accum_steps')
    mb = list(micro_batches)
    chunks = [mb[i:i + accum_steps] for i in range(0, len(mb), accum_steps)]
    for c in chunks:
        o.zero_grad()
        for x, t in c: crit(m(x), t).div(len(c)).backward()
        if max_norm is not None: clip(m.parameters(), max_norm, foreach=True)
        o.step()
    o.zero_grad()
    return len(chunks)


def fit(m, o, crit, loader, epochs, *, zero_grad=True):
    hist = np.zeros(epochs)
    for e in range(epochs):
        m.train()
        n = 0
        for x, t in loader:
            if zero_grad: o.zero_grad()
            l = crit(m(x), t); l.backward(); o.step()
            hist[e] += l.item() * len(t); n += len(t)
        hist[e] /= n
    return hist.tolist()


def evaluate(m, crit, loader):
    flags = [k.training for k in m.modules()]
    try:
        m.eval()
        with th.inference_mode():
            L, A, N = 0., 0., 0
            for x, t in loader:
                o = m(x)
                L += crit(o, t).item() * len(t); A += (o.argmax(1) == t).float().sum().item(); N += len(t)
        return L / N, A / N
    finally:
        for k, f in zip(m.modules(), flags): k.training = f


def zero_gradients(ps):
    for p in ps:
        p.grad = th.zeros_like(p) if p.grad is not None else None


def sgd_update(ps, lr):
    for p in ps:
        if p.grad is not None: p.data -= lr * p.grad


def autograd_nodes(loss):
    seen, todo = [], [loss.grad_fn]
    for n in todo:              # 돌면서 뒤에 붙이기
        if n and n not in seen:
            seen.append(n)
            todo += [f for f, _ in n.next_functions]
    return sorted(set(map(lambda n: n.__class__.__name__, seen)))
