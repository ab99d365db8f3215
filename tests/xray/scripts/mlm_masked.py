"""Masked language model: inputs and targets come from one row, about the same tokens, ignore_index; accumulation by full batches."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

MASK, VOCAB = 0, 25


def mask_tokens(ids, p=0.2):
    labels = torch.full_like(ids, -100)
    chosen = torch.rand(ids.shape) < p
    labels[chosen] = ids[chosen]
    ids = ids.clone()
    ids[chosen] = MASK
    return ids, labels


class MLM(nn.Module):
    def __init__(self, d=40):
        super().__init__()
        self.emb, self.pos = nn.Embedding(VOCAB, d), nn.Embedding(16, d)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 80, 0.1, batch_first=True), 1)
        self.out = nn.Linear(d, VOCAB)

    def forward(self, ids):
        return self.out(self.enc(self.emb(ids) + self.pos(torch.arange(ids.size(1)))))


torch.manual_seed(0)
start = torch.randint(1, VOCAB, (320, 1))
rows = 1 + (start + torch.arange(16)) % (VOCAB - 1)
model = MLM()
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
loader = DataLoader(TensorDataset(rows), batch_size=20, shuffle=True)
for epoch in range(5):
    model.train()
    total = hits = seen = 0
    for step, (ids,) in enumerate(loader):
        x, labels = mask_tokens(ids)
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, VOCAB), labels.view(-1), ignore_index=-100) / 2
        loss.backward()
        if step % 2 == 1:
            opt.step()
            opt.zero_grad()
        keep = labels != -100
        hits += (logits.argmax(-1)[keep] == labels[keep]).sum().item()
        seen += keep.sum().item()
        total += 2 * loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.3f} masked acc {hits / seen:.3f}")
