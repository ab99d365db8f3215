"""The 8 x 8 digits of lesson 04, its small classifiers, and batches for them; everything is on `device`."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from grader.experiments.digits import read_digits

Batch = tuple[Tensor, Tensor]
"""Images and their labels."""

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_cpu = device.type == "cpu"
loss_fn = nn.CrossEntropyLoss()


_images, _labels = (tensor.to(device) for tensor in read_digits())
x_train, y_train = _images[:1437], _labels[:1437]
x_val, y_val = _images[1437:], _labels[1437:]


def make_model(seed: int, *middle: nn.Module) -> nn.Sequential:
    """Return a 64-64-10 classifier with `middle` after its first layer, in float64 for exact comparisons."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 64), *middle, nn.Tanh(), nn.Linear(64, 10))
    return model.to(device).double()


def make_batches(seed: int, count: int, batch_size: int = 16) -> list[Batch]:
    """Return `count` micro-batches of the shuffled training data, in float64."""
    generator = torch.Generator().manual_seed(seed)
    batches: list[Batch] = []
    while len(batches) < count:
        rows = torch.randperm(len(x_train), generator=generator).to(device)
        batches += [(x_train[r].double(), y_train[r]) for r in rows.split(batch_size) if len(r) == batch_size]
    return batches[:count]


def validation_batches(batch_size: int) -> list[Batch]:
    """Return the validation data in batches, in float64."""
    return list(zip(x_val.double().split(batch_size), y_val.split(batch_size), strict=True))


def with_random_labels(batches: Sequence[Batch], count: int, seed: int) -> list[Batch]:
    """Return the batches with the first `count` labels of each replaced by random digits."""
    generator = torch.Generator().manual_seed(seed)
    changed = [(xb, yb.clone()) for xb, yb in batches]
    for _, yb in changed:
        yb[:count] = torch.randint(10, (count,), generator=generator).to(device)
    return changed


def noisy_digits(seed: int, count: int, noise: float) -> tuple[Tensor, Tensor, Tensor, torch.Generator]:
    """Draw `count` training images and give a share `noise` of them random labels.

    Returns:
        Images, labels, row numbers of the images that are left, and the generator in the state after the drawing.
    """
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(len(x_train), generator=generator)
    rows = shuffled[:count].to(device)
    targets = y_train[rows].cpu()
    noisy = torch.rand(count, generator=generator) < noise
    targets[noisy] = torch.randint(10, (int(noisy.sum()),), generator=generator)
    return x_train[rows], targets.to(device), shuffled[count:].to(device), generator


class SometimesSkips(nn.Module):
    """A classifier that skips its middle layer in half of its forward passes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(64, 32), nn.Linear(32, 32), nn.Linear(32, 10)

    def forward(self, xb: Tensor) -> Tensor:
        """Return the logits."""
        hidden = torch.tanh(self.first(xb))
        if torch.rand(()) < 0.5:
            hidden = hidden + torch.tanh(self.middle(hidden))
        logits: Tensor = self.last(hidden)
        return logits
