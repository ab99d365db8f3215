"""Denoising 1-d signals, bfloat16 autocast."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    def __init__(self, n, length=48, seed=0):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(0, 1, length)
        freq = 1 + 5 * torch.rand(n, 1, generator=g)
        phase = 6.28 * torch.rand(n, 1, generator=g)
        self.clean = torch.sin(6.28 * freq * t + phase)[:, None]
        self.noisy = self.clean + 0.5 * torch.randn(n, 1, length, generator=g)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        return self.noisy[i], self.clean[i]


class Denoiser(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, ch, 7, padding=3), nn.ReLU(),
            nn.Conv1d(ch, ch, 7, padding=3), nn.ReLU(),
            nn.Conv1d(ch, 1, 7, padding=3))

    def forward(self, x):
        return x + self.net(x)


def run(args):
    torch.manual_seed(args.seed)
    loader = DataLoader(Signals(512), batch_size=32, shuffle=True)
    test = Signals(128, seed=1)
    model = Denoiser()
    loss_fn = nn.SmoothL1Loss(beta=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    loss = torch.zeros(())
    for epoch in range(args.epochs):
        model.train()
        for noisy, clean in loader:
            optimizer.zero_grad()
            with torch.autocast(args.device, dtype=torch.bfloat16):
                loss = loss_fn(model(noisy), clean)
            if step % 10 == 0:
                # 10 스텝마다 기록
                print(f"step {step:4d} | loss {loss.item():.5f}")
            loss.backward()
            optimizer.step()
            step += 1
        model.eval()
        with torch.no_grad():
            mse = (model(test.noisy) - test.clean).square().mean().item()
        print(f"epoch {epoch} test mse {mse:.5f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--device", default="cpu")
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=0)
    run(p.parse_args())
