import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class QuestionTags(Dataset):
    """bag of words -> 8 tags, some of them rare"""

    def __init__(self, n, vocab=80, tags=8, seed=0):
        g = torch.Generator().manual_seed(seed)
        topic = torch.rand(vocab, tags, generator=torch.Generator().manual_seed(99))
        weights = torch.where(topic > 0.85, 1.0, 0.0)
        counts = torch.poisson(torch.full((n, vocab), 0.15), generator=g)
        self.x = counts
        score = counts @ weights + 0.3 * torch.randn(n, tags, generator=g)
        self.y = (score > torch.linspace(1.2, 3.2, tags)).float()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        return {"bow": self.x[idx], "tags": self.y[idx]}


class TagModel(nn.Module):
    def __init__(self, vocab=80, hidden=64, tags=8):
        super().__init__()
        self.fc1 = nn.Linear(vocab, hidden)
        self.drop = nn.Dropout(0.2)
        self.fc2 = nn.Linear(hidden, tags)
        self.act = nn.Sigmoid()

    def forward(self, bow):
        h = self.drop(torch.relu(self.fc1(bow)))
        return self.act(self.fc2(h))


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    losses, f1s = [], []
    for batch in loader:
        with torch.set_grad_enabled(optimizer is not None):
            out = model(batch["bow"])
            loss = criterion(out, batch["tags"])
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        pred = (out > 0.5).float()
        tp = (pred * batch["tags"]).sum()
        f1s.append((2 * tp / (pred.sum() + batch["tags"].sum()).clamp(min=1)).item())
        losses.append(loss.item())
    return sum(losses) / len(losses), sum(f1s) / len(f1s)


torch.manual_seed(31)
train_loader = DataLoader(QuestionTags(900), batch_size=30, shuffle=True)
val_loader = DataLoader(QuestionTags(203, seed=1), batch_size=100)
net = TagModel()
bce = nn.BCEWithLogitsLoss()
optim = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(1, 9):
    tr_loss, tr_f1 = run_epoch(net, train_loader, bce, optim)
    va_loss, va_f1 = run_epoch(net, val_loader, bce)
    print(f"{epoch}: train {tr_loss:.4f} f1 {tr_f1:.3f} | val {va_loss:.4f} f1 {va_f1:.3f}")
