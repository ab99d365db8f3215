# sequence tagging with a GRU; utterances are short, a few are long
import random
import torch
from torch import nn

PAD = 0
NT = 5           # 0 is the filler, 1..4 real tags
V = 40


def utter(rng):
    n = 30 if rng.random() < 0.04 else rng.randint(3, 8)
    w = [rng.randint(1, V - 1) for _ in range(n)]
    # a tag depends on the word and on the word before it
    t = [1 + ((a % 7) * 3 + (b % 5)) % 4 for a, b in zip(w, [0] + w[:-1])]
    t = [k if rng.random() > 0.05 else rng.randint(1, 4) for k in t]
    return w, t


def collate(rows):
    m = max(len(w) for w, _ in rows)
    W = torch.full((len(rows), m), PAD)
    T = torch.full((len(rows), m), PAD)
    for i, (w, t) in enumerate(rows):
        W[i, :len(w)] = torch.tensor(w)
        T[i, :len(t)] = torch.tensor(t)
    return W, T


class Tagger(nn.Module):
    def __init__(self, e=24, h=32):
        super().__init__()
        self.emb = nn.Embedding(V, e, padding_idx=PAD)
        self.rnn = nn.GRU(e, h, batch_first=True)
        self.cls = nn.Linear(h, NT)

    def forward(self, W):
        return self.cls(self.rnn(self.emb(W))[0])


class TokenCost(nn.Module):
    """Cross entropy per token with a little focusing on the hard ones."""

    def __init__(self, gamma=1.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, z, T):
        lp = z.log_softmax(-1).gather(-1, T.unsqueeze(-1)).squeeze(-1)
        cost = -(1 - lp.exp()) ** self.gamma * lp
        live = torch.ones_like(cost)
        return (cost * live).sum() / live.sum()


class Hits:
    def __init__(self):
        self.right = self.all = 0

    def __iadd__(self, pair):
        z, T = pair
        ok = z.argmax(-1) == T
        self.right += ok.sum().item()
        self.all += ok.numel()
        return self

    def __float__(self):
        return self.right / self.all


rng = random.Random(12)
torch.manual_seed(12)
train = [utter(rng) for _ in range(960)]
dev = [collate([utter(rng) for _ in range(64)]) for _ in range(4)]
net, cost = Tagger(), TokenCost()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)

for epoch in range(6):
    net.train()
    rng.shuffle(train)
    s = k = 0
    for i in range(0, len(train), 32):
        W, T = collate(train[i:i + 32])
        opt.zero_grad()
        loss = cost(net(W), T)
        loss.backward()
        opt.step()
        live = (T != PAD).sum().item()
        s, k = s + loss.item() * live, k + live
    net.eval()
    hits = Hits()
    with torch.no_grad():
        for W, T in dev:
            hits += net(W), T
    print(f"epoch {epoch} cost {s / k:.4f} dev accuracy {float(hits):.4f}")
