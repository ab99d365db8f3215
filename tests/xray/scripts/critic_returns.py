"""Policy evaluation: fit V(s) to Monte-Carlo returns of a random walk with wind."""
from collections import deque
import random

import torch
from torch import nn

SEED = 21
random.seed(SEED)
torch.manual_seed(SEED)


class Walk:
    def __init__(self, n=9):
        self.n = n

    def episode(self, horizon=30, gamma=0.9):
        pos, states, rewards = random.randrange(self.n), [], []
        for _ in range(horizon):
            states.append(pos)
            pos = max(0, min(self.n - 1, pos + random.choice([-1, 0, 1, 1 if pos > 4 else -1])))
            rewards.append(1.0 if pos == self.n - 1 else (-1.0 if pos == 0 else 0.0))
        ret, out = 0.0, []
        for r in reversed(rewards):
            ret = r + gamma * ret
            out.append(ret)
        return states[:15], out[::-1][:15]


class Replay:
    def __init__(self, cap=4000):
        self.mem = deque(maxlen=cap)

    def extend(self, s, g):
        self.mem.extend(zip(s, g))

    def draw(self, k):
        s, g = zip(*random.sample(self.mem, k))
        return torch.tensor(s), torch.tensor(g)


class Critic(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.f = nn.Sequential(nn.Embedding(n, 16), nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, s):
        return self.f(s)


def robust(err, delta=1.0):
    a = err.abs()
    return torch.where(a < delta, 0.5 * err * err, delta * (a - 0.5 * delta)).mean()


def learn(critic, mem, opt, updates):
    logged = []
    for _ in range(updates):
        s, g = mem.draw(64)
        v = critic(s)
        loss = robust(g - v)
        opt.zero_grad()
        loss.backward()
        opt.step()
        logged.append(loss.item())
    return sum(logged) / len(logged)


def true_values(env, runs=60):
    sums, cnt = [0.0] * env.n, [0] * env.n
    for _ in range(runs * env.n):
        s, g = env.episode()
        for a, b in zip(s, g):
            sums[a] += b
            cnt[a] += 1
    return torch.tensor([a / max(1, b) for a, b in zip(sums, cnt)])


env, mem = Walk(), Replay()
critic = Critic(env.n)
opt = torch.optim.Adam(critic.parameters(), lr=5e-3)
for it in range(12):
    for _ in range(20):
        mem.extend(*env.episode())
    print(f"iter {it:2d} loss {learn(critic, mem, opt, 25):.4f}")

with torch.no_grad():
    v = critic(torch.arange(env.n)).flatten()
ref = true_values(env)
print("V  ", [round(x, 2) for x in v.tolist()])
print("ref", [round(x, 2) for x in ref.tolist()])
print(f"rms {(v - ref).square().mean().sqrt().item():.4f}")
