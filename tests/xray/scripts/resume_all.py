"""Training interrupted in the middle and resumed from a bytes checkpoint: same result as without the interruption."""
import io
import torch
from torch import nn
import torch.nn.functional as F

EPOCHS = 8


class State:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(10, 40), nn.Tanh(), nn.Dropout(0.1), nn.Linear(40, 3))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=8e-3)
        warm = torch.optim.lr_scheduler.LinearLR(self.opt, 0.1, 1.0, total_iters=2)
        cos = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=EPOCHS - 2)
        self.sched = torch.optim.lr_scheduler.SequentialLR(self.opt, [warm, cos], milestones=[2])
        self.epoch = 0

    def dump(self):
        buf = io.BytesIO()
        torch.save({"net": self.net.state_dict(), "opt": self.opt.state_dict(), "sched": self.sched.state_dict(),
                    "epoch": self.epoch, "rng": torch.get_rng_state()}, buf)
        return buf.getvalue()

    def restore(self, blob):
        ck = torch.load(io.BytesIO(blob))
        self.net.load_state_dict(ck["net"])
        self.opt.load_state_dict(ck["opt"])
        self.sched.load_state_dict(ck["sched"])
        self.epoch = ck["epoch"]
        torch.set_rng_state(ck["rng"])


def data(n, w):
    x = torch.randn(n, 10)
    return x, (x @ w + 0.5 * torch.randn(n, 3)).argmax(1)


def run(st, tr, va, until, talk):
    x, y = tr
    while st.epoch < until:
        st.net.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(50):
            st.opt.zero_grad()
            loss = F.cross_entropy(st.net(x[idx]), y[idx])
            loss.backward()
            st.opt.step()
            total += loss.item() * len(idx)
        st.sched.step()
        st.epoch += 1
        st.net.eval()
        with torch.no_grad():
            acc = (st.net(va[0]).argmax(1) == va[1]).float().mean().item()
        if talk:
            print(f"epoch {st.epoch} loss {total / len(x):.4f} acc {acc:.4f} lr {st.sched.get_last_lr()[0]:.5f}")


torch.manual_seed(55)
w = torch.randn(10, 3)
tr, va = data(600, w), data(300, w)
first = State()
run(first, tr, va, EPOCHS // 2, talk=True)
blob = first.dump()
run(first, tr, va, EPOCHS, talk=False)

second = State()
second.restore(blob)
run(second, tr, va, EPOCHS, talk=True)
gap = max((a - b).abs().max().item() for a, b in zip(first.net.parameters(), second.net.parameters()))
print("largest difference to the uninterrupted run", gap)
