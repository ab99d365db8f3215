"""Shapes of loops that well-known public scripts have, in small: what was said of them falsely, or too often."""

from pathlib import Path

import pytest

from tests.xray.running import Ran, watched

HEAD = """import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(64, 9)
y = (x[:, 0] > 0).long()
"""
HEALTHY = {
    "critic-trained-five-times-as-often": """loader = DataLoader(TensorDataset(x), batch_size=4)
generator, critic = nn.Linear(3, 9), nn.Linear(9, 1)
of_generator = torch.optim.RMSprop(generator.parameters(), lr=1e-3)
of_critic = torch.optim.RMSprop(critic.parameters(), lr=1e-3)
for _ in range(3):
    for i, (real,) in enumerate(loader):
        of_critic.zero_grad()
        made = generator(torch.randn(4, 3))
        (critic(made).mean() - critic(real).mean()).backward()
        of_critic.step()
        if i % 5 == 0:
            of_generator.zero_grad()
            (-critic(generator(torch.randn(4, 3))).mean()).backward()
            of_generator.step()
""",
    "both-splits-scored-under-loaders-of-their-own": """arguments = "--epochs=3".split("=")
splits = {"a": TensorDataset(x[:48], y[:48]), "b": TensorDataset(x[48:], y[48:])}
model = nn.Linear(9, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
@torch.no_grad()
def score(name):
    loader = DataLoader(splits[name], batch_size=16)
    return sum((model(a).argmax(1) == b).sum().item() for a, b in loader)
sampler = torch.utils.data.RandomSampler(splits["a"], replacement=True, num_samples=24)
for _ in range(int(arguments[1])):
    for a, b in DataLoader(splits["a"], batch_size=8, sampler=sampler):
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
    print(score("a"), score("b"))
""",
}
"""Nothing is wrong with these."""


def _run(folder: Path, text: str, *options: str) -> Ran:
    script = folder / "train.py"
    script.write_text(HEAD + text, encoding="utf-8")
    return watched(script, *options)


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_shape_stays_silent(tmp_path: Path, name: str) -> None:
    ran = _run(tmp_path, HEALTHY[name])
    assert ran.ids == []
    assert ran.found["updates"] > 8
    assert not ran.found["observer_failures"]


def test_one_line_is_told_once(tmp_path: Path) -> None:
    """Two losses on what one softmax made are one mistake."""
    ran = _run(
        tmp_path,
        """model = nn.Sequential(nn.Linear(9, 2), nn.Softmax(dim=1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    first = F.cross_entropy(model(x), y)
    second = F.cross_entropy(model(-x), y)
    (first + second).backward()
    optimizer.step()
""",
    )
    assert ran.ids == [("softmax-before-ce", 8)]


def test_timeline_folds_what_comes_again_and_again(tmp_path: Path) -> None:
    """An LBFGS step evaluates its closure up to twenty times: the card shows the first, the last and how many."""
    ran = _run(
        tmp_path,
        """model = nn.Linear(9, 1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=18)
def closure():
    optimizer.zero_grad()
    loss = F.mse_loss(model(x).exp(), x[:, :1])
    loss.backward()
    return loss
for _ in range(2):
    optimizer.step(closure)
""",
    )
    rows = [line for line in ran.error.splitlines() if "loss.backward()" in line]
    assert len(rows) <= 4
    assert "g₁ " in rows[0]
    assert ran.error.count("×1") >= 1
    assert "optimizer.step(closure)" in ran.error


def test_an_update_of_many_terms_shows_the_largest_and_the_sum_of_the_rest(tmp_path: Path) -> None:
    """Without zero_grad the 39th step reads 39 gradients: their bars alone would say nothing."""
    ran = _run(
        tmp_path,
        """model = nn.Linear(9, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(39):
    F.mse_loss(model(torch.randn(8, 9)), torch.randn(8, 1)).backward()
    optimizer.step()
""",
    )

    assert "1·g₃₉ + 1·g₃₈ +" in ran.error
    assert "Σ₃₆ 36" in ran.error
    assert "Σ₉ 4" in ran.error
