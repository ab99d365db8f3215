# %% [markdown]
# # Tabular regression with early stopping
# %%
import copy
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1
from sklearn.preprocessing import StandardScaler

torch.manual_seed(5)
np.random.seed(5)

# %%
X, y = make_friedman1(n_samples=700, n_features=10, noise=1.0, random_state=5)
sc = StandardScaler().fit(X[:400])
X = torch.tensor(sc.transform(X), dtype=torch.float32)
mu, sd = y[:400].mean(), y[:400].std()
y = torch.tensor((y - mu) / sd, dtype=torch.float32).unsqueeze(1)
X_train, y_train = X[:400], y[:400]
X_val, y_val = X[400:550], y[400:550]
X_test, y_test = X[550:], y[550:]

# %%
model = nn.Sequential(
    nn.Linear(10, 128), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(128, 1),
)
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
n_epochs, batch_size, patience = 30, 100, 4

# %%
best_mse, best_epoch, bad = np.inf, -1, 0
best_weights = None
for epoch in range(n_epochs):
    model.train()
    idx = torch.randperm(len(X_train))
    for start in range(0, len(X_train), batch_size):
        sel = idx[start:start + batch_size]
        y_pred = model(X_train[sel])
        loss = loss_fn(y_pred, y_train[sel])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        mse = loss_fn(model(X_val), y_val).item()
    if mse < best_mse:
        best_mse, best_epoch, bad = mse, epoch, 0
        best_weights = model.state_dict()
    else:
        bad += 1
        if bad >= patience:
            print("early stop in epoch", epoch)
            break

# %%
model.load_state_dict(best_weights)
model.eval()
with torch.no_grad():
    again = loss_fn(model(X_val), y_val).item()
    test = loss_fn(model(X_test), y_test).item()
print("best epoch %d, best val MSE %.4f, val MSE of the restored model %.4f" % (best_epoch, best_mse, again))
print("test RMSE: %.4f" % (test ** 0.5 * sd))
