import random

import torch
from torch import nn, optim
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD, BOS, EOS = 0, 1, 2
VOCAB = 16
device = torch.device("cpu")


def make_pairs(n, seed):
    """source: random symbols, target: the source reversed"""
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        length = rng.choice([2, 2, 3, 3, 4, 4, 5, 18])
        src = [rng.randrange(3, VOCAB) for _ in range(length)]
        pairs.append((src, src[::-1]))
    return pairs


def collate(batch):
    src = pad_sequence([torch.tensor(s) for s, _ in batch], batch_first=True, padding_value=PAD)
    tgt = pad_sequence([torch.tensor([BOS] + t + [EOS]) for _, t in batch], batch_first=True, padding_value=PAD)
    return src, tgt


class Seq2Seq(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.src_emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.tgt_emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.attn = nn.Linear(dim, dim, bias=False)
        self.out = nn.Linear(2 * dim, VOCAB)

    def forward(self, src, tgt_in):
        enc, h = self.encoder(self.src_emb(src))
        dec, _ = self.decoder(self.tgt_emb(tgt_in), h)
        score = self.attn(dec) @ enc.transpose(1, 2)
        score = score.masked_fill((src == PAD)[:, None], float("-inf"))
        ctx = score.softmax(-1) @ enc
        return self.out(torch.cat([dec, ctx], -1))


def train(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for src, tgt in loader:
        src, tgt = src.to(device), tgt.to(device)
        optimizer.zero_grad()
        logits = model(src, tgt[:, :-1])
        loss = criterion(logits.reshape(-1, VOCAB), tgt[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = count = 0
    for src, tgt in loader:
        pred = model(src.to(device), tgt[:, :-1].to(device)).argmax(-1).cpu()
        gold = tgt[:, 1:]
        real = gold != PAD
        correct += ((pred == gold) & real).sum().item()
        count += real.sum().item()
    return correct / count


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(make_pairs(800, 0), batch_size=32, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(make_pairs(200, 1), batch_size=50, collate_fn=collate)
    model = Seq2Seq().to(device)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(4):
        loss = train(model, train_loader, optimizer, criterion)
        print(f"epoch {epoch + 1:02d} loss {loss:.3f} token acc {evaluate(model, test_loader):.3f}")
