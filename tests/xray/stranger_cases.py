"""Cases of `test_rules.py`: what xray learnt from a stranger's scripts of November 30."""

_RING = """def penalty(judge, given):
    mid = given.detach().requires_grad_(True)
    grad, = torch.autograd.grad(judge(mid).sum(), midGRAPH)  # BUG
    return (grad.norm(2, dim=1) - 1).pow(2).mean()
for _ in range(8):
    loss = F.cross_entropy(model(x), y) + 0.1 * penalty(model, x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_COSH = """wanted = x.sum(1)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def log_cosh(pred, target):
    d = pred - target
    return (d + F.softplus(-2 * d)).mean()
for _ in range(8):
    loss = log_cosh(model(x), WANTED)  # BUG
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_CYCLE = """STEPS = 8 * 4
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=STEPS)
for epoch in range(8):
    for part in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x[part::4]), y[part::4]).backward()
        optimizer.step()
        INSIDE
    OUTSIDE  # BUG
"""
_JUDGED = """model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
new = torch.randn(40, 6)
def score(rows):
    FIRST
    with torch.no_grad():
        return model(rows).argmax(1).float().mean().item()  # BUG
model.train()
for _ in range(12):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
print(score(NEW))
"""
_TASKS = """heads = nn.ModuleDict({name: nn.Linear(16, 2) for name in "abc"})
body = nn.Linear(6, 16)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.heads = body, heads
    def forward(self, x):
        return {name: head(self.body(x).relu()) for name, head in self.heads.items()}
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def total(outputs):
    loss = 0.0
    for name in "abc":
        ADD
    return loss
for _ in range(8):
    loss = total(net(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_EPOCHS = """def learn(part):
    F.cross_entropy(model(x[part::4]), y[part::4]).backward()
    optimizer.step()
for epoch in range(4):
    FIRST
    for part in range(4):
        EACH
        learn(part)
"""
_TEACHER = """import copy
model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
teacher = copy.deepcopy(model).requires_grad_(False).eval()
for _ in range(8):
    out = model(x)
    with torch.no_grad():
        soft = teacher(x).softmax(1)
    loss = F.cross_entropy(out, y) + F.mse_loss(out.softmax(1), soft)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), model.parameters()):
            t.lerp_(s, 0.1)  # BUG
        BUFFERS
"""
_PHASES = """model = nn.Sequential(nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU()), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def learn():
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()  # BUG
    optimizer.step()
for _ in range(6):
    learn()
model.eval()
with torch.no_grad():
    model(x)
for _ in range(6):
    MODE
    learn()
"""

STRANGER_CASES = [
    ("penalty-without-graph", _RING.replace("GRAPH", ""), _RING.replace("GRAPH", ", create_graph=True")),
    (
        "penalty-without-graph",
        """for _ in range(8):
    given = x.clone().requires_grad_(True)
    main = F.cross_entropy(model(given), y)
    slope = torch.autograd.grad(main, given, retain_graph=True)[0]  # BUG
    sharp = slope.pow(2).sum()
    loss = main
    loss += 0.5 * sharp
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        # Gradients weigh a loss, make another input, and are printed; a number is added.
        """for _ in range(8):
    given = x.clone().requires_grad_(True)
    main = F.cross_entropy(model(given), y)
    slope = torch.autograd.grad(main, given, retain_graph=True)[0]
    weight = slope.norm()
    other = F.cross_entropy(model(x + 0.1 * slope.sign()), y)
    loss = main + weight * other + 1.0
    print(slope.norm().item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    ("mse-broadcast", _COSH.replace("WANTED", "wanted"), _COSH.replace("WANTED", "wanted[:, None]")),
    (
        "mse-broadcast",
        _COSH.replace("WANTED", "wanted"),
        # Every pair is meant.
        _COSH.replace("WANTED", "wanted[None, :]"),
    ),
    (
        "lr-never-reaches",
        _CYCLE.replace("INSIDE", "pass").replace("OUTSIDE", "schedule.step()"),
        _CYCLE.replace("INSIDE", "schedule.step()").replace("OUTSIDE", "pass"),
    ),
    (
        "lr-never-reaches",
        _CYCLE.replace("INSIDE", "pass").replace("OUTSIDE", "schedule.step()").replace("8 * 4", "33"),
        # As long as the epochs.
        _CYCLE.replace("INSIDE", "pass").replace("OUTSIDE", "schedule.step()").replace("8 * 4", "8"),
    ),
    (
        "eval-in-train-mode",
        _JUDGED.replace("FIRST", "pass").replace("NEW", "new"),
        _JUDGED.replace("FIRST", "model.eval()").replace("NEW", "new"),
    ),
    (
        "eval-in-train-mode",
        _JUDGED.replace("FIRST", "pass").replace("NEW", "new"),
        # Dropout samples: each row comes several times.
        _JUDGED.replace("FIRST", "pass").replace("NEW", "new.repeat(5, 1)"),
    ),
    (
        "loss-left-out",
        _TASKS.replace("ADD", "loss = F.cross_entropy(outputs[name], y)  # BUG"),
        _TASKS.replace("ADD", "loss += F.cross_entropy(outputs[name], y)"),
    ),
    (
        "missing-zero-grad",
        _EPOCHS.replace("FIRST", "optimizer.zero_grad()  # BUG").replace("EACH", "pass"),
        _EPOCHS.replace("FIRST", "pass").replace("EACH", "optimizer.zero_grad()"),
    ),
    (
        "ema-without-buffers",
        _TEACHER.replace("BUFFERS", "pass"),
        _TEACHER.replace(
            "BUFFERS", "for t, s in zip(teacher.buffers(), model.buffers()):\n            t.copy_(s)"
        ),
    ),
    (
        "eval-mode-not-restored",
        _PHASES.replace("MODE", "pass"),
        _PHASES.replace("MODE", "model.train(); model[0].eval()"),
    ),
]
