"""DQN on a corridor: acting and targets under no_grad, target network copied now and then."""
import copy
import random
from collections import deque
import torch
from torch import nn
import torch.nn.functional as F

random.seed(57)
torch.manual_seed(57)
LENGTH, GAMMA = 8, 0.95
eye = torch.eye(LENGTH)


def move(s, a):
    s = max(0, s - 1) if a == 0 else s + 1
    done = s == LENGTH - 1
    return s, (1.0 if done else -0.01), done


q = nn.Sequential(nn.Linear(LENGTH, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=3e-3)
memory = deque(maxlen=2000)
frames = 0


def act(s, eps):
    if random.random() < eps:
        return random.randrange(2)
    with torch.no_grad():
        return q(eye[s]).argmax().item()


def learn(size=48):
    s, a, r, n, d = (torch.tensor(v) for v in zip(*random.sample(memory, size)))
    value = q(eye[s]).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        best = q(eye[n]).argmax(1, keepdim=True)
        goal = r + GAMMA * target(eye[n]).gather(1, best).squeeze(1) * (1 - d.float())
    loss = F.smooth_l1_loss(value, goal)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 10.0)
    opt.step()
    return loss.item()


losses = []
for episode in range(60):
    s, done, t = 0, False, 0
    eps = max(0.05, 1 - episode / 30)
    while not done and t < 40:
        a = act(s, eps)
        n, r, done = move(s, a)
        memory.append((s, a, r, n, done))
        s, t, frames = n, t + 1, frames + 1
        if len(memory) >= 100 and frames % 2 == 0:
            losses.append(learn())
        if frames % 60 == 0:
            target.load_state_dict(q.state_dict())
    if episode % 12 == 11 and losses:
        print(f"episode {episode + 1}: length {t}, mean loss {sum(losses) / len(losses):.5f} over {len(losses)} updates")
        losses = []

s = steps = 0
while s < LENGTH - 1 and steps < 30:
    s, _, _ = move(s, act(s, 0.0))
    steps += 1
print("greedy path length", steps, "(shortest", LENGTH - 1, ")")
