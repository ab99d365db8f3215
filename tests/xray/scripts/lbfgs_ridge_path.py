# Regularisation path of a multinomial logistic regression with LBFGS, warm-started.
import torch
import torch.nn.functional as F

torch.manual_seed(14)
torch.set_default_dtype(torch.float64)

n, d, c = 600, 25, 4
true_w = torch.randn(d, c)
true_w[8:] = 0.0
x = torch.randn(n, d)
y = torch.distributions.Categorical(logits=1.0 * (x @ true_w)).sample()
x_train, y_train = x[:300], y[:300]
x_val, y_val = x[300:450], y[300:450]
x_test, y_test = x[450:], y[450:]

mean, std = x_train.mean(0), x_train.std(0)
x_train, x_val, x_test = [(t - mean) / std for t in (x_train, x_val, x_test)]

W = torch.zeros(d, c, requires_grad=True)
b = torch.zeros(c, requires_grad=True)


def objective(lam):
    return F.cross_entropy(x_train @ W + b, y_train) + 0.5 * lam * W.pow(2).sum()


def fit(lam):
    # a fresh optimizer per lambda: old curvature pairs belong to another objective
    optimizer = torch.optim.LBFGS([W, b], lr=1.0, max_iter=20, history_size=10,
                                  line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = objective(lam)
        loss.backward()
        return loss

    previous = float("inf")
    for outer in range(20):
        current = optimizer.step(closure).item()
        if previous - current < 1e-9:
            break
        previous = current
    grads = torch.autograd.grad(objective(lam), [W, b])
    return outer + 1, max(g.abs().max().item() for g in grads)


def nll(xs, ys):
    with torch.no_grad():
        return F.cross_entropy(xs @ W + b, ys).item()


best = (float("inf"), None, None)
for lam in [1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.0]:
    outers, residual = fit(lam)
    val = nll(x_val, y_val)
    print(f"lambda {lam:<6} steps {outers:2d} max|grad| {residual:.1e} "
          f"train {nll(x_train, y_train):.4f} val {val:.4f}")
    if val < best[0]:
        best = (val, lam, (W.detach().clone(), b.detach().clone()))

with torch.no_grad():
    W.copy_(best[2][0])
    b.copy_(best[2][1])
acc = ((x_test @ W + b).argmax(1) == y_test).double().mean().item()
print(f"chosen lambda {best[1]} test nll {nll(x_test, y_test):.4f} test accuracy {acc:.4f}")
