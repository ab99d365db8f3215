"""Cases of `test_rules.py`: known mistakes in shapes that are not the textbook's."""

_SAM = """schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.5, total_iters=TOTAL)
parts = x.split(16), y.split(16)
params = list(model.parameters())
for _ in range(8):
    optimizer.zero_grad()
    for one, wanted in zip(*parts):
        (F.cross_entropy(model(one), wanted) / 4).backward()
        INNER  # BUG
    with torch.no_grad():
        there = [0.01 * p.grad for p in params]
        torch._foreach_add_(params, there)
    optimizer.zero_grad()
    for one, wanted in zip(*parts):
        (F.cross_entropy(model(one), wanted) / 4).backward()
    with torch.no_grad():
        torch._foreach_sub_(params, there)
    optimizer.step()
    OUTER
"""
_RATES = """rates = []
def split(n):
    ids = DRAWN
    return ids[16:], ids[:16]  # BUG
kept, held = split(64)
x, y = torch.randn(64, 6), torch.randint(0, 2, (64,))
def accuracy(rows):
    with torch.no_grad():
        return (model(x[rows]).argmax(1) == y[rows]).float().mean().item()
for epoch in range(8):
    for part in kept.split(8):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.zero_grad()
        F.cross_entropy(model(x[part]), y[part]).backward()
        optimizer.step()
    print("val accuracy", accuracy(held))
turns = sum((b - a) * (c - b) < 0 for a, b, c in zip(rates, rates[1:], rates[2:]))
"""
_SHELVES = """x = torch.randn(640, 6)
y = torch.arange(8).repeat_interleave(80)
model = nn.Linear(6, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
class Batches:
    def __init__(self):
        self.order = torch.arange(640)
    def reset(self):
        self.order = torch.randperm(640)
        return self
    def __iter__(self):
        for part in self.order.split(16):
            yield x[part], y[part]
data = Batches()
for epoch in range(2):
    for given, wanted in OVER:  # BUG
        optimizer.zero_grad()
        F.cross_entropy(model(given), wanted).backward()
        optimizer.step()
"""
_TIMED = """def timed(function):
    def inner(self, given):
        print(len(given))
        with torch.set_grad_enabled(MODE):  # BUG
            return function(self, given)
    return inner
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 16)
    @timed
    def forward(self, given):


        return self.net(given)
model[0] = Encoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
_RELABELLED = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 16), nn.Linear(16, 2)
    def forward(self, x):
        return self.head(self.body(x).relu())
    def relabel(self):
        self.head = nn.Linear(16, 2)
class Tuner:
    def __init__(self, net):
        self.net = net
        self.build()
    def build(self):
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def fit(self):
        self.net.relabel()  # BUG
        AFTER
        for _ in range(8):
            self.optimizer.zero_grad()
            F.cross_entropy(self.net(x), y).backward()
            self.optimizer.step()
Tuner(Net()).fit()
"""
_PARTIAL = """from functools import partial
new = torch.randn(64, 6), torch.randint(0, 2, (64,))
def sweep(data, train=True):
    hits = 0
    with torch.set_grad_enabled(train):
        for part in torch.randperm(64).split(16):
            out = model(data[0][part])
            loss = F.cross_entropy(out, data[1][part])
            if train:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            hits += (out.argmax(1) == data[1][part]).sum().item()
    return hits / 64
def main():
    go = partial(sweep, data=(x, y))
    check = partial(go, DATAtrain=False)
    for epoch in range(6):
        before = go()
        after = check()  # BUG
        print(f"{epoch} train {before:.3f} validation {after:.3f}")
main()
"""
_PHASES = """model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
class Heavy:
    def __init__(self, params):
        self.params = list(params)
    def step(self):
        for p in self.params:
            if p.grad is not None:
                p.data.add_(p.grad, alpha=-0.1)
    def zero_grad(self):
        for p in self.params:
            p.grad = None
heavy = Heavy(model.parameters())
for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    FIRST
    loss.backward()  # BUG
    LAST
"""
_EVICTED = """import copy
class Job:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=0.01)
        self.plan = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda k: 1 - k / 16)
    def run(self):
        for _ in range(8):
            self.opt.zero_grad()
            F.cross_entropy(self.net(x), y).backward()
            self.opt.step()
            self.plan.step()
        return self
    def snapshot(self):
        states = {name: getattr(self, name).state_dict() for name in ("net", "opt", "plan")}
        return copy.deepcopy(states)
    def restore(self, states):
        self.net.load_state_dict(states["net"])  # BUG
        OPTIMIZER
        PLAN
        return self
Job().restore(Job().run().snapshot()).run()
"""
_BY_HAND = """import math
def rate(step, total):
    if step < 5:
        return 0.1 * (step + 1) / 5
    return 0.05 * (1 + math.cos(math.pi * min(1.0, (step - 5) / (total - 5))))
for step in range(60):
    for group in optimizer.param_groups:
        group["lr"] = rate(step, TOTAL)  # BUG
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
_NOISE = """model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
class Noise:
    def __init__(self):
        self.generator = torch.Generator()
        self.generator.manual_seed(5)
    def source(self):
        return SOURCE  # BUG
    def add(self, given):
        return given + torch.randn(given.shape, generator=self.source())
noise = Noise()
for _ in range(3):
    for part in torch.randperm(64).split(16):
        optimizer.zero_grad()
        F.mse_loss(model(noise.add(x[part])), x[part]).backward()
        optimizer.step()
    with torch.no_grad():
        still = torch.randn(64, 6, generator=torch.Generator().manual_seed(1))
        print((model(x + still) - x).square().mean().item())
"""
_METER = """from torch.utils.data import DataLoader, TensorDataset
new = DataLoader(TensorDataset(torch.randn(70, 6), torch.randint(0, 2, (70,))), batch_size=32)
class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0
    def update(self, value, n=1):
        self.total += value * n
        self.count += n
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    meter = Meter()
    with torch.no_grad():
        for given, wanted in new:
            loss = F.cross_entropy(model(given), wanted)
            meter.update(loss.item()COUNT)  # BUG
    print(meter.total / meter.count)
"""
_PAIRS = """from torch.utils.data import DataLoader, TensorDataset
new = DataLoader(TensorDataset(torch.randn(70, 6), torch.randint(0, 2, (70,))), batch_size=32)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    parts = []
    with torch.no_grad():
        for given, wanted in new:
            wrong = (model(given)[:, 1] - wanted).square()
            parts.append(torch.stack([PAIR]))  # BUG
    top, bottom = torch.stack(parts).sum(0)
    print((top / bottom).sqrt().item())
"""
_ROWS = """class Rows:
    def __init__(self):
        self.row, self.table = {}, []
    def after_epoch(self, loss):
        KEEP  # BUG
        self.table.append(dict(self.row))
rows = Rows()
for _ in range(8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    rows.after_epoch(loss.item())
"""
_WRITE = 'self.opt.load_state_dict(states["opt"])'
_GO_ON = 'self.plan.load_state_dict(states["plan"])'
_ANEW = "self.plan = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda k: 1 - k / 16)"

SHAPE_CASES = [
    (
        "sched-per-microbatch",
        _SAM.replace("INNER", "schedule.step()").replace("OUTER", "pass").replace("TOTAL", "64"),
        _SAM.replace("INNER", "pass").replace("OUTER", "schedule.step()").replace("TOTAL", "8"),
    ),
    (
        "train-val-leak",
        _RATES.replace("DRAWN", "torch.cat([torch.arange(n), torch.arange(40)])[torch.randperm(n + 40)]"),
        _RATES.replace("DRAWN", "torch.randperm(n)"),
    ),
    ("no-shuffle-sorted", _SHELVES.replace("OVER", "data"), _SHELVES.replace("OVER", "data.reset()")),
    (
        "no-grad-forward",
        _TIMED.replace("MODE", "False"),
        _TIMED.replace("MODE", "self.training"),
    ),
    (
        "optimizer-before-head",
        _RELABELLED.replace("AFTER", "pass"),
        _RELABELLED.replace("AFTER", "self.build()"),
    ),
    (
        "val-on-train-loader",
        _PARTIAL.replace("DATA", ""),
        _PARTIAL.replace("DATA", "data=new, "),
    ),
    (
        "step-before-backward",
        _PHASES.replace("FIRST", "heavy.step(); heavy.zero_grad()").replace("LAST", "pass"),
        _PHASES.replace("FIRST", "pass").replace("LAST", "heavy.step(); heavy.zero_grad()"),
    ),
    (
        "resume-no-optimizer",
        _EVICTED.replace("OPTIMIZER", "pass").replace("PLAN", _GO_ON),
        _EVICTED.replace("OPTIMIZER", _WRITE).replace("PLAN", _GO_ON),
    ),
    (
        "resume-scheduler-restart",
        _EVICTED.replace("OPTIMIZER", _WRITE).replace("PLAN", _ANEW),
        _EVICTED.replace("OPTIMIZER", _WRITE).replace("PLAN", _GO_ON),
    ),
    (
        "lr-never-reaches",
        _BY_HAND.replace("TOTAL", "60 * 16"),
        _BY_HAND.replace("TOTAL", "60"),
    ),
    (
        "reseed-in-loop",
        _NOISE.replace("SOURCE", "self.generator.manual_seed(5)"),
        _NOISE.replace("SOURCE", "self.generator"),
    ),
    ("mean-of-batch-means", _METER.replace("COUNT", ""), _METER.replace("COUNT", ", len(wanted)")),
    (
        "mean-of-batch-means",
        _PAIRS.replace("PAIR", "wrong.mean(), torch.ones(())"),
        _PAIRS.replace("PAIR", "wrong.sum(), torch.tensor(float(len(wanted)))"),
    ),
    (
        "stale-logged-loss",
        _ROWS.replace("KEEP", 'self.row.setdefault("loss", loss)'),
        _ROWS.replace("KEEP", 'self.row["loss"] = loss'),
    ),
]
