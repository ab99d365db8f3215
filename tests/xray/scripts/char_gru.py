"""Character model on a synthetic text, after the usual minimal char-rnn."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)
text = "".join("abcdefgh"[(i * i + i // 3) % 8] for i in range(6000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
block, batch = 24, 16


class CharGRU(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, idx):
        h, _ = self.gru(self.emb(idx))
        return self.head(h)


def get_batch():
    start = torch.randint(len(data) - block - 1, (batch,))
    x = torch.stack([data[s:s + block] for s in start])
    y = torch.stack([data[s:s + block] for s in start])
    return x, y


model = CharGRU(len(chars))
optim = torch.optim.AdamW(model.parameters(), lr=4e-3)
smooth = None
for it in range(300):
    xb, yb = get_batch()
    logits = model(xb)
    loss = F.cross_entropy(logits.view(-1, len(chars)), yb.view(-1))
    optim.zero_grad(set_to_none=True)
    loss.backward()
    optim.step()
    smooth = loss if smooth is None else 0.9 * smooth + 0.1 * loss
    if it % 60 == 0:
        print(f"iter {it} loss {float(smooth):.4f}")
