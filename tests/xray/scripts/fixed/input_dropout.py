# 입력 드롭아웃을 쓰는 문서 분류기 (단어 빈도 벡터)
import random
import torch
import torch.nn as nn

CLASSES, WORDS = 6, 120


def make_docs(count, seed):
    g = torch.Generator().manual_seed(seed)
    topics = torch.rand(CLASSES, WORDS, generator=torch.Generator().manual_seed(90)) ** 4
    label = torch.randint(CLASSES, (count,), generator=g)
    docs = torch.poisson(topics[label] * 0.8 + 0.15, generator=g)
    return torch.log1p(docs), label


class Slices:
    """fixed batches over contiguous storage; the order of the batches changes every pass"""

    def __init__(self, x, y, size):
        self.x, self.y, self.size = x, y, size
        self.starts = list(range(0, len(x), size))

    def __iter__(self):
        random.shuffle(self.starts)
        for s in self.starts:
            n = min(self.size, len(self.x) - s)
            yield self.x.narrow(0, s, n), self.y.narrow(0, s, n)


def build(keep_memory_low=True):
    return nn.Sequential(
        nn.Dropout(0.15),
        nn.Linear(WORDS, 48),
        nn.ReLU(inplace=keep_memory_low),
        nn.Linear(48, CLASSES),
    )


def check(net, x, y):
    net.eval()
    with torch.no_grad():
        out = net(x)
        result = nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()
    net.train()
    return result


def main():
    random.seed(0)
    torch.manual_seed(0)
    x, y = make_docs(640, 1)
    vx, vy = make_docs(400, 2)
    filled = (x != 0).float().mean().item()
    net = build()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    loader = Slices(x, y, 32)
    for epoch in range(20):
        total = 0.0
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(yb)
        vl, va = check(net, vx, vy)
        if epoch % 4 == 3:
            print(f"{epoch + 1:2d}  train {total / len(x):.4f}  val {vl:.4f} / {va:.3f}")
    left = (x != 0).float().mean().item()
    print(f"non-zero entries {filled:.3f} -> {left:.3f}")
    return vl, va, filled, left


if __name__ == "__main__":
    result = main()
