import collections
import random
import torch
import torch.nn as nn

# 챗봇 의도 분류 — 어휘 가방 모델, 클래스 불균형 있음
random.seed(8)
torch.manual_seed(8)
INTENTS = ["refund", "hours", "order", "cancel", "human", "smalltalk"]
FREQ = [30, 25, 20, 12, 8, 5]
VOCAB = 300
topic = [random.sample(range(VOCAB), 40) for _ in INTENTS]

Utterance = collections.namedtuple("Utterance", "words intent")


def speak():
    k = random.choices(range(6), FREQ)[0]
    n = random.randint(4, 12)
    ws = [random.choice(topic[k]) if random.random() < 0.45 else random.randrange(VOCAB) for _ in range(n)]
    return Utterance(ws, k)


def pack(us):
    flat = torch.tensor([w for u in us for w in u.words])
    off = torch.tensor([0] + [len(u.words) for u in us[:-1]]).cumsum(0)
    return flat, off, torch.tensor([u.intent for u in us])


class Router(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.bag = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.drop = nn.Dropout(0.1)
        self.up = nn.Linear(dim, 64)
        self.down = nn.Linear(64, len(INTENTS))

    def forward(self, flat, off):
        return self.down(torch.relu(self.up(self.drop(self.bag(flat, off)))))


class WeightedNLL:
    def __init__(self, counts):
        c = torch.tensor(counts, dtype=torch.float)
        self.w = (c.sum() / (len(counts) * c)).sqrt()

    def __call__(self, scores, y):
        picked = scores[torch.arange(len(y)), y]
        w = self.w[y]
        return -(w * picked).sum() / w.sum()


def batches(data, k):
    data = data[:]
    random.shuffle(data)
    for i in range(0, len(data), k):
        yield pack(data[i:i + k])


train = [speak() for _ in range(2400)]
test = [speak() for _ in range(800)]
net = Router()
crit = WeightedNLL(FREQ)
opt = torch.optim.Adam(net.parameters(), lr=4e-3)

for ep in range(6):
    net.train()
    run = n = 0
    for flat, off, y in batches(train, 40):
        loss = crit(net(flat, off), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item() * len(y)
        n += len(y)
    net.eval()
    with torch.no_grad():
        flat, off, y = pack(test)
        hit = net(flat, off).argmax(1) == y
        per = [hit[y == k].float().mean().item() for k in range(6)]
    print(ep, f"loss {run / n:.3f} acc {hit.float().mean().item():.3f} macro {sum(per) / 6:.3f}")
