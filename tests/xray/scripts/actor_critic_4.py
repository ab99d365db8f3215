"""Advantage actor-critic on a contextual bandit with context-dependent baselines."""
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Env:
    """8 contexts, 4 arms; the reward level of a context dwarfs the gap between arms."""

    def __init__(self, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.n_ctx, self.n_arm = 8, 4
        self.level = 6.0 * torch.randn(self.n_ctx, generator=g)
        self.best = torch.randint(0, self.n_arm, (self.n_ctx,), generator=g)

    def contexts(self, n):
        return torch.randint(0, self.n_ctx, (n,))

    def reward(self, ctx, arm):
        return self.level[ctx] + (arm == self.best[ctx]).float() + 0.1 * torch.randn(len(ctx))


class ActorCritic(nn.Module):
    def __init__(self, n_ctx, n_arm, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(n_ctx, hidden)
        self.actor = nn.Linear(hidden, n_arm)
        self.critic_embed = nn.Embedding(n_ctx, hidden)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, ctx):
        logits = self.actor(torch.tanh(self.embed(ctx)))
        value = self.critic(torch.tanh(self.critic_embed(ctx)))
        return Categorical(logits=logits), value


class Agent:
    def __init__(self, env, lr=1e-2, entropy_coef=0.3, value_coef=0.5):
        self.env = env
        self.net = ActorCritic(env.n_ctx, env.n_arm)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.entropy_coef = entropy_coef
        self.value_coef = value_coef

    def update(self, batch):
        ctx = self.env.contexts(batch)
        dist, value = self.net(ctx)
        arm = dist.sample()
        reward = self.env.reward(ctx, arm)

        advantage = reward - value
        policy_loss = -(dist.log_prob(arm) * advantage).mean()
        value_loss = advantage.pow(2).mean()
        loss = policy_loss + self.value_coef * value_loss - self.entropy_coef * dist.entropy().mean()

        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return reward.mean().item(), value_loss.item()

    @torch.no_grad()
    def greedy_accuracy(self):
        ctx = torch.arange(self.env.n_ctx)
        dist, _ = self.net(ctx)
        return (dist.probs.argmax(-1) == self.env.best).float().mean().item()

    @torch.no_grad()
    def value_error(self):
        ctx = torch.arange(self.env.n_ctx)
        dist, value = self.net(ctx)
        true = self.env.level + dist.probs.gather(1, self.env.best[:, None]).squeeze(1)
        return (value.squeeze(1) - true).abs().mean().item()

    @torch.no_grad()
    def success(self):
        ctx = torch.arange(self.env.n_ctx)
        dist, _ = self.net(ctx)
        return dist.probs.gather(1, self.env.best[:, None]).mean().item()


def main():
    torch.manual_seed(2)
    env = Env()
    agent = Agent(env)
    for it in range(1, 401):
        reward, value_loss = agent.update(64)
        if it % 100 == 0:
            print(f"iter {it} reward {reward:.3f} value loss {value_loss:.4f} "
                  f"P(best arm) {agent.success():.3f}")
    print(f"greedy accuracy {agent.greedy_accuracy():.3f}  P(best arm) {agent.success():.3f} "
          f"critic error {agent.value_error():.3f}")


if __name__ == "__main__":
    main()
