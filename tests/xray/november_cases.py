"""Pairs of scripts for mistakes in a stranger's scripts of November 29; each begins with the head of `test_rules`."""

_FREEZE = """wide = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
FREEZE
optimizer = torch.optim.SGD(wide.parameters(), lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    F.cross_entropy(wide(x), y).backward()
    optimizer.step()
"""
_RATE = """for step in range(1, 9):
    SET
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
"""
_GAN = """judge = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
judge_optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)
one, zero = torch.ones(64, 1), torch.zeros(64, 1)
for _ in range(8):
    judge_optimizer.zero_grad()
    F.binary_cross_entropy_with_logits(judge(torch.randn(64, 2) + 3), one).backward()
    CLEAR
    made = model(x)
    F.binary_cross_entropy_with_logits(judge(made.detach()), zero).backward()
    judge_optimizer.step()
    optimizer.zero_grad()
    F.binary_cross_entropy_with_logits(judge(made), one).backward()
    optimizer.step()
"""
_AVERAGE = """import copy
net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
average = copy.deepcopy(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
count = 0
for epoch in range(7):
    net.train()
    for part in range(4):
        optimizer.zero_grad()
        F.cross_entropy(net(x[part::4]), y[part::4]).backward()
        optimizer.step()
    if epoch > 2:
        count += 1
        with torch.no_grad():
            for mean, p in zip(average.parameters(), net.parameters()):
                mean += (p - mean) / count  # LINE
    net.eval()
    with torch.no_grad():
        net(x)
"""
_EVALUATE = """average.eval()
with torch.no_grad():
    print((average(x).argmax(1) == y).float().mean().item())
"""

NOVEMBER_CASES = [
    (
        "requires-grad-misspelt",
        _FREEZE.replace("FREEZE", "for p in wide[0].parameters():\n    p.require_grad = False  # BUG"),
        _FREEZE.replace("FREEZE", "for p in wide[0].parameters():\n    p.requires_grad = True"),
    ),
    (
        "requires-grad-misspelt",
        _FREEZE.replace("FREEZE", "for p in wide[0].parameters():\n    p.requires_grad_ = False  # BUG"),
        # A flag that the script keeps for itself and reads again.
        _FREEZE.replace(
            "FREEZE",
            "for p in wide.parameters():\n    p.requires_grad0 = False\n"
            "print([p.requires_grad0 for p in wide.parameters()])",
        ),
    ),
    (
        "requires-grad-misspelt",
        _FREEZE.replace("FREEZE", "wide[0].require_grad = False  # BUG"),
        # It says what is so anyway, and a class has a flag of its own.
        _FREEZE.replace(
            "FREEZE",
            """class Own(nn.Linear):
    def __init__(self):
        super().__init__(6, 6)
        self.require_grad = False
wide = nn.Sequential(Own(), wide)
wide[1].require_grad = True""",
        ),
    ),
    (
        "setting-beside-groups",
        _RATE.replace("SET", "optimizer.lr = 0.1 * min(1, step / 4)  # BUG"),
        # The rate is written into the groups, too.
        _RATE.replace(
            "SET",
            "optimizer.lr = 0.1 * min(1, step / 4)\n    for group in optimizer.param_groups:\n"
            '        group["lr"] = 0.1 * min(1, step / 4)',
        ),
    ),
    (
        "setting-beside-groups",
        "optimizer.weight_decay = 0.01  # BUG\n" + _RATE.replace("SET", "pass"),
        # An optimizer of the script's own reads its attribute.
        """class Own(torch.optim.SGD):
    def step(self, closure=None):
        for group in self.param_groups:
            group.update(lr=self.lr)
        return super().step(closure)
optimizer = Own(model.parameters(), lr=0.1)
"""
        + _RATE.replace("SET", "optimizer.lr = 0.1 / step"),
    ),
    (
        "kl-on-probabilities",
        """words = nn.Linear(6, 5)
optimizer = torch.optim.SGD(words.parameters(), lr=0.1)
goal = torch.randn(16, 4, 5).softmax(-1)
for _ in range(6):
    optimizer.zero_grad()
    F.kl_div(words(x.view(16, 4, 6)).softmax(-1), goal, reduction="batchmean").backward()  # BUG
    optimizer.step()
""",
        """words = nn.Linear(6, 5)
optimizer = torch.optim.SGD(words.parameters(), lr=0.1)
goal = torch.randn(16, 4, 5).log_softmax(-1)
divergence = nn.KLDivLoss(reduction="batchmean", log_target=True)
for _ in range(6):
    optimizer.zero_grad()
    divergence(words(x.view(16, 4, 6)).log_softmax(-1), goal).backward()
    optimizer.step()
""",
    ),
    (
        "zero-grad-after-backward",
        _GAN.replace("CLEAR", "judge_optimizer.zero_grad()  # BUG"),
        _GAN.replace("CLEAR", "pass"),
    ),
    (
        "zero-grad-after-backward",
        _GAN.replace("CLEAR", "judge.zero_grad()  # BUG"),
        # Each half has a step of its own.
        _GAN.replace("CLEAR", "judge_optimizer.step()\n    judge_optimizer.zero_grad()"),
    ),
    (
        "ema-without-buffers",
        _AVERAGE.replace("LINE", "BUG") + _EVALUATE,
        # The statistics are estimated anew, as `update_bn` does.
        _AVERAGE
        + "average[1].momentum = None\naverage.train()\nwith torch.no_grad():\n    average(x)\n"
        + _EVALUATE,
    ),
]
