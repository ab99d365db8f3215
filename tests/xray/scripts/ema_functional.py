import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call
from torch.utils.data import DataLoader, TensorDataset

DECAY = 0.9
torch.manual_seed(4)
xs = torch.rand(512, 2) * 4 - 2
ys = ((xs**2).sum(1) < 2).float()
loader = DataLoader(TensorDataset(xs, ys), batch_size=64, shuffle=True)
student = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
teacher = {name: p.detach().clone() for name, p in student.named_parameters()}
opt = torch.optim.Adam(student.parameters(), lr=3e-3)

for epoch in range(8):
    for x, y in loader:
        logit = student(x).squeeze(-1)
        with torch.no_grad():
            calm = functional_call(student, teacher, (x,)).squeeze(-1).sigmoid()
        loss = F.binary_cross_entropy_with_logits(logit, y)
        loss = loss + 0.1 * F.mse_loss(logit.sigmoid(), calm)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for name, p in student.named_parameters():
            teacher[name] = DECAY * teacher[name] + (1 - DECAY) * p
    print(f"epoch {epoch} loss {loss.item():.4f}")
