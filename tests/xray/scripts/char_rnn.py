# Character level language model, truncated BPTT.
import math
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(1111)
np.random.seed(1111)

text = ""
words = ["the", "cat", "sat", "on", "a", "mat", "and", "dog", "ran", "to", "its", "log"]
for _ in range(2200):
    text += words[np.random.randint(len(words))] + " "
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])

bptt, bsz = 20, 16


def batchify(d):
    n = d.size(0) // bsz
    return d[: n * bsz].view(bsz, n).t().contiguous()


cut = 5400
train_data, val_data = batchify(data[:cut]), batchify(data[cut:])


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid = nhid

    def forward(self, inp, hidden):
        out, hidden = self.rnn(self.encoder(inp), hidden)
        return self.decoder(out), hidden

    def init_hidden(self, b):
        return (torch.zeros(1, b, self.nhid), torch.zeros(1, b, self.nhid))


def detach(h):
    return tuple(v.detach() for v in h)


model = RNNModel(len(chars), 16, 48)
criterion = nn.CrossEntropyLoss()
lr, clip = 4.0, 0.25


def get_batch(source, i):
    n = min(bptt, len(source) - 1 - i)
    return source[i:i + n], source[i + 1:i + 1 + n].reshape(-1)


def evaluate():
    model.eval()
    total, hidden = 0.0, model.init_hidden(bsz)
    with torch.no_grad():
        for i in range(0, val_data.size(0) - 1, bptt):
            x, y = get_batch(val_data, i)
            out, hidden = model(x, hidden)
            total += len(x) * criterion(out.view(-1, len(chars)), y).item()
    return total / (len(val_data) - 1)


def train():
    model.train()
    total, hidden = 0.0, model.init_hidden(bsz)
    for i in range(0, train_data.size(0) - 1, bptt):
        x, y = get_batch(train_data, i)
        model.zero_grad()
        out, hidden = model(x, hidden)
        loss = criterion(out.view(-1, len(chars)), y)
        loss.backward(retain_graph=True)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        total += loss.item() * len(x)
    return total / (len(train_data) - 1)


for epoch in range(1, 5):
    tr = train()
    va = evaluate()
    print("epoch %d | train %.4f | valid %.4f | ppl %.3f" % (epoch, tr, va, math.exp(va)))
