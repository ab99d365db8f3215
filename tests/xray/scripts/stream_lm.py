# 순서대로 읽는 문자 언어 모델 (truncated BPTT): 섞지 않는 것이 맞다
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(10)
g = torch.Generator().manual_seed(10)
V, LANES, SPAN = 20, 16, 20
succ = torch.softmax(3 * torch.randn(V, V, generator=g), -1).cumsum(-1)


def text(n):
    u, out = torch.rand(n, generator=g), [0]
    for i in range(n - 1):
        out.append(min(int(torch.searchsorted(succ[out[-1]], u[i])), V - 1))
    return torch.tensor(out)


def lanes(t):
    k = (len(t) - 1) // LANES
    return t[:k * LANES].view(LANES, k), t[1:k * LANES + 1].view(LANES, k)


class Reader(nn.Module):
    def __init__(self, w=48):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(V, w), nn.LSTM(w, w, batch_first=True), nn.Linear(w, V)

    def forward(self, x, st):
        h, st = self.r(self.e(x), st)
        return self.o(h), tuple(s.detach() for s in st)


def spans(x, y):
    for a in range(0, x.shape[1], SPAN):
        yield x[:, a:a + SPAN], y[:, a:a + SPAN]


def walk(net, x, y, opt=None):
    net.train(opt is not None)
    st, tot = None, 0.0
    with torch.set_grad_enabled(opt is not None):
        for a, b in spans(x, y):
            z, st = net(a, st)
            loss = F.cross_entropy(z.reshape(-1, V), b.reshape(-1))
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                opt.step()
            tot += loss.item() * b.numel()
    return tot / y.numel()


train, dev = lanes(text(8000)), lanes(text(1600))
net = Reader()
opt = torch.optim.Adam(net.parameters(), lr=8e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.3, patience=0)
for ep in range(5):
    a, b = walk(net, *train, opt), walk(net, *dev)
    plateau.step(b)
    print(f"epoch {ep} train {a:.4f} dev {b:.4f} lr {opt.param_groups[0]['lr']:.5f}")
