"""K-fold: per fold a matrix factorisation by alternating updates, then a calibration layer by L-BFGS."""
import numpy as np
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector
from sklearn.model_selection import KFold

N_USERS, N_ITEMS, RANK = 60, 40, 4
rs = np.random.RandomState(1)
truth = rs.randn(N_USERS, RANK) @ rs.randn(RANK, N_ITEMS) / 2
u_idx, i_idx = np.nonzero(rs.rand(N_USERS, N_ITEMS) < 0.5)
ratings = truth[u_idx, i_idx] + 0.1 * rs.randn(len(u_idx))
U, I = torch.from_numpy(u_idx), torch.from_numpy(i_idx)
R = torch.tensor(ratings, dtype=torch.float32)


class MF(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(N_USERS, RANK)
        self.items = nn.Embedding(N_ITEMS, RANK)
        nn.init.normal_(self.users.weight, std=0.5)
        nn.init.normal_(self.items.weight, std=0.5)

    def forward(self, u, i):
        return (self.users(u) * self.items(i)).sum(1)


def fit_fold(tr):
    torch.manual_seed(0)  # same start in each fold on purpose
    model = MF()
    opt_users = torch.optim.Adam(model.users.parameters(), lr=0.25)
    opt_items = torch.optim.Adam(model.items.parameters(), lr=0.25)
    plateau = [torch.optim.lr_scheduler.ReduceLROnPlateau(o, mode="min", patience=1, factor=0.5)
               for o in (opt_users, opt_items)]
    tr = torch.from_numpy(tr)
    for sweep in range(4):
        loss_sum = 0.0
        for part in tr[torch.randperm(len(tr))].chunk(3):
            for opt, active, idle in ((opt_users, model.users, model.items), (opt_items, model.items, model.users)):
                active.requires_grad_(True)
                idle.requires_grad_(False)  # one side is held fixed
                opt.zero_grad()
                err = model(U[part], I[part]) - R[part]
                loss = err.pow(2).sum() / len(part) + 1e-3 * active.weight.pow(2).sum()
                loss.backward()
                opt.step()
            loss_sum += err.detach().pow(2).sum().item()
        for p in plateau:
            p.step(loss_sum / len(tr))
    model.requires_grad_(False)
    return model, loss_sum / len(tr)


def calibrate(scores, target):
    layer = nn.Linear(1, 1)
    lbfgs = torch.optim.LBFGS(layer.parameters(), max_iter=20, line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        loss = (layer(scores.unsqueeze(1)).squeeze(1) - target).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(3):
        lbfgs.step(closure)
    return layer


rmses = []
for fold, (tr, te) in enumerate(KFold(3, shuffle=True, random_state=0).split(ratings)):
    model, mse = fit_fold(tr)
    layer = calibrate(model(U[tr], I[tr]), R[tr])
    with torch.no_grad():
        pred = layer(model(U[te], I[te]).unsqueeze(1)).squeeze(1)
        rmse = (pred - R[te]).pow(2).mean().sqrt().item()
    rmses.append(rmse)
    print(f"fold {fold} train mse {mse:.4f} test rmse {rmse:.4f} |params| {parameters_to_vector(model.parameters()).norm():.4f}")
print("mean rmse %.4f (std of the ratings %.4f)" % (np.mean(rmses), ratings.std()))
