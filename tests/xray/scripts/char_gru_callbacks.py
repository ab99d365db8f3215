"""Character model on a toy grammar, with a small callback system."""
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

SUBJ = ["the cat", "a dog", "my aunt", "the old man", "no bird"]
VERB = ["sees", "eats", "likes", "fears", "paints"]
OBJ = ["the sea", "a pear", "green tea", "the moon", "stones"]


def corpus(n, seed):
    rng = random.Random(seed)
    return " ".join(f"{rng.choice(SUBJ)} {rng.choice(VERB)} {rng.choice(OBJ)}." for _ in range(n))


class Callback:
    def on_epoch_start(self, t): ...
    def on_batch_start(self, t): ...
    def on_after_backward(self, t): ...
    def on_batch_end(self, t): ...
    def on_epoch_end(self, t): ...


class GradHygiene(Callback):
    """Owns everything that touches .grad."""

    def __init__(self, max_norm=1.0):
        self.max_norm = max_norm

    def on_epoch_start(self, t):
        t.opt.zero_grad()

    def on_after_backward(self, t):
        nn.utils.clip_grad_norm_(t.model.parameters(), self.max_norm)


class Printer(Callback):
    def on_epoch_start(self, t):
        t.seen, t.total = 0, 0.0

    def on_batch_end(self, t):
        t.seen += t.y.numel()
        t.total += t.loss.item() * t.y.numel()

    def on_epoch_end(self, t):
        val = t.evaluate()
        print(f"epoch {t.epoch}: train bpc {t.total / t.seen / math.log(2):.3f}  val bpc {val:.3f}")


class CharGRU(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


class Trainer:
    def __init__(self, model, opt, train, val, callbacks):
        self.model, self.opt = model, opt
        self.train_ids, self.val_ids = train, val
        self.callbacks = callbacks

    def fire(self, name):
        for cb in self.callbacks:
            getattr(cb, "on_" + name)(self)

    def windows(self, ids, length=32, batch=16, shuffle=True):
        starts = torch.arange(0, len(ids) - length - 1, length)
        if shuffle:
            starts = starts[torch.randperm(len(starts))]
        for chunk in starts.split(batch):
            idx = chunk[:, None] + torch.arange(length)
            yield ids[idx], ids[idx + 1]

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        total = n = 0
        for x, y in self.windows(self.val_ids, shuffle=False):
            total += F.cross_entropy(self.model(x).transpose(1, 2), y, reduction="sum").item()
            n += y.numel()
        self.model.train()
        return total / n / math.log(2)

    def fit(self, epochs):
        for self.epoch in range(epochs):
            self.fire("epoch_start")
            for self.x, self.y in self.windows(self.train_ids):
                self.fire("batch_start")
                self.loss = F.cross_entropy(self.model(self.x).transpose(1, 2), self.y)
                self.loss.backward()
                self.fire("after_backward")
                self.opt.step()
                self.fire("batch_end")
            self.fire("epoch_end")


def main():
    torch.manual_seed(3)
    text, held = corpus(500, 0), corpus(80, 1)
    vocab = {c: i for i, c in enumerate(sorted(set(text)))}
    enc = lambda s: torch.tensor([vocab[c] for c in s])
    model = CharGRU(len(vocab))
    opt = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.8)
    Trainer(model, opt, enc(text), enc(held), [GradHygiene(), Printer()]).fit(8)


if __name__ == "__main__":
    main()
