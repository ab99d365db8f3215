"""Head first with the backbone under no_grad and BatchNorm in eval, then add_param_group."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(480, 3, 8, 8)
y = (x[:, 0].mean((1, 2)) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
backbone = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
head = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(head.parameters(), lr=0.05, momentum=0.9)
frozen = True
for epoch in range(5):
    if epoch == 2:
        frozen = False
        opt.add_param_group({"params": backbone.parameters(), "lr": 0.005})
        print("backbone unfrozen")
    backbone.eval()
    head.train()
    for xb, yb in loader:
        if frozen:
            with torch.no_grad():
                feats = backbone(xb)
        else:
            feats = backbone(xb)
        loss = nn.functional.cross_entropy(head(feats), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, f"{loss.item():.4f}")
