# REINFORCE with a learned baseline on a contextual two-step task
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(543)
rng = np.random.RandomState(543)


class Env(object):
    """reward 1 if the action equals the sign pattern of the state"""
    n_obs, n_act, horizon = 6, 4, 10

    def reset(self):
        self.t = 0
        self.s = rng.randn(self.n_obs).astype("float32")
        return self.s

    def step(self, a):
        best = 2 * int(self.s[0] > 0) + int(self.s[1] > 0)
        r = 1.0 if a == best else 0.0
        self.t += 1
        self.s = rng.randn(self.n_obs).astype("float32")
        return self.s, r, self.t >= self.horizon


class Actor(nn.Module):
    def __init__(self):
        super(Actor, self).__init__()
        self.affine1 = nn.Linear(Env.n_obs, 64)
        self.affine2 = nn.Linear(64, Env.n_act)

    def forward(self, x):
        return Categorical(logits=self.affine2(torch.tanh(self.affine1(x))))


class Critic(nn.Module):
    def __init__(self):
        super(Critic, self).__init__()
        self.net = nn.Sequential(nn.Linear(Env.n_obs, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


actor, critic = Actor(), Critic()
optimizer = optim.Adam(list(actor.parameters()) + list(critic.parameters()), lr=1e-2)
gamma = 0.3


def rollout(env, episodes=6):
    logps, values, returns, total = [], [], [], 0.0
    for _ in range(episodes):
        s, done, rewards = env.reset(), False, []
        while not done:
            st = torch.from_numpy(s)
            dist = actor(st)
            a = dist.sample()
            logps.append(dist.log_prob(a))
            values.append(critic(st))
            s, r, done = env.step(a.item())
            rewards.append(r)
        R, rets = 0.0, []
        for r in rewards[::-1]:
            R = r + gamma * R
            rets.insert(0, R)
        returns += rets
        total += sum(rewards)
    return logps, values, torch.tensor(returns), total / episodes


def finish_batch(logps, values, returns):
    policy_loss = []
    values = torch.stack(values)
    adv = returns - values.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for lp, a in zip(logps, adv):
        policy_loss.append(-lp * a)
    optimizer.zero_grad()
    actor_loss = torch.stack(policy_loss).mean()
    critic_loss = (returns - values).pow(2).mean()
    loss = actor_loss + 0.5 * critic_loss
    loss.backward()
    optimizer.step()
    return actor_loss.item(), critic_loss.item()


def main():
    env, running = Env(), 2.5
    for i in range(60):
        batch = rollout(env)
        al, cl = finish_batch(*batch[:3])
        running = 0.9 * running + 0.1 * batch[3]
        if (i + 1) % 10 == 0:
            print("update {}\tactor {:.4f}\tcritic {:.4f}\trunning reward {:.3f}".format(i + 1, al, cl, running))


if __name__ == '__main__':
    main()
