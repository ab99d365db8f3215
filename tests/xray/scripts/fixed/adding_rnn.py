# The adding problem with a plain RNN
import torch
import torch.nn as nn

torch.manual_seed(4)
T, B, STEPS = 25, 64, 240


class AddRNN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.RNN(2, hidden, batch_first=True, nonlinearity="relu")
        self.out = nn.Linear(hidden, 1)
        nn.init.eye_(self.rnn.weight_hh_l0)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


def batch():
    values = torch.rand(B, T)
    marks = torch.zeros(B, T)
    first = torch.randint(0, T // 2, (B, 1))
    second = torch.randint(T // 2, T, (B, 1))
    marks.scatter_(1, first, 1.0)
    marks.scatter_(1, second, 1.0)
    target = (values * marks).sum(1, keepdim=True)
    return torch.stack([values, marks], dim=2), target


model = AddRNN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
criterion = nn.MSELoss()

# sanity check before training
x, y = batch()
with torch.no_grad():
    loss = criterion(model(x), y)
print("untrained loss", loss.item())

model.train()
for step in range(STEPS):
    x, y = batch()
    optimizer.zero_grad()
    step_loss = criterion(model(x), y)
    step_loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1}: loss {step_loss.item():.4f}")

model.eval()
with torch.no_grad():
    tests = [batch() for _ in range(8)]
    err = sum(criterion(model(a), b).item() for a, b in tests) / len(tests)
print(f"final test mse {err:.4f}")
