"""DQN on a small corridor with a trap; replay buffer, target net, epsilon decay."""
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn

Transition = namedtuple("Transition", "s a r s2 done")
SEED, N, GAMMA = 1, 9, 0.95


class Corridor:
    def reset(self):
        self.pos, self.t = N // 2, 0
        return self.obs()

    def obs(self):
        v = torch.zeros(N)
        v[self.pos] = 1
        return v

    def step(self, a):
        self.pos += 1 if a == 1 else -1
        self.t += 1
        if self.pos <= 0:
            return self.obs(), 1.0, True
        if self.pos >= N - 1:
            return self.obs(), 0.1, True
        return self.obs(), -0.02, self.t >= 30


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, s):
        return self.net(s)


class Agent:
    def __init__(self):
        self.q, self.target = QNet(), QNet()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=3e-3)
        self.buf = deque(maxlen=2000)
        self.updates = 0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.q(s).argmax())

    def learn(self, batch_size=32):
        if len(self.buf) < 100:
            return None
        b = Transition(*zip(*random.sample(self.buf, batch_size)))
        s, s2 = torch.stack(b.s), torch.stack(b.s2)
        a, r = torch.tensor(b.a), torch.tensor(b.r)
        done = torch.tensor(b.done, dtype=torch.float32)
        q = self.q(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            target = r + GAMMA * (1 - done) * self.target(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 5.0)
        self.opt.step()
        self.updates += 1
        if self.updates % 50 == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss.item()


def greedy_return(agent, env):
    s, total, done = env.reset(), 0.0, False
    while not done:
        s, r, done = env.step(agent.act(s, 0.0))
        total += r
    return total


random.seed(SEED)
torch.manual_seed(SEED)
env, agent = Corridor(), Agent()
losses = []
for episode in range(100):
    eps = max(0.05, 0.95 ** episode + 0.1)
    s, done = env.reset(), False
    while not done:
        a = agent.act(s, eps)
        s2, r, done = env.step(a)
        agent.buf.append(Transition(s, a, r, s2, float(done and env.t < 30)))
        s = s2
        loss = agent.learn()
        if loss is not None:
            losses.append(loss)
    if episode % 20 == 19:
        recent = losses[-50:]
        print(f"episode {episode + 1} eps {eps:.2f} td loss {sum(recent) / max(1, len(recent)):.4f} greedy return {greedy_return(agent, env):.2f}")
