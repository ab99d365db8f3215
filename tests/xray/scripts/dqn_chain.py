import collections
import copy
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = collections.namedtuple("Transition", "s a r s2 done")
GAMMA, BATCH, EPS = 0.95, 32, 0.3
random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class Corridor:
    """walk right to the goal, 1-hot observation, slippery"""
    N = 8

    def reset(self):
        self.pos, self.t = 2, 0
        return self.obs()

    def obs(self):
        o = np.zeros(self.N, dtype=np.float32)
        o[self.pos] = 1
        return o

    def step(self, a):
        if random.random() < 0.1:
            a = 1 - a
        self.pos = max(0, min(self.N - 1, self.pos + (1 if a == 1 else -1)))
        self.t += 1
        done = self.pos == self.N - 1
        reward = 1.0 if done else -0.02
        return self.obs(), reward, done or self.t >= 40, done


class QNet(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.fc1 = nn.Linear(n_obs, 64)
        self.fc2 = nn.Linear(64, n_act)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


class Agent:
    def __init__(self):
        self.q = QNet(Corridor.N, 2)
        self.q_target = copy.deepcopy(self.q)
        self.opt = torch.optim.RMSprop(self.q.parameters(), lr=2e-3)
        self.memory = collections.deque(maxlen=2000)
        self.updates = 0

    def act(self, s):
        if random.random() < EPS:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.q(torch.from_numpy(s)).argmax())

    def learn(self):
        if len(self.memory) < BATCH:
            return None
        b = Transition(*zip(*random.sample(self.memory, BATCH)))
        s, s2 = torch.from_numpy(np.stack(b.s)), torch.from_numpy(np.stack(b.s2))
        a = torch.tensor(b.a).unsqueeze(1)
        r = torch.tensor(b.r)
        done = torch.tensor(b.done, dtype=torch.float32)
        q = self.q(s).gather(1, a)
        q_next = self.q(s2).max(1)[0]
        target = r + GAMMA * q_next * (1 - done)
        loss = F.mse_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
        if self.updates % 20 == 0:
            self.q_target.load_state_dict(self.q.state_dict())
        return loss.item()


env, agent = Corridor(), Agent()
losses = []
for episode in range(20):
    s, over, ret = env.reset(), False, 0.0
    while not over:
        a = agent.act(s)
        s2, r, over, done = env.step(a)
        agent.memory.append(Transition(s, a, r, s2, done))
        s = s2
        ret += r
        l = agent.learn()
        if l is not None:
            losses.append(l)
    if episode % 5 == 4:
        print(f"episode {episode + 1} return {ret:.2f} loss {np.mean(losses[-50:]):.5f} updates {agent.updates}")
with torch.no_grad():
    print("Q(right):", agent.q(torch.eye(Corridor.N))[:, 1].numpy().round(3))
