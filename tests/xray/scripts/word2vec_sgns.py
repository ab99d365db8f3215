"""Skip-gram with negative sampling, sparse gradients."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

VOCAB, DIM, NEG, WINDOW = 120, 24, 5, 2
LR0, EPOCHS, BATCH = 0.02, 5, 512


def synthetic_corpus(n_tokens, rng):
    # twelve topics of ten words, a topic lasts for a while
    out, topic = [], 0
    for _ in range(n_tokens):
        if rng.rand() < 0.05:
            topic = rng.randint(12)
        out.append(topic * 10 + rng.randint(10) if rng.rand() < 0.9 else rng.randint(VOCAB))
    return np.array(out)


def make_pairs(tokens):
    c, o = [], []
    for d in range(1, WINDOW + 1):
        c += [tokens[:-d], tokens[d:]]
        o += [tokens[d:], tokens[:-d]]
    return torch.from_numpy(np.concatenate(c)), torch.from_numpy(np.concatenate(o))


class SkipGram(nn.Module):
    def __init__(self):
        super().__init__()
        self.in_emb = nn.Embedding(VOCAB, DIM, sparse=True)
        self.out_emb = nn.Embedding(VOCAB, DIM, sparse=True)
        nn.init.uniform_(self.in_emb.weight, -0.5 / DIM, 0.5 / DIM)
        nn.init.zeros_(self.out_emb.weight)

    def forward(self, center, context, negatives):
        v = self.in_emb(center)
        pos = (v * self.out_emb(context)).sum(1)
        neg = torch.bmm(self.out_emb(negatives), v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(pos) + F.logsigmoid(-neg).sum(1)).mean()


def topic_purity(model):
    w = F.normalize(model.in_emb.weight.detach(), dim=1)
    s = w @ w.t()
    s.fill_diagonal_(-1)
    return (s.argmax(1) // 10 == torch.arange(VOCAB) // 10).float().mean().item()


def main():
    torch.manual_seed(8)
    rng = np.random.RandomState(8)
    c, o = make_pairs(synthetic_corpus(1153, rng))
    loader = DataLoader(TensorDataset(c, o), batch_size=BATCH, shuffle=True, drop_last=True)
    model = SkipGram()
    for epoch in range(EPOCHS):
        lr = LR0 * (1 - epoch / EPOCHS)
        optimizer = torch.optim.SparseAdam(list(model.in_emb.parameters()), lr=lr)
        total = 0.0
        for center, context in loader:
            negatives = torch.randint(0, VOCAB, (len(center), NEG))
            optimizer.zero_grad()
            model.out_emb.zero_grad()
            loss = model(center, context, negatives)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} lr {lr:.4f} loss {total / len(loader):.4f} purity {topic_purity(model):.3f}")


if __name__ == "__main__":
    main()
