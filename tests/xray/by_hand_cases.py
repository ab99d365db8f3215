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
]
