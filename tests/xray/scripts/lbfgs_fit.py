"""LBFGS with a closure: the loss is evaluated several times per step, the gradients are cleared inside the closure."""
import torch
from torch import nn

torch.manual_seed(53)
torch.set_default_dtype(torch.float64)


class Mixture(nn.Module):
    """Sum of damped cosines with learned rates."""

    def __init__(self, k):
        super().__init__()
        self.amp = nn.Parameter(torch.ones(k) / k)
        self.freq = nn.Parameter(torch.linspace(0.8, 3.2, k))
        self.damp = nn.Parameter(torch.full((k,), 0.3))
        self.phase = nn.Parameter(torch.zeros(k))

    def forward(self, t):
        arg = t[:, None] * self.freq + self.phase
        return (self.amp * torch.exp(-self.damp.abs() * t[:, None]) * torch.cos(arg)).sum(1)


def truth(t):
    return 0.9 * torch.exp(-0.2 * t) * torch.cos(1.1 * t + 0.3) + 0.6 * torch.exp(-0.05 * t) * torch.cos(2.7 * t)


t_all = torch.rand(260) * 8
t_fit, t_test = t_all[:200], t_all[200:]
y_fit = truth(t_fit) + 0.02 * torch.randn(200)
y_test = truth(t_test)

model = Mixture(3)
opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=6, history_size=8, line_search_fn="strong_wolfe")
evaluations = 0


def closure():
    global evaluations
    evaluations += 1
    opt.zero_grad()
    loss = (model(t_fit) - y_fit).pow(2).mean()
    loss.backward()
    return loss


history = []
for step in range(40):
    before = opt.step(closure)  # value at the start of the step
    history.append(before.item())
    if step % 8 == 7:
        with torch.no_grad():
            now = (model(t_fit) - y_fit).pow(2).mean().item()
            test = (model(t_test) - y_test).pow(2).mean().item()
        print(f"step {step + 1}: start {history[-1]:.6f} end {now:.6f} test {test:.6f} evaluations {evaluations}")
