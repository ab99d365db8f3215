"""Pairs of scripts for mistakes in a ninth stranger's scripts; each begins with the head of `test_rules`."""

_LOADERS = """from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
held = DataLoader(TensorDataset(torch.randn(40, 6), torch.randint(0, 2, (40,))), batch_size=16)
def epoch_of_training():
    model.train()
    for a, b in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
"""
_DROPPING = _LOADERS.replace("    model.train()\n", "") + (
    "model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.Linear(16, 2))\n"
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
)
_ACCURACY = """def accuracy(data):
    right = 0
    GRAD
        for a, b in data:
            right += (model(a).argmax(1) == b).sum().item()  # BUG
    return right
"""
_BOTH = "for _ in range(4):\n    epoch_of_training()\n    print(accuracy(loader), accuracy(held))\n"
_IOU = """for _ in range(3):
    epoch_of_training()
    model.eval()
    both = either = 0
    with torch.no_grad():
        for a, b in held:
            found = model(a)[:, 1] > 0
            real = b > 0
            both = (found & real).sum().item()  # BUG
            either = (found | real).sum().item()
    print(both / max(1, either))
"""
_LAST_LOSS = """for _ in range(3):
    epoch_of_training()
    model.eval()
    with torch.no_grad():
        for a, b in held:
            val_loss = F.cross_entropy(model(a), b).item()  # BUG
    print(val_loss)
"""
_RATE = """def rate_at(step):
    return 0.1 * (1 - step / 20)
for step in range(20):
    lr = rate_at(step)  # BUG
    SET
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(f"{step} loss {loss.item():.3f} lr {lr:.4f}")
"""
_TWO_SETS = """from itertools import cycle
from torch.utils.data import DataLoader, TensorDataset
first = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
second = cycle(DataLoader(TensorDataset(torch.randn(24, 6), torch.randint(0, 2, (24,))), batch_size=8))
for _ in range(2):
    for a, b in first:
        NEXT
        optimizer.zero_grad()
        LOSS.backward()
        optimizer.step()
"""
_DIVIDED = """for part in range(8):
    a, b = x[part::8], y[part::8]
    loss = F.cross_entropy(model(a), bREDUCTION) / a.size(0)  # BUG
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_WINDOWS = """from torch.utils.data import DataLoader, TensorDataset
series = torch.randn(200).cumsum(0)
windows = series.unfold(0, 13, 1)
order = ORDER
model = nn.Linear(12, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
train, held = (TensorDataset(windows[at, :12], windows[at, 12:]) for at in (order[:140], order[140:]))
for _ in range(3):
    for a, b in DataLoader(train, batch_size=20, shuffle=True):
        optimizer.zero_grad()
        F.mse_loss(model(a), b).backward()
        optimizer.step()
    with torch.no_grad():
        for a, b in DataLoader(held, batch_size=24):
            print(F.mse_loss(model(a), b).item())
"""
_SHORT_TEXTS = """from torch.utils.data import DataLoader
def texts(count):
    short, long = torch.randint(1, 9, (count, 2)), torch.randint(1, 9, (count, 8))
    return [(one if at % 4 else other, one[0] % 2) for at, (other, one) in enumerate(zip(short, long))]
def joined(batch):
    return nn.utils.rnn.pad_sequence([one for one, _ in batch], batch_first=True), torch.stack([b for _, b in batch])
model = nn.EmbeddingBag(9, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train, held = texts(400), texts(160)
for _ in range(3):
    for a, b in DataLoader(train, batch_size=20, shuffle=True, collate_fn=joined):
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
    with torch.no_grad():
        for a, b in DataLoader(held, batch_size=20, collate_fn=joined):
            print((model(a).argmax(1) == b).sum().item())
"""
_SHOWN = """def check():
    with torch.no_grad():
        return F.cross_entropy(model(held), aim).item(), (model(held).argmax(1) == aim).sum().item()
held, aim = torch.randn(20, 6), torch.randint(0, 2, (20,))
for step in range(8):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    val_loss, right = check()
    print(f"{step} | val loss {SHOWN:.4f} | right {right}")  # BUG
"""
_MASKING = """from torch.utils.data import DataLoader, Dataset
def masked(ids):
    labels = ids.clone()
    COPY
    ids[torch.rand(ids.shape) < 0.2] = 0  # BUG
    return ids, labels
class Rows(Dataset):
    def __init__(self):
        self.rows = torch.randint(1, 9, (60, 12))
    def __len__(self):
        return 60
    def __getitem__(self, at):
        return masked(self.rows[at])
model = nn.Sequential(nn.Embedding(9, 16), nn.Linear(16, 9))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(Rows(), batch_size=12, shuffle=True)
for _ in range(4):
    for a, b in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(a).flatten(0, 1), b.flatten()).backward()
        optimizer.step()
"""
_DECAYED = """model = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=DECAY)  # BUG
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
_CLIPPED = """class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = (nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 2)) for _ in range(2))
    def forward(self, a):
        return self.left(a) * self.right(a)
model = Pair()
optimizer = torch.optim.SGD(GIVEN, lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    nn.utils.clip_grad_norm_(model.left.parameters(), 0.1)  # BUG
    optimizer.step()
"""
_LEFT = """from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
BEFORE  # BUG
for _ in range(4):
    WITHIN
    for a, b in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.randn(8, 6))
"""

NINTH_CASES = [
    (
        "acc-last-batch",
        _LOADERS + _IOU,
        _LOADERS + _IOU.replace("both = (", "both += (").replace("either = (", "either += ("),
    ),
    (
        "acc-last-batch",
        _LOADERS + _LAST_LOSS,
        _LOADERS.replace("batch_size=16", "batch_size=40") + _LAST_LOSS,
    ),
    (
        "lr-never-reaches",
        _RATE.replace("SET", "pass"),
        _RATE.replace("SET", "for group in optimizer.param_groups: group['lr'] = lr"),
    ),
    (
        "overwritten-batch",
        _TWO_SETS.replace("NEXT", "a, b = next(second)  # BUG").replace(
            "LOSS", "F.cross_entropy(model(a), b)"
        ),
        _TWO_SETS.replace("NEXT", "c, d = next(second)").replace(
            "LOSS", "(F.cross_entropy(model(a), b) + F.cross_entropy(model(c), d))"
        ),
    ),
    (
        "mean-divided-again",
        _DIVIDED.replace("REDUCTION", ""),
        _DIVIDED.replace("REDUCTION", ", reduction='sum'"),
    ),
    (
        "train-val-leak",
        _WINDOWS.replace("ORDER", "torch.randperm(len(windows))  # BUG"),
        _WINDOWS.replace("ORDER", "torch.arange(len(windows))"),
    ),
    ("train-val-leak", _WINDOWS.replace("ORDER", "torch.randperm(len(windows))  # BUG"), _SHORT_TEXTS),
    (
        "stale-logged-loss",
        _SHOWN.replace("SHOWN", "loss.item()"),
        _SHOWN.replace("SHOWN", "val_loss"),
    ),
    (
        "stale-logged-loss",
        _SHOWN.replace("SHOWN", "loss.item()"),
        _SHOWN.replace("SHOWN", "loss.item()").replace("val loss", "loss"),
    ),
    (
        "inplace-input",
        _MASKING.replace("COPY", "pass"),
        _MASKING.replace("COPY", "ids = ids.clone()"),
    ),
    ("weight-decay-on-norm", _DECAYED.replace("DECAY", "0.03"), _DECAYED.replace("DECAY", "0.001")),
    (
        "clip-wrong-params",
        _CLIPPED.replace("GIVEN", "model.parameters()"),
        _CLIPPED.replace("GIVEN", "model.parameters()").replace("model.left.par", "model.par"),
    ),
    (
        "eval-mode-not-restored",
        _LEFT.replace("BEFORE", "model.train()").replace("WITHIN", "pass"),
        _LEFT.replace("BEFORE", "pass").replace("WITHIN", "model.train()"),
    ),
    (
        "eval-in-train-mode",
        _DROPPING + _ACCURACY.replace("GRAD", "with torch.no_grad():") + _BOTH,
        _DROPPING
        + _ACCURACY.replace("GRAD", "with torch.no_grad():")
        + _BOTH.replace("accuracy(loader), accuracy(held)", "[accuracy(held) for _ in range(5)]"),
    ),
    (
        "eval-in-train-mode",
        _DROPPING + _ACCURACY.replace("GRAD", "if True:") + _BOTH,
        _DROPPING
        + _ACCURACY.replace("GRAD", "model.eval()\n    with torch.no_grad():")
        + _BOTH.replace("    epoch", "    model.train()\n    epoch"),
    ),
]
