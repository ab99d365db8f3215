import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def imbalanced(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = (torch.rand(n, generator=g) > 0.85).long() + (torch.rand(n, generator=g) > 0.95).long()
    x = torch.randn(n, 11, generator=g)
    x[:, 0] += 1.5 * y
    return x, y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(11, 48), nn.Linear(48, 3)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def train(model, loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(loader):
        optimizer.zero_grad()
        output = model(data)
        loss = nn.functional.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % 10 == 0:
            print(f"Train Epoch: {epoch} [{batch_idx}/{len(loader)}] Loss: {loss.item():.4f}")


def test(model, loader):
    model.eval()
    with torch.no_grad():
        for data, target in loader:
            pred = model(data).argmax(1)
            correct = pred.eq(target).sum().item()
    acc = correct / len(target)
    print(f"Test accuracy: {100 * acc:.1f}%")


def main():
    torch.manual_seed(1)
    x, y = imbalanced(600, 0)
    weights = (1.0 / torch.bincount(y).float())[y]
    sampler = WeightedRandomSampler(weights, len(weights), replacement=True)
    train_loader = DataLoader(TensorDataset(x, y), batch_size=40, sampler=sampler)
    test_loader = DataLoader(TensorDataset(*imbalanced(200, 9)), batch_size=64)
    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.5)
    for epoch in range(1, 5):
        train(model, train_loader, optimizer, epoch)
        test(model, test_loader)


if __name__ == "__main__":
    main()
