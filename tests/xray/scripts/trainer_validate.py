import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=1e-2):
        self.model = model
        self.train_loader, self.val_loader = train_loader, val_loader
        self.loss_fn = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adagrad(model.parameters(), lr=lr)
        self.step_no = 0

    def validate(self):
        self.model.eval()
        accs = []
        with torch.no_grad():
            for x, y in self.val_loader:
                accs.append((self.model(x).argmax(1) == y).float().mean().item())
        return sum(accs) / len(accs)

    def training_step(self, x, y):
        logits = self.model(x)
        loss = self.loss_fn(logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def fit(self, epochs, eval_every=5):
        self.model.train()
        for epoch in range(epochs):
            for x, y in self.train_loader:
                loss = self.training_step(x, y)
                self.step_no += 1
                if self.step_no % eval_every == 0:
                    print(f"step {self.step_no} loss {loss:.3f} val {self.validate():.3f}")


def blobs(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(5, (n,), generator=g)
    centers = torch.randn(5, 8, generator=torch.Generator().manual_seed(1)) * 1.5
    return TensorDataset(centers[y] + torch.randn(n, 8, generator=g), y)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 5))
    Trainer(model, DataLoader(blobs(400, 2), 32, shuffle=True), DataLoader(blobs(140, 3), 64)).fit(4)
