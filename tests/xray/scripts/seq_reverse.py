"""Encoder/decoder GRU that reverses short digit sequences."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
BOS, V, L = 10, 11, 5
EPOCHS, BATCH, PEAK = 8, 32, 0.5


class Encoder(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.emb = nn.Embedding(V, h)
        self.rnn = nn.GRU(h, h, batch_first=True)

    def forward(self, s):
        return self.rnn(self.emb(s))[1]


class Decoder(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.emb = nn.Embedding(V, h)
        self.rnn = nn.GRU(h, h, batch_first=True)
        self.out = nn.Linear(h, V)

    def forward(self, prev, state):
        return self.out(self.rnn(self.emb(prev), state)[0])


def make(n):
    src = torch.randint(0, 10, (n, L))
    tgt = src.flip(1)
    prev = torch.cat([torch.full((n, 1), BOS), tgt[:, :-1]], 1)
    return TensorDataset(src, prev, tgt)


train_set, test_set = make(1280), make(256)
loader = DataLoader(train_set, batch_size=BATCH, shuffle=True)
test_loader = DataLoader(test_set, batch_size=64)
encoder, decoder = Encoder(48), Decoder(48)
optimizer = torch.optim.SGD(list(encoder.parameters()) + list(decoder.parameters()), lr=PEAK, momentum=0.9)

total_steps = EPOCHS * len(train_set)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.0, 1 - s / total_steps))

for epoch in range(EPOCHS):
    encoder.train()
    decoder.train()
    total = 0.0
    for src, prev, tgt in loader:
        optimizer.zero_grad()
        logits = decoder(prev, encoder(src))
        loss = F.cross_entropy(logits.flatten(0, 1), tgt.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(encoder.parameters(), 0.25)
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(src)

    encoder.eval()
    decoder.eval()
    ok = n = 0
    with torch.no_grad():
        for src, prev, tgt in test_loader:
            ok += (decoder(prev, encoder(src)).argmax(-1) == tgt).sum().item()
            n += tgt.numel()
    print(f"epoch {epoch} loss {total / len(train_set):.4f} digit acc {ok / n:.4f} lr {optimizer.param_groups[0]['lr']:.4f}")
