"""DQN in a corridor: walk right to the goal, the state is (position one-hot, has_key)."""
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn


class Corridor:
    def __init__(self, length=7):
        self.length = length
        self.obs = np.zeros(length + 1, dtype=np.float32)

    def _render(self):
        self.obs[:] = 0
        self.obs[self.pos] = 1
        self.obs[-1] = self.key
        return self.obs

    def reset(self):
        self.pos, self.key, self.t = 2, 0.0, 0
        return self._render()

    def step(self, action):
        self.pos = min(self.length - 1, max(0, self.pos + (1 if action == 1 else -1)))
        self.t += 1
        if self.pos == 0:
            self.key = 1.0
        goal = self.pos == self.length - 1 and self.key > 0
        return self._render(), (1.0 if goal else -0.01), goal or self.t >= 40


class QNet(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 48), nn.ReLU(), nn.Linear(48, n_act))

    def forward(self, x):
        return self.net(x)


class ReplayMemory:
    def __init__(self, size):
        self.memory = deque(maxlen=size)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.memory, n))
        return (torch.as_tensor(np.stack(s)), torch.tensor(a), torch.tensor(r),
                torch.as_tensor(np.stack(s2)), torch.tensor(d, dtype=torch.float32))

    def __len__(self):
        return len(self.memory)


def optimize(policy, target, memory, optimizer, batch_size=32, gamma=0.95):
    s, a, r, s2, done = memory.sample(batch_size)
    q = policy(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        q_next = target(s2).max(1).values
    loss = nn.functional.smooth_l1_loss(q, r + gamma * (1 - done) * q_next)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def main():
    random.seed(4)
    torch.manual_seed(4)
    env = Corridor()
    policy, target = QNet(8, 2), QNet(8, 2)
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    memory = ReplayMemory(2000)
    returns, updates = [], 0
    for episode in range(60):
        state, done, total = env.reset(), False, 0.0
        eps = max(0.05, 1 - episode / 30)
        while not done:
            with torch.no_grad():
                q = policy(torch.from_numpy(state)[None])
            action = random.randrange(2) if random.random() < eps else int(q.argmax())
            next_state, reward, done = env.step(action)
            memory.push(state, action, reward, next_state, done and reward > 0)
            state = next_state
            total += reward
            if len(memory) >= 100 and len(memory) % 2 == 0:
                optimize(policy, target, memory, optimizer)
                updates += 1
                if updates % 50 == 0:
                    target.load_state_dict(policy.state_dict())
        returns.append(total)
        if episode % 15 == 14:
            print(f"episode {episode + 1} mean return {np.mean(returns[-15:]):.3f} eps {eps:.2f}")
    print(f"updates {updates}, mean return of the last 10 episodes {np.mean(returns[-10:]):.3f}")


if __name__ == "__main__":
    main()
