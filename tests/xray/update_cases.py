"""Pairs of scripts for the rules of updates, schedules and modes: with the mistake, and a near one without it."""

SCALED = """scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
for _ in range(8):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
TWO = """other = nn.Linear(6, 2)
second = torch.optim.SGD(other.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
last = torch.optim.lr_scheduler.ExponentialLR(second, 0.5)
for _ in range(8):
    for net, own in ((model, optimizer), (other, second)):
        own.zero_grad()
        F.cross_entropy(net(x), y).backward()
        own.step()
    scheduler.step()
    if True:
        last.step()
"""
DROPPED = """model.append(nn.Dropout(0.1))
new = torch.randn(9, 6)
for _ in range(6):
    model.train()
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(new)
"""
FROZEN = """for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
PROBE = """probe = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for _ in range(8):
    probe.zero_grad()
    F.cross_entropy(net(x), y).backward()
    probe.step()
"""
NORMED = """model = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 2))
spared, decayed = [], []
for n, p in model.named_parameters():
    spares = False
    if RULE:
        spared.append(p)
    else:
        decayed.append(p)
optimizer = torch.optim.AdamW([{"params": spared, "weight_decay": 0.0}, {"params": decayed, "weight_decay": 0.1}])
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
SAM = """for _ in range(8):
    for i in range(0, 32, 8):
        (F.cross_entropy(model(x[i : i + 8]), y[i : i + 8]) / 4).backward()
    moves = [0.05 * p.grad / p.grad.norm() for p in model.parameters()]
    with torch.no_grad():
        for p, move in zip(model.parameters(), moves):
            p.add_(move)
    optimizer.zero_grad()
    for i in WHICH:
        (F.cross_entropy(model(x[i : i + 8]), y[i : i + 8]) / 4).backward()  # BUG
    with torch.no_grad():
        for p, move in zip(model.parameters(), moves):
            p.sub_(move)
    optimizer.step()
    optimizer.zero_grad()
"""
AVERAGED = """import copy
shadow = copy.deepcopy(model)


@torch.no_grad()
def update(shadow, model):
    for a, b in zip(shadow.parameters(), model.parameters()):
        a.mul_(0.9).add_(b, alpha=0.1)


for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    FIRST
    SECOND
"""
REPLICAS = """import copy
twin = copy.deepcopy(model)
second = torch.optim.SGD(twin.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    second.zero_grad()
    F.cross_entropy(model(x[:32]), y[:32]).backward()
    F.cross_entropy(twin(x[32:]), y[32:]).backward()
    for both in zip(model.parameters(), twin.parameters()):
        total = TOTAL
        for p in both:
            p.grad = total.clone()
    optimizer.step()
    second.step()
"""
_AVERAGED = """from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
averaged = torch.optim.swa_utils.AveragedModel(model)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
for epoch in range(3):
    for xb, yb in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        optimizer.step()
    averaged.update_parameters(model)
"""
_HUBER = """def huber(output, target):
    off = (output - target).abs()  # BUG
    return torch.where(off < 1, 0.5 * off ** 2, off - 0.5).mean()
for _ in range(20):
    loss = huber(OUTPUT, x[:, 0])
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
UPDATE_CASES = [
    (
        "accum-no-divide",
        """for i in range(32):
    F.cross_entropy(model(x[i::8]), y[i::8]).backward()  # BUG
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
        """for i in range(16):
    for part in (0, 1):  # one part of the loss after the other
        (F.cross_entropy(model(x), y) if part else model(x).square().mean()).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    ),
    (
        "double-division",
        """for i in range(32):
    loss = F.cross_entropy(model(x[i::8]), y[i::8]) / 4
    (loss / 4).backward()  # BUG
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
""",
        """for i in range(32):
    loss = F.cross_entropy(model(x[i::8]), y[i::8])
    (loss / 4).backward()
    if (i + 1) % 4 == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()
""",
    ),
    (
        "accum-off-by-one",
        """loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=5, shuffle=True)
for _ in range(3):
    for i, (a, b) in enumerate(loader):
        (F.cross_entropy(model(a), b) / 4).backward()
        if i % 4 == 0:  # BUG
            optimizer.step()
            optimizer.zero_grad()
""",
        """loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=5, shuffle=True)
for _ in range(3):
    for i, (a, b) in enumerate(loader):
        (F.cross_entropy(model(a), b) / 4).backward()
        if (i + 1) % 4 == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
""",
    ),
    (
        "clip-before-unscale",
        SCALED.replace("    scaler.unscale_(optimizer)\n", "").replace("1.0)", "1.0)  # BUG"),
        SCALED,
    ),
    ("scaler-step-bypassed", SCALED.replace("scaler.step(optimizer)", "optimizer.step()  # BUG"), SCALED),
    (
        "bf16-with-scaler",
        SCALED.replace("float16", "bfloat16").replace("init_scale=128.0)", "init_scale=128.0)  # BUG"),
        SCALED.replace("float16", "bfloat16").replace('"cpu", init', '"cpu", enabled=False, init'),
    ),
    (
        "fp16-no-scaler",
        """for _ in range(8):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()  # BUG
    optimizer.step()
""",
        """for _ in range(8):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
""",
    ),
    (
        "sched-before-optimizer",
        """scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
for _ in range(4):
    scheduler.step()  # BUG
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
""",
        """scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
for _ in range(2):  # forward to where an earlier run ended
    scheduler.step()
for _ in range(4):
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    scheduler.step()
""",
    ),
    (
        "sched-other-optimizer",
        TWO.replace("ExponentialLR(second, 0.5)", "ExponentialLR(optimizer, 0.5)  # BUG"),
        TWO.replace("last = ", "last = None  # ").replace("        last.step()", "        pass"),
    ),
    (
        "sched-per-microbatch",
        """scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 8, 0.9)
for i in range(32):
    (F.cross_entropy(model(x[i::8]), y[i::8]) / 2).backward()
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step()  # BUG
""",
        """scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 8, 0.9)
for i in range(32):
    (F.cross_entropy(model(x[i::8]), y[i::8]) / 2).backward()
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
""",
    ),
    (
        "sum-loss-lr",
        """criterion = nn.CrossEntropyLoss(reduction="sum")  # BUG
for _ in range(8):
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
""",
        """criterion = nn.CrossEntropyLoss(reduction="sum")
for _ in range(8):
    optimizer.zero_grad()
    (criterion(model(x), y) / len(x)).backward()
    optimizer.step()
""",
    ),
    (
        "eval-in-train-mode",
        DROPPED.replace("model.eval()", "model.train()  # BUG"),
        DROPPED + "    with torch.no_grad():  # as a target: not an evaluation\n        model(x)\n",
    ),
    (
        "eval-without-no-grad",
        DROPPED.replace("with torch.no_grad():", "if True:").replace("model(new)", "model(new)  # BUG"),
        DROPPED.replace("with torch.no_grad():", "if True:").replace(
            "model(new)", "F.cross_entropy(model(new.requires_grad_()), y[:9]).backward()  # a saliency map"
        ),
    ),
    (
        "loss-graph-kept",
        """total = 0
for _ in range(24):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss  # BUG
""",
        """total = 0
for _ in range(24):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss.detach()
""",
    ),
    (
        "loss-rewrapped",
        """for _ in range(8):
    optimizer.zero_grad()
    loss = torch.tensor(F.cross_entropy(model(x), y).item(), requires_grad=True)  # BUG
    loss.backward()
    optimizer.step()
""",
        """scale = torch.tensor(1.0, requires_grad=True)
for _ in range(8):
    optimizer.zero_grad()
    (scale * F.cross_entropy(model(x), y)).backward()
    optimizer.step()
""",
    ),
    (
        "detached-forward",
        """for _ in range(8):
    optimizer.zero_grad()
    h = model[0](x).detach()  # BUG
    F.cross_entropy(model[2](model[1](h)), y).backward()
    optimizer.step()
""",
        """for _ in range(8):
    optimizer.zero_grad()
    h = model[0](x)
    target = h.detach()
    (F.cross_entropy(model[2](model[1](h)), y) + F.mse_loss(h, target)).backward()
    optimizer.step()
""",
    ),
    (
        "no-grad-forward",
        """for _ in range(8):
    optimizer.zero_grad()
    with torch.no_grad():
        h = model[0](x)  # BUG
    F.cross_entropy(model[2](model[1](h)), y).backward()
    optimizer.step()
""",
        """model[0].requires_grad_(False)
for _ in range(8):
    optimizer.zero_grad()
    with torch.no_grad():
        h = model[0](x)
    F.cross_entropy(model[2](model[1](h)), y).backward()
    optimizer.step()
""",
    ),
    (
        "optimizer-consumed-generator",
        """first = (p for p in model[0].parameters())
print(len(list(first)))
optimizer = torch.optim.SGD([{"params": first}, {"params": model[2].parameters()}], lr=0.1)  # BUG
""",
        """first = (p for p in model[1].parameters())
optimizer = torch.optim.SGD([{"params": first}, {"params": model.parameters()}], lr=0.1)
""",
    ),
    (
        "layers-in-python-list",
        """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 2)
        self.middle = [nn.Linear(16, 16) for _ in range(2)]  # BUG

    def forward(self, x):
        h = self.first(x)
        for layer in self.middle:
            h = layer(h).relu()
        return self.last(h)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
        """critic = [nn.Linear(2, 2).requires_grad_(False)]
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(critic[0](model(x)), y).backward()
    optimizer.step()
""",
    ),
    (
        "accidental-freeze",
        FROZEN
        + """net = nn.Sequential(model[0], nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
for p in net.parameters():
    p.requires_grad = False  # BUG
net[4] = nn.Linear(16, 2)
"""
        + PROBE,
        FROZEN
        + """net = nn.Sequential(model[0], nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
for p in net[0].parameters():
    p.requires_grad = False
net[4] = nn.Linear(16, 2)
"""
        + PROBE,
    ),
    (
        "weight-decay-on-norm",
        NORMED.replace("if RULE:", 'if "norm" in n or "bias" in n:  # BUG'),
        NORMED.replace("RULE", "p.ndim < 2"),
    ),
    (
        "sam-last-micro",
        SAM.replace("WHICH", "[8 * 3]"),
        SAM.replace("WHICH", "range(0, 32, 8)").replace("# BUG", ""),
    ),
    (
        "ema-before-step",
        AVERAGED.replace("FIRST", "update(shadow, model)  # BUG").replace("SECOND", "optimizer.step()"),
        AVERAGED.replace("FIRST", "optimizer.step()").replace("SECOND", "update(shadow, model)"),
    ),
    (
        "ema-keeps-graph",
        """shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    for n, p in model.named_parameters():
        shadow[n] = 0.9 * shadow[n] + (1 - 0.9) * p  # BUG
""",
        """shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    for n, p in model.named_parameters():
        shadow[n] = 0.9 * shadow[n] + (1 - 0.9) * p.detach()
""",
    ),
    (
        "ddp-sum-not-mean",
        REPLICAS.replace("TOTAL", "sum(p.grad for p in both)  # BUG"),
        REPLICAS.replace("TOTAL", "sum(p.grad for p in both) / len(both)"),
    ),
    (
        "lr-never-reaches",
        """scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1, (n + 1) / 500))  # BUG
for _ in range(20):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    scheduler.step()
""",
        """scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1, (n + 1) / 15))
for _ in range(20):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    scheduler.step()
""",
    ),
    (
        "sched-per-microbatch",
        """scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
for n in range(48):
    (F.cross_entropy(model(x), y) / 4).backward()
    if (n + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
    scheduler.step()  # BUG
""",
        """scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
for n in range(48):
    (F.cross_entropy(model(x), y) / 4).backward()
    if (n + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
""",
    ),
    (
        "lr-zero",
        """scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: (n + 1) // 200)  # BUG
for _ in range(30):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    scheduler.step()
""",
        """scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1, (n + 1) / 20))
for _ in range(30):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    scheduler.step()
""",
    ),
    (
        "val-on-train-loader",
        _AVERAGED
        + """averaged.eval()
with torch.no_grad():
    val_hits = sum((averaged(xb).argmax(1) == yb).sum() for xb, yb in loader)  # BUG
""",
        _AVERAGED + "torch.optim.swa_utils.update_bn(loader, averaged)\n",
    ),
    (
        "mse-broadcast",
        _HUBER.replace("OUTPUT", "model(x)[:, :1]"),
        _HUBER.replace("OUTPUT", "model(x)[:, 0]"),
    ),
]
