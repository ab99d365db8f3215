"""Bag-of-words topic model, fp16 autocast."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
V, K = 200, 5
topic_word = torch.softmax(1.5 * torch.randn(K, V), dim=1)


def documents(n, length=14):
    y = torch.randint(0, K, (n,))
    words = torch.multinomial(topic_word[y], length, replacement=True)
    return words, y


class TopicNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(V, 48, mode="mean")
        self.drop = nn.Dropout(0.6)
        self.fc1 = nn.Linear(48, 48)
        self.fc2 = nn.Linear(48, K)

    def forward(self, w):
        h = self.drop(self.bag(w))
        h = self.drop(F.relu(self.fc1(h)))
        return self.fc2(h)


class AmpStepper:
    """backward + clip + step under a gradient scaler"""

    def __init__(self, params, lr, clip):
        self.params = list(params)
        self.opt = torch.optim.SGD(self.params, lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 12)
        self.clip = clip

    def __call__(self, loss):
        self.opt.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.params, self.clip)
        self.scaler.step(self.opt)
        self.scaler.update()


def dev_score(net, loader):
    net.eval()
    hits = 0
    with torch.no_grad():
        for w, y in loader:
            hits += (net(w).argmax(1) == y).sum().item()
    net.train()
    return hits / len(loader.dataset)


train_dl = DataLoader(TensorDataset(*documents(1200)), batch_size=40, shuffle=True)
dev_dl = DataLoader(TensorDataset(*documents(400)), batch_size=80)
net = TopicNet()
step = AmpStepper(net.parameters(), lr=0.3, clip=1.0)

for epoch in range(6):
    run = 0.0
    for w, y in train_dl:
        with torch.autocast("cpu", dtype=torch.float16):
            logits = net(w)
            loss = F.cross_entropy(logits, y)
        step(loss)
        run += loss.item() * len(y)
    print(f"epoch {epoch}: loss {run / 1200:.4f} dev acc {dev_score(net, dev_dl):.4f}")
