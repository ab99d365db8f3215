"""Advantage actor-critic on a vectorised windy corridor, pure torch."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

N_ENV, LENGTH, HORIZON, GAMMA = 16, 9, 24, 0.97


class Corridor:
    """Walk right to the goal (+1); the left end is a pit (-1); wind pushes at random."""

    def __init__(self, n):
        self.n = n
        self.pos = torch.full((n,), LENGTH // 2)

    def obs(self):
        return nn.functional.one_hot(self.pos, LENGTH).float()

    def step(self, action):
        wind = (torch.rand(self.n) < 0.25).long() * -1
        self.pos = (self.pos + action * 2 - 1 + wind).clamp(0, LENGTH - 1)
        win, pit = self.pos == LENGTH - 1, self.pos == 0
        reward = win.float() - pit.float() - 0.02
        done = win | pit
        self.pos = torch.where(done, torch.full_like(self.pos, LENGTH // 2), self.pos)
        return self.obs(), reward, done.float()


class ActorCritic(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(LENGTH, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, 2)
        self.v = nn.Linear(hidden, 1)

    def forward(self, o):
        h = self.shared(o)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def rollout(env, net, obs):
    logps, values, rewards, dones, ents = [], [], [], [], []
    for _ in range(HORIZON):
        dist, v = net(obs)
        a = dist.sample()
        obs, r, d = env.step(a)
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        values.append(v)
        rewards.append(r)
        dones.append(d)
    with torch.no_grad():
        ret = net(obs)[1]
    returns = []
    for r, d in zip(reversed(rewards), reversed(dones)):
        ret = r + GAMMA * ret * (1 - d)
        returns.insert(0, ret)
    st = torch.stack
    return obs, st(logps), st(values), st(returns), st(ents), st(rewards), st(dones)


def main():
    torch.manual_seed(7)
    env, net = Corridor(N_ENV), ActorCritic()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    obs = env.obs()
    errs = []
    for it in range(160):
        obs, logp, value, ret, ent, rew, done = rollout(env, net, obs)
        adv = ret - value
        policy_loss = -(logp * adv.detach()).mean()
        value_loss = adv.pow(2).mean()
        loss = policy_loss + 0.25 * value_loss - 0.005 * ent.mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        errs.append(value_loss.item())
        if it % 20 == 19:
            wins = (rew > 0.5).sum() / done.sum().clamp(min=1)
            print(f"it {it + 1}: win rate {wins:.3f} reward {rew.mean():.4f} "
                  f"critic mse {sum(errs[-20:]) / 20:.4f} entropy {ent.mean():.3f}")


if __name__ == "__main__":
    main()
