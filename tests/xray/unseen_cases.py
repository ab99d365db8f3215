"""Pairs of scripts for forms of mistakes that only unseen scripts showed; each begins with the head of `test_rules`."""

UNSEEN_CASES = [
    (
        "worker-same-numpy-seed",
        """import numpy as np
from torch.utils.data import DataLoader, Dataset
from types import SimpleNamespace
class Noisy(Dataset):
    def __len__(self):
        return len(x)
    def __getitem__(self, i):
        return x[i] + float(np.random.normal(0, 0.1)), y[i]
def run(options):
    def start(number):
        seed = options.seed % 1000
        np.random.seed(seed + 1)  # BUG
    loader = DataLoader(Noisy(), batch_size=16, shuffle=True, num_workers=2, worker_init_fn=start)
    for _ in range(2):
        for a, b in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(a), b).backward()
            optimizer.step()
run(SimpleNamespace(seed=5))
""",
        """import numpy as np
from torch.utils.data import DataLoader, Dataset
from types import SimpleNamespace
class Noisy(Dataset):
    def __len__(self):
        return len(x)
    def __getitem__(self, i):
        return x[i] + float(np.random.normal(0, 0.1)), y[i]
class Turn:
    seed, epoch = 5, 0
def run(options):
    def start(number):
        seed = options.seed % 1000 + number
        np.random.seed(seed)
    def again(number):
        np.random.seed(Turn.epoch)
    loaders = [DataLoader(Noisy(), batch_size=32, num_workers=2, worker_init_fn=start),
               DataLoader(Noisy(), batch_size=32, num_workers=2, worker_init_fn=again)]
    for epoch in range(2):
        Turn.epoch = epoch
        for loader in loaders:
            for a, b in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(a), b).backward()
                optimizer.step()
run(SimpleNamespace(seed=5))
""",
    ),
    (
        "pad-in-loss",
        """PAD = 0
model = nn.Sequential(nn.Embedding(20, 8, padding_idx=PAD), nn.Linear(8, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    ids = torch.randint(1, 20, (8, 12)) * (torch.arange(12) < torch.randint(3, 11, (8, 1)))
    tags = ids % 5  # 0 is a tag, too
    scores = model(ids)
    loss = F.cross_entropy(scores.transpose(1, 2), tags)  # BUG
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        """PAD = 0
model = nn.Sequential(nn.Embedding(20, 8, padding_idx=PAD), nn.Linear(8, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    ids = torch.randint(1, 20, (8, 12)) * (torch.arange(12) < torch.randint(3, 11, (8, 1)))
    tags = (ids % 5).masked_fill(ids == PAD, -100)
    scores = model(ids)
    loss = F.cross_entropy(scores.transpose(1, 2), tags)
    real = ids != PAD
    loss = loss + F.cross_entropy(scores[real], tags[real])
    each = F.cross_entropy(scores.transpose(1, 2), ids % 5, reduction="none")
    loss = loss + (each * real).sum() / real.sum()
    loss = loss + 0.1 * F.cross_entropy(model(ids).transpose(1, 2), torch.randint(0, 5, (8, 12)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    (
        "pad-in-accuracy",
        """model = nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ids = torch.randint(1, 20, (16, 12)) * (torch.arange(12) < torch.randint(3, 11, (16, 1)))
tags = (ids % 5).masked_fill(ids == 0, -100)
@torch.no_grad()
def score(rows, wanted):
    guess = model(rows)
    guess = guess.argmax(-1)
    hits = guess.eq(wanted).float()  # BUG
    return hits.mean().item()
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(ids).flatten(0, 1), tags.flatten()).backward()
    optimizer.step()
    print(score(ids, tags))
""",
        """model = nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ids = torch.randint(1, 20, (16, 12)) * (torch.arange(12) < torch.randint(3, 11, (16, 1)))
tags = (ids % 5).masked_fill(ids == 0, -100)
@torch.no_grad()
def guessed(rows):
    return model(rows).argmax(-1)[rows > 0]
def score(rows, wanted, real):
    return (guessed(rows) == real).float().mean().item()
@torch.no_grad()
def counted(rows, wanted):
    hits = model(rows).argmax(-1) == wanted
    return hits.sum().item() / (wanted != -100).sum().item()
def padding(rows):
    with torch.no_grad():
        model(rows)
    return (rows == 0).float().mean().item()
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(ids).flatten(0, 1), tags.flatten()).backward()
    optimizer.step()
    print(score(ids, tags, (ids % 5)[ids > 0]), counted(ids, tags), padding(ids))
""",
    ),
    (
        "best-by-reference",
        """least, saved = 1e9, None
for _ in range(8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if loss.item() < least:
        least = loss.item()
        saved = {name: one.view_as(one) for name, one in model.state_dict().items()}  # BUG
model.load_state_dict(saved)
""",
        """least, saved = 1e9, None
for _ in range(8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if loss.item() < least:
        least = loss.item()
        saved = {name: one.detach().cpu().clone() for name, one in model.state_dict().items()}
    state = model.state_dict()
    state["2.bias"] = torch.zeros(2)
    model.load_state_dict({name: one.detach() for name, one in state.items()})
model.load_state_dict(saved)
""",
    ),
    (
        "ema-before-step",
        """import copy
class Follower:
    def __init__(self, net):
        self.net = copy.deepcopy(net).requires_grad_(False)
    @torch.no_grad()
    def follow(self, net):
        for a, b in zip(self.net.parameters(), net.parameters()):
            a.mul_(0.9).add_(b, alpha=0.1)
class Loop:
    def __init__(self):
        self.mean = Follower(model)
    def gradients(self):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        self.mean.follow(model)  # BUG
    def run(self):
        for _ in range(8):
            self.gradients()
            optimizer.step()
Loop().run()
""",
        """import copy
class Follower:
    def __init__(self, net):
        self.net = copy.deepcopy(net).requires_grad_(False)
    @torch.no_grad()
    def follow(self, net):
        for a, b in zip(self.net.parameters(), net.parameters()):
            a.mul_(0.9).add_(b, alpha=0.1)
class Loop:
    def __init__(self):
        self.mean = Follower(model)
        self.judge = nn.Linear(2, 1)
        self.other = torch.optim.SGD(self.judge.parameters(), lr=0.1)
    def finish(self):
        optimizer.step()
        self.mean.follow(model)
    def run(self):
        for _ in range(8):
            optimizer.zero_grad()
            self.other.zero_grad()
            scores = model(x)
            F.cross_entropy(scores, y).backward()
            self.judge(scores.detach()).square().mean().backward()
            self.finish()
            self.other.step()
Loop().run()
""",
    ),
    (
        "reseed-in-loop",
        """from torch.utils.data import DataLoader, TensorDataset
SEED, pairs = 3, TensorDataset(x, y)
for _ in range(3):
    order = torch.Generator()
    order.manual_seed(SEED)  # BUG
    for a, b in DataLoader(pairs, batch_size=16, shuffle=True, generator=order):
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
""",
        """from torch.utils.data import DataLoader, TensorDataset
SEED, pairs = 3, TensorDataset(x, y)
def loader(seed):
    return DataLoader(pairs, batch_size=16, shuffle=True, generator=torch.Generator().manual_seed(seed))
def trained(net, opt, batches):
    for a, b in batches:
        opt.zero_grad()
        F.cross_entropy(net(a), b).backward()
        opt.step()
for epoch in range(2):
    trained(model, optimizer, loader(SEED + epoch))
other = nn.Linear(6, 2)
of_other = torch.optim.SGD(other.parameters(), lr=0.1)
for epoch in range(2):  # two models, each epoch in one order
    trained(model, optimizer, loader(SEED + epoch))
    trained(other, of_other, loader(SEED + epoch))
for rate in (0.1, 0.01):  # each run sees one order
    net = nn.Linear(6, 2)
    trained(net, torch.optim.SGD(net.parameters(), lr=rate), loader(SEED))
""",
    ),
    (
        "accidental-freeze",
        """import copy
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
model.requires_grad_(False)
pupil = nn.Sequential(copy.deepcopy(model[0]), nn.Linear(16, 2))  # BUG
optimizer = torch.optim.SGD(pupil.parameters(), lr=0.1)
for _ in range(8):
    with torch.no_grad():
        wanted = model(x)
    optimizer.zero_grad()
    F.mse_loss(pupil(x), wanted).backward()
    optimizer.step()
""",
        """import copy
for _ in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
model.requires_grad_(False)
pupil = nn.Sequential(copy.deepcopy(model[0]), nn.Linear(16, 2))
start = copy.deepcopy(pupil).requires_grad_(True)
optimizer = torch.optim.SGD([*pupil[1].parameters(), *start.parameters()], lr=0.1)
for _ in range(8):
    with torch.no_grad():
        wanted = model(x)
    optimizer.zero_grad()
    (F.mse_loss(pupil(x), wanted) + F.mse_loss(start(x), wanted)).backward()
    optimizer.step()
""",
    ),
    (
        "inplace-input",
        """def centred(rows):
    rows -= 0.01 * rows.mean(0)  # BUG
    return rows
for _ in range(3):
    for i in range(0, len(x), 8):
        optimizer.zero_grad()
        F.cross_entropy(model(centred(x[i:i + 8])), y[i:i + 8]).backward()
        optimizer.step()
""",
        """speed = 0.01 * torch.randn_like(x)
def moved(rows, speeds):
    speeds *= 0.99  # particles that slow down
    rows += 0.1 * speeds
    return rows
for _ in range(3):
    for i in range(0, len(x), 8):
        optimizer.zero_grad()
        F.cross_entropy(model(moved(x[i:i + 8], speed[i:i + 8])), y[i:i + 8]).backward()
        optimizer.step()
""",
    ),
    (
        "inplace-input",
        """judge = nn.Linear(6, 1)
def scaled(rows):
    rows *= 1 + 0.05 * torch.randn(len(rows), 1)  # BUG
    return rows
of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
parts = x.chunk(8)
for _ in range(3):
    for part, label in zip(parts, y.chunk(8)):
        for _ in range(2):
            of_judge.zero_grad()
            judge(torch.randn(8, 6)).square().mean().backward()
            of_judge.step()
        optimizer.zero_grad()
        F.cross_entropy(model(scaled(part)), label).backward()
        optimizer.step()
""",
        """judge = nn.Linear(6, 1)
def filled(slot, rows):
    slot.copy_(rows)  # a ring of buffers, each filled anew
    return slot
def scaled(rows):
    rows = rows * (1 + 0.05 * torch.randn(len(rows), 1))
    rows -= rows.mean(0)
    return rows
of_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
parts, ring = x.chunk(8), torch.zeros(4, 8, 6)
for _ in range(3):
    for number, (part, label) in enumerate(zip(parts, y.chunk(8))):
        for _ in range(2):
            of_judge.zero_grad()
            judge(filled(ring[number % 4], torch.randn(8, 6))).square().mean().backward()
            of_judge.step()
        optimizer.zero_grad()
        F.cross_entropy(model(scaled(part)), label).backward()
        optimizer.step()
""",
    ),
    (
        "no-shuffle-sorted",
        """from torch.utils.data import DataLoader, TensorDataset
bad, good = x[y == 0], x[y == 1]
rows = torch.cat([bad, good])
answers = torch.cat([torch.zeros(len(bad), 1), torch.ones(len(good), 1)])
loader = DataLoader(TensorDataset(rows, torch.arange(64), answers), batch_size=4)  # BUG
for _ in range(3):
    for a, _, b in loader:
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(a)[:, :1], b).backward()
        optimizer.step()
""",
        """from torch.utils.data import DataLoader, TensorDataset
late = torch.cat([torch.zeros(60), torch.ones(4)])  # seldom, and mixed with the others' marks below
for marks in (late[torch.randperm(64)], y.float()):
    for _ in range(3):
        for a, b in DataLoader(TensorDataset(x, marks), batch_size=4):
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(model(a)[:, 0], b).backward()
            optimizer.step()
""",
    ),
    (
        "lr-never-reaches",
        """for step in range(8):
    settings = optimizer.state_dict()["param_groups"][0]  # BUG
    settings["lr"] = 0.1 * 0.8**step
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
        """saved = []
for step in range(8):
    state = optimizer.state_dict()
    state["param_groups"][0]["lr"] = 0.1 * 0.8**step
    if step % 2:
        optimizer.load_state_dict(state)
        del state
    else:  # another rate for whoever goes on from here
        saved.append(state)
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    ),
    (
        "sched-other-optimizer",
        """schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 16)  # BUG
for epoch in range(14):
    if epoch == 6:
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for part in torch.randperm(64).split(8):
        optimizer.zero_grad()
        F.cross_entropy(model(x[part]), y[part]).backward()
        optimizer.step()
    schedule.step()
    with torch.no_grad():
        print(F.cross_entropy(model(x), y))
""",
        """second = torch.optim.Adam(model.parameters(), lr=0.05)
schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(one, 14) for one in (optimizer, second)]
for epoch in range(14):
    used = optimizer if epoch % 4 < 2 else second  # in turn, on purpose
    for part in torch.randperm(64).split(8):
        used.zero_grad()
        F.cross_entropy(model(x[part]), y[part]).backward()
        used.step()
    for one in schedules:
        one.step()
    with torch.no_grad():
        print(F.cross_entropy(model(x), y))
""",
    ),
    (
        "ema-keeps-graph",
        """def train():
    slow = [p.detach().clone() for p in model.parameters()]
    for _ in range(20):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        slow = [0.9 * s + (1 - 0.9) * p for s, p in zip(slow, model.parameters())]  # BUG
    return [s.detach() for s in slow]
train()
""",
        """cell = nn.GRUCell(6, 6)
def train():
    slow, state = [p.detach().clone() for p in model.parameters()], torch.zeros(64, 6)
    for _ in range(20):
        optimizer.zero_grad()
        for _ in range(18):
            state = cell(x, state)
        rest = (model(state) - y[:, None]).square().mean()
        rest.backward()
        optimizer.step()
        state = state.detach()
        slow = [0.9 * s + (1 - 0.9) * p.detach() for s, p in zip(slow, model.parameters())]
optimizer.add_param_group({"params": cell.parameters()})
train()
""",
    ),
    (
        "ema-before-step",
        """import copy
smooth = copy.deepcopy(model)
def follow(*_):
    with torch.no_grad():
        for slow, fast in zip(smooth.parameters(), model.parameters()):
            slow.mul_(0.9).add_(0.1 * fast)
optimizer.register_step_pre_hook(follow)  # BUG
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
        """import copy
smooth, seen = copy.deepcopy(model), []
def follow(*_):
    with torch.no_grad():
        for slow, fast in zip(smooth.parameters(), model.parameters()):
            slow.mul_(0.9).add_(0.1 * fast)
def watch_gradients(*_):  # before the step, on purpose
    seen.append(sum(0.5 * p.grad.norm() + 0.5 * p.norm() for p in model.parameters()).item())
optimizer.register_step_pre_hook(watch_gradients)
optimizer.register_step_post_hook(follow)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    ),
    (
        "no-shuffle-sorted",
        """from torch.utils.data import DataLoader, TensorDataset
order = y.argsort()
loader = DataLoader(TensorDataset(x[order], y[order]), batch_size=6)  # BUG
for _ in range(3):
    for a, b in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
""",
        """from torch.utils.data import DataLoader, TensorDataset
for _ in range(3):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=6):
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
""",
    ),
    (
        "overwritten-batch",
        """from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
first = next(iter(loader))
for _ in range(2):
    for a, b in loader:
        a, b = first  # BUG
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
""",
        """from torch.utils.data import DataLoader, TensorDataset
a, b = next(iter(DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)))
for _ in range(16):  # one batch on purpose
    optimizer.zero_grad()
    F.cross_entropy(model(a), b).backward()
    optimizer.step()
""",
    ),
    (
        "eval-mode-not-restored",
        """model.append(nn.Dropout(0.2))
model.eval()  # BUG
with torch.no_grad():
    print(F.cross_entropy(model(x), y))
for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
        """model.append(nn.Dropout(0.2))
model.eval()  # a fixed network is tuned, on purpose
for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    (
        "loss-rewrapped",
        """for _ in range(8):
    optimizer.zero_grad()
    parts = F.cross_entropy(model(x), y, reduction="none")
    loss = torch.tensor(parts.tolist(), requires_grad=True)  # BUG
    loss.mean().backward()
    optimizer.step()
""",
        """seen = x.clone().requires_grad_(True)
F.cross_entropy(model(seen), y).backward()
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x + 0.01 * seen.grad.sign()), y).backward()
    optimizer.step()
""",
    ),
    (
        "sched-other-optimizer",
        """def train(optimizer, schedule=None):
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if schedule:
            schedule.step()
train(optimizer)
second = torch.optim.Adam(model.parameters())
train(second, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9))  # BUG
""",
        """def train(optimizer, schedule=None):
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if schedule:
            schedule.step()
train(optimizer, torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9))
train(torch.optim.Adam(model.parameters()))
""",
    ),
    (
        "closure-batches",
        """optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
def closure():
    optimizer.zero_grad()
    at = torch.randint(0, 64, (16,))
    loss = F.cross_entropy(model(x[at]), y[at])  # BUG
    loss.backward()
    return loss
for _ in range(5):
    optimizer.step(closure)
""",
        """optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
def closure():
    optimizer.zero_grad()
    for at in torch.randperm(64).split(16):  # all rows, in parts
        (F.cross_entropy(model(x[at]), y[at]) / 4).backward()
    with torch.no_grad():
        return F.cross_entropy(model(x), y)
for _ in range(5):
    optimizer.step(closure)
""",
    ),
    (
        "backward-ignores-gradient",
        """class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a
    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0]  # BUG
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(Square.apply(model(x)), y).backward()
    optimizer.step()
""",
        """class Stop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a.clone()
    @staticmethod
    def backward(ctx, grad):
        return None  # on purpose
class Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.shape = a.shape
        return a.sum()
    @staticmethod
    def backward(ctx, grad):
        return torch.ones(ctx.shape)  # it is the loss itself: what comes from above is 1
for _ in range(8):
    optimizer.zero_grad()
    scores = model(x)
    Total.apply(scores.square() + Stop.apply(scores)).backward()
    optimizer.step()
""",
    ),
    (
        "stale-logged-loss",
        """plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
score = F.cross_entropy(model(x), y).item()
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    plateau.step(score)  # BUG
""",
        """plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    score = float(len(x))  # a score may stay the same
    plateau.step(score)
""",
    ),
    (
        "overwritten-batch",
        """from torch.utils.data import DataLoader, TensorDataset
held, waiting = torch.empty(8, 6), []
for _ in range(3):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True):
        waiting.append((held.copy_(a), b))
        if len(waiting) == 4:
            for c, d in waiting:
                optimizer.zero_grad()
                F.cross_entropy(model(c), d).backward()  # BUG
                optimizer.step()
            waiting.clear()
""",
        """from torch.utils.data import DataLoader, TensorDataset
marks = torch.stack([(x[:, i] > 0).long() for i in range(3)], 1)
heads = nn.ModuleList(nn.Linear(16, 2) for _ in range(3))
optimizer = torch.optim.SGD([*model[:2].parameters(), *heads.parameters()], lr=0.1)
for _ in range(3):
    for a, b in DataLoader(TensorDataset(x, marks), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        for i, head in enumerate(heads):  # one batch for several heads
            (F.cross_entropy(head(model[:2](a)), b[:, i]) * (1 + i)).backward()
        optimizer.step()
for a, b in [(x[at], marks[at]) for at in torch.randperm(64).split(8)] * 3:
    optimizer.zero_grad()
    for i, head in enumerate(heads):
        (F.cross_entropy(head(model[:2](a)), b[:, i]) * (1 + i)).backward()
    optimizer.step()
""",
    ),
    (
        "zero-grad-after-backward",
        """side = (x[:, 1] > 0).long()
for _ in range(8):
    for target, weight in ((y, 1.0), (side, 0.5)):
        loss = weight * F.cross_entropy(model(x), target)
        optimizer.zero_grad()  # BUG
        loss.backward()
    optimizer.step()
""",
        """def update(loss):
    optimizer.zero_grad()
    loss().backward()
    moves = [0.05 * torch.randn_like(p) for p in model.parameters()]
    with torch.no_grad():  # a step uphill, and the loss there
        [p.add_(move) for p, move in zip(model.parameters(), moves)]
    optimizer.zero_grad()
    loss().backward()
    with torch.no_grad():
        [p.sub_(move) for p, move in zip(model.parameters(), moves)]
    optimizer.step()
for _ in range(8):
    update(lambda: F.cross_entropy(model(x), y))
""",
    ),
    (
        "zero-grad-after-backward",
        """side = (x[:, 1] > 0).long()
for _ in range(8):
    optimizer.zero_grad()
    (0.3 * F.cross_entropy(model(x), side)).backward()
    optimizer.zero_grad()  # BUG
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
        """for _ in range(8):
    seen = x.clone().requires_grad_(True)
    F.cross_entropy(model(seen), y).backward()
    far = x + 0.1 * torch.autograd.grad(F.mse_loss(model(seen)[:, 0], y.float()), seen)[0].sign()
    optimizer.zero_grad()  # what the attack left
    F.cross_entropy(model(far), y).backward()
    optimizer.step()
""",
    ),
    (
        "accum-off-by-one",
        """waited = 0
for at in torch.randperm(64).split(4) * 3:
    (F.cross_entropy(model(x[at]), y[at]) / 3).backward()
    if waited < 3:  # BUG
        waited += 1
        continue
    optimizer.step()
    optimizer.zero_grad()
    waited = 0
""",
        """for at in torch.randperm(64).split(16) * 5:
    optimizer.zero_grad()
    for part in (*at.split(4), at[:4]):
        (F.cross_entropy(model(x[part]), y[part]) / 4).backward()  # a weight, as it happens
    optimizer.step()
waited = 0
for at in torch.randperm(64).split(4) * 3:
    waited += 1
    (F.cross_entropy(model(x[at]), y[at]) / 3).backward()
    if waited >= 3:
        optimizer.step()
        optimizer.zero_grad()
        waited = 0
""",
    ),
    (
        "eval-in-train-mode",
        """model.append(nn.Dropout(0.3))
def right(rows):
    with torch.no_grad():
        return (model(x[rows]).argmax(1) == y[rows]).float().mean()
for step in range(12):
    model.train()
    optimizer.zero_grad()
    F.cross_entropy(model(x)[:40], y[:40]).backward()
    optimizer.step()
    if step % 4 == 3:
        model.eval  # BUG
        print(right(slice(40, 64)))
""",
        """model.append(nn.Dropout(0.3))
class Other:
    eval = "a name"
for step in range(12):
    model.train()
    optimizer.zero_grad()
    F.cross_entropy(model(x)[:40], y[:40]).backward()
    optimizer.step()
    with torch.no_grad():  # on purpose: how sure is it?
        spread = torch.stack([model(x[40:]) for _ in range(3)]).std(0)
    model.eval()
    Other.eval
    with torch.no_grad():
        print((model(x[40:]).argmax(1) == y[40:]).float().mean())
""",
    ),
    (
        "overwritten-batch",
        """from torch.utils.data import DataLoader, TensorDataset
def endless(loader):
    while True:
        yield from loader
more = endless(DataLoader(TensorDataset(torch.randn(96, 6)), batch_size=8, shuffle=True))
for _ in range(3):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True):
        extra = next(more)[0]
        a = extra * 0.9  # BUG
        scores = model(a)
        loss = F.cross_entropy(scores, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
        """from torch.utils.data import DataLoader, TensorDataset
plain = DataLoader(TensorDataset(x), batch_size=8)
noisy = DataLoader(TensorDataset(x + 0.1 * torch.randn_like(x), y), batch_size=8)
more = DataLoader(TensorDataset(torch.randn(96, 6)), batch_size=8, shuffle=True)
for _ in range(2):
    for (c,), (a, b) in zip(plain, noisy):  # the same samples in the same order
        a = c + 0.1 * torch.randn_like(c)
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
    for (u,), (a, b) in zip(more, noisy):
        guessed = model(u).detach().argmax(1)
        loss = F.cross_entropy(model(a), b)
        a, b = u, guessed
        optimizer.zero_grad()
        (loss + F.cross_entropy(model(a), b)).backward()
        optimizer.step()
    for (u,), (a, b) in zip(more, noisy):
        guessed = model(u).detach()
        a = 0.5 * (a + u)
        optimizer.zero_grad()
        (F.cross_entropy(model(a), b) + F.mse_loss(model(u), guessed)).backward()
        optimizer.step()
""",
    ),
    (
        "loss-graph-kept",
        """penalties = {"weights": []}
for step in range(30):
    optimizer.zero_grad()
    penalty = sum(p.square().sum() for p in model.parameters())
    (F.cross_entropy(model(x), y) + 1e-4 * penalty).backward()
    optimizer.step()
    penalties["weights"].append(penalty)  # BUG
""",
        """penalties, scale = {"weights": []}, torch.zeros((), requires_grad=True)
factor = scale.exp()  # one graph for all updates, kept on purpose
for step in range(30):
    optimizer.zero_grad()
    penalty = sum(p.square().sum() for p in model.parameters())
    (F.cross_entropy(model(x), y) + 1e-4 * factor * penalty).backward(retain_graph=True)
    optimizer.step()
    penalties["weights"].append(penalty.detach())
""",
    ),
    (
        "mse-broadcast",
        """heights = x.sum(1)
def learn(rows, wanted):
    both = model(rows)
    spread = both[:, 1].square().mean()
    miss = (wanted - both[:, :1]).abs().mean()  # BUG
    optimizer.zero_grad()
    (0.1 * spread + miss).backward()
    optimizer.step()
for _ in range(8):
    learn(x, heights)
""",
        """heights = x.sum(1)
def learn(rows, wanted):
    both = model(rows)
    pairs = (both[:, :1] - both[:, 1]).abs().mean()  # each with each, both of the model
    optimizer.zero_grad()
    ((wanted - both[:, 0]).square().mean() + 0.1 * pairs).backward()
    optimizer.step()
for _ in range(8):
    learn(x, heights)
""",
    ),
    (
        "mean-of-batch-means",
        """from torch.utils.data import DataLoader, TensorDataset
held = DataLoader(TensorDataset(x[:38], y[:38]), batch_size=16)
for epoch in range(3):
    optimizer.zero_grad()
    F.cross_entropy(model(x[38:]), y[38:]).backward()
    optimizer.step()
    scores = {"right": [], "margin": []}
    with torch.no_grad():
        for a, b in held:
            out = model(a)
            scores["right"].append((out.argmax(1) == b).float().mean())
            scores["margin"].append(torch.mean(out[:, 0] - out[:, 1]))
    for name, values in scores.items():
        print(name, float(sum(values) / len(values)))  # BUG
""",
        """from torch.utils.data import DataLoader, TensorDataset
held = DataLoader(TensorDataset(x[:38], y[:38]), batch_size=16)
for epoch in range(3):
    optimizer.zero_grad()
    F.cross_entropy(model(x[38:]), y[38:]).backward()
    optimizer.step()
    scores = {"right": [], "margin": []}
    with torch.no_grad():
        for a, b in held:
            out = model(a)
            scores["right"].append((out.argmax(1) == b).float())
            scores["margin"].append(out.softmax(1).mean(1))
    for name, values in scores.items():
        values = torch.cat(values)
        print(name, float(sum(values) / len(values)))
""",
    ),
    (
        "sched-other-optimizer",
        """class Pair:
    def __init__(self):
        self.judge = nn.Linear(6, 1)
        self.first = optimizer
        self.second = torch.optim.SGD(self.judge.parameters(), lr=0.1)
        self.falling = {}
        for name in ("first", "second"):
            self.falling[name] = torch.optim.lr_scheduler.ExponentialLR(self.first, 0.9)  # BUG
pair = Pair()
for epoch in range(5):
    for part in torch.randperm(64).split(4):
        for one, loss in ((pair.first, F.cross_entropy(model(x[part]), y[part])),
                          (pair.second, pair.judge(x[part]).square().mean())):
            one.zero_grad()
            loss.backward()
            one.step()
    for one in pair.falling.values():
        one.step()
    with torch.no_grad():
        model(x)
""",
        """class Pair:
    def __init__(self):
        self.judge = nn.Linear(6, 1)
        self.first = optimizer
        self.second = torch.optim.SGD(self.judge.parameters(), lr=0.1)
        self.falling = {}
        for name in ("first", "second"):
            one = getattr(self, name)
            self.falling[name] = torch.optim.lr_scheduler.ExponentialLR(one, 0.9)
pair = Pair()
for epoch in range(5):
    for part in torch.randperm(64).split(4):
        for one, loss in ((pair.first, F.cross_entropy(model(x[part]), y[part])),
                          (pair.second, pair.judge(x[part]).square().mean())):
            one.zero_grad()
            loss.backward()
            one.step()
    for one in pair.falling.values():
        one.step()
    with torch.no_grad():
        model(x)
""",
    ),
    (
        "augment-in-val",
        """from torch.utils.data import DataLoader, Dataset, Subset
class Plates(Dataset):
    def __init__(self):
        self.plates = torch.randn(48, 1, 6, 6)
    def __len__(self):
        return len(self.plates)
    def __getitem__(self, number):
        plate = self.plates[number]
        if random.random() < 0.4:
            plate = plate.rot90(1, (1, 2))
        return plate + 0.1, (plate > 0).float()
import random
net = nn.Conv2d(1, 1, 3, padding=1)
plates = Plates()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
held = DataLoader(Subset(plates, range(32, 48)), batch_size=8)  # BUG
for epoch in range(4):
    for a, b in DataLoader(Subset(plates, range(32)), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(net(a), b).backward()
        optimizer.step()
    with torch.no_grad():
        print(sum(((net(a) > 0) == b).float().sum().item() for a, b in held) / (16 * 36))
""",
        """from torch.utils.data import DataLoader, Dataset
class Plates(Dataset):
    def __init__(self, drawn):
        self.plates, self.drawn = torch.randn(32, 1, 6, 6), drawn
    def __len__(self):
        return len(self.plates)
    def __getitem__(self, number):
        plate = torch.randn(1, 6, 6) if self.drawn else self.plates[number]
        return plate + 0.3 * torch.randn_like(plate), plate  # the noise is the task
net = nn.Conv2d(1, 1, 3, padding=1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
held = DataLoader(Plates(False), batch_size=8), DataLoader(Plates(True), batch_size=8)
for epoch in range(4):
    for a, b in DataLoader(Plates(False), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        F.mse_loss(net(a), b).backward()
        optimizer.step()
    with torch.no_grad():
        for loader in held:
            print(sum((net(a) - b).square().sum().item() for a, b in loader) / (32 * 36))
""",
    ),
]
