"""Language model trained by truncated BPTT: the hidden state is carried on, detached; the shift is made once.
   긴 말뭉치를 잘라서 순서대로 읽는다 (섞지 않음)"""
import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(60)
V, LANES, STEP = 16, 12, 20
table = torch.softmax(2.2 * torch.randn(V, V), dim=1)


def corpus(n):
    out = torch.empty(n, dtype=torch.long)
    s = 0
    for i in range(n):
        s = int(torch.multinomial(table[s], 1))
        out[i] = s
    return out


def lanes(stream):
    """(LANES, length): every row is a piece of the corpus read from left to right"""
    width = len(stream) // LANES
    return stream[:width * LANES].view(LANES, width)


def windows(rows):
    for k in range(0, rows.shape[1] - 1, STEP):
        end = min(k + STEP, rows.shape[1] - 1)
        yield rows[:, k:end], rows[:, k + 1:end + 1]


class LM(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(V, d)
        self.rnn = nn.LSTM(d, d, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(V))

    def forward(self, x, state=None):
        h, state = self.rnn(self.emb(x), state)
        return h @ self.emb.weight.T + self.bias, state  # tied output weights


def perplexity(net, rows):
    net.eval()
    total, n, state = 0.0, 0, None
    with torch.no_grad():
        for x, y in windows(rows):
            out, state = net(x, state)
            total += F.cross_entropy(out.flatten(0, 1), y.flatten(), reduction="sum").item()
            n += y.numel()
    return math.exp(total / n)


train, valid = lanes(corpus(5000)), lanes(corpus(1200))
net = LM()
opt = torch.optim.Adam(net.parameters(), lr=6e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)

for epoch in range(6):
    net.train()
    total, n, state = 0.0, 0, None
    for x, y in windows(train):
        if state is not None:
            state = tuple(s.detach() for s in state)
        out, state = net(x, state)
        loss = F.cross_entropy(out.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        total += loss.item() * y.numel()
        n += y.numel()
    ppl = perplexity(net, valid)
    plateau.step(ppl)
    print(f"epoch {epoch} train ppl {math.exp(total / n):.3f} valid ppl {ppl:.3f}")
