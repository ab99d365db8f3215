"""Pairs of scripts for mistakes in a tenth stranger's scripts; each begins with the head of `test_rules`."""

_DATA = "from torch.utils.data import DataLoader, TensorDataset\n"
_UPDATE = """        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
"""
_CALLED_BACK = """class Rate:
    def __init__(self):
        self.plan = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    def done(self):
        self.plan.step()
rate = Rate()
for _ in range(6):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    BEFORE
    optimizer.step()
    AFTER
"""
_CUT = (
    _DATA
    + """order = torch.randperm(64)
first = order[:48]
rest = order[BEGIN:]  # BUG
loader = DataLoader(TensorDataset(x[first], y[first]), batch_size=8, shuffle=True)
held = DataLoader(TensorDataset(x[rest], y[rest]), batch_size=8)
for _ in range(3):
    for a, b in loader:
"""
    + _UPDATE
    + """    with torch.no_grad():
        print(sum((model(a).argmax(1) == b).sum().item() for a, b in held) / len(rest))
"""
)
_STRONGLY_DECAYED = """model = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.002, weight_decay=DECAY)  # BUG
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
_GROUPS = (
    _DATA
    + """loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
for _ in range(3):
    batches = iter(loader)
    for group in ZIP:  # BUG
        optimizer.zero_grad()
        for a, b in group:
            (F.cross_entropy(model(a), b) / len(group)).backward()
        optimizer.step()
"""
)
_SHARDS = (
    _DATA
    + """first = DataLoader(TensorDataset(x[:32], y[:32]), batch_size=8, shuffle=True)
second = DataLoader(TensorDataset(x[32:], y[32:]), batch_size=8, shuffle=True)
held = DataLoader(TensorDataset(torch.randn(32, 6), torch.randint(0, 2, (32,))), batch_size=8)
for _ in range(3):
    total = 0.0
    for both in zip(first, second):
        optimizer.zero_grad()
        for a, b in both:
            loss = F.cross_entropy(model(a), b) / 2
            loss.backward()
            total += loss.item()
        optimizer.step()
    right = count = 0
    with torch.no_grad():
        for data in (LOADERS):
            for a, b in data:  # BUG
                right += (model(a).argmax(1) == b).sum().item()
                count += len(b)
    print(f"train loss {total:.3f} val acc {right / count:.3f}")
"""
)
_UNLABELLED = (
    _DATA
    + """labelled = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
others = DataLoader(TensorDataset(torch.randn(96, 6), torch.zeros(96)), batch_size=8, shuffle=True)
for _ in range(3):
    for (a, b), (NAME, _) in zip(labelled, others):  # BUG
        loss = F.cross_entropy(model(a), b) + 0.1 * model(NAME).softmax(1).var()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)
_SHUFFLED = """for _ in range(4):
    order = torch.randperm(64)
    inputs = x[order]
    labels = y[ORDER]  # BUG
    for part in range(4):
        a, b = inputs[part::4], labels[part::4]
"""
_SHUFFLED_ONCE = """SEED
x = x[torch.randperm(64)]
SEED
y = y[torch.randperm(64)]  # BUG
for part in range(8):
    if True:
        a, b = x[part::8], y[part::8]
"""
_ENCODED = """encoder = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8))
decoder = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
weights = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.SGD(weights, lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(decoder(encoder(x)), y).backward()
    nn.utils.clip_grad_norm_(GIVEN, 0.1)  # BUG
    optimizer.step()
"""
_BY_FUNCTION = """total = 64 * 20
plan = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: FACTOR)  # BUG
for _ in range(20):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    plan.step()
"""
_REPLACED = """def train(updates):
    for _ in range(updates):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)  # BUG
train(8)
AGAIN
"""
_IMPROVED = """import copy
def improved(new, best, mode="max"):
    if best is None:
        return True
    COMPARED
best, kept = None, None
for _ in range(6):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        score = F.cross_entropy(model(x[:32]), y[:32]).item()
    if improved(score, bestMODE):  # BUG
        best, kept = score, copy.deepcopy(model.state_dict())
"""
_EITHER = _IMPROVED.replace("COMPARED", 'return new > best if mode == "max" else new < best')
_BRANCHES = _IMPROVED.replace(
    "COMPARED", 'if mode == "min":\n        return new < best\n    return new > best'
)

TENTH_CASES = [
    (
        "sched-before-optimizer",
        _CALLED_BACK.replace("BEFORE", "rate.done()  # BUG").replace("AFTER", "pass"),
        _CALLED_BACK.replace("AFTER", "rate.done()").replace("BEFORE", "pass"),
    ),
    ("train-val-leak", _CUT.replace("BEGIN", "40"), _CUT.replace("BEGIN", "48")),
    (
        "weight-decay-on-norm",
        _STRONGLY_DECAYED.replace("DECAY", "0.5"),
        _STRONGLY_DECAYED.replace("DECAY", "0.1"),
    ),
    (
        "accum-leftover-dropped",
        _GROUPS.replace("ZIP", "zip(*[iter(loader)] * 3)"),
        _GROUPS.replace("ZIP", "zip(*[iter(loader)] * 4)"),
    ),
    (
        "accum-leftover-dropped",
        _GROUPS.replace("ZIP", "zip(batches, batches, batches)"),
        _GROUPS.replace("ZIP", "zip(batches, batches)"),
    ),
    (
        "val-on-train-loader",
        _SHARDS.replace("LOADERS", "first, second"),
        _SHARDS.replace("LOADERS", "held,"),
    ),
    ("overwritten-batch", _UNLABELLED.replace("NAME", "a"), _UNLABELLED.replace("NAME", "c")),
    (
        "xy-shuffled-apart",
        _SHUFFLED.replace("ORDER", "torch.randperm(64)") + _UPDATE,
        _SHUFFLED.replace("ORDER", "order") + _UPDATE,
    ),
    (
        "xy-shuffled-apart",
        _SHUFFLED_ONCE.replace("SEED", "pass") + _UPDATE,
        _SHUFFLED_ONCE.replace("SEED", "torch.manual_seed(1)") + _UPDATE,
    ),
    (
        "clip-wrong-params",
        _ENCODED.replace("GIVEN", "encoder.parameters()"),
        _ENCODED.replace("GIVEN", "weights"),
    ),
    (
        "lr-never-reaches",
        _BY_FUNCTION.replace("FACTOR", "max(0.0, 1 - s / total)"),
        _BY_FUNCTION.replace("FACTOR", "0.999**s"),
    ),
    (
        "lr-never-reaches",
        _REPLACED.replace("AGAIN", ""),
        _REPLACED.replace(
            "AGAIN",
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=32)\n"
            "train(32)",
        ),
    ),
    ("ckpt-wrong-direction", _EITHER.replace("MODE", ""), _EITHER.replace("MODE", ', mode="min"')),
    ("ckpt-wrong-direction", _BRANCHES.replace("MODE", ""), _BRANCHES.replace("MODE", ', "min"')),
]
