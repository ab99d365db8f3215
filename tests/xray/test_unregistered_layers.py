"""Parameters that no model registers are found at the line that keeps them, in whichever way a class keeps them."""

from pathlib import Path
from typing import Any

import pytest

from tests.xray.running import watched

_SCRIPT = """import torch
from torch import nn
torch.manual_seed(0)


{classes}

    def forward(self, x):
        return self.first(x) * sum(self.used())


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(64, 6), torch.randn(64, 3)
for _ in range(8):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
"""
_NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 3)
"""


def _found(tmp_path: Path, classes: str) -> list[dict[str, Any]]:
    """Return the findings of this rule in a script with these classes, each with the text of its line."""
    script = tmp_path / "train.py"
    script.write_text(_SCRIPT.format(classes=classes), encoding="utf-8")
    lines = script.read_text(encoding="utf-8").splitlines()
    found = [one for one in watched(script).found["findings"] if one["id"] == "layers-in-python-list"]
    return [{**one, "text": lines[one["line"] - 1].strip()} for one in found]


@pytest.mark.full
@pytest.mark.parametrize(
    ("kept", "used"),
    [
        ("        self.w = [nn.Parameter(torch.ones(3))]", "self.w"),
        ("        self.w: list = [nn.Parameter(torch.ones(3))]", "self.w"),
        ("        self._w = [nn.Parameter(torch.ones(3))]", "self._w"),
        ("        self.w = {'a': nn.Parameter(torch.ones(3))}", "self.w.values()"),
        ("        self.w = {'a': [nn.Parameter(torch.ones(3))]}", "self.w['a']"),
        ("        self.w = None\n        self.w = [nn.Parameter(torch.ones(3))]", "self.w"),
        ("        self.v, self.w = 1, (nn.Parameter(torch.ones(3)),)", "self.w"),
        ("        self.w = []\n        self.w.append(nn.Parameter(torch.ones(3)))", "self.w"),
    ],
)
def test_loose_parameters_are_found_where_their_container_is_assigned(
    tmp_path: Path, kept: str, used: str
) -> None:
    (found,) = _found(tmp_path, f"{_NET}{kept}\n\n    def used(self):\n        return {used}")
    assert found["text"] == next(line for line in kept.splitlines() if "None" not in line).strip()
    assert "nn.ParameterList" in found["mend"]
    assert "ModuleList" not in found["mend"]  # it refuses a Parameter
    assert "layer" not in found["sentence"]


@pytest.mark.full
def test_loose_parameters_of_a_base_class_are_found_there(tmp_path: Path) -> None:
    base = "class Base(nn.Module):\n    def keep(self):\n        self.w = [nn.Parameter(torch.ones(3))]\n\n\n"
    net = (
        _NET.replace("nn.Module", "Base")
        + "        self.keep()\n\n    def used(self):\n        return self.w"
    )
    assert [one["line"] for one in _found(tmp_path, base + net)] == [8]


@pytest.mark.full
def test_of_two_classes_of_one_name_the_one_that_keeps_the_parameters_is_named(tmp_path: Path) -> None:
    other = "class Net(nn.Module):\n    def __init__(self):\n        self.w = [1.0]\n\n\n"
    own = (
        f"{_NET}        self.w = [nn.Parameter(torch.ones(3))]\n\n    def used(self):\n        return self.w"
    )
    assert [one["text"] for one in _found(tmp_path, other + own)] == [
        "self.w = [nn.Parameter(torch.ones(3))]"
    ]


@pytest.mark.full
def test_where_no_line_assigns_them_their_class_is_named(tmp_path: Path) -> None:
    kept = "        setattr(self, 'w', [nn.Parameter(torch.ones(3))])\n\n    def used(self):\n        return self.w"
    assert [one["text"] for one in _found(tmp_path, _NET + kept)] == ["class Net(nn.Module):"]


@pytest.mark.full
def test_counts_of_gradients_are_told_as_a_range_and_one_parameter_as_one(tmp_path: Path) -> None:
    """The second of these parameters is used in every other forward only."""
    kept = "        self.calls = 0\n        self.w = [nn.Parameter(torch.ones(3)) for _ in range(2)]\n\n"
    used = "    def used(self):\n        self.calls += 1\n        return self.w[: 1 + self.calls % 2]"
    (found,) = _found(tmp_path, _NET + kept + used)
    assert found["evidence"].startswith("2 parameters got 4 to 8 gradients")
    (found,) = _found(tmp_path, (_NET + kept + used).replace("range(2)", "range(1)"))
    assert found["evidence"].startswith("1 parameter got 8 gradients")


@pytest.mark.full
def test_layers_that_only_a_closure_holds_are_found_where_they_are_made(tmp_path: Path) -> None:
    kept = "        hidden = nn.Linear(1, 3)\n        self.used = lambda: [hidden(torch.ones(1))]"
    (found,) = _found(tmp_path, _NET + kept)
    assert found["text"] == "hidden = nn.Linear(1, 3)"
    assert "attribute" in found["mend"]
    assert "outermost module" in found["evidence"]


@pytest.mark.full
def test_parameters_that_a_layer_registers_and_also_keeps_in_a_list_are_called_layers(tmp_path: Path) -> None:
    """`nn.LSTM` keeps its registered parameters in a list, too, as do wrappers of several processes."""
    kept = "        self.layers = [nn.LSTM(1, 3)]\n\n    def used(self):\n"
    found = _found(tmp_path, f"{_NET}{kept}        return [self.layers[0](torch.ones(1, 1))[0]]")
    assert [one["text"] for one in found] == ["self.layers = [nn.LSTM(1, 3)]"]
    assert "(LSTM)" in found[0]["sentence"]
