import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

MASK, VOCAB, LEN = 1, 30, 16


class EventLogs(Dataset):
    """Sequences of log event ids; each session follows one of five templates."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        templates = np.random.default_rng(0).integers(2, VOCAB, (5, LEN))
        rows = templates[rng.integers(0, 5, n)]
        noise = rng.random(rows.shape) < 0.05
        rows = np.where(noise, rng.integers(2, VOCAB, rows.shape), rows)
        self.rows = torch.from_numpy(rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return mask_tokens(self.rows[i])


def mask_tokens(ids, p=0.15):
    labels = ids.clone()
    picked = torch.rand(ids.shape) < p
    labels[~picked] = -100
    ids[picked] = MASK
    return ids, labels


class LogBert(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Parameter(0.02 * torch.randn(LEN, d))
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        return self.head(self.encoder(self.tok(ids) + self.pos))


def masked_accuracy(model, batches):
    model.eval()
    hits = total = 0
    for ids, labels in batches:
        pred = model(ids).argmax(-1)
        m = labels != -100
        hits += (pred[m] == labels[m]).sum().item()
        total += m.sum().item()
    return hits / total


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(EventLogs(400, 1), batch_size=20, shuffle=True)
    val_batches = list(DataLoader(EventLogs(200, 2), batch_size=50))
    model = LogBert()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(10):
        model.train()
        running, n = 0.0, 0
        for ids, labels in train_loader:
            logits = model(ids)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            running += loss.item()
            n += 1
        print(f"epoch {epoch} loss {running / n:.4f} masked acc {masked_accuracy(model, val_batches):.4f}")


if __name__ == "__main__":
    main()
