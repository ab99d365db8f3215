"""Topic classifier on headlines (token ids), 1-d convolution."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

NAMES = ["world", "sports", "business", "science"]


class Headlines(Dataset):
    def __init__(self, per_class, seed):
        g = torch.Generator().manual_seed(seed)
        rows, labels = [], []
        for k in range(len(NAMES)):
            ids = torch.randint(100, 400, (per_class, 10), generator=g)
            where = torch.rand(per_class, 10, generator=g) < 0.25
            ids[where] = torch.randint(20 * k, 20 * k + 28, (int(where.sum()),), generator=g)
            rows.append(ids)
            labels += [k] * per_class
        self.rows, self.labels = torch.cat(rows), torch.tensor(labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.rows[i], self.labels[i]


class TextCNN(nn.Module):
    def __init__(self, dim=24, channels=32):
        super().__init__()
        self.emb = nn.Embedding(400, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, channels, k, padding=1) for k in (2, 3)])
        self.fc = nn.Linear(2 * channels, len(NAMES))

    def forward(self, ids):
        x = self.emb(ids).transpose(1, 2)
        x = torch.cat([torch.relu(c(x)).amax(-1) for c in self.convs], dim=1)
        return self.fc(x)


def train_loop(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 8 == 0:
            print(f"loss: {loss.item():>7f}  [{batch * len(X):>5d}/{size:>5d}]")


def test_loop(dataloader, model, loss_fn):
    model.eval()
    size = len(dataloader.dataset)
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            pred = model(X)
            test_loss += loss_fn(pred, y).item() * len(y)
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    print(f"Accuracy: {100 * correct / size:>0.1f}%, Avg loss: {test_loss / size:>8f}")


torch.manual_seed(0)
train_dataloader = DataLoader(Headlines(200, 0), batch_size=32)
test_dataloader = DataLoader(Headlines(75, 1), batch_size=100)
model = TextCNN()
loss_fn = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for t in range(5):
    print(f"Epoch {t + 1}\n-------------------------------")
    train_loop(train_dataloader, model, loss_fn, optimizer)
    test_loop(test_dataloader, model, loss_fn)
