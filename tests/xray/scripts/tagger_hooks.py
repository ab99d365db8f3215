# 품사 태깅 비슷한 장난감 과제. 인코더 출력은 나중에 그려 보려고 훅으로 모아 둔다.
import torch
from torch import nn
import torch.nn.functional as F

VOCAB, TAGS, LEN = 40, 5, 12
torch.manual_seed(12)


def corpus(n, seed):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(VOCAB, (n, LEN), generator=g)
    prev = torch.roll(ids, 1, dims=1)
    prev[:, 0] = 0
    return ids, (ids + 2 * prev) % VOCAB // 8


class Tagger(nn.Module):
    def __init__(self, emb=24, hid=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, emb)
        self.encoder = nn.Conv1d(emb, hid, 3, padding=1)
        self.mix = nn.Conv1d(hid, hid, 1)
        self.out = nn.Linear(hid, TAGS)

    def forward(self, ids):
        h = self.embed(ids).transpose(1, 2)
        h = torch.relu(self.encoder(h))
        h = torch.relu(self.mix(h))
        return self.out(h.transpose(1, 2))


class Recorder:
    """지정한 층의 마지막 출력을 보관"""

    def __init__(self, net, names):
        self.kept = {}
        for name in names:
            net.get_submodule(name).register_forward_hook(self._hook(name))

    def _hook(self, name):
        def keep(module, inputs, output):
            self.kept[name] = output.detach()
            return self.kept[name]
        return keep


def tag_accuracy(net, ids, tags, size=100):
    net.eval()
    torch.no_grad()
    right = 0
    for a, b in zip(ids.split(size), tags.split(size)):
        logits = net(a)
        right += (logits.argmax(-1) == b).sum().item()
    return right / tags.numel(), logits.requires_grad


ids, tags = corpus(800, 1)
val_ids, val_tags = corpus(300, 2)
net = Tagger()
recorder = Recorder(net, ["encoder"])
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
first = net.embed.weight.detach().clone()

for epoch in range(10):
    net.train()
    for pick in torch.randperm(len(ids)).split(40):
        opt.zero_grad()
        loss = F.cross_entropy(net(ids[pick]).flatten(0, 1), tags[pick].flatten())
        loss.backward()
        opt.step()
    acc, tracked = tag_accuracy(net, val_ids, val_tags)
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.4f} enc std {recorder.kept['encoder'].std():.3f}")

moved = (net.embed.weight.detach() - first).norm().item()
print("임베딩 이동", moved)
