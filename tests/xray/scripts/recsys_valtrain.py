import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split


class Ratings(Dataset):
    def __init__(self, users=40, items=60, n=1200):
        g = torch.Generator().manual_seed(0)
        u, v = torch.randn(users, 3, generator=g), torch.randn(items, 3, generator=g)
        self.user = torch.randint(users, (n,), generator=g)
        self.item = torch.randint(items, (n,), generator=g)
        self.rating = (u[self.user] * v[self.item]).sum(1) + 0.1 * torch.randn(n, generator=g)

    def __len__(self):
        return len(self.user)

    def __getitem__(self, i):
        return self.user[i], self.item[i], self.rating[i]


class MF(nn.Module):
    def __init__(self, users=40, items=60, k=8):
        super().__init__()
        self.u, self.i = nn.Embedding(users, k), nn.Embedding(items, k)
        self.bu, self.bi = nn.Embedding(users, 1), nn.Embedding(items, 1)

    def forward(self, user, item):
        return (self.u(user) * self.i(item)).sum(1) + self.bu(user)[:, 0] + self.bi(item)[:, 0]


class Fit:
    def __init__(self, model, train, val):
        self.model, self.train_dl, self.val_dl = model, train, val
        self.opt = torch.optim.Adam(model.parameters(), lr=2e-2)

    def run(self, epochs):
        for e in range(epochs):
            tr = self._pass(self.train_dl, True)
            va = self._pass(self.train_dl, False)
            print(f"epoch {e}: rmse train {tr:.3f} val {va:.3f}")

    def _pass(self, dl, training):
        self.model.train(training)
        se, n = 0.0, 0
        with torch.set_grad_enabled(training):
            for user, item, rating in dl:
                loss = nn.functional.mse_loss(self.model(user, item), rating)
                if training:
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
                se += loss.item() * len(rating)
                n += len(rating)
        return (se / n) ** 0.5


if __name__ == "__main__":
    torch.manual_seed(0)
    tr, va = random_split(Ratings(), [1000, 200])
    Fit(MF(), DataLoader(tr, 100, shuffle=True), DataLoader(va, 100)).run(4)
