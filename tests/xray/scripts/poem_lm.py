"""Causal transformer language model on variable-length lines."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

PAD, VOCAB, MAXLEN = 0, 24, 20


class Lines(Dataset):
    """Each line follows a noisy successor table; items are (input, target) already shifted."""

    def __init__(self, n, table, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            length = int(torch.randint(5, MAXLEN + 1, (1,), generator=g))
            line = [int(torch.randint(1, VOCAB, (1,), generator=g))]
            while len(line) < length + 1:
                line.append(int(table[line[-1], int(torch.randint(0, 3, (1,), generator=g))]))
            self.rows.append(torch.tensor(line))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return row[:-1], row[1:]


def collate(batch):
    width = max(len(x) for x, _ in batch)
    xs = torch.full((len(batch), width), PAD)
    ys = torch.full((len(batch), width), PAD)
    for k, (x, y) in enumerate(batch):
        xs[k, :len(x)] = x
        ys[k, :len(y)] = y
    return xs, ys


class TinyGPT(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(0.02 * torch.randn(MAXLEN, d))
        self.block = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, x):
        t = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(t)
        return self.head(self.block(self.tok(x) + self.pos[:t], src_mask=mask, is_causal=True))


def next_token_loss(logits, y):
    logits, y = logits[:, :-1], y[:, 1:]
    return F.cross_entropy(logits.reshape(-1, VOCAB), y.reshape(-1))


def next_token_accuracy(net, loader):
    net.eval()
    hit = n = 0
    with torch.no_grad():
        for x, y in loader:
            real = y != PAD
            hit += (net(x).argmax(-1) == y)[real].sum().item()
            n += real.sum().item()
    return hit / n


torch.manual_seed(23)
table = torch.randint(1, VOCAB, (VOCAB, 3))
table[:, 1] = table[:, 0]
train = DataLoader(Lines(400, table, 1), batch_size=32, shuffle=True, collate_fn=collate)
dev = DataLoader(Lines(120, table, 2), batch_size=40, collate_fn=collate)
net = TinyGPT()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)

for epoch in range(6):
    net.train()
    tot = cnt = 0
    for x, y in train:
        opt.zero_grad()
        loss = next_token_loss(net(x), y)
        loss.backward()
        opt.step()
        k = (y != PAD).sum().item()
        tot += loss.item() * k
        cnt += k
    print(f"epoch {epoch} loss {tot / cnt:.4f} next-token acc {next_token_accuracy(net, dev):.4f}")
