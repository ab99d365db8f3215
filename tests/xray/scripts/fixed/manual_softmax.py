# d2l-style softmax regression from scratch
import torch
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(0)
digits = load_digits(n_class=6)
X = torch.tensor(digits.data / 16.0, dtype=torch.float32)
Y = torch.tensor(digits.target)
perm = torch.randperm(len(Y))
X, Y = X[perm], Y[perm]
n_train = 800
Xv, Yv = X[n_train:], Y[n_train:]
order = torch.argsort(Y[:n_train], stable=True)
Xt, Yt = X[:n_train][order], Y[:n_train][order]  # grouped by class, as read from the folders

train_iter = DataLoader(TensorDataset(Xt, Yt), batch_size=100, shuffle=True)
val_iter = DataLoader(TensorDataset(Xv, Yv), batch_size=256)

W = torch.normal(0, 0.01, size=(64, 6), requires_grad=True)
b = torch.zeros(6, requires_grad=True)
lr = 0.3


def softmax(Z):
    Z = Z - Z.max(1, keepdim=True).values
    E = torch.exp(Z)
    return E / E.sum(1, keepdim=True)


def net(X):
    return softmax(X @ W + b)


def cross_entropy(y_hat, y):
    return -torch.log(y_hat[range(len(y_hat)), y] + 1e-12)


def sgd():
    with torch.no_grad():
        W.sub_(lr * W.grad)
        b.sub_(lr * b.grad)
        W.grad.zero_()
        b.grad.zero_()


def evaluate(it):
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in it)
    return right / len(it.dataset)


num_epochs = 5
for epoch in range(num_epochs):
    total = 0.0
    for x, y in train_iter:
        l = cross_entropy(net(x), y)
        l.mean().backward()
        sgd()
        total += l.sum().item()
    print(f"epoch {epoch + 1}, loss {total / n_train:.4f}, val acc {evaluate(val_iter):.4f}, "
          f"|b| {b.abs().sum().item():.4f}")
