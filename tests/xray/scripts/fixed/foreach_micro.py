# plain tensors, no nn.Module, no torch.optim -- gradients by torch.autograd.grad
import torch

torch.manual_seed(0)
D, H, K = 20, 48, 5
MICRO, PER = 25, 4
LR, BETA = 0.05, 0.5

centers = torch.randn(K, D) * 1.1


def draw(n):
    y = torch.randint(0, K, (n,))
    return centers[y] * (1 + 0.3 * torch.randn(n, 1)) + 1.3 * torch.randn(n, D), y


def init():
    ws = [torch.randn(D, H) * (2 / D) ** 0.5, torch.zeros(H),
          torch.randn(H, K) * (1 / H) ** 0.5, torch.zeros(K)]
    return [w.requires_grad_() for w in ws]


def logits(ws, x):
    a, b, c, d = ws
    return torch.relu(x @ a + b) @ c + d


def cost(ws, x, y):
    z = logits(ws, x)
    return (z.logsumexp(1) - z.gather(1, y[:, None]).squeeze(1)).mean()


class Store:
    """One flat place for the gradients of several small batches."""

    def __init__(self, ws):
        self.g = [torch.zeros_like(w) for w in ws]
        self.k = 0

    def take(self, grads):
        torch._foreach_add_(self.g, grads)
        self.k += 1

    def drain(self):
        out = torch._foreach_div(self.g, float(self.k))
        torch._foreach_zero_(self.g)
        self.k = 0
        return out


X, Y = draw(3000)
XT, YT = draw(1000)
ws = init()
vel = [torch.zeros_like(w) for w in ws]
store = Store(ws)

for epoch in range(8):
    perm = torch.randperm(len(X))
    seen, tot = 0, 0.0
    for big in perm.split(MICRO * PER):
        for ix in big.split(MICRO):
            c = cost(ws, X[ix], Y[ix])
            store.take(torch.autograd.grad(c, ws))
            tot += c.item() * len(ix)
            seen += len(ix)
        with torch.no_grad():
            step = store.drain()
            torch._foreach_mul_(vel, BETA)
            torch._foreach_add_(vel, step)
            torch._foreach_add_(ws, vel, alpha=-LR)
    with torch.no_grad():
        acc = (logits(ws, XT).argmax(1) == YT).float().mean().item()
        print(f"epoch {epoch} cost {tot / seen:.4f} test cost {cost(ws, XT, YT).item():.4f} acc {acc:.3f}")
