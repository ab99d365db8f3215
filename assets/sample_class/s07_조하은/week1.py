# %% [markdown]
# # 1주차: 한 train step
# 조하은. VS Code에서 `# %%` 셀로 작업했습니다.

# %%
import time

import matplotlib.pyplot as plt
import torch
import torch.nn as nn

torch.manual_seed(2026)


# %% 연습 1
def train_step(model, opt, loss_fn, xb, yb):
    """다섯 줄."""
    opt.zero_grad()
    logits = model(xb)
    loss = loss_fn(logits, yb)
    before = loss.item()
    loss.backward(retain_graph=True)  # 없어도 되지만 나중에 그래프를 보려고
    opt.step()
    return before


# %% 연습 2
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None):
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    if max_norm is not None:
        clip_by_global_norm(model.parameters(), max_norm)
    opt.step()
    if scheduler is not None:
        scheduler.step()
    return loss.item()


def clip_by_global_norm(params, max_norm):
    """직접 구현: 전체를 한 벡터로 본 노름."""
    grads = [p.grad for p in params if p.grad is not None]
    total = torch.stack([g.norm() for g in grads]).norm()
    coef = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in grads:
        g.mul_(coef)
    return total


# %% 연습 3
def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상")
    it = iter(micro_batches)
    count = 0
    done = False
    while not done:
        window = []
        while len(window) < accum_steps:
            try:
                window.append(next(it))
            except StopIteration:
                done = True
                break
        if not window:
            break
        opt.zero_grad()
        for x, y in window:
            loss = loss_fn(model(x), y)
            loss = loss * (1.0 / len(window))
            loss.backward()
        if max_norm is not None:
            clip_by_global_norm(model.parameters(), max_norm)
        opt.step()
        count += 1
    opt.zero_grad()
    return count


# %% 연습 4
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True):
    curve = []
    for _ in range(epochs):
        model.train()
        loss_sum = torch.zeros((), dtype=torch.float64)
        num = 0
        for x, y in loader:
            if zero_grad:
                opt.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
            loss_sum += loss.detach().cpu() * len(x)
            num += len(x)
        curve.append((loss_sum / num).item())
    return curve


def evaluate(model, loss_fn, loader):
    state = {m: m.training for m in model.modules()}
    prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    model.eval()
    try:
        loss_sum, right, num = 0.0, 0, 0
        for x, y in loader:
            out = model(x)
            loss_sum += loss_fn(out, y).item() * y.numel()
            right += (out.argmax(dim=1) == y).sum().item()
            num += y.numel()
    finally:
        torch.set_grad_enabled(prev)
        for m, t in state.items():
            m.training = t
    return loss_sum / num, right / num


# %% 연습 5
def zero_gradients(params):
    for p in params:
        p.grad = None


def sgd_update(params, lr):
    for p in params:
        if p.grad is not None:
            p.data = p.data - lr * p.grad


def autograd_nodes(loss):
    if loss.grad_fn is None:
        return []
    seen, queue = {loss.grad_fn}, [loss.grad_fn]
    while queue:
        node = queue.pop(0)
        for child, _index in node.next_functions:
            if child is not None and child not in seen:
                seen.add(child)
                queue.append(child)
    return sorted(set(type(n).__name__ for n in seen))


# %% 실험: 모멘텀이 있을 때 zero_grad를 빼면? (노트북에서 4분 걸림)
X = torch.randn(50000, 256)
Y = torch.randint(0, 10, (50000,))
net = nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
data = list(zip(X.split(32), Y.split(32)))
start = time.time()
losses = fit(net, optimizer, nn.CrossEntropyLoss(), data, 300, zero_grad=False)
print("걸린 시간", time.time() - start)

# %%
plt.rcParams["font.family"] = "NanumGothic"
plt.plot(losses)
plt.title("발산!")
plt.show()
