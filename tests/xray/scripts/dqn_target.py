import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)


class Chain:
    n = 7

    def reset(self):
        self.s, self.t = 3, 0
        return self.obs()

    def obs(self):
        v = torch.zeros(self.n)
        v[self.s] = 1
        return v

    def step(self, a):
        self.t += 1
        self.s = min(self.n - 1, max(0, self.s + 2 * a - 1))
        return self.obs(), float(self.s == self.n - 1), self.s in (0, self.n - 1) or self.t > 20


q = nn.Sequential(nn.Linear(7, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 2))
q_target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=2e-3)
memory = deque(maxlen=500)
env, updates = Chain(), 0
for episode in range(80):
    s, done, eps = env.reset(), False, max(0.05, 1 - episode / 40)
    while not done:
        if random.random() < eps:
            a = random.randrange(2)
        else:
            with torch.no_grad():
                a = q(s[None]).argmax().item()
        s2, r, done = env.step(a)
        memory.append((s, a, r, s2, done))
        s = s2
        if len(memory) < 64:
            continue
        batch = random.sample(memory, 32)
        S, A, R, S2, D = zip(*batch)
        with torch.no_grad():
            nxt = q_target(torch.stack(S2)).max(1).values
            goal = torch.tensor(R) + 0.95 * nxt * (1 - torch.tensor(D).float())
        pred = q(torch.stack(S)).gather(1, torch.tensor(A)[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(pred, goal)
        opt.zero_grad()
        loss.backward()
        for p in q.parameters():
            p.grad.data.clamp_(-1, 1)
        opt.step()
        updates += 1
        if updates % 50 == 0:
            q_target.load_state_dict(q.state_dict())
    if episode % 20 == 19:
        print(episode + 1, updates, f"{loss.item():.4f}" if updates else "")
