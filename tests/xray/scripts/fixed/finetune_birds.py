"""Transfer: pretrain a small convnet on 6 classes, fine-tune on 4 new ones."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Subset, random_split

torch.manual_seed(3)


class Patches(Dataset):
    def __init__(self, templates, n, augment):
        g = torch.Generator().manual_seed(n)
        self.y = torch.randint(0, len(templates), (n,), generator=g)
        self.x = templates[self.y] + 3.2 * torch.randn(n, 1, 12, 12, generator=g)
        self.augment = augment

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        img = self.x[i].clone()
        if self.augment:
            r, c = torch.randint(0, 7, (2,)).tolist()
            img[:, r:r + 6, c:c + 6] = 0
            img = img + 1.0 * torch.randn_like(img)
        return img, self.y[i]


class Net(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16 * 6 * 6, n_classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def run_epoch(net, loader, opt):
    net.train()
    tot = 0.0
    for x, y in loader:
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        tot += loss.item() * len(y)
    return tot / len(loader.dataset)


def accuracy(net, loader):
    net.eval()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (net(x).argmax(1) == y).sum().item()
    return hits / len(loader.dataset)


def adapt(net, n_classes):
    net.fc = nn.Linear(net.fc.in_features, n_classes)
    return net


# stage 1: pretraining
source = Patches(torch.randn(6, 1, 12, 12), 900, augment=True)
net = Net(6)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for _ in range(2):
    print("pretrain loss", round(run_epoch(net, DataLoader(source, 60, shuffle=True), opt), 4))

# stage 2: new classes
target = torch.randn(4, 1, 12, 12)
full = Patches(target, 600, augment=True)
plain = Patches(target, 600, augment=False)
train_set, val_part = random_split(full, [450, 150])
val_set = Subset(plain, val_part.indices)
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
val_loader = DataLoader(val_set, batch_size=50)

tuned = copy.deepcopy(net)
tuned = adapt(tuned, 4)
opt = torch.optim.SGD(tuned.parameters(), lr=5e-3, momentum=0.9)
for epoch in range(5):
    loss = run_epoch(tuned, train_loader, opt)
    print(f"finetune {epoch}: loss {loss:.4f} val acc {accuracy(tuned, val_loader):.3f}")
