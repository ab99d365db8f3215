import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        defaults = dict(rho=rho, **kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()

    def _grad_norm(self):
        return torch.norm(torch.stack([
            p.grad.norm(p=2) for g in self.param_groups for p in g["params"] if p.grad is not None]), p=2)


def build_model():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    X, y = make_moons(800, noise=0.25, random_state=0)
    Xtr, Xte, ytr, yte = train_test_split(X.astype("float32"), y, test_size=0.25, random_state=0)
    Xte, yte = torch.from_numpy(Xte), torch.from_numpy(yte)
    loader = DataLoader(TensorDataset(torch.from_numpy(Xtr), torch.from_numpy(ytr)), batch_size=60, shuffle=True)
    model = build_model()
    criterion = nn.CrossEntropyLoss()
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9)
    for epoch in range(4):
        model.train()
        seen, loss_sum = 0, 0.0
        for inputs, targets in loader:
            # first forward-backward pass
            loss = criterion(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.first_step()
            # second forward-backward pass at the perturbed point
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()
            optimizer.second_step()
            loss_sum += loss.item() * len(targets)
            seen += len(targets)
        model.eval()
        with torch.no_grad():
            out = model(Xte)
            acc = (out.argmax(1) == yte).float().mean().item()
        w = sum(p.abs().sum().item() for p in model.parameters())
        print(f"epoch {epoch}: loss {loss_sum / seen:.4f} test {criterion(out, yte).item():.4f} acc {acc:.4f} |w| {w:.3f}")


main()
