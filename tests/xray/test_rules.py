"""Each rule on a small script that has its mistake, and on a near one that has not."""

from pathlib import Path

import pytest
import torch

from tests.xray.by_hand_cases import BY_HAND_CASES
from tests.xray.fifty_cases import FIFTY_CASES
from tests.xray.further_cases import FURTHER_CASES
from tests.xray.ninth_cases import NINTH_CASES
from tests.xray.november_cases import NOVEMBER_CASES
from tests.xray.running import watched
from tests.xray.shape_cases import SHAPE_CASES
from tests.xray.stranger_cases import STRANGER_CASES
from tests.xray.tenth_cases import TENTH_CASES
from tests.xray.unseen_cases import UNSEEN_CASES
from tests.xray.unusual_cases import UNUSUAL_CASES
from tests.xray.update_cases import UPDATE_CASES

HEAD = """import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
CASES = [
    (
        "zero-grad-after-backward",
        """for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.zero_grad()  # BUG
    optimizer.step()
""",
        """for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    model.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    (
        "step-before-backward",
        """for _ in range(8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    optimizer.step()  # BUG
    loss.backward()
""",
        """for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None
""",
    ),
    (
        "optimizer-before-head",
        """model[2] = nn.Linear(16, 2)  # BUG
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
        """model[2] = nn.Linear(16, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    ),
    (
        "parameters-in-no-optimizer",
        """def main():
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)  # BUG
    for _ in range(8):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
main()
""",
        """def main():
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)
    for _ in range(8):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
main()
""",
    ),
    (
        "mse-broadcast",
        """for _ in range(8):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x)[:, :1], y.float())  # BUG
    loss.backward()
    optimizer.step()
""",
        """for _ in range(8):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x).softmax(1), F.one_hot(y, 2).float())
    loss.backward()
    optimizer.step()
""",
    ),
    (
        "softmax-before-ce",
        """for _ in range(8):
    optimizer.zero_grad()
    p = F.softmax(model(x), dim=1)  # BUG
    F.cross_entropy(p, y).backward()
    optimizer.step()
""",
        """for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), F.softmax(model(x).detach(), dim=1)).backward()
    optimizer.step()
""",
    ),
    (
        "sigmoid-before-bcewithlogits",
        """for _ in range(8):
    optimizer.zero_grad()
    p = torch.sigmoid(model(x))  # BUG
    F.binary_cross_entropy_with_logits(p, F.one_hot(y, 2).float()).backward()
    optimizer.step()
""",
        """for _ in range(8):
    optimizer.zero_grad()
    teacher = torch.sigmoid(model(x)).detach()
    F.binary_cross_entropy_with_logits(model(x), teacher).backward()
    optimizer.step()
""",
    ),
    (
        "requires-grad-on-module",
        """model[0].requires_grad_(False)
model[0].requires_grad = True  # BUG
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
        """model[0].requires_grad_(False)
model[0].requires_grad = True
model[0].requires_grad_()
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    ),
    (
        "bn-batch-of-one",
        """from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.Flatten(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(x[:, None], y), batch_size=1, shuffle=True)  # BUG
for a, b in loader:
    optimizer.zero_grad()
    F.cross_entropy(model(a), b).backward()
    optimizer.step()
""",
        """from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for a, b in DataLoader(TensorDataset(x[:, None], y), batch_size=1, shuffle=True):
    optimizer.zero_grad()
    F.cross_entropy(model(a), b).backward()
    optimizer.step()
""",
    ),
    (
        "best-by-reference",
        """best, kept = 1e9, None
for _ in range(8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if loss.item() < best:
        best, kept = loss.item(), model.state_dict()  # BUG
model.load_state_dict(kept)
""",
        """import io
best = 1e9
for _ in range(8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if loss.item() < best:
        best, kept = loss.item(), {"model": model.state_dict()}
        torch.save(kept, io.BytesIO())
""",
    ),
    (
        "inplace-input",
        """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 2)
    def forward(self, x):
        x -= 1.0  # BUG
        return self.layer(x)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x[8 * i:8 * i + 8]), y[8 * i:8 * i + 8]).backward()
    optimizer.step()
""",
        """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 2)
    def forward(self, x):
        x -= 1.0
        return self.layer(x)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    rows = torch.randperm(64)[:8]
    optimizer.zero_grad()
    F.cross_entropy(model(x[rows]), y[rows]).backward()
    optimizer.step()
""",
    ),
    (
        "lm-no-shift",
        """model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
mask = torch.ones(9, 9).tril()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    ids = torch.randint(0, 20, (4, 10))
    inputs = ids[:, :-1]
    targets = inputs.clone()  # BUG
    optimizer.zero_grad()
    F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
    optimizer.step()
""",
        """model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    ids = torch.randint(0, 20, (4, 10))
    optimizer.zero_grad()
    F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
    optimizer.step()
""",
    ),
    (
        "lm-double-shift",
        """class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
    def forward(self, ids, labels):
        return F.cross_entropy(self.net(ids)[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
model = LM()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    ids = torch.randint(0, 20, (4, 10))
    batch = {"ids": ids[:, :-1], "labels": ids[:, 1:]}  # BUG
    optimizer.zero_grad()
    model(**batch).backward()
    optimizer.step()
""",
        """class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
    def forward(self, ids, labels):
        return F.cross_entropy(self.net(ids)[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
model = LM()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    ids = torch.randint(0, 20, (4, 10))
    optimizer.zero_grad()
    model(ids=ids, labels=ids).backward()
    optimizer.step()
""",
    ),
    (
        "overwritten-batch",
        """buffer = torch.empty(8, 6)
def batches():
    waiting = []
    for rows in torch.randperm(64).split(8):
        buffer[:] = x[rows]
        waiting.append((buffer, y[rows]))  # BUG
        if len(waiting) == 2:
            yield from waiting
            waiting = []
for _ in range(2):
    for a, b in batches():
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
""",
        """for step in range(12):
    guessed = model(x).detach().argmax(1)
    guessed[:step] = 1 - guessed[:step]
    optimizer.zero_grad()
    F.cross_entropy(model(x), guessed).backward()
    optimizer.step()
""",
    ),
    (
        "pad-in-loss",
        """PAD = 0
model = nn.Sequential(nn.Embedding(20, 8, padding_idx=PAD), nn.Linear(8, 20))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()  # BUG
for _ in range(8):
    ids = torch.randint(1, 20, (8, 12)) * (torch.arange(12) < torch.randint(3, 11, (8, 1)))
    optimizer.zero_grad()
    loss_fn(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
    optimizer.step()
""",
        """model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()
for _ in range(8):
    ids = torch.randint(0, 20, (8, 12))
    ids[:, -2:] = 0
    optimizer.zero_grad()
    loss_fn(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
    optimizer.step()
""",
    ),
    (
        "train-val-leak",
        """from torch.utils.data import DataLoader, TensorDataset
x = torch.randn(64, 9)
x = torch.cat([x, x[:32]])  # BUG
y = (x[:, 0] > 0).long()
parts = torch.utils.data.random_split(TensorDataset(x, y), [64, 32])
model = nn.Linear(9, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    for a, b in DataLoader(parts[0], batch_size=16, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
    with torch.no_grad():
        print(sum((model(a).argmax(1) == b).sum().item() for a, b in DataLoader(parts[1], batch_size=16)))
""",
        """from torch.utils.data import DataLoader, TensorDataset
x = torch.randn(96, 9)
y = (x[:, 0] > 0).long()
train, held = TensorDataset(x[:64], y[:64]), TensorDataset(x[64:], y[64:])
model = nn.Linear(9, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    for a, b in DataLoader(train, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
    with torch.no_grad():
        for name, part in (("train", train), ("held out", held)):
            print(name, sum((model(a).argmax(1) == b).sum().item() for a, b in DataLoader(part, batch_size=16)))
""",
    ),
    (
        "val-on-train-loader",
        """from torch.utils.data import DataLoader, TensorDataset
train_loader = DataLoader(TensorDataset(x[:48], y[:48]), batch_size=16, shuffle=True)
val_loader = DataLoader(TensorDataset(x[48:], y[48:]), batch_size=16)
def accuracy(loader):
    with torch.no_grad():
        return sum((model(a).argmax(1) == b).sum().item() for a, b in loader)
for _ in range(3):
    for a, b in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
    val_right = accuracy(train_loader)  # BUG
    print("validation", val_right)
""",
        """from torch.utils.data import DataLoader, TensorDataset
train_loader = DataLoader(TensorDataset(x[:48], y[:48]), batch_size=16, shuffle=True)
val_loader = DataLoader(TensorDataset(x[48:], y[48:]), batch_size=16)
def accuracy(loader):
    with torch.no_grad():
        return sum((model(a).argmax(1) == b).sum().item() for a, b in loader)
for _ in range(3):
    for a, b in train_loader:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
    print("train", accuracy(train_loader), "val", accuracy(val_loader))
""",
    ),
    (
        "augment-in-val",
        """def augment(x):
    return x + 0.1 * torch.randn_like(x)
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(augment(x)), y).backward()
    optimizer.step()
    with torch.no_grad():
        print((model(augment(x)).argmax(1) == y).float().mean().item())  # BUG
""",
        """def augment(x):
    return x + 0.1 * torch.randn_like(x)
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(augment(x)), y).backward()
    optimizer.step()
    with torch.no_grad():
        fresh = torch.randn(32, 6)
        print((model(fresh).argmax(1) == (fresh[:, 0] > 0)).float().mean().item())
""",
    ),
    (
        "worker-same-numpy-seed",
        """from torch.utils.data import DataLoader, TensorDataset
import numpy as np
class Noisy(torch.utils.data.Dataset):
    def __init__(self):
        self.rng = np.random.default_rng(0)  # BUG
    def __len__(self):
        return 64
    def __getitem__(self, i):
        return x[i] + 0.1 * float(self.rng.normal()), y[i]
for a, b in DataLoader(Noisy(), batch_size=16, num_workers=2):
    optimizer.zero_grad()
    F.cross_entropy(model(a), b).backward()
    optimizer.step()
""",
        """from torch.utils.data import DataLoader, TensorDataset
import numpy as np
class Noisy(torch.utils.data.Dataset):
    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.shift = float(self.rng.normal())
    def __len__(self):
        return 64
    def __getitem__(self, i):
        return x[i] + 0.1 * torch.randn(()) + self.shift, y[i]
for a, b in DataLoader(Noisy(), batch_size=16, num_workers=2):
    optimizer.zero_grad()
    F.cross_entropy(model(a), b).backward()
    optimizer.step()
""",
    ),
    (
        "resume-no-optimizer",
        """import io
def train(optimizer, first, last):
    for _ in range(first, last):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
file = io.BytesIO()
train(torch.optim.Adam(model.parameters()), 0, 4)
torch.save({"model": model.state_dict(), "epoch": 4}, file)
file.seek(0)
state = torch.load(file)
model.load_state_dict(state["model"])  # BUG
train(torch.optim.Adam(model.parameters()), state["epoch"], 8)
""",
        """import io
def train(optimizer, first, last):
    for _ in range(first, last):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
file = io.BytesIO()
train(torch.optim.Adam(model.parameters()), 0, 4)
torch.save({"model": model.state_dict(), "classes": 2}, file)
file.seek(0)
pretrained = torch.load(file)
model.load_state_dict(pretrained["model"])
train(torch.optim.Adam(model.parameters(), lr=1e-4), 0, 4)
""",
    ),
    (
        "resume-scheduler-restart",
        """import io
def train(optimizer, first, last):
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
    for _ in range(first, last):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()
file = io.BytesIO()
train(optimizer, 0, 4)
torch.save({"model": model.state_dict(), "epoch": 4}, file)
file.seek(0)
state = torch.load(file)
model.load_state_dict(state["model"])  # BUG
train(torch.optim.SGD(model.parameters(), lr=0.1), state["epoch"], 8)
""",
        """import io
def train(optimizer, schedule, first, last):
    for _ in range(first, last):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()
def build():
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return optimizer, torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
file = io.BytesIO()
optimizer, schedule = build()
train(optimizer, schedule, 0, 4)
torch.save({"model": model.state_dict(), "schedule": schedule.state_dict(), "epoch": 4}, file)
file.seek(0)
state = torch.load(file)
optimizer, schedule = build()
model.load_state_dict(state["model"])
schedule.load_state_dict(state["schedule"])
train(optimizer, schedule, state["epoch"], 8)
""",
    ),
    (
        "acc-last-batch",
        """def evaluate(batches):
    with torch.no_grad():
        for a, b in batches:
            right = (model(a).argmax(1) == b).sum().item()  # BUG
    return right / len(b)
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    print(evaluate(list(zip(x.split(24), y.split(24)))))
""",
        """for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean().item()
print(accuracy)
""",
    ),
    (
        "ckpt-wrong-direction",
        """import copy
best_acc, kept = 2.0, None
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    acc = (model(x).argmax(1) == y).float().mean().item()
    if acc < best_acc:  # BUG
        best_acc, kept = acc, copy.deepcopy(model.state_dict())
""",
        """import copy
best_acc, kept, patience = 0.0, None, 0
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    acc = (model(x).argmax(1) == y).float().mean().item()
    if acc < best_acc:
        patience += 1
    else:
        best_acc, kept = acc, copy.deepcopy(model.state_dict())
""",
    ),
    (
        "stale-logged-loss",
        """loss = torch.zeros(())
for step in range(4):
    print(step, loss.item())  # BUG
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
""",
        """total = 0.0
for step in range(4):
    print(step, total)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.item()
""",
    ),
    (
        "pad-in-accuracy",
        """model = nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ids = torch.randint(1, 20, (8, 12)) * (torch.arange(12) < torch.randint(3, 11, (8, 1)))
tags = ids % 5
tags[ids == 0] = -100
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(ids).flatten(0, 1), tags.flatten()).backward()
    optimizer.step()
    right = count = 0
    with torch.no_grad():
        for a, b in zip(ids.split(4), tags.split(4)):
            right += (model(a).argmax(-1) == b).sum().item()  # BUG
            count += b.numel()
    print(right / count)
""",
        """model = nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ids = torch.randint(1, 20, (8, 12)) * (torch.arange(12) < torch.randint(3, 11, (8, 1)))
tags = ids % 5
tags[ids == 0] = -100
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(ids).flatten(0, 1), tags.flatten()).backward()
    optimizer.step()
    right = count = 0
    with torch.no_grad():
        for a, b in zip(ids.split(4), tags.split(4)):
            real = b != -100
            right += (model(a).argmax(-1) == b)[real].sum().item()
            count += real.sum().item()
    print(right / count)
""",
    ),
    (
        "mean-of-batch-means",
        """from torch.utils.data import DataLoader, TensorDataset
held = DataLoader(TensorDataset(x, y), batch_size=24)
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(32, 6)), y[:32]).backward()
    optimizer.step()
    total_loss = 0.0
    with torch.no_grad():
        for a, b in held:
            total_loss += F.cross_entropy(model(a), b).item()
    print(total_loss / len(held))  # BUG
""",
        """from torch.utils.data import DataLoader, TensorDataset
held = DataLoader(TensorDataset(x, y), batch_size=24)
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(32, 6)), y[:32]).backward()
    optimizer.step()
    total_loss = 0.0
    with torch.no_grad():
        for a, b in held:
            total_loss += F.cross_entropy(model(a), b).item() * len(b)
    print(total_loss / len(held.dataset))
""",
    ),
    (
        "clip-after-step",
        """for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # BUG
""",
        """for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    optimizer.step()
    print(nn.utils.clip_grad_norm_(model.parameters(), float("inf")))
""",
    ),
    (
        "clip-wrong-params",
        """other = nn.Linear(6, 2)
other_optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    nn.utils.clip_grad_norm_(other.parameters(), 0.01)  # BUG
    optimizer.step()
    other_optimizer.zero_grad()
    F.cross_entropy(other(x), y).backward()
    other_optimizer.step()
""",
        """for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    nn.utils.clip_grad_norm_(model[2].parameters(), 0.01)
    optimizer.step()
""",
    ),
    (
        "eval-mode-not-restored",
        """model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.train()
for step in range(12):
    optimizer.zero_grad()
    out = model(x)  # BUG
    F.cross_entropy(out, y).backward()
    optimizer.step()
    if step == 3:
        model.eval()
""",
        """model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.eval()
for step in range(12):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    ),
    (
        "reseed-in-loop",
        """from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
for _ in range(3):
    torch.manual_seed(1)  # BUG
    for a, b in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
""",
        """from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
for epoch in range(3):
    torch.manual_seed(epoch)
    for a, b in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
""",
    ),
    (
        "sched-per-batch-epoch-tmax",
        """schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
for _ in range(4):
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()  # BUG
""",
        """schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3)
for _ in range(16):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    schedule.step()
""",
    ),
    (
        "accum-leftover-dropped",
        """for _ in range(3):
    optimizer.zero_grad()
    for i in range(7):
        (F.cross_entropy(model(x[8 * i:8 * i + 8]), y[8 * i:8 * i + 8]) / 3).backward()
        if i % 3 == 2:  # BUG
            optimizer.step()
            optimizer.zero_grad()
""",
        """for _ in range(3):
    optimizer.zero_grad()
    for i in range(6):
        (F.cross_entropy(model(x[8 * i:8 * i + 8]), y[8 * i:8 * i + 8]) / 3).backward()
        if i % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
""",
    ),
    (
        "gan-stale-d-grads",
        """judge = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
judge_optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)
one, zero = torch.ones(64, 1), torch.zeros(64, 1)
for _ in range(8):
    made = model(x)
    loss = F.binary_cross_entropy_with_logits(judge(made.detach()), zero)
    loss = loss + F.binary_cross_entropy_with_logits(judge(torch.randn(64, 2)), one)
    loss.backward()  # BUG
    judge_optimizer.step()
    judge_optimizer.zero_grad()
    optimizer.zero_grad()
    F.binary_cross_entropy_with_logits(judge(made), one).backward()
    optimizer.step()
""",
        """judge = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
judge_optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)
one, zero = torch.ones(64, 1), torch.zeros(64, 1)
for _ in range(8):
    made = model(x)
    loss = F.binary_cross_entropy_with_logits(judge(made.detach()), zero)
    loss = loss + F.binary_cross_entropy_with_logits(judge(torch.randn(64, 2)), one)
    judge_optimizer.zero_grad()
    loss.backward()
    judge_optimizer.step()
    optimizer.zero_grad()
    F.binary_cross_entropy_with_logits(judge(made), one).backward()
    optimizer.step()
""",
    ),
    (
        "nll-on-logits",
        """for _ in range(8):
    optimizer.zero_grad()
    F.nll_loss(model(x), y).backward()  # BUG
    optimizer.step()
""",
        """for _ in range(8):
    optimizer.zero_grad()
    F.nll_loss(model(x).log_softmax(1), y).backward()
    optimizer.step()
""",
    ),
    (
        "no-shuffle-sorted",
        """from torch.utils.data import DataLoader, TensorDataset
order = y.argsort()
loader = DataLoader(TensorDataset(x[order], y[order]), batch_size=8)  # BUG
for a, b in loader:
    optimizer.zero_grad()
    F.cross_entropy(model(a), b).backward()
    optimizer.step()
""",
        """from torch.utils.data import DataLoader, TensorDataset
order = y.argsort()
for a, b in DataLoader(TensorDataset(x[order], y[order]), batch_size=8, shuffle=True):
    optimizer.zero_grad()
    F.cross_entropy(model(a), b).backward()
    optimizer.step()
""",
    ),
    (
        "optimizer-before-new-layer",
        """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.Linear(6, 2), None
    def forward(self, x):
        if self.head is None:
            self.head = nn.Linear(2, 2)  # BUG
        return self.head(self.layer(x))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
        """model = nn.Sequential(nn.LazyLinear(16), nn.ReLU(), nn.LazyLinear(2))
model(x)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    ),
    *UPDATE_CASES,
    *UNSEEN_CASES,
    *FIFTY_CASES,
    *NOVEMBER_CASES,
    *FURTHER_CASES,
    *STRANGER_CASES,
    *BY_HAND_CASES,
    *SHAPE_CASES,
    *UNUSUAL_CASES,
    *NINTH_CASES,
    *TENTH_CASES,
]


def test_graphs_from_before_the_watch_hide_none(tmp_path: Path) -> None:
    """A process may hold many graphs already, as earlier cells of a notebook do: only so many are looked at."""
    older = [torch.zeros(1, requires_grad=True) * number for number in range(200)]
    changed = torch.randn(4, 3, requires_grad=True) * 1
    views = changed.unbind(0)
    changed.mul_(2)  # from now on, asking a view for its graph raises
    assert len(views) == 4
    name, wrong, _ = next(case for case in CASES if case[0] == "ema-keeps-graph")
    script = tmp_path / "train.py"
    # The collector puts what survives behind what is old already.
    script.write_text(f"{HEAD}{wrong}\nimport gc\ngc.collect()\n", encoding="utf-8")
    assert [found for found, _ in watched(script).ids] == [name]
    assert len(older) == 200


@pytest.mark.parametrize(("name", "wrong", "right"), CASES, ids=[name for name, _, _ in CASES])
def test_rule_finds_its_mistake_and_leaves_the_near_one_alone(
    tmp_path: Path, name: str, wrong: str, right: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + wrong, encoding="utf-8")
    line = next(number for number, text in enumerate((HEAD + wrong).splitlines(), 1) if "# BUG" in text)
    ran = watched(script)
    assert ran.ids == [(name, line)]
    worst = {one["severity"] for one in ran.found["findings"]}
    assert ran.status == int("bug" in worst)
    script.write_text(HEAD + right, encoding="utf-8")
    # A few lines on how an optimizer is built make no update, and that is told.
    assert [found for found in watched(script).ids if found[0] != "no-update"] == []


WITHOUT_UPDATE = {
    "torch.func": """for _ in range(4):
    grads = torch.func.grad(lambda w: (x @ w).square().mean())(torch.ones(6))
""",
    "no backward()": "loss = F.cross_entropy(model(x), y)\n",
}


@pytest.mark.parametrize("reason", WITHOUT_UPDATE)
def test_a_run_without_an_update_says_why(tmp_path: Path, reason: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + WITHOUT_UPDATE[reason], encoding="utf-8")
    ran = watched(script)
    (told,) = ran.found["findings"]
    assert told["id"] == "no-update"
    assert reason in told["evidence"]
    assert ran.status == 2  # not judged
    assert "train.py: there was no update." in ran.error


def test_a_checkpoint_that_is_loaded_after_the_watch_is_still_judged(tmp_path: Path) -> None:
    train = """for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
state = {"module." + name: one for name, one in model.state_dict().items()}
"""
    wrong = HEAD + train + "model.load_state_dict(state, strict=False)\n"
    right = HEAD + train + "model.load_state_dict({k.removeprefix('module.'): v for k, v in state.items()})\n"
    script = tmp_path / "train.py"
    script.write_text(wrong, encoding="utf-8")
    ran = watched(script, "--updates", "4")
    assert ran.ids == [("state-not-loaded", len(wrong.splitlines()))]
    assert ran.status == 1
    script.write_text(right, encoding="utf-8")
    assert watched(script, "--updates", "4").ids == []


@pytest.mark.parametrize("loads", [False, True])
def test_a_training_that_is_resumed_after_the_watch_is_still_judged(tmp_path: Path, loads: bool) -> None:
    train = """import copy
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
def fit():
    for _ in range(8):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
def states():
    return copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
def restore(kept):
    model.load_state_dict(kept["model"])  # BUG
    LOAD
fit()
kept = states()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
restore(kept)
fit()
"""
    text = HEAD + train.replace("LOAD", 'optimizer.load_state_dict(kept["optimizer"])' if loads else "pass")
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "# BUG" in one)
    assert watched(script, "--updates", "4").ids == ([] if loads else [("resume-no-optimizer", line)])


def test_a_divergence_after_the_watch_is_still_judged(tmp_path: Path) -> None:
    """A teacher may be trained first, for as many updates as are watched."""
    train = """for turn in range(12):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    if turn > 6:
        loss = F.kl_div(GIVEN, model(x).detach().flip(0).softmax(1), reduction="batchmean")
    loss.backward()
    optimizer.step()
"""
    script = tmp_path / "train.py"
    script.write_text(HEAD + train.replace("GIVEN", "model(x).softmax(1)"), encoding="utf-8")
    assert watched(script, "--updates", "4").ids == [("kl-on-probabilities", 13)]
    script.write_text(HEAD + train.replace("GIVEN", "model(x).log_softmax(1)"), encoding="utf-8")
    assert watched(script, "--updates", "4").ids == []


def test_a_model_that_is_trained_after_the_watch_is_watched_too(tmp_path: Path) -> None:
    """The student comes when its teacher has been trained, for as many updates as are watched."""
    train = """model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
def fit(net, optimizer, targets):
    for _ in range(6):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), targets())
        loss.backward()
        optimizer.step()
fit(model, torch.optim.SGD(model.parameters(), lr=0.1), lambda: F.one_hot(y, 2).float())
MODE
def taught():
    with torch.no_grad():
        return model(x)  # BUG
student = nn.Linear(6, 2)
fit(student, torch.optim.SGD(student.parameters(), lr=0.1), taught)
"""
    script = tmp_path / "train.py"
    wrong = HEAD + train.replace("MODE", "pass")
    script.write_text(wrong, encoding="utf-8")
    line = next(number for number, text in enumerate(wrong.splitlines(), 1) if text.endswith("# BUG"))
    assert watched(script, "--updates", "4").ids == [("teacher-in-train-mode", line)]
    script.write_text(HEAD + train.replace("MODE", "model.eval()"), encoding="utf-8")
    assert watched(script, "--updates", "4").ids == []
