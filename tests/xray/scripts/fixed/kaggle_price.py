import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(n=800):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 9)).astype("float32")
    price = 2 * x[:, 0] - x[:, 3] * x[:, 1] + 0.1 * rng.normal(size=n)
    return torch.from_numpy(x), torch.from_numpy(price.astype("float32"))


def build():
    return nn.Sequential(nn.Linear(9, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))


def fit(net, dl, epochs):
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9)
    for ep in range(epochs):
        total = 0.0
        for features, price in dl:
            pred = net(features)
            loss = nn.functional.mse_loss(pred.squeeze(1), price)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(price)
        sched.step()
        print(ep, round(total / len(dl.dataset), 4), sched.get_last_lr())


if __name__ == "__main__":
    torch.manual_seed(1)
    x, y = make_data()
    fit(build(), DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True), epochs=8)
