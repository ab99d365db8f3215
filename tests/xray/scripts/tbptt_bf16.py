"""Stateful GRU language model: truncated BPTT, bf16 autocast, accumulation, warmup."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR


class RNNLM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, x, h):
        out, h = self.rnn(self.emb(x), h)
        return F.linear(self.norm(out), self.emb.weight, self.bias), h  # tied weights


def markov_stream(length, vocab, seed):
    g = torch.Generator().manual_seed(seed)
    table = (torch.arange(vocab).view(-1, 1) * 3 + torch.arange(4)) % vocab
    choice = torch.multinomial(torch.tensor([0.7, 0.1, 0.1, 0.1]), length, True, generator=g).tolist()
    rows, seq = table.tolist(), [0]
    for c in choice[1:]:
        seq.append(rows[seq[-1]][c])
    return torch.tensor(seq)


def batchify(stream, rows):
    n = (len(stream) - 1) // rows
    return stream[:n * rows].view(rows, n), stream[1:n * rows + 1].view(rows, n)


def param_groups(model, decay):
    yes, no = [], []
    for name, p in model.named_parameters():
        (yes if p.ndim >= 2 and "emb" not in name else no).append(p)
    return [{"params": yes, "weight_decay": decay}, {"params": no, "weight_decay": 0.0}]


@torch.no_grad()
def evaluate(model, data, bptt):
    model.eval()
    x, y = data
    h, total = None, 0.0
    for i in range(0, x.size(1), bptt):
        logits, h = model(x[:, i:i + bptt], h)
        total += F.cross_entropy(logits.flatten(0, 1), y[:, i:i + bptt].flatten(), reduction="sum").item()
    return total / y.numel()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--bptt", type=int, default=16)
    ap.add_argument("--accum", type=int, default=2)
    ap.add_argument("--epochs", type=int, default=4)
    a = ap.parse_args()
    torch.manual_seed(3)
    vocab = 16
    train, val = batchify(markov_stream(8200, vocab, 1), 8), batchify(markov_stream(2000, vocab, 2), 8)
    model = RNNLM(vocab, 32)
    optimizer = torch.optim.AdamW(param_groups(model, 0.05), lr=8e-3)
    starts = list(range(0, train[0].size(1), a.bptt))
    updates = a.epochs * math.ceil(len(starts) / a.accum)
    warmup = updates // 10
    scheduler = LambdaLR(optimizer, lambda s: min((s + 1) / warmup, max(0.02, (updates - s) / (updates - warmup))))

    for epoch in range(a.epochs):
        model.train()
        hidden, running, tokens = None, 0.0, 0
        for k in range(0, len(starts), a.accum):
            group = starts[k:k + a.accum]           # the last group may be short
            chunks = [(train[0][:, s:s + a.bptt], train[1][:, s:s + a.bptt]) for s in group]
            n_tok = sum(y.numel() for _, y in chunks)
            optimizer.zero_grad()
            for x, y in chunks:
                if hidden is not None:
                    hidden = hidden.detach()
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    logits, hidden = model(x, hidden)
                loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten(), reduction="sum")
                (loss / n_tok).backward()
                running += loss.item()
            tokens += n_tok
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
        print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.2e} train {running / tokens:.4f} "
              f"val {evaluate(model, val, a.bptt):.4f}")


if __name__ == "__main__":
    main()
