# SimCLR toy: pretrain, then linear probe
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
DIM, CLASSES = 32, 6
protos = torch.randn(CLASSES, DIM)


def make_split(n):
    y = torch.randint(0, CLASSES, (n,))
    return protos[y] + 0.7 * torch.randn(n, DIM), y


def augment(x, drop=0.3, noise=0.5):
    keep = (torch.rand_like(x) > drop).float()
    return x * keep + noise * torch.randn_like(x)


class SimCLR(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 32))
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        return F.normalize(self.projector(self.encoder(x)), dim=1)


def nt_xent(z1, z2, t=0.3):
    z = torch.cat([z1, z2])
    n = len(z1)
    sim = (z @ z.t() / t).masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


x_train, y_train = make_split(768)
x_test, y_test = make_split(300)

ssl = SimCLR()
opt = torch.optim.Adam(ssl.parameters(), lr=3e-3)
for epoch in range(5):
    perm = torch.randperm(len(x_train))
    for idx in perm.split(64):
        loss = nt_xent(ssl(augment(x_train[idx])), ssl(augment(x_train[idx])))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"[ssl] epoch {epoch} loss {loss.item():.4f}")

# encoder는 고정하고 분류기만 학습
classifier = nn.Sequential(ssl.encoder, nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, CLASSES))
for p in ssl.encoder.parameters():
    p.requires_grad = False
probe_opt = torch.optim.SGD([p for p in classifier.parameters() if p.requires_grad], lr=0.03, momentum=0.9)
for epoch in range(8):
    classifier.train()
    perm = torch.randperm(len(x_train))
    for idx in perm.split(64):
        probe_opt.zero_grad()
        loss = F.cross_entropy(classifier(augment(x_train[idx])), y_train[idx])
        loss.backward()
        probe_opt.step()
    classifier.eval()
    with torch.no_grad():
        out = classifier(x_test)
        acc = (out.argmax(1) == y_test).float().mean().item()
    print(f"[probe] epoch {epoch} loss {loss.item():.4f} test acc {acc:.4f}")
