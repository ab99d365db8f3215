"""Pairs of scripts for hooks, attention, shapes and later stages; each begins with the head of `test_rules`."""

_LM = """ids = torch.randint(0, 12, (64, 9))
class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(12, 8)
        self.body = BODY
        self.head = nn.Linear(8, 12)
    def forward(self, t):
        h = self.e(t)
        RUN
        return self.head(h)
model = LM()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(6):
    optimizer.zero_grad()
    out = model(ids[:, :-1])
    loss = F.cross_entropy(out.transpose(1, 2), ids[:, 1:])
    loss.backward()
    optimizer.step()
"""


def _lm(body: str, run: str) -> str:
    return _LM.replace("BODY", body).replace("RUN", run)


_ATTENTION = "nn.MultiheadAttention(8, 2, batch_first=True)"
_LATER = "torch.ones(8, 8).triu(1).bool()"
_QKV = "q, k, v = self.body(h).chunk(3, -1); weights = (q @ k.mT / 3)"
_SHAPES = """seq = torch.randn(64, 9, 6)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(6, 2, 3)
        self.qkv = nn.Linear(6, 6)
    def forward(self, seq):
        b, t, c = seq.shape
        LINE
        return self.conv(h).mean(-1)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(seq), y).backward()
    optimizer.step()
"""
_ACTOR = """policy, critic = nn.Linear(6, 3), nn.Linear(6, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=1e-2)
for _ in range(8):
    logp = F.log_softmax(policy(x), 1)
    action = torch.distributions.Categorical(logits=logp).sample()
    reward, value = (action == y).float(), critic(x).squeeze(1)
    chosen = logp.gather(1, action[:, None]).squeeze(1)
    actor_loss = LINE
    loss = actor_loss + CRITIC
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def _actor(line: str, critic: str) -> str:
    return _ACTOR.replace("LINE", line).replace("CRITIC", critic)


_LOADERS = """from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
held = DataLoader(TensorDataset(torch.randn(48, 6), torch.randint(0, 2, (48,))), batch_size=16)
model.insert(1, nn.Dropout(0.1))
"""
_TRAIN = """for epoch in range(3):
    for a, b in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
"""
_PHASES = """for epoch in range(3):
    for phase, batches in (("train", loader), ("val", held)):
        model.train(phase == "train")
        for a, b in batches:
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train" or EVER):
                loss = F.cross_entropy(model(a), b)
            COND
"""
_OWN = """class Own(torch.utils.data.Dataset):
    def __init__(self):
        self.data = torch.randn(48, 6)
    def __len__(self):
        return 48
    def __getitem__(self, i):
        one = self.data[i]COPY
        one *= 0.5DRAW
        return one, y[i]
own = Own()
for epoch in range(4):
    for a, b in torch.utils.data.DataLoader(own, batch_size=16, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
"""

_FOLDS = """def build():
    return nn.Linear(6, 2)
def fit(net, optimizer, rows):
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(net(x[rows]), y[rows]).backward()
        optimizer.step()
def main():
    before
    for fold, held in enumerate(torch.randperm(64).chunk(4)):
        inside
        fit(net, optimizer, torch.tensor([i for i in range(64) if i not in held.tolist()]))
        with torch.no_grad():
            print(fold, (net(x[held]).argmax(1) == y[held]).float().mean())
main()
"""
_MADE = "net = build(); optimizer = torch.optim.Adam(net.parameters(), lr=0.1)"

_BOTH = """class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.teacher = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)).requires_grad_(False)
        self.student = nn.Linear(6, 2)
    MODE
    def forward(self, rows):
        with torch.no_grad():
            soft = self.teacher(rows)  # BUG
        return F.mse_loss(self.student(rows), soft)
both = Both()
optimizer = torch.optim.SGD(both.student.parameters(), lr=0.1)
for _ in range(6):
    both.train()
    optimizer.zero_grad()
    both(x).backward()
    optimizer.step()
"""
_SEQUENCES = """lm = nn.ModuleList([nn.Embedding(9, 8), nn.GRU(8, 8FIRST), nn.Linear(8, 9)])  # BUG
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = lm
    def forward(self, ids):
        return self.parts[2](self.parts[1](self.parts[0](ids))[0])
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for width in (5, 7, 4, 9, 6, 8):
    ids = torch.randint(1, 9, (16, width))
    optimizer.zero_grad()
    F.cross_entropy(net(ids).flatten(0, 1), ids.flip(1).flatten()).backward()
    optimizer.step()
"""
_BEST = """best = BEGIN
for turn in range(6):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    with torch.no_grad():
        val = sum(F.cross_entropy(model(a), b).item() for a, b in zip(x.chunk(3), y.chunk(3)))
    if val SIGN best:  # BUG
        best, kept = val, {k: v.clone() for k, v in model.state_dict().items()}
"""

_VAE = """encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 12)
optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.01)
def cost(wide):
    mu, logvar = encoder(x).chunk(2, 1)
    out = decoder(mu + torch.randn_like(mu) * (0.5 * logvar).exp())
    rec = ERROR
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.size(0)
    return TOTAL
for _ in range(6):
    optimizer.zero_grad()
    cost(x.repeat(1, 2)).backward()
    optimizer.step()
"""

FURTHER_CASES = [
    (
        "hook-left",
        """sizes = []
def peek(model):
    model.eval()
    found = []
    model[1].register_forward_hook(lambda m, i, o: o * 0.5)  # BUG
    with torch.no_grad():
        model(x)
    model.train()
for epoch in range(3):
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    peek(model)
""",
        """def peek(model):
    model.eval()
    handle = model[1].register_forward_hook(lambda m, i, o: o * 0.5)
    with torch.no_grad():
        model(x)
    handle.remove()
    model.train()
seen = []
def keep(module, given, out):
    seen.append(out.detach().mean())
for part in (model[0], model[1], model[2]):
    for _ in range(2):
        part.register_forward_hook(keep)
for epoch in range(3):
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    peek(model)
""",
    ),
    (
        "hook-left",
        """class Counts:
    def __init__(self):
        self.total = 0
    def __call__(self, grad):
        self.total += 1
counts = Counts()
for epoch in range(3):
    model[0].weight.register_hook(counts)  # BUG
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
""",
        """class Counts:
    def __init__(self):
        self.total = 0
    def __call__(self, grad):
        self.total += 1
counts = Counts()
for epoch in range(3):
    handle = model[0].weight.register_hook(counts)
    for _ in range(4):
        optimizer.zero_grad()
        h = model[0](x)
        h.register_hook(lambda g: g * 2)
        F.cross_entropy(model[2](model[1](h)), y).backward()
        optimizer.step()
    handle.remove()
""",
    ),
    (
        "no-causal-mask",
        _lm(_ATTENTION, "h = h + self.body(h, h, h)[0]  # BUG"),
        _lm(
            f"nn.ModuleList([{_ATTENTION}, {_ATTENTION}])",
            f"m = self.body[0](h, h, h)[0]; h = h + self.body[1](h, m, m)[0]; "
            f"h = h + self.body[1](h, h, h, attn_mask={_LATER}, need_weights=False)[0]",
        ),
    ),
    (
        "no-causal-mask",
        _lm(
            "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)",
            "h = self.body(h)  # BUG",
        ),
        _lm(
            "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)",
            f"h = self.body(h, {_LATER}, is_causal=True)",
        ),
    ),
    (
        "no-causal-mask",
        _lm("nn.Linear(8, 24)", f"{_QKV}; h = h + weights.softmax(-1) @ v  # BUG"),
        _lm("nn.Linear(8, 24)", f"{_QKV}.masked_fill({_LATER}, -1e9); h = h + weights.softmax(-1) @ v"),
    ),
    (
        "no-causal-mask",
        _lm("nn.GRU(8, 4, batch_first=True, bidirectional=True)  # BUG", "h = self.body(h)[0]"),
        _lm(
            "nn.ModuleList([nn.GRU(8, 4, batch_first=True, bidirectional=True), nn.GRU(8, 8, batch_first=True)])",
            "z = self.body[0](h)[0].mean(1, keepdim=True); h = self.body[1](h + z)[0]",
        ),
    ),
    (
        "no-causal-mask",
        _lm("nn.Conv1d(8, 8, 3, padding=1)  # BUG", "h = self.body(h.mT).mT"),
        _lm("nn.Conv1d(8, 8, 3, padding=2)", "h = self.body(h.mT)[..., :-2].mT"),
    ),
    (
        "view-instead-of-transpose",
        _SHAPES.replace("LINE", "h = seq.view(b, c, t)  # BUG"),
        _SHAPES.replace("LINE", "h = seq.transpose(1, 2).reshape(b, c, t)"),
    ),
    (
        "view-instead-of-transpose",
        _SHAPES.replace(
            "LINE", "q = self.qkv(seq).view(b, 2, t, 3); h = (q @ q.mT @ q).mT.flatten(1, 2)  # BUG"
        ),
        _SHAPES.replace(
            "LINE", "q = self.qkv(seq).view(b, t, 2, 3).transpose(1, 2); h = (q @ q.mT @ q).mT.flatten(1, 2)"
        ),
    ),
    (
        "advantage-with-graph",
        _actor("-(chosen * (reward - value)).mean()  # BUG", "0.5 * (reward - value).pow(2).mean()"),
        _actor("-(chosen * (reward - value.detach())).mean()", "F.mse_loss(value, reward)"),
    ),
    (
        "advantage-with-graph",
        _actor(
            "torch.stack([-lp * (r - v) for lp, r, v in zip(chosen, reward, value)]).sum() / 64  # BUG",
            "F.mse_loss(value, reward)",
        ),
        _actor("-(chosen * ((1 - chosen.exp()) ** 2)).mean()", "F.smooth_l1_loss(value, reward)"),
    ),
    (
        "trained-on-validation",
        _LOADERS
        + _PHASES.replace("EVER", "True").replace(
            "COND", "loss.backward()  # BUG\n            optimizer.step()"
        ),
        _LOADERS
        + _PHASES.replace("EVER", "False").replace(
            "COND", "if phase == 'train':\n                loss.backward()\n                optimizer.step()"
        ),
    ),
    (
        "acc-last-batch",
        _LOADERS
        + _TRAIN
        + """    scores = {}
    model.eval()
    with torch.no_grad():
        for a, b in held:
            scores["acc"] = (model(a).argmax(1) == b).float().mean().item()  # BUG
    model.train()
    print(scores)
""",
        _LOADERS
        + _TRAIN
        + """    scores = {}
    model.eval()
    with torch.no_grad():
        for i, (a, b) in enumerate(held):
            scores[i] = (model(a).argmax(1) == b).float().mean().item()
    model.train()
    print(scores)
""",
    ),
    (
        "inplace-input",
        _OWN.replace("COPY", "").replace("DRAW", "  # BUG"),
        _OWN.replace("COPY", ".clone()").replace("DRAW", ""),
    ),
    (
        "reseed-in-loop",
        _LOADERS
        + _TRAIN.replace(
            "    for a, b in loader:",
            "    torch.manual_seed(3)  # BUG\n"
            "    for a, b in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):",
        ),
        _LOADERS
        + _TRAIN.replace(
            "    for a, b in loader:",
            "    torch.manual_seed(epoch)\n"
            "    for a, b in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):",
        ),
    ),
    (
        "accum-no-divide",
        """optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(24):
    loss = F.cross_entropy(model(x[step::24]), y[step::24])
    loss.backward()  # BUG
    if step % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
""",
        """for step in range(8):
    out = model(x)
    optimizer.zero_grad()
    for loss in (F.cross_entropy(out, y), F.mse_loss(out[:, 0], x[:, 0])):
        loss.backward(retain_graph=True)
    optimizer.step()
""",
    ),
    (
        "folds-share-model",
        _FOLDS.replace("before", _MADE + "  # BUG").replace("inside", "pass"),
        _FOLDS.replace("before", "pass").replace("inside", _MADE),
    ),
    (
        "teacher-in-train-mode",
        _BOTH.replace("MODE", "pass"),
        _BOTH.replace(
            "MODE",
            "def train(self, mode=True):\n        super().train(mode)\n"
            "        self.teacher.eval()\n        return self",
        ).replace("  # BUG", ""),
    ),
    (
        "sequence-along-batch",
        _SEQUENCES.replace("FIRST", ""),
        _SEQUENCES.replace("FIRST", ", batch_first=True").replace("  # BUG", ""),
    ),
    (
        "ckpt-wrong-direction",
        _BEST.replace("BEGIN", "0.0").replace("SIGN", ">"),
        _BEST.replace("BEGIN", "9e9").replace("SIGN", "<").replace("  # BUG", ""),
    ),
    (
        "kl-outweighs",
        _VAE.replace("ERROR", "F.mse_loss(out, wide)  # BUG").replace("TOTAL", "rec + kl"),
        _VAE.replace("ERROR", "F.mse_loss(out, wide)").replace("TOTAL", "rec + 0.01 * kl"),
    ),
    (
        "kl-outweighs",
        _VAE.replace("ERROR", "F.mse_loss(out, wide)  # BUG").replace("TOTAL", "kl + rec"),
        _VAE.replace("ERROR", "F.mse_loss(out, wide, reduction='sum') / len(x)").replace("TOTAL", "rec + kl"),
    ),
]
