import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser(description="bag of attention classifier for short reviews")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--vocab", type=int, default=400)
    p.add_argument("--classes", type=int, default=8)
    p.add_argument("--length", type=int, default=20)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args()


def make_reviews(n, args, gen, affinity):
    """Each class likes a different part of the vocabulary."""
    y = torch.randint(args.classes, (n,), generator=gen)
    x = torch.multinomial(affinity[y], args.length, replacement=True, generator=gen) + 1
    lengths = torch.randint(6, args.length + 1, (n,), generator=gen)
    x[torch.arange(args.length)[None] >= lengths[:, None]] = 0
    return TensorDataset(x, y)


class AttentiveBag(nn.Module):
    def __init__(self, vocab, classes, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab + 1, dim, padding_idx=0)
        self.score = nn.Linear(dim, 1)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, classes))

    def forward(self, tokens):
        e = self.emb(tokens)
        a = self.score(e).squeeze(-1).masked_fill(tokens == 0, float("-inf"))
        pooled = (a.softmax(-1).unsqueeze(-1) * e).sum(1)
        return self.head(self.norm(pooled))


def run_epoch(model, loader, criterion, opt=None):
    training = opt is not None
    model.train(training)
    loss_sum, hits, n = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            probs = model(x)
            loss = criterion(probs, y)
            if training:
                opt.zero_grad(set_to_none=True)
                loss.backward()
                opt.step()
            loss_sum += loss.item() * len(y)
            hits += (probs.argmax(-1) == y).sum().item()
            n += len(y)
    return loss_sum / n, hits / n


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    affinity = torch.rand(args.classes, args.vocab, generator=gen) ** 6
    train = DataLoader(make_reviews(3000, args, gen, affinity), batch_size=64, shuffle=True)
    test = DataLoader(make_reviews(800, args, gen, affinity), batch_size=200)

    model = AttentiveBag(args.vocab, args.classes)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.3, total_iters=args.epochs)
    for ep in range(args.epochs):
        tr = run_epoch(model, train, criterion, opt)
        sched.step()
        te = run_epoch(model, test, criterion)
        print(f"{ep:2d} train {tr[0]:.3f}/{tr[1]:.3f} test {te[0]:.3f}/{te[1]:.3f}")


if __name__ == "__main__":
    main()
