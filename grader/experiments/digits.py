"""The handwritten digits that several lessons train on."""

import importlib.util
from pathlib import Path

import numpy as np
import torch
from torch import Tensor


def read_digits() -> tuple[Tensor, Tensor]:
    """Return the 1,797 digits that scikit-learn holds, in a fixed random order, and their labels.

    The file is read directly: importing scikit-learn would make the learner wait for a second.

    Returns:
        Images of shape (1797, 64) in float32, pixels from 0 to 1, and labels of shape (1797,).

    Raises:
        ModuleNotFoundError: scikit-learn is not installed.
    """
    sklearn = importlib.util.find_spec("sklearn")
    if sklearn is None or sklearn.origin is None:
        raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")
    rows = np.loadtxt(Path(sklearn.origin).parent / "datasets" / "data" / "digits.csv.gz", delimiter=",")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))
    images, labels = torch.tensor(rows[:, :-1], dtype=torch.float32), torch.tensor(rows[:, -1]).long()
    return images[order] / 16, labels[order]
