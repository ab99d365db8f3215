"""DQN with replay and a Polyak-averaged target network on a noisy corridor."""
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Step = namedtuple("Step", "s a r s2 done")


class Corridor:
    """Start at cell 0; +1 at the last cell, -0.01 a move, 40 moves at most."""

    size = 8

    def reset(self):
        self.pos, self.t = 0, 0
        return self.pos

    def step(self, action):
        self.t += 1
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        done = self.pos == self.size - 1
        return self.pos, (1.0 if done else -0.01), done, self.t >= 40


class Replay:
    def __init__(self, capacity):
        self.mem = deque(maxlen=capacity)

    def push(self, *args):
        self.mem.append(Step(*args))

    def sample(self, n):
        b = Step(*zip(*random.sample(self.mem, n)))
        return (torch.tensor(b.s), torch.tensor(b.a), torch.tensor(b.r),
                torch.tensor(b.s2), torch.tensor(b.done, dtype=torch.float32))


def make_q():
    return nn.Sequential(nn.Embedding(Corridor.size, 32), nn.ReLU(), nn.Linear(32, 2))


def soft_update(target, source, tau):
    with torch.no_grad():
        for t, s in zip(target.parameters(), source.parameters()):
            t.lerp_(s, tau)


def main(gamma=0.95, episodes=90):
    random.seed(0)
    torch.manual_seed(0)
    env, memory = Corridor(), Replay(5000)
    q, target = make_q(), make_q()
    target.load_state_dict(q.state_dict())
    target.requires_grad_(False)
    optimizer = torch.optim.AdamW(q.parameters(), lr=5e-3, amsgrad=True)

    returns = []
    for ep in range(episodes):
        s, total = env.reset(), 0.0
        eps = max(0.05, 0.97 ** ep)
        while True:
            if random.random() < eps:
                a = random.randrange(2)
            else:
                with torch.no_grad():
                    a = q(torch.tensor(s)).argmax().item()
            s2, r, done, truncated = env.step(a)
            memory.push(s, a, r, s2, done)
            s, total = s2, total + r

            if len(memory.mem) >= 64:
                bs, ba, br, bs2, bd = memory.sample(32)
                with torch.no_grad():
                    next_action = q(bs2).argmax(1, keepdim=True)
                    backup = br + gamma * (1 - bd) * target(bs2).gather(1, next_action).squeeze(1)
                value = q(bs).gather(1, ba.unsqueeze(1)).squeeze(1)
                loss = F.smooth_l1_loss(value, backup)
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_value_(q.parameters(), 10.0)
                optimizer.step()
                soft_update(target, q, 0.05)
            if done or truncated:
                break
        returns.append(total)
        if ep % 30 == 29:
            print(f"episode {ep + 1} mean return {sum(returns[-30:]) / 30:.3f}")
    with torch.no_grad():
        print("values", [round(v, 2) for v in q(torch.arange(Corridor.size - 1)).max(1).values.tolist()])


main()
