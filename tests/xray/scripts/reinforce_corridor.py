import torch
from torch import nn, optim
from torch.distributions import Categorical


class Corridor:
    """Walk right to the goal; reward 1 at the end, -0.05 each step."""

    def __init__(self, size=6):
        self.size = size

    def reset(self):
        self.pos, self.t = 0, 0
        return self._obs()

    def _obs(self):
        return torch.nn.functional.one_hot(torch.tensor(self.pos), self.size).float()

    def step(self, action):
        self.t += 1
        self.pos = max(0, self.pos + (1 if action == 1 else -1))
        done = self.pos == self.size - 1 or self.t >= 30
        return self._obs(), (1.0 if self.pos == self.size - 1 else -0.05), done


class Policy(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n, 32), nn.Tanh())
        self.pi = nn.Linear(32, 2)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class Agent:
    def __init__(self, env):
        self.env = env
        self.policy = Policy(env.size)
        self.opt = optim.Adam(self.policy.parameters(), lr=5e-3)

    def rollout(self):
        s, done = self.env.reset(), False
        logps, values, rewards = [], [], []
        while not done:
            dist, v = self.policy(s)
            a = dist.sample()
            s, r, done = self.env.step(a.item())
            logps.append(dist.log_prob(a))
            values.append(v)
            rewards.append(r)
        return torch.stack(logps), torch.stack(values), rewards

    def learn(self, logps, values, rewards, gamma=0.98):
        ret, out = 0.0, []
        for r in reversed(rewards):
            ret = r + gamma * ret
            out.insert(0, ret)
        returns = torch.tensor(out)
        adv = returns - values.detach()
        policy_loss = -(logps * adv).sum()
        value_loss = nn.functional.smooth_l1_loss(values, returns)
        (policy_loss + value_loss).backward()
        self.opt.step()
        return sum(rewards)


torch.manual_seed(2)
agent = Agent(Corridor())
running = 0.0
for episode in range(150):
    score = agent.learn(*agent.rollout())
    running = 0.95 * running + 0.05 * score
    if episode % 30 == 0:
        print(f"episode {episode} score {score:.2f} running {running:.2f}")
