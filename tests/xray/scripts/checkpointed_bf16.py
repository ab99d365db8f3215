import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, d=32, depth=3):
        super().__init__()
        self.inp = nn.Linear(12, d)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.GELU()) for _ in range(depth))
        self.out = nn.Linear(d, 3)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = h + checkpoint(b, h, use_reentrant=False)
        return self.out(h)


def main(accum=4, epochs=4):
    torch.manual_seed(0)
    x = torch.randn(600, 12)
    y = x[:, :3].argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=False)
    per_epoch = -(-len(loader) // accum)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 8e-3, total_steps=epochs * per_epoch)
    for epoch in range(epochs):
        for i, (xb, yb) in enumerate(loader):
            group = min(accum, len(loader) - i // accum * accum)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(xb), yb)
            (loss / group).backward()
            if (i + 1) % accum == 0 or i + 1 == len(loader):
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                opt.zero_grad(set_to_none=True)
                sched.step()
        print(epoch, f"{loss.item():.4f}", sched.get_last_lr())


main()
