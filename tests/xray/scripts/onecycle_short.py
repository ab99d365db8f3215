import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 5


class Model(nn.Module):
    def __init__(self, d_in=8, hidden=40):
        super().__init__()
        self.lin1 = nn.Linear(d_in, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.lin2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.lin2(torch.relu(self.norm(self.lin1(x)))).squeeze(1)


def main():
    torch.manual_seed(0)
    x = torch.randn(512, 8)
    y = (x[:, 0] * x[:, 1] > 0).float()
    dl = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, epochs=EPOCHS, steps_per_epoch=len(x))
    for epoch in range(EPOCHS):
        for xb, yb in dl:
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(xb), yb)
            loss.backward()
            optimizer.step()
            scheduler.step()
        print(epoch, f"{loss.item():.4f}", f"lr {scheduler.get_last_lr()[0]:.5f}")


main()
