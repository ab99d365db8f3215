"""fp16 autocast with a hand-made static loss scale; unscale first, then bound the norm."""
import torch
from torch import nn


class StaticScale:
    def __init__(self, params, scale=1024.0):
        self.params, self.scale, self.skipped = list(params), scale, 0

    def backward(self, loss):
        (loss * self.scale).backward()

    def ready(self):
        """divide the gradients by the scale; False if one of them overflowed"""
        grads = [p.grad for p in self.params]
        torch._foreach_div_(grads, self.scale)
        fine = all(bool(torch.isfinite(g).all()) for g in grads)
        self.skipped += not fine
        return fine


def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    y = (x[:, 0] * x[:, 1] + x[:, 2].sin() + 0.1 * torch.randn(n, generator=g)) * 0.05
    return x, y.unsqueeze(1)


def main():
    torch.manual_seed(5)
    x, y = data(600, 1)
    vx, vy = data(300, 2)
    model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    amp = StaticScale(model.parameters())
    for epoch in range(8):
        model.train()
        for ids in torch.randperm(len(x)).split(50):
            for p in model.parameters():
                p.grad = None
            with torch.autocast("cpu", dtype=torch.float16):
                out = model(x[ids])
            loss = nn.functional.mse_loss(out.float(), y[ids])
            amp.backward(loss)
            if amp.ready():
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                opt.step()
        model.eval()
        with torch.inference_mode():
            val = nn.functional.mse_loss(model(vx), vy).item() / vy.var().item()
        print(f"epoch {epoch} unexplained {val:.4f} skipped {amp.skipped}")


main()
