# word-level LM in the old pytorch/examples style: tied weights, hand-written SGD, lr / 4 on a plateau
import copy
import math
import torch
import torch.nn as nn

torch.manual_seed(1111)
V, EMB, BPTT, BSZ = 40, 32, 15, 10
lr, clip = 5.0, 0.25

g = torch.Generator().manual_seed(0)
trans = torch.softmax(2.5 * torch.randn(V, V, generator=g), 1)


def chain(n):
    s = [0]
    draws = torch.multinomial(trans, n, replacement=True, generator=g)
    for i in range(n - 1):
        s.append(int(draws[s[-1], i]))
    return torch.tensor(s)


def batchify(d):
    n = len(d) // BSZ
    return d[:n * BSZ].view(BSZ, n).t().contiguous()


train_data, val_data = batchify(chain(1360)), batchify(chain(610))


class RNNModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.encoder = nn.Embedding(V, EMB)
        self.rnn = nn.GRU(EMB, EMB)
        self.decoder = nn.Linear(EMB, V)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.decoder.weight = self.encoder.weight

    def forward(self, x, h):
        out, h = self.rnn(self.drop(self.encoder(x)), h)
        return self.decoder(self.drop(out)).view(-1, V), h


def repackage(h):
    return h.detach()


model = RNNModel()
criterion = nn.CrossEntropyLoss()


def chunks(src):
    for i in range(0, len(src) - 1, BPTT):
        n = min(BPTT, len(src) - 1 - i)
        yield src[i:i + n], src[i + 1:i + 1 + n].reshape(-1)


def evaluate(src):
    model.eval()
    h, total = torch.zeros(1, BSZ, EMB), 0.0
    with torch.no_grad():
        for x, y in chunks(src):
            out, h = model(x, h)
            total += len(x) * criterion(out, y).item()
    return total / (len(src) - 1)


def train():
    model.train()
    h, total = torch.zeros(1, BSZ, EMB), 0.0
    for x, y in chunks(train_data):  # text must stay in order
        h = repackage(h)
        out, h = model(x, h)
        loss = criterion(out, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(lr * p.grad)
        model.zero_grad()
        total += len(x) * loss.item()
    return total / (len(train_data) - 1)


best, best_state = None, None
for epoch in range(1, 6):
    tr, va = train(), evaluate(val_data)
    print(f"epoch {epoch} lr {lr:.3f} train {tr:.4f} valid {va:.4f} ppl {math.exp(va):.2f}")
    if best is None or va < best:
        best, best_state = va, copy.deepcopy(model.state_dict())
    else:
        lr /= 4.0
        model.load_state_dict(best_state)
print("best valid %.4f, restored %.4f" % (best, (model.load_state_dict(best_state), evaluate(val_data))[1]))
