"""PPO: several epochs over the same batch, old log-probabilities kept as numbers, separate critics."""
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
log_std = nn.Parameter(torch.zeros(1))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam([*actor.parameters(), log_std, *critic.parameters()], lr=3e-3, eps=1e-5)
for update in range(12):
    for g in opt.param_groups:
        g["lr"] = 3e-3 * (1 - update / 12)
    with torch.no_grad():
        s = torch.randn(256, 4)
        dist = Normal(actor(s), log_std.exp())
        a = dist.sample()
        old = dist.log_prob(a).sum(1)
        r = -(a.squeeze(1) - s[:, 0]).pow(2)
        adv = r - critic(s).squeeze(1)
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    for _ in range(4):
        for mb in torch.randperm(256).split(64):
            dist = Normal(actor(s[mb]), log_std.exp())
            ratio = (dist.log_prob(a[mb]).sum(1) - old[mb]).exp()
            pg = torch.max(-adv[mb] * ratio, -adv[mb] * ratio.clamp(0.8, 1.2)).mean()
            v = 0.5 * (critic(s[mb]).squeeze(1) - r[mb]).pow(2).mean()
            loss = pg + 0.5 * v - 0.01 * dist.entropy().mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_([*actor.parameters(), log_std, *critic.parameters()], 0.5)
            opt.step()
    print(update, f"reward {r.mean().item():.3f}")
