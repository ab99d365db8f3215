import torch
import torch.nn as nn

torch.manual_seed(0)
docs = torch.randn(400, 12)
score = docs[:, 0] + 0.5 * docs[:, 1] * docs[:, 2]
scorer = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 1))
rank_loss = nn.MarginRankingLoss(margin=0.2)
opt = torch.optim.Adam(scorer.parameters(), lr=2e-3)
log = []


def pairs(n):
    i, j = torch.randint(400, (2, n))
    return docs[i], docs[j], torch.sign(score[i] - score[j])


loss = torch.tensor(0.0)
for step in range(150):
    a, b, sign = pairs(48)
    sa, sb = scorer(a).squeeze(1), scorer(b).squeeze(1)
    opt.zero_grad()
    loss = rank_loss(sa, sb, sign)
    opt.step()
    loss.backward()
    log.append(loss.item())
    if step % 30 == 29:
        print(step + 1, sum(log[-30:]) / 30)
