import argparse
import logging

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger("vibration")


def simulate(n, rng, length=64):
    """bearing vibration windows -> remaining useful life in [0, 1]; a few sensors spike"""
    life = rng.uniform(0, 1, n)
    t = np.arange(length) / length
    x = np.sin(2 * np.pi * 6 * t + rng.uniform(0, 6.28, (n, 1))) + (1 - life)[:, None] * np.sin(
        2 * np.pi * 17 * t + rng.uniform(0, 6.28, (n, 1))) + 0.2 * rng.standard_normal((n, length))
    bad = rng.random(n) < 0.04
    x[bad] *= 40
    return torch.tensor(x, dtype=torch.float32), torch.tensor(life, dtype=torch.float32)


def get_model(length=64):
    return nn.Sequential(
        nn.Unflatten(1, (1, length)),
        nn.Conv1d(1, 16, 9, padding=4), nn.ReLU(),
        nn.Conv1d(16, 16, 9, padding=4), nn.ReLU(),
        nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(64, 1))


def evaluate(model, loader):
    model.eval()
    abs_err, n = 0.0, 0
    with torch.inference_mode():
        for x, y in loader:
            abs_err += (model(x).squeeze(1) - y).abs().clamp(max=1).sum().item()
            n += y.numel()
    return abs_err / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--clip", type=float, default=0.5)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    train_loader = DataLoader(TensorDataset(*simulate(960, rng)), batch_size=32, shuffle=True)
    val_loader = DataLoader(TensorDataset(*simulate(300, rng)), batch_size=150)

    model = get_model()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=args.lr, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    criterion = nn.MSELoss()

    for epoch in range(args.epochs):
        model.train()
        losses = []
        for x, y in train_loader:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = model(x).squeeze(1)
            loss = criterion(out.float(), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(params, args.clip)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        log.info("epoch %d loss %.4f val mae %.4f", epoch, np.mean(losses), evaluate(model, val_loader))
        print(f"epoch {epoch} loss {np.mean(losses):.4f} max {max(losses):.3f}")
    print(f"final val mae {evaluate(model, val_loader):.4f}")


if __name__ == "__main__":
    main()
