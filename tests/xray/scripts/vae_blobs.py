# Variational autoencoder, 작은 합성 이미지 (9x9)
import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(1)
BATCH, EPOCHS, LOG = 64, 6, 10


def blobs(n):
    yy, xx = torch.meshgrid(torch.arange(9.0), torch.arange(9.0), indexing="ij")
    cx, cy = 1 + 7 * torch.rand(n, 1, 1), 1 + 7 * torch.rand(n, 1, 1)
    s = 1.0 + torch.rand(n, 1, 1)
    return torch.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * s ** 2)).view(n, 81)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(81, 64)
        self.fc21 = nn.Linear(64, 4)
        self.fc22 = nn.Linear(64, 4)
        self.fc3 = nn.Linear(4, 64)
        self.fc4 = nn.Linear(64, 81)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return self.fc4(F.relu(self.fc3(z)))

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_logits, x, mu, logvar):
    bce = F.binary_cross_entropy_with_logits(recon_logits, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return (bce + kld) / len(x)


train_loader = torch.utils.data.DataLoader(blobs(1600), batch_size=BATCH, shuffle=True)
test_x = blobs(400)
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=3e-3)


def train(epoch):
    model.train()
    train_loss = 0
    for batch_idx, data in enumerate(train_loader):
        recon, mu, logvar = model(data)
        loss = loss_function(recon, data, mu, logvar)
        loss.backward()
        train_loss += loss.item() * len(data)
        optimizer.zero_grad()
        optimizer.step()
        if batch_idx % LOG == 0:
            print(f"Train Epoch: {epoch} [{batch_idx * len(data)}/1600] Loss: {loss.item():.4f}")
    print(f"====> Epoch: {epoch} Average loss: {train_loss / 1600:.4f}")


def test():
    model.eval()
    with torch.no_grad():
        recon, mu, logvar = model(test_x)
        return loss_function(recon, test_x, mu, logvar).item()


if __name__ == "__main__":
    for epoch in range(1, EPOCHS + 1):
        train(epoch)
        print(f"====> Test set loss: {test():.4f}")
