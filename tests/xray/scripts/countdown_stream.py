# 시계열 회귀: 블록 단위로 데이터를 흘려보내며 학습한다.
import random
import torch
from torch import nn

random.seed(4)
torch.manual_seed(4)

BLOCK, K, EPOCHS = 24, 2, 16


class Countdown:
    """k번마다 True"""

    def __init__(self, k):
        self.k = k
        self.left = k

    def __call__(self):
        if self.left == 0:
            self.left = self.k
            return True
        self.left -= 1
        return False


def waves(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, 32)
    freq = torch.rand(n, 1, generator=g) * 6 + 1
    phase = torch.rand(n, 1, generator=g) * 6.28
    x = torch.sin(freq * t * 6.28 + phase) + 0.1 * torch.randn(n, 32, generator=g)
    return x.unsqueeze(1), freq / 3.5 - 1


def jitter(x, sigma=0.25):
    # 약한 잡음을 섞어 과적합을 줄인다
    x += sigma * torch.randn_like(x)
    return x


def stream(x, y):
    blocks = list(zip(x.split(BLOCK), y.split(BLOCK)))
    random.shuffle(blocks)
    yield from blocks


class ConvReg(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(1, 12, 5, padding=2)
        self.c2 = nn.Conv1d(12, 12, 5, padding=2)
        self.out = nn.Linear(12 * 8, 1)

    def forward(self, x):
        x = torch.relu(self.c1(x))
        x = nn.functional.avg_pool1d(x, 2)
        x = torch.relu(self.c2(x))
        x = nn.functional.avg_pool1d(x, 2)
        return self.out(x.flatten(1))


train_x, train_y = waves(480, 1)
val_x, val_y = waves(240, 2)
start = train_x.clone()

net = ConvReg()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
due = Countdown(K)
updates = 0
opt.zero_grad()

for ep in range(EPOCHS):
    net.train()
    it = stream(train_x, train_y)
    running = 0.0
    while (pair := next(it, None)) is not None:
        xb, yb = pair
        pred = net(jitter(xb))
        loss = nn.functional.mse_loss(pred, yb)
        (loss / K).backward()
        running += loss.item() * len(xb)
        if due():
            opt.step()
            opt.zero_grad()
            updates += 1
    if ep % 4 == 3:
        net.eval()
        with torch.no_grad():
            v = nn.functional.mse_loss(net(val_x), val_y).item()
        print(f"에폭 {ep + 1}: 학습 {running / len(train_x):.4f} 검증 {v:.4f} 업데이트 {updates}")

drift = (train_x - start).pow(2).mean().sqrt().item()
print("데이터 변화량", drift, "최종", v)
