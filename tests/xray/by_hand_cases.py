"""Cases of `test_rules.py`: losses and optimizers that scripts write by hand."""

_PICKED = """class Weighted:
    def __init__(self):
        self.w = torch.tensor([1.0, 2.0])
    def __call__(self, scores, y):
        w = self.w[y]
        return -(w * PICKED).sum() / w.sum()
criterion = Weighted()
for _ in range(8):
    loss = criterion(model(x), y)  # BUG
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_SMOOTHED = """class Tempered(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = model
    def forward(self, x):
        z = self.body(x)
        return OUTPUT  # BUG
def smoothed(z, y):
    logs = LOGS
    hit = logs.gather(1, y[:, None]).squeeze(1)
    return -(0.9 * hit + 0.1 * logs.mean(1)).mean()
net = Tempered()
for _ in range(8):
    loss = smoothed(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_PIXELS = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 1)
    def forward(self, x):
        z = self.body(x).squeeze(1)
        return {"score": z, "chance": z.sigmoid()}
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
wanted = y.float()
def cost(z, t):
    return COST
for _ in range(8):
    out = net(x)
    loss = cost(out["OUTPUT"], wanted)  # BUG
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_SOFTPLUS = "(3 * t * F.softplus(-z) + (1 - t) * F.softplus(z)).mean()"
_STABLE = "(z.clamp(min=0) - z * t + torch.log1p(torch.exp(-z.abs()))).mean()"
_TAGS = """PAD = 0
lengths = [3, 4, 5, 6, 7, 9, 3, 4]
words, tags = torch.full((8, 9), PAD), torch.full((8, 9), PAD)
for row, length in enumerate(lengths):
    words[row, :length] = torch.randint(1, 20, (length,))
    tags[row, :length] = words[row, :length] % 3 + 1
net = nn.Sequential(nn.Embedding(20, 8, padding_idx=PAD), nn.Linear(8, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
class Cost(nn.Module):
    def forward(self, z, t):
        logs = z.log_softmax(-1).gather(-1, t.unsqueeze(-1)).squeeze(-1)LOSSBUG
        cost = -(1 - logs.exp()) * logs
        live = LIVE
        return (cost * live).sum() / live.sum()
class Hits:
    def __init__(self):
        self.right = self.all = 0
    def __iadd__(self, pair):
        z, t = pair
        ok = z.argmax(-1) == tHITSBUG
        self.right += RIGHT
        self.all += ALL
        return self
cost = Cost()
for _ in range(12):
    loss = cost(net(words), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hits = Hits()
    net.eval()
    with torch.no_grad():
        for some in (slice(0, 4), slice(4, 8)):
            hits += net(words[some]), tags[some]
    net.train()
"""
_EINSUM = """wanted = x[:, :3] * 0.1
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
def horizon(pred, t):
    w = torch.linspace(1.2, 0.8, 3)
    return LOSS
for _ in range(8):
    loss = horizon(model(x), wanted)  # BUG
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
_STORE = """del optimizer
shapes = [(6, 16), (16,), (16, 2)]
ws = [(0.3 * torch.randn(*one)).requires_grad_() for one in shapes]
store = [torch.zeros_like(w) for w in ws]
vel = [torch.zeros_like(w) for w in ws]
def cost(x, y):
    a, b, c = ws
    return F.cross_entropy((x @ a + b).tanh() @ c, y)
for step in range(24):
    for part in range(4):
        grads = torch.autograd.grad(cost(x[part::4], y[part::4]), ws)  # BUG
        ADD
    with torch.no_grad():
        UPDATE
    CLEAR
"""
_FOREACH = "torch._foreach_mul_(vel, 0.5); torch._foreach_add_(vel, store); torch._foreach_add_(ws, vel, alpha=-0.02)"
_LOOPED = "[w.sub_(s, alpha=0.01) for w, s in zip(ws, store)]"
_SLOW = "[v.mul_(0.97).add_(s) for v, s in zip(vel, store)]; [w.sub_(0.002 * v) for w, v in zip(ws, vel)]"
_TAKE, _TAKE_EACH = "torch._foreach_add_(store, grads)", "[s.add_(g) for s, g in zip(store, grads)]"
_ZERO, _ZERO_EACH = "torch._foreach_zero_(store)", "[s.zero_() for s in store]"
_OWN = """del optimizer
class Signs:
    def __init__(self, model):
        self.params = PARAMS
    @torch.no_grad()
    def step(self):
        for p in self.params:
            p.add_(p.grad.sign(), alpha=-0.01)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
rule = Signs(net)
for _ in range(12):
    loss = F.cross_entropy(net(x), y)
    net.zero_grad()
    loss.backward()
    rule.step()
"""
_MASK, _SUMMED = "(t != PAD).float()", 'torch.einsum("bh,h->", (pred - t) ** 2, w / w.sum())'


def _tags(live: str, right: str, whole: str, bug: str) -> str:
    marks = {name: "  # BUG" if name == bug else "" for name in ("LOSSBUG", "HITSBUG")}
    filled = _TAGS.replace("LIVE", live).replace("RIGHT", right).replace("ALL", whole)
    for name, text in marks.items():
        filled = filled.replace(name, text)
    return filled


_RIGHT_TAGS = _tags(_MASK, "(ok & (t != PAD)).sum().item()", "(t != PAD).sum().item()", "")

BY_HAND_CASES: list[tuple[str, str, str]] = [
    (
        "nll-on-logits",
        _PICKED.replace("PICKED", "scores[torch.arange(len(y)), y]"),
        _PICKED.replace("PICKED", "scores.log_softmax(-1)[torch.arange(len(y)), y]"),
    ),
    (
        "nll-on-logits",
        _PICKED.replace("PICKED", "scores.gather(1, y[:, None])[:, 0]"),
        # The chance of a right answer: bounded, and meant.
        _PICKED.replace("PICKED", "scores.softmax(1).gather(1, y[:, None])[:, 0]"),
    ),
    (
        "nll-on-logits",
        _PICKED.replace("PICKED", "(F.one_hot(y, 2) * scores).sum(1)"),
        # A margin: another score is subtracted.
        _PICKED.replace("PICKED", "(scores[torch.arange(len(y)), y] - scores.logsumexp(1))"),
    ),
    (
        "softmax-before-ce",
        _SMOOTHED.replace("OUTPUT", "z.softmax(-1)").replace("LOGS", "z - z.logsumexp(-1, keepdim=True)"),
        _SMOOTHED.replace("OUTPUT", "z").replace("LOGS", "z - z.logsumexp(-1, keepdim=True)"),
    ),
    (
        "softmax-before-ce",
        _SMOOTHED.replace("OUTPUT", "torch.softmax(z, 1)").replace(
            "LOGS", "torch.log(F.softmax(z, 1) + 1e-9)"
        ),
        _SMOOTHED.replace("OUTPUT", "torch.softmax(z, 1)").replace("LOGS", "torch.log(z + 1e-9)"),
    ),
    (
        "sigmoid-before-bcewithlogits",
        _PIXELS.replace("COST", _SOFTPLUS).replace("OUTPUT", "chance"),
        _PIXELS.replace("COST", _SOFTPLUS).replace("OUTPUT", "score"),
    ),
    (
        "sigmoid-before-bcewithlogits",
        _PIXELS.replace("COST", _STABLE).replace("OUTPUT", "chance"),
        _PIXELS.replace("COST", "-(t * z.log() + (1 - t) * (1 - z).log()).mean()").replace(
            "OUTPUT", "chance"
        ),
    ),
    (
        "pad-in-loss",
        _tags(
            "torch.ones_like(cost)", "(ok & (t != PAD)).sum().item()", "(t != PAD).sum().item()", "LOSSBUG"
        ),
        _RIGHT_TAGS,
    ),
    (
        "pad-in-accuracy",
        _tags(_MASK, "ok.sum().item()", "ok.numel()", "HITSBUG"),
        _RIGHT_TAGS,
    ),
    (
        "sum-loss-lr",
        _EINSUM.replace("LOSS", _SUMMED),
        _EINSUM.replace("LOSS", f"{_SUMMED} / len(t)"),
    ),
    (
        "sum-loss-lr",
        _EINSUM.replace("LOSS", _SUMMED),
        # A sum over what is predicted, a mean over the samples.
        _EINSUM.replace("LOSS", '(torch.einsum("bh,h->b", (pred - t) ** 2, w)).mean()'),
    ),
    (
        "missing-zero-grad",
        _STORE.replace("ADD", _TAKE).replace("UPDATE", _FOREACH).replace("CLEAR", "pass"),
        _STORE.replace("ADD", _TAKE).replace("UPDATE", _FOREACH).replace("CLEAR", _ZERO),
    ),
    (
        "missing-zero-grad",
        _STORE.replace("ADD", _TAKE_EACH).replace("UPDATE", _LOOPED).replace("CLEAR", "pass"),
        # Momentum keeps old gradients, too, but they fade.
        _STORE.replace("ADD", _TAKE_EACH).replace("UPDATE", _SLOW).replace("CLEAR", _ZERO_EACH),
    ),
    (
        "optimizer-consumed-generator",
        _OWN.replace("PARAMS", "(p for p in model.parameters() if p.requires_grad)  # BUG"),
        _OWN.replace("PARAMS", "[p for p in model.parameters() if p.requires_grad]"),
    ),
    (
        "optimizer-consumed-generator",
        _OWN.replace("PARAMS", "model.parameters()  # BUG"),
        _OWN.replace("PARAMS", "list(model.parameters())"),
    ),
    (
        "optimizer-consumed-generator",
        _OWN.replace("PARAMS", "filter(lambda p: p.requires_grad, model.parameters())  # BUG"),
        _OWN.replace("PARAMS", "model").replace("self.params:", "self.params.parameters():"),
    ),
]
