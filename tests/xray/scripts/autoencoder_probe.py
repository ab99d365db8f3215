import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 4))
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))

    def encode(self, x):
        return self.enc(x)

    def forward(self, x):
        code = self.encode(x)
        return self.dec(code.detach())


torch.manual_seed(0)
mix = torch.randn(4, 20)
signal = torch.randn(800, 4) @ mix
loader = DataLoader(TensorDataset(signal), batch_size=80, shuffle=True)
ae = AE()
opt = torch.optim.SGD(ae.parameters(), lr=1e-2, momentum=0.5)
criterion = nn.MSELoss(reduction="sum")
history = []
for epoch in range(8):
    for (x,) in loader:
        out = ae(x)
        loss = criterion(out, x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    history.append(loss.item())
    print(f"epoch {epoch} recon {history[-1]:.4f}")
