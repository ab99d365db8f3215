import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = "cpu"
x = torch.randn(640, 18)
y = x[:, :2].sum(1, keepdim=True) * x[:, 2:3]
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)

body = nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
head = nn.Linear(64, 1)
params = [*body.parameters(), *head.parameters()]
opt_body = torch.optim.AdamW(body.parameters(), lr=1e-3)
opt_head = torch.optim.SGD(head.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler(device, init_scale=2.0**10)

for epoch in range(5):
    for xb, yb in loader:
        opt_body.zero_grad(set_to_none=True)
        opt_head.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16):
            pred = head(body(xb))
        loss = nn.functional.mse_loss(pred.float(), yb)
        scaler.scale(loss).backward()
        scaler.unscale_(opt_body)
        scaler.unscale_(opt_head)
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        scaler.step(opt_body)
        scaler.step(opt_head)
        scaler.update()
    print(f"epoch {epoch} loss {loss.item():.4f} scale {scaler.get_scale():.0f}")
