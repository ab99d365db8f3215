"""Language model with a hidden state carried over windows (word_language_model shape)."""
import math
import time

import torch
import torch.nn as nn

torch.manual_seed(1111)
ntok, bsz, bptt = 30, 10, 12
corpus = torch.tensor([(3 * i + (i // 7) % 5) % ntok for i in range(4000)])


def batchify(data):
    n = data.size(0) // bsz
    return data.narrow(0, 0, n * bsz).view(bsz, -1).t().contiguous()


train_data, val_data = batchify(corpus[:3200]), batchify(corpus[3200:])


class RNNModel(nn.Module):
    def __init__(self, nhid=40):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(ntok, nhid)
        self.rnn = nn.LSTM(nhid, nhid, 1)
        self.decoder = nn.Linear(nhid, ntok)
        self.decoder.weight = self.encoder.weight
        self.nhid = nhid

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return nn.functional.log_softmax(self.decoder(self.drop(out)).view(-1, ntok), dim=1), hidden

    def init_hidden(self):
        w = next(self.parameters())
        return w.new_zeros(1, bsz, self.nhid), w.new_zeros(1, bsz, self.nhid)


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i):
    seq = min(bptt, len(source) - 1 - i)
    return source[i:i + seq], source[i + 1:i + 1 + seq].view(-1)


model = RNNModel()
criterion = nn.NLLLoss()


def evaluate(source):
    model.eval()
    total, hidden = 0.0, model.init_hidden()
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, bptt):
            data, targets = get_batch(source, i)
            output, hidden = model(data, hidden)
            hidden = repackage_hidden(hidden)
            total += len(data) * criterion(output, targets).item()
    return total / (len(source) - 1)


def train(lr):
    model.train()
    hidden, total = model.init_hidden(), 0.0
    for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt)):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
    return total / (batch + 1)


lr, best = 5.0, None
for epoch in range(1, 6):
    start = time.time()
    tr, va = train(lr), evaluate(val_data)
    print(f"epoch {epoch} train {tr:.3f} valid {va:.3f} ppl {math.exp(va):.2f}")
    if best is None or va < best:
        best = va
    else:
        lr /= 4.0
