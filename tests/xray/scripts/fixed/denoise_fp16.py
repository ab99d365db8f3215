"""Denoising autoencoder for waveforms, half precision.
   파형 복원: float16 자동 캐스팅"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

AMP_DTYPE = torch.float16
LENGTH = 128


def waves(n):
    t = torch.linspace(0, 1, LENGTH)
    f = 1 + 6 * torch.rand(n, 1)
    ph = 6.28 * torch.rand(n, 1)
    clean = 0.002 * torch.sin(6.28 * f * t + ph)  # 센서 값은 볼트 단위라 아주 작다
    return clean + 0.0008 * torch.randn(n, LENGTH), clean


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(LENGTH, 48)
        self.dec = nn.Linear(48, LENGTH)

    def forward(self, x):
        return self.dec(torch.tanh(self.enc(x)))


class Engine:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr, eps=1e-12)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 18)
        self.zero_share = 0.0

    def step(self, noisy, clean):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=AMP_DTYPE):
            out = self.net(noisy)
        loss = (out.float() - clean).pow(2).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
        self.zero_share = (self.net.enc.weight.grad == 0).float().mean().item()
        return loss.item()

    @torch.no_grad()
    def test(self, noisy, clean):
        self.net.eval()
        err = (self.net(noisy) - clean).pow(2).mean().item()
        self.net.train()
        return err


def main():
    torch.manual_seed(6)
    noisy, clean = waves(1024)
    vn, vc = waves(256)
    loader = DataLoader(TensorDataset(noisy, clean), batch_size=64, shuffle=True)
    eng = Engine(Denoiser(), lr=1e-3)
    for epoch in range(10):
        tot = 0.0
        for n, c in loader:
            tot += eng.step(n, c) * len(n)
        print(f"epoch {epoch} train {tot / 1024 * 1e9:.2f}e-9 val {eng.test(vn, vc) * 1e9:.2f}e-9 zero grads {eng.zero_share:.3f}")


main()
