import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
GAMMA, TAU, BATCH, WARMUP = 0.9, 0.02, 64, 100


class PointMass:
    """push a point to the origin"""

    def reset(self):
        self.x, self.v, self.t = np.random.uniform(-1, 1), 0.0, 0
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        self.v = 0.8 * self.v + 0.2 * float(a)
        self.x = float(np.clip(self.x + 0.3 * self.v, -2, 2))
        self.t += 1
        return np.array([self.x, self.v], dtype=np.float32), -self.x ** 2, self.t >= 25


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 48), nn.ReLU(), nn.Linear(48, 1), nn.Tanh())

    def forward(self, s):
        return self.net(s)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], 1))


class DDPG:
    def __init__(self):
        self.actor, self.critic = Actor(), Critic()
        self.actor_t, self.critic_t = copy.deepcopy(self.actor), copy.deepcopy(self.critic)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.buf = deque(maxlen=5000)
        self.n = 0

    def act(self, s, noise):
        with torch.no_grad():
            a = self.actor(torch.from_numpy(s).unsqueeze(0)).item()
        return float(np.clip(a + noise * np.random.randn(), -1, 1))

    def update(self):
        rows = random.sample(self.buf, BATCH)
        s, a, r, s2 = (torch.as_tensor(np.array(c), dtype=torch.float32) for c in zip(*rows))
        a, r = a.unsqueeze(1), r.unsqueeze(1)
        # the episode end is only a time limit, so the target always bootstraps
        with torch.no_grad():
            y = r + GAMMA * self.critic_t(s2, self.actor_t(s2))
        critic_loss = nn.functional.mse_loss(self.critic(s, a), y)
        self.opt_c.zero_grad()
        critic_loss.backward()
        self.opt_c.step()

        # gradients that land in the critic here are cleared before its next step
        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.opt_a.zero_grad()
        actor_loss.backward()
        self.opt_a.step()

        with torch.no_grad():
            for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
                for p, pt in zip(net.parameters(), tgt.parameters()):
                    pt.lerp_(p, TAU)
        self.n += 1
        return critic_loss.item(), actor_loss.item()


env, agent, logs = PointMass(), DDPG(), []
for episode in range(16):
    s, done, ret = env.reset(), False, 0.0
    while not done:
        a = agent.act(s, noise=0.3)
        s2, r, done = env.step(a)
        agent.buf.append((s, a, r, s2))
        s, ret = s2, ret + r
        if len(agent.buf) >= WARMUP:
            logs.append(agent.update())
    if episode % 4 == 3:
        c, a = np.mean(logs[-50:], axis=0) if logs else (0, 0)
        print(f"episode {episode + 1} return {ret:.3f} critic {c:.4f} actor {a:.4f} updates {agent.n}")
