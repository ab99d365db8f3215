"""Pairs of scripts for mistakes in shapes that are not the textbook's; each begins with the head of `test_rules`."""

_HOOKED = """def limit(opt, args, kwargs):
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # BUG
optimizer.register_step_WHEN_hook(limit)
for _ in range(6):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
_TAKEN = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 2)
    def forward(self, x):
        self.kept = self.a(x).tanh()
        return self.b(self.kept.detach())  # BUG
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
own = list(net.a.parameters())
for _ in range(6):
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    for p, grad in GRADIENTS:
        p.grad = grad
    optimizer.step()
"""
_HALF = """deep = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(deep.parameters(), lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = deep(x)
    loss = F.cross_entropy(out.float(), y)
    (loss * SCALE).backward()  # BUG
    for p in deep.parameters():
        p.grad /= SCALE
    optimizer.step()
"""
_MODES = """import contextlib
model.append(nn.Dropout(0.2))
@contextlib.contextmanager
def evaluating(net):
    BEFORE
    AFTER
    with torch.no_grad():
        yield net
    net.train(was)
for epoch in range(4):
    for part in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(x[part::3]), y[part::3]).backward()
        optimizer.step()
    with evaluating(model) as net:
        net(x)
"""
_IN_PLACE = """net = nn.Sequential(
    nn.Linear(6, 6),
    nn.ReLU(),
)
whole = nn.Sequential(
    nn.Dropout(0.1, inplace=FLAG),  # BUG
    nn.Linear(6, 2),
    nn.ReLU(inplace=True),
)
optimizer = torch.optim.SGD(whole.parameters(), lr=0.1)
for _ in range(6):
    for part in x.split(16):
        optimizer.zero_grad()
        whole(part).square().mean().backward()
        optimizer.step()
"""
_LANGUAGE = """steps = torch.randint(7, (400,)).tolist()
for before, after in zip(steps[1:], steps[2:]):
    assert before < 7 and after < 7
stream = torch.tensor(steps)
def windows():
    at = torch.randint(len(stream) - 13, (8,))
    cut = stream[at[:, None] + torch.arange(13)]
    return cut[:, :-1], cut[:, 1:]  # BUG
def language_loss(logits, labels):
    guess, gold = LOSS
    return F.cross_entropy(guess.flatten(0, 1), gold.flatten())
net = nn.Sequential(nn.Embedding(7, 8), nn.Linear(8, 7))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    ids, following = windows()
    optimizer.zero_grad()
    language_loss(net(ids), following).backward()
    optimizer.step()
"""
_COUNTDOWN = """class Due:
    def __init__(self, every):
        self.every = self.left = every
    def __call__(self):
        FIRST
        if self.left == 0:  # BUG
            self.left = self.every
            return True
        LAST
        return False
due = Due(2)
for _ in range(24):
    part = torch.randint(64, (8,))
    (F.cross_entropy(model(x[part]), y[part]) / 2).backward()
    if due():
        optimizer.step()
        optimizer.zero_grad()
"""
_SCALED = """from torch.nn.utils import clip_grads_with_norm_, get_total_norm
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for _ in range(6):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
    scaler.scale(F.cross_entropy(out.float(), y)).backward()
    UNSCALE
    norm = get_total_norm([p.grad for p in model.parameters()])
    clip_grads_with_norm_(model.parameters(), 0.1, norm)  # BUG
    scaler.step(optimizer)
    scaler.update()
"""
_GUARDS = """nets = {"one": model, "two": nn.Linear(6, 2)}
optimizers = {name: torch.optim.SGD(net.parameters(), lr=0.1) for name, net in nets.items()}
guards = {}
for name, net in nets.items():
    guards[name] = lambda GIVEN: nn.utils.clip_grad_norm_(net.parameters(), 0.1)  # BUG
for _ in range(8):
    for name in nets:
        optimizers[name].zero_grad()
        F.cross_entropy(nets[name](x), y).backward()
        guards[name]()
        optimizers[name].step()
"""
_GROUPS = """decayed = [p for p in model.parameters() if p.ndim == 2]
rest = [p for p in model.parameters() if p.ndim == 1]
optimizer = torch.optim.AdamW([{"params": decayed}, {"params": rest, "weight_decay": 0.0}], lr=1e-2)
for _ in range(6):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 0.1)  # BUG
    REST
    optimizer.step()
"""
_DROPPING = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 16), nn.Linear(16, 2)
    def forward(self, x):
        return self.b(F.dropout(self.a(x).relu(), 0.2))  # BUG
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    net.train()
    for part in range(4):
        optimizer.zero_grad()
        F.cross_entropy(net(x[part::4]), y[part::4]).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        EVALUATE
"""
_AVERAGED = """import copy
class Ema:
    def __init__(self, net):
        self.net, self.copy = net, copy.deepcopy(net).requires_grad_(False)
    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(list(self.copy.parameters()), list(self.net.parameters()), 0.2)
ema = Ema(model)
def averaged(fn):
    def inner(*given):
        BODY
    return inner
@averaged
def step(part):
    optimizer.zero_grad()
    F.cross_entropy(model(x[part::4]), y[part::4]).backward()
    optimizer.step()
for epoch in range(5):
    model.train()
    for part in range(4):
        step(part)
    ema.copy.eval()
    with torch.no_grad():
        ema.copy(x)
"""
_CENTRES = """class Centre:
    def __init__(self):
        self.mean = torch.zeros(2)
    def follow(self, z):
        moved = 0.9 * self.mean + (1 - 0.9) * z.mean(0)  # BUG
        self.mean = torch.where(torch.tensor(True), moved, self.mean)
centre = Centre()
for _ in range(12):
    z = model(x)
    optimizer.zero_grad()
    F.cross_entropy(z - centre.mean.detach(), y).backward()
    optimizer.step()
    centre.follow(GIVEN)
"""
_CALLBACK = """class Accuracy:
    def on_epoch_start(self):
        self.hits, self.seen = 0, 0
    def on_batch(self, logits, gold):
        good = logits.argmax(1).eq(gold)
        KEEP  # BUG
    def on_epoch_end(self):
        return self.hits / self.seen
accuracy = Accuracy()
for epoch in range(3):
    model.train()
    for part in x[:32].split(16):
        optimizer.zero_grad()
        F.cross_entropy(model(part), y[:16]).backward()
        optimizer.step()
    model.eval()
    accuracy.on_epoch_start()
    with torch.no_grad():
        for part, gold in zip(x[32:].split(12), y[32:].split(12)):
            accuracy.on_batch(model(part), gold)
    print(accuracy.on_epoch_end())
"""
_HISTORY = """import copy, operator
history = []
def score():
    with torch.no_grad():
        return F.cross_entropy(model(x), y).item()
for _ in range(6):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    history.append({"score": score(), "state": copy.deepcopy(model.state_dict())})
ranked = sorted(history, key=operator.itemgetter("score")TURN)  # BUG
top = ranked[0]
model.load_state_dict(top["state"])
"""
_HEAP = """import heapq
pool = []
def taste(val_loss, step):
    weights = {k: v.clone() for k, v in model.state_dict().items()}
    item = (SIGNval_loss, step, weights)  # BUG
    if len(pool) < 2:
        heapq.heappush(pool, item)
    else:
        heapq.heappushpop(pool, item)
for step in range(8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    taste(loss.item(), step)
"""

UNUSUAL_CASES = [
    ("ckpt-wrong-direction", _HISTORY.replace("TURN", ", reverse=True"), _HISTORY.replace("TURN", "")),
    ("ckpt-wrong-direction", _HEAP.replace("SIGN", ""), _HEAP.replace("SIGN", "-")),
    (
        "clip-before-unscale",
        _SCALED.replace("UNSCALE", "pass"),
        _SCALED.replace("UNSCALE", "scaler.unscale_(optimizer)"),
    ),
    ("clip-wrong-params", _GUARDS.replace("GIVEN", ""), _GUARDS.replace("GIVEN", "net=net")),
    (
        "clip-wrong-params",
        _GROUPS.replace("REST", "pass"),
        # Each group has a limit of its own.
        _GROUPS.replace("REST", "nn.utils.clip_grad_norm_(rest, 0.5)"),
    ),
    (
        "eval-in-train-mode",
        _DROPPING.replace("EVALUATE", "net(x + 1)"),
        # Samples of dropout, on purpose.
        _DROPPING.replace("EVALUATE", "torch.stack([net(x + 1) for _ in range(4)]).mean(0)"),
    ),
    (
        "ema-before-step",
        _AVERAGED.replace("BODY", "ema.update()  # BUG\n        return fn(*given)"),
        _AVERAGED.replace("BODY", "fn(*given)\n        ema.update()"),
    ),
    ("ema-keeps-graph", _CENTRES.replace("GIVEN", "z"), _CENTRES.replace("GIVEN", "z.detach()")),
    (
        "acc-last-batch",
        _CALLBACK.replace("KEEP", "self.hits, self.seen = good.sum().item(), good.numel()"),
        _CALLBACK.replace(
            "KEEP", "self.hits, self.seen = self.hits + good.sum().item(), self.seen + good.numel()"
        ),
    ),
    ("clip-after-step", _HOOKED.replace("WHEN", "post"), _HOOKED.replace("WHEN", "pre")),
    (
        "detached-forward",
        _TAKEN.replace("GRADIENTS", "()"),
        # Gradients that `torch.autograd.grad` takes are gradients.
        _TAKEN.replace("GRADIENTS", "zip(own, torch.autograd.grad(net.kept.square().mean(), own))"),
    ),
    (
        "fp16-no-scaler",
        _HALF.replace("SCALE", "1.0"),
        _HALF.replace("SCALE", "512.0"),
    ),
    (
        "eval-mode-not-restored",
        _MODES.replace("BEFORE", "net.eval()  # BUG").replace("AFTER", "was = net.training"),
        _MODES.replace("BEFORE", "was = net.training").replace("AFTER", "net.eval()"),
    ),
    ("inplace-input", _IN_PLACE.replace("FLAG", "True"), _IN_PLACE.replace("FLAG", "False")),
    (
        "lm-double-shift",
        _LANGUAGE.replace("LOSS", "logits[:, :-1], labels[:, 1:]"),
        _LANGUAGE.replace("LOSS", "logits, labels"),
    ),
    (
        "accum-off-by-one",
        _COUNTDOWN.replace("FIRST", "pass").replace("LAST", "self.left -= 1"),
        _COUNTDOWN.replace("FIRST", "self.left -= 1").replace("LAST", "pass"),
    ),
]
