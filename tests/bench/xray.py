"""Measure what `xray` costs while it watches and afterwards: `python tests/bench/xray.py [--large]`.

Rounds with and without the watch alternate, and processor seconds are counted, so that a busy machine does not decide;
printed are the ratios of the medians, the memory of the sketches as a share of the model, and whether the losses are
the same to the bit.
Goals: below 2 x for a million parameters, below 1.3 x for a hundred million, 1 x afterwards, memory below 1 %.
"""

import io
import statistics
import sys
import time
from contextlib import nullcontext, redirect_stderr
from typing import NamedTuple

import torch
from torch import nn

from grader import xray
from grader.scripts.watch import Watch

ROUNDS = 7


class Trained(NamedTuple):
    """Processor seconds of each update, and the losses."""

    seconds: list[float]
    losses: list[float]


def train(model: nn.Module, batch: torch.Tensor, updates: int) -> Trained:
    """Train a copy of a model's weights for some updates."""
    state = {name: one.clone() for name, one in model.state_dict().items()}
    torch.manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    seconds, losses = [], []
    for _ in range(updates):
        began = time.process_time()
        optimizer.zero_grad()
        output = model(batch).flatten(0, -2)
        loss = nn.functional.cross_entropy(output, torch.zeros(len(output), dtype=torch.long))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.process_time() - began)
    model.load_state_dict(state)
    return Trained(seconds, losses)


def models(large: bool) -> dict[str, tuple[nn.Module, torch.Tensor]]:
    """Return a transformer and a plain network of a million parameters, or of a hundred million."""
    width, hidden = (1024, 5000) if large else (128, 500)
    layer = nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True)
    return {
        "transformer": (
            nn.TransformerEncoder(layer, 8 if large else 5, enable_nested_tensor=False),
            torch.randn(8, 32, width),
        ),
        "plain network": (
            nn.Sequential(*(nn.Linear(hidden, hidden) for _ in range(4))),
            torch.randn(64, hidden),
        ),
    }


def sketch_bytes(watch: Watch) -> int:
    """Return the bytes of signs, samples and sketches at the end of a watch."""
    kept = [watch.sketcher._signs, *watch.sketcher._copies.values(), *watch._samples.values()]
    total = {one.data_ptr(): one.numel() * one.element_size() for one in kept}
    sketches = [part.sketch for ledger in watch.ledgers.values() for part in ledger.parts]
    sketches += [
        one
        for ledger in watch.ledgers.values()
        for one in (ledger.carry, ledger._read, ledger._sketch)
        if one is not None
    ]
    return sum(total.values()) + sum({id(one): one.nbytes for one in sketches}.values())


def main() -> None:
    """Print one line a model."""
    large = "--large" in sys.argv
    updates = 3 if large else 20
    for name, (model, batch) in models(large).items():
        size = sum(one.numel() * one.element_size() for one in model.parameters())
        train(model, batch, 2)
        rounds: dict[str, list[float]] = {"plain": [], "watched": [], "after": []}
        losses: list[list[float]] = []
        memory = 0
        for _ in range(3 if large else ROUNDS):
            for way, times in rounds.items():
                with (
                    redirect_stderr(io.StringIO()),
                    xray(updates=10**6) if way == "watched" else nullcontext() as look,
                ):
                    done = train(model, batch, updates)
                times.extend(done.seconds[1:])
                losses.append(done.losses)
                if look is not None:
                    memory = sketch_bytes(look._session.watch)
        plain, watched, after = (statistics.median(rounds[way]) for way in ("plain", "watched", "after"))
        same = "the same to the bit" if all(one == losses[0] for one in losses) else "DIFFERENT"
        print(
            f"{name}, {size / 4e6:.1f} M parameters: {plain * 1e3:.1f} ms plain, {watched / plain:.2f} x watched, "
            f"{after / plain:.2f} x afterwards; sketches {100 * memory / size:.2f} % of the model; losses {same}",
            flush=True,
        )


if __name__ == "__main__":
    main()
