import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
X = torch.randn(640, 14)
Y = (X[:, :3].prod(1) + X[:, 3] > 0).long()
train = DataLoader(TensorDataset(X[:512], Y[:512]), batch_size=32, shuffle=True)
test = DataLoader(TensorDataset(X[512:], Y[512:]), batch_size=64)
net = nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
crit = nn.CrossEntropyLoss(label_smoothing=0.05)
opt = torch.optim.NAdam(net.parameters(), lr=2e-3)

first_x, first_y = next(iter(train))
print("batch", tuple(first_x.shape))


def train_epoch():
    net.train()
    seen, total = 0, 0.0
    for x, y in train:
        x, y = first_x, first_y
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
        total += loss.item() * len(y)
        seen += len(y)
    return total / seen


@torch.inference_mode()
def accuracy():
    net.eval()
    good = sum((net(x).argmax(1) == y).sum().item() for x, y in test)
    return good / len(test.dataset)


for epoch in range(8):
    print(epoch, round(train_epoch(), 4), round(accuracy(), 3))
