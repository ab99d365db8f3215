# contextual bandit, actor-critic
import torch
import torch.nn as nn
from torch.distributions import Categorical
from torch.optim.lr_scheduler import ExponentialLR

torch.manual_seed(12)
N_CTX, N_ARMS, BATCH = 10, 5, 64
W = torch.randn(N_CTX, N_ARMS)


def pull(ctx, arm):
    mean = torch.tanh(ctx @ W).gather(1, arm[:, None]).squeeze(1)
    return mean + 0.3 * torch.randn_like(mean)


actor = nn.Sequential(nn.Linear(N_CTX, 32), nn.Tanh(), nn.Linear(32, N_ARMS))
critic = nn.Sequential(nn.Linear(N_CTX, 32), nn.Tanh(), nn.Linear(32, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.12, momentum=0.9)
actor_sched = ExponentialLR(actor_opt, gamma=0.997)
critic_sched = ExponentialLR(actor_opt, gamma=0.97)

avg_reward = avg_critic = None
for update in range(1, 401):
    ctx = torch.randn(BATCH, N_CTX)
    dist = Categorical(logits=actor(ctx))
    arm = dist.sample()
    reward = pull(ctx, arm)
    value = critic(ctx).squeeze(1)
    advantage = reward - value

    critic_loss = advantage.pow(2).mean()
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    actor_loss = -(dist.log_prob(arm) * advantage.detach()).mean() - 0.01 * dist.entropy().mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()

    actor_sched.step()
    critic_sched.step()

    r, c = reward.mean().item(), critic_loss.item()
    avg_reward = r if avg_reward is None else 0.95 * avg_reward + 0.05 * r
    avg_critic = c if avg_critic is None else 0.95 * avg_critic + 0.05 * c
    if update % 80 == 0:
        print(f"update {update} reward {avg_reward:.3f} critic {avg_critic:.3f} "
              f"lr {actor_opt.param_groups[0]['lr']:.2e} / {critic_opt.param_groups[0]['lr']:.2e}")

with torch.no_grad():
    ctx = torch.randn(2000, N_CTX)
    best = torch.tanh(ctx @ W).max(1).values.mean()
    got = torch.tanh(ctx @ W).gather(1, actor(ctx).argmax(1, keepdim=True)).mean()
print(f"greedy policy {got.item():.4f} of {best.item():.4f}")
