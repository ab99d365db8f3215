"""Pairs of scripts for kinds that a stranger's fifty scripts showed; each begins with the head of `test_rules`."""

_BATCHES = """from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
"""
_STEP = """    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_HAND = """w, b = torch.zeros(6, 2, requires_grad=True), torch.zeros(2, requires_grad=True)
for _ in range(8):
    F.cross_entropy(x @ w + b, y).backward()
    with torch.no_grad():
        for p in (w, b):
            p -= 0.1 * p.grad
"""
_CARRIED = """cell = nn.GRUCell(6, 2)
h = torch.zeros(64, 2)
for _ in range(12):
    cell.zero_grad()
    h = cell(x, CARRIED)
    F.cross_entropy(h, y).backward(retain_graph=True)  # BUG
    for p in cell.parameters():
        p.data -= 0.1 * p.grad
"""
_CLIPPED = """net = nn.Linear(6, 2)
for _ in range(8):
    net.zero_grad()
    F.cross_entropy(net(x), y).backward()
    FIRST
    for p in net.parameters():
        p.data -= 0.1 * p.grad
    LAST
"""
_CLIP = "nn.utils.clip_grad_norm_(net.parameters(), 0.01)"
_GAN = """D = nn.Linear(2, 1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
real, one, zero = torch.randn(64, 2), torch.ones(64, 1), torch.zeros(64, 1)
bce = F.binary_cross_entropy_with_logits
for _ in range(8):
    optimizer.zero_grad()
    opt_d.zero_grad()
    fake = model(x)
    (bce(D(real), one) + bce(D(FAKE), zero)).backward(retain_graph=True)  # BUG
    opt_d.step()
    bce(D(fake), one).backward()
    optimizer.step()
"""
_SAM = """def sam_step():
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    params = list(model.parameters())
    old = [OLD for p in params]LATE
    for p in params:
        p.data.add_(p.grad, alpha=0.5)
    CLEAR
    F.cross_entropy(model(x), y).backward()KEPT
    for p, was in zip(params, old):
        p.data.copy_(was)
    optimizer.step()
for _ in range(8):
    sam_step()
"""
_TEACHER = """teacher = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.Linear(16, 2))
MODE
for _ in range(8):
    with torch.no_grad():
        target = teacher(x)  # BUG
    loss = F.mse_loss(model(x), target)
"""
_DQN = """import copy
target_net = copy.deepcopy(model)
for i in range(8):
    now = model(x)
    later = NEXT  # BUG
    loss = F.mse_loss(now, y[:, None] + 0.9 * later)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 4 == 3:
        target_net.load_state_dict(model.state_dict())
"""
_AVERAGED = """import copy
slow = copy.deepcopy(model)
SETUP
for _ in range(8):
    z = ZEDGRAD
    loss = F.mse_loss(model(x), z) + F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for p, q in zip(model.parameters(), slow.parameters()):
        MIX
"""
_RIGHT_MIX = "q.data = 0.9 * q.data + 0.1 * p.data"
_NORMED = """net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 2))
net[:2].requires_grad_(False)
optimizer = torch.optim.SGD(net[2].parameters(), lr=0.1)
net.train()  # BUG
FROZEN
for _ in range(8):
    loss = F.cross_entropy(net(x), y)
"""


def _with(text: str, **words: str) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


FIFTY_CASES = [
    (
        "mse-broadcast",
        """for _ in range(8):
    loss = ((model(x)[:, :1] - y.float()) ** 2).mean()  # BUG
"""
        + _STEP,
        """for _ in range(8):
    s = model(x)[:, 0]
    pairs = (s[:, None] - s[None, :]).abs().mean()  # every pair, on purpose
    loss = ((s - y.float()) ** 2).mean() + 0.01 * pairs
"""
        + _STEP,
    ),
    (
        "kl-on-probabilities",
        """for _ in range(8):
    target = torch.full((64, 2), 0.5)
    loss = F.kl_div(F.softmax(model(x), 1), target, reduction="batchmean")  # BUG
"""
        + _STEP,
        """for _ in range(8):
    target = torch.full((64, 2), 0.5)
    loss = F.kl_div(F.log_softmax(model(x), 1), target, reduction="batchmean")
"""
        + _STEP,
    ),
    (
        "missing-zero-grad",
        """opt = torch.optim.LBFGS(model.parameters(), max_iter=3)
def closure():
    loss = F.cross_entropy(model(x), y)
    loss.backward()  # BUG
    return loss
for _ in range(4):
    opt.step(closure)
""",
        """opt = torch.optim.LBFGS(model.parameters(), max_iter=3)
def closure():
    opt.zero_grad()
    total = 0
    for part in (slice(0, 32), slice(32, 64)):  # accumulates within a call
        loss = F.cross_entropy(model(x[part]), y[part]) / 2
        loss.backward()
        total += loss.item()
    return total
for _ in range(4):
    opt.step(closure)
""",
    ),
    (
        "missing-zero-grad",
        _HAND + "    w.grad.zero_()  # BUG\n",
        _HAND + "    w.grad = b.grad = None\n",
    ),
    (
        "lr-zero",
        """warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, step / 4))
for _ in range(3):
    for _ in range(5):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print()
    print()
    warm.step()  # BUG
""",
        """warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, step / 4))
for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warm.step()
""",
    ),
    (
        "optimizer-rebuilt",
        """for epoch in range(4):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 / (epoch + 1))  # BUG
    for _ in range(4):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
        """for fold in range(4):
    model = nn.Linear(6, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(4):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    ),
    (
        "first-batch-only",
        _BATCHES.replace(", shuffle=True", "")
        + "for _ in range(8):\n    a, b = next(iter(loader))  # BUG\n    loss = F.cross_entropy(model(a), b)\n"
        + _STEP,
        _BATCHES
        + "for _ in range(8):\n    a, b = next(iter(loader))\n    loss = F.cross_entropy(model(a), b)\n"
        + _STEP,
    ),
    (
        "plateau-wrong-direction",
        """plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)  # BUG
for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    acc = (model(x).argmax(1) == y).float().mean().item()
    plateau.step(acc)
""",
        """plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    acc = (model(x).argmax(1) == y).float().mean().item()
    plateau.step(1 - acc)
""",
    ),
    (
        "reseed-in-loop",
        _BATCHES
        + """def train():
    torch.manual_seed(1)  # BUG
    for a, b in loader:
        loss = F.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
for _ in range(4):
    train()
""",
        _BATCHES
        + """def train():
    for a, b in loader:
        loss = F.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
torch.manual_seed(1)
for _ in range(4):
    train()
""",
    ),
    ("gan-stale-d-grads", _with(_GAN, FAKE="fake"), _with(_GAN, FAKE="fake.detach()")),
    ("graph-over-updates", _with(_CARRIED, CARRIED="h"), _with(_CARRIED, CARRIED="h.detach()")),
    (
        "clip-after-step",
        _with(_CLIPPED, FIRST="", LAST=_CLIP + "  # BUG"),
        _with(_CLIPPED, FIRST=_CLIP, LAST=""),
    ),
    (
        "clip-before-backward",
        """for i in range(12):
    loss = F.cross_entropy(model(x), y) / 3
    if i % 3 == 2:
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # BUG
    loss.backward()
    if i % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
""",
        """for i in range(12):
    loss = F.cross_entropy(model(x), y) / 3
    loss.backward()
    if i % 3 == 2:
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        optimizer.step()
        optimizer.zero_grad()
""",
    ),
    (
        "accum-no-divide",
        """for i in range(12):
    ends = (i + 1) % 3 == 0
    loss = F.cross_entropy(model(x), y)
    loss.backward()  # BUG
    if ends:
        optimizer.step()
        optimizer.zero_grad()
""",
        """for i in range(12):
    ends = (i + 1) % 3 == 0
    loss = F.cross_entropy(model(x), y) / 3
    loss.backward()
    if ends:
        optimizer.step()
        optimizer.zero_grad()
""",
    ),
    (
        "loss-rewrapped",
        """for _ in range(8):
    parts = [-p[0] for p in model(x).log_softmax(1)]
    part = torch.tensor(parts, requires_grad=True).mean()  # BUG
    loss = part + F.cross_entropy(model(x), y)
"""
        + _STEP,
        """for _ in range(8):
    parts = [-p[0] for p in model(x).log_softmax(1)]
    print(torch.tensor(parts).mean())
    loss = torch.stack(parts).mean() + F.cross_entropy(model(x), y)
"""
        + _STEP,
    ),
    (
        "sam-first-gradient-kept",
        _with(_SAM, OLD="p.data.clone()", LATE="", CLEAR="print()", KEPT="  # BUG"),
        _with(_SAM, OLD="p.data.clone()", LATE="", CLEAR="optimizer.zero_grad()", KEPT=""),
    ),
    (
        "sam-not-restored",
        _with(_SAM, OLD="p.data", LATE="  # BUG", CLEAR="optimizer.zero_grad()", KEPT=""),
        _with(_SAM, OLD="p.detach().clone()", LATE="", CLEAR="model.zero_grad()", KEPT=""),
    ),
    (
        "unfrozen-in-no-optimizer",
        """net = nn.Sequential(nn.Linear(6, 16), nn.Linear(16, 2))
net[0].requires_grad_(False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for i in range(8):
    if i == 4:
        net[0].requires_grad_(True)  # BUG
    loss = F.cross_entropy(net(x), y)
"""
        + _STEP,
        """net = nn.Sequential(nn.Linear(6, 16), nn.Linear(16, 2))
net[0].requires_grad_(False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for i in range(8):
    if i == 4:
        net[0].requires_grad_(True)
        optimizer.add_param_group({"params": net[0].parameters()})
    loss = F.cross_entropy(net(x), y)
"""
        + _STEP,
    ),
    ("frozen-norm-live", _with(_NORMED, FROZEN="") + _STEP, _with(_NORMED, FROZEN="net[1].eval()") + _STEP),
    (
        "teacher-in-train-mode",
        _with(_TEACHER, MODE="") + _STEP,
        _with(_TEACHER, MODE="teacher.eval()") + _STEP,
    ),
    (
        "target-with-graph",
        _with(_DQN, NEXT="model(-x).max(1, keepdim=True)[0]"),
        _with(_DQN, NEXT="target_net(-x).max(1, keepdim=True)[0].detach()"),
    ),
    (
        "mean-over-samples",
        _BATCHES
        + """for _ in range(2):
    total = 0
    for a, b in loader:
        loss = F.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(total / len(loader.dataset))  # BUG
""",
        _BATCHES
        + """for _ in range(2):
    total = 0
    for a, b in loader:
        loss = F.cross_entropy(model(a), b, reduction="sum")
        optimizer.zero_grad()
        (loss / len(a)).backward()
        optimizer.step()
        total += loss.item()
    print(total / len(loader.dataset))
""",
    ),
    (
        "penalty-without-graph",
        """for _ in range(8):
    penalty = sum(p.data.abs().sum() for p in model.parameters())  # BUG
    loss = F.cross_entropy(model(x), y) + 0.01 * penalty
"""
        + _STEP,
        """for _ in range(8):
    penalty = sum(p.abs().sum() for p in model.parameters())
    size = sum(p.data.abs().sum() for p in model.parameters())
    loss = F.cross_entropy(model(x), y) + 0.01 * penalty
    print(size)
"""
        + _STEP,
    ),
    (
        "ema-weights-swapped",
        _with(
            _AVERAGED,
            SETUP="slow.requires_grad_(False)",
            ZEDGRAD="slow(x)",
            MIX="q.data = 0.01 * q.data + 0.99 * p.data  # BUG",
        ),
        _with(_AVERAGED, SETUP="slow.requires_grad_(False)", ZEDGRAD="slow(x)", MIX=_RIGHT_MIX),
    ),
    (
        "ema-copy-trained",
        _with(
            _AVERAGED,
            SETUP="optimizer.add_param_group({'params': slow.parameters()})",
            ZEDGRAD="slow(x)  # BUG",
            MIX=_RIGHT_MIX,
        ),
        _with(_AVERAGED, SETUP="print()", ZEDGRAD="slow(x).detach()", MIX="q.data.copy_(p.data)"),
    ),
]
