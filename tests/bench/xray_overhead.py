"""Time a training loop with and without `xray`, alternately: `python tests/bench/xray_overhead.py [--large]`."""

import io
import statistics
import sys
import time
from contextlib import redirect_stderr

import torch
from torch import nn

from grader import xray

ROUNDS, UPDATES = 5, 30


def loop(model: nn.Module, batch: torch.Tensor, updates: int) -> float:
    """Return the seconds of one update."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    target = torch.zeros(len(batch), dtype=torch.long)
    began = time.perf_counter()
    for _ in range(updates):
        optimizer.zero_grad()
        nn.functional.cross_entropy(
            model(batch).flatten(0, -2), target.repeat(batch[0].numel() // batch.shape[-1])
        ).backward()
        optimizer.step()
    return (time.perf_counter() - began) / updates


def main() -> None:
    """Print the ratio for a transformer and a plain network of a million parameters, or of a hundred million."""
    large = "--large" in sys.argv
    width = 1024 if large else 128
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
    cases = {
        "transformer": (
            nn.TransformerEncoder(layer, 8 if large else 5),
            torch.randn(4 if large else 8, 16, width),
        ),
        "plain": (
            nn.Sequential(*(nn.Linear(5000 if large else 500, 5000 if large else 500) for _ in range(4))),
            torch.randn(16, 5000 if large else 500),
        ),
    }
    for name, (model, batch) in cases.items():
        updates = 5 if large else UPDATES
        size = sum(p.numel() for p in model.parameters())
        with_, without = [], []
        loop(model, batch, 3)
        for _ in range(ROUNDS):
            without.append(loop(model, batch, updates))
            with redirect_stderr(io.StringIO()), xray(updates=10**6):
                with_.append(loop(model, batch, updates))
        after = loop(model, batch, updates)
        a, b = statistics.median(without), statistics.median(with_)
        times = f"{a * 1e3:.1f} ms -> {b * 1e3:.1f} ms, {b / a:.2f} x; after {after / a:.2f} x"
        print(f"{name}: {size / 1e6:.1f} M parameters, {times}")


if __name__ == "__main__":
    main()
