"""REINFORCE with a learnt baseline on a small cart-pole written here; whole episodes, no bootstrapping."""
import math
from typing import NamedTuple

import torch
import torch.nn as nn


class Episode(NamedTuple):
    obs: torch.Tensor
    act: torch.Tensor
    ret: torch.Tensor


class CartPole:
    def reset(self):
        self.s = (torch.rand(4) - 0.5) * 0.1
        self.t = 0
        return self.s

    def step(self, a):
        x, v, th, w = self.s.tolist()
        f = 10.0 if a else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * w * w * s) / 1.1
        wa = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        xa = tmp - 0.05 * wa * c / 1.1
        self.s = torch.tensor([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * wa])
        self.t += 1
        fell = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.209
        return self.s, 1.0, bool(fell) or self.t >= 120


def mlp(out):
    return nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, out))


@torch.no_grad()
def play(env, policy, gamma=0.98):
    obs, acts, rews = [], [], []
    s, done = env.reset(), False
    while not done:
        a = torch.distributions.Categorical(logits=policy(s)).sample()
        obs.append(s)
        acts.append(a)
        s, r, done = env.step(a.item())
        rews.append(r)
    ret, out = 0.0, []
    for r in rews[::-1]:
        ret = r + gamma * ret
        out.append(ret)
    return Episode(torch.stack(obs), torch.stack(acts), torch.tensor(out[::-1]))


def main(iterations=25, per_iter=6):
    torch.manual_seed(1)
    env, policy, baseline = CartPole(), mlp(2), mlp(1)
    opt_p = torch.optim.Adam(policy.parameters(), lr=1e-2)
    opt_b = torch.optim.Adam(baseline.parameters(), lr=2e-2)
    for it in range(iterations):
        batch = [play(env, policy) for _ in range(per_iter)]
        obs, act, ret = (torch.cat(f) for f in zip(*batch))

        for _ in range(10):                                # fit the baseline on this batch
            fit = nn.functional.mse_loss(baseline(obs).squeeze(-1), ret / 30)
            opt_b.zero_grad()
            fit.backward()
            opt_b.step()

        with torch.no_grad():
            adv = ret / 30 - baseline(obs).squeeze(-1)
            adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        dist = torch.distributions.Categorical(logits=policy(obs))
        loss = -(dist.log_prob(act) * adv).mean() - 0.01 * dist.entropy().mean()
        opt_p.zero_grad()
        loss.backward()
        opt_p.step()
        if it % 5 == 4:
            mean_len = sum(len(e.ret) for e in batch) / per_iter
            print(f"iteration {it + 1}: mean length {mean_len:.1f}, baseline mse {fit.item():.4f}")


if __name__ == "__main__":
    main()
