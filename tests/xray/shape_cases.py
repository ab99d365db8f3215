"""Pairs of scripts for mistakes in shapes that are not the textbook's; each begins with the head of `test_rules`."""

_HOOKED = """def limit(opt, args, kwargs):
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # BUG
optimizer.register_step_WHEN_hook(limit)
for _ in range(6):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
_PLAYERS = """judge = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
judge_optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)
def descend(opt, loss):
    own = [p for group in opt.param_groups for p in group["params"]]
    for p, grad in zip(own, torch.autograd.grad(loss, own, allow_unused=True)):
        p.grad = grad
    opt.step()
for _ in range(6):
    made = model(x)
    # Something is back-propagated, too, so that `backward()` is seen.
    F.softplus(judge(made.detach())).mean().backward()  # BUG
    descend(judge_optimizer, F.softplus(-judge(x[:, :2])).mean() + F.softplus(judge(made.detach())).mean())
    LAST
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

SHAPE_CASES = [
    ("clip-after-step", _HOOKED.replace("WHEN", "post"), _HOOKED.replace("WHEN", "pre")),
    (
        "detached-forward",
        _PLAYERS.replace("LAST", "optimizer.step()"),
        _PLAYERS.replace("LAST", "descend(optimizer, F.softplus(-judge(made)).mean())"),
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
