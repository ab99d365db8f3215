# Stochastic weight averaging with BatchNorm re-estimation at the end
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, SWALR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
EPOCHS, SWA_START = 5, 3


def make(n):
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 1, 12, 12)
    x[:, 0, 3:9, 3:9] += (y.float() * 0.7)[:, None, None]
    return TensorDataset(x, y)


train_dl = DataLoader(make(512), batch_size=64, shuffle=True)
test_dl = DataLoader(make(256), batch_size=128)

model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(),
    nn.Conv2d(8, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 2))
swa_model = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)
swa_scheduler = SWALR(optimizer, swa_lr=0.02, anneal_epochs=1)


def test(m):
    m.eval()
    loss = ok = 0
    with torch.inference_mode():
        for x, y in test_dl:
            out = m(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            ok += (out.argmax(1) == y).sum().item()
    return loss / len(test_dl.dataset), ok / len(test_dl.dataset)


@torch.no_grad()
def reestimate_bn(m, loader):
    """forward the training data once more in train mode, without gradients, only for the running statistics"""
    saved = {}
    for mod in m.modules():
        if isinstance(mod, nn.modules.batchnorm._BatchNorm):
            mod.reset_running_stats()
            saved[mod], mod.momentum = mod.momentum, None
    m.train()
    for x, _ in loader:
        m(x)
    for mod, mom in saved.items():
        mod.momentum = mom


for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for x, y in train_dl:
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.detach() * len(y)
    if epoch >= SWA_START:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print("epoch %d train %.4f test %.4f acc %.4f" % (epoch, total.item() / len(train_dl.dataset), *test(model)))

reestimate_bn(swa_model, train_dl)
print("SWA test %.4f acc %.4f" % test(swa_model))
