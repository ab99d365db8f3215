"""Each rule on a small script that has its mistake, and on a near one that has not."""

from pathlib import Path

import pytest

from tests.xray.running import watched

HEAD = """import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
CASES = [
    (
        "zero-grad-after-backward",
        """for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.zero_grad()  # BUG
    optimizer.step()
""",
        """for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    model.zero_grad()
    loss.backward()
    optimizer.step()
""",
    ),
    (
        "step-before-backward",
        """for _ in range(8):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    optimizer.step()  # BUG
    loss.backward()
""",
        """for _ in range(8):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None
""",
    ),
    (
        "optimizer-before-head",
        """model[2] = nn.Linear(16, 2)  # BUG
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
        """model[2] = nn.Linear(16, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
""",
    ),
    (
        "mse-broadcast",
        """for _ in range(8):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x)[:, :1], y.float())  # BUG
    loss.backward()
    optimizer.step()
""",
        """for _ in range(8):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x).softmax(1), F.one_hot(y, 2).float())
    loss.backward()
    optimizer.step()
""",
    ),
    (
        "softmax-before-ce",
        """for _ in range(8):
    optimizer.zero_grad()
    p = F.softmax(model(x), dim=1)  # BUG
    F.cross_entropy(p, y).backward()
    optimizer.step()
""",
        """for _ in range(8):
    optimizer.zero_grad()
    F.cross_entropy(model(x), F.softmax(model(x).detach(), dim=1)).backward()
    optimizer.step()
""",
    ),
]


@pytest.mark.parametrize(("name", "wrong", "right"), CASES, ids=[name for name, _, _ in CASES])
def test_rule_finds_its_mistake_and_leaves_the_near_one_alone(
    tmp_path: Path, name: str, wrong: str, right: str
) -> None:
    script = tmp_path / "train.py"
    script.write_text(HEAD + wrong, encoding="utf-8")
    line = next(number for number, text in enumerate((HEAD + wrong).splitlines(), 1) if "# BUG" in text)
    ran = watched(script)
    assert ran.ids == [(name, line)]
    assert ran.status == 1
    script.write_text(HEAD + right, encoding="utf-8")
    assert watched(script).ids == []
