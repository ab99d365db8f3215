"""Small classification trainer with callbacks (event bus style)."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(3)


def make_blobs(n, classes=5, dim=12):
    g = torch.Generator().manual_seed(100 + n)
    centres = torch.randn(classes, dim, generator=torch.Generator().manual_seed(8)) * 1.1
    y = torch.randint(classes, (n,), generator=g)
    return centres[y] + torch.randn(n, dim, generator=g), y


class Callback:
    def on_epoch_start(self, run): pass
    def on_train_batch(self, run, loss, n): pass
    def on_valid_batch(self, run, logits, target): pass
    def on_epoch_end(self, run): pass


class RunningLoss(Callback):
    def on_epoch_start(self, run):
        self.total, self.n = 0.0, 0

    def on_train_batch(self, run, loss, n):
        self.total += loss * n
        self.n += n

    def on_epoch_end(self, run):
        run.log["train_loss"].append(self.total / self.n)


class Accuracy(Callback):
    """Validation accuracy."""

    def on_epoch_start(self, run):
        self.hits, self.seen = 0, 0

    def on_valid_batch(self, run, logits, target):
        good = logits.argmax(1).eq(target)
        self.hits, self.seen = good.sum().item(), good.numel()

    def on_epoch_end(self, run):
        run.log["val_acc"].append(self.hits / self.seen)


class Run:
    def __init__(self, net, callbacks):
        self.net = net
        self.callbacks = callbacks
        self.opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
        self.log = {"train_loss": [], "val_acc": []}

    def emit(self, event, *args):
        for cb in self.callbacks:
            getattr(cb, event)(self, *args)

    def train_epoch(self, x, y, size=64):
        self.net.train()
        for idx in torch.randperm(len(x)).split(size):
            self.opt.zero_grad()
            loss = F.cross_entropy(self.net(x[idx]), y[idx])
            loss.backward()
            self.opt.step()
            self.emit("on_train_batch", loss.item(), len(idx))

    @torch.no_grad()
    def valid_epoch(self, x, y, size=128):
        self.net.eval()
        for xb, yb in zip(x.split(size), y.split(size)):
            self.emit("on_valid_batch", self.net(xb), yb)

    def fit(self, train, valid, epochs):
        for epoch in range(epochs):
            self.emit("on_epoch_start")
            self.train_epoch(*train)
            self.valid_epoch(*valid)
            self.emit("on_epoch_end")
            print(epoch, " ".join(f"{k}={v[-1]:.4f}" for k, v in self.log.items()))
        return self.log


net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 5))
run = Run(net, [RunningLoss(), Accuracy()])
log = run.fit(make_blobs(1200), make_blobs(526), epochs=8)
print("final val acc", round(log["val_acc"][-1], 4))
