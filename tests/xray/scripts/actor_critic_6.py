"""Actor-critic on a walking-corridor toy environment with big rewards."""
import torch
from torch import nn
from torch.distributions import Categorical

LENGTH, GAMMA = 6, 0.95


class Corridor:
    """reach the right end; +50 there, -1 per step, at most 20 steps"""

    def __init__(self, gen):
        self.gen = gen

    def reset(self):
        self.at, self.t = int(torch.randint(LENGTH - 1, (1,), generator=self.gen)), 0
        return self.view()

    def view(self):
        v = torch.zeros(LENGTH)
        v[self.at] = 1.0
        return v

    def step(self, action):
        self.t += 1
        self.at = max(0, self.at + (1 if action == 1 else -1))
        if self.at >= LENGTH - 1:
            self.at = LENGTH - 1
            return self.view(), 50.0, True
        return self.view(), -1.0, self.t >= 20


def guard_all(nets, max_norm):
    """one gradient guard per network"""
    guards = {}
    for name, net in nets.items():
        guards[name] = lambda: nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    return guards


def episode(env, actor):
    states, actions, rewards, done = [], [], [], False
    s = env.reset()
    while not done:
        with torch.no_grad():
            a = Categorical(logits=actor(s)).sample()
        nxt, r, done = env.step(int(a))
        states.append(s), actions.append(a), rewards.append(r)
        s = nxt
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + GAMMA * g
        returns.insert(0, g)
    return torch.stack(states), torch.stack(actions), torch.tensor(returns), sum(rewards)


def main(episodes=160):
    torch.manual_seed(1)
    env = Corridor(torch.Generator().manual_seed(1))
    make = lambda out: nn.Sequential(nn.Linear(LENGTH, 32), nn.Tanh(), nn.Linear(32, out))
    nets = {"critic": make(1), "actor": make(2)}
    opts = {"critic": torch.optim.SGD(nets["critic"].parameters(), lr=0.05, momentum=0.9),
            "actor": torch.optim.SGD(nets["actor"].parameters(), lr=0.05)}
    guards = guard_all(nets, max_norm=5.0)
    score, worst = [], 0.0
    for ep in range(episodes):
        s, a, ret, total = episode(env, nets["actor"])
        value = nets["critic"](s).squeeze(-1)
        adv = (ret - value.detach()) / 20
        dist = Categorical(logits=nets["actor"](s))
        losses = {"critic": nn.functional.mse_loss(value, ret),
                  "actor": -(dist.log_prob(a) * adv).mean() - 0.01 * dist.entropy().mean()}
        for name, loss in losses.items():
            opts[name].zero_grad()
            loss.backward()
            guards[name]()
            norm = torch.stack([p.grad.norm() for p in nets[name].parameters()]).norm().item()
            worst = max(worst, norm)
            opts[name].step()
        score.append(total)
        if ep % 40 == 39:
            print(f"episode {ep + 1} return {sum(score[-40:]) / 40:.2f} value loss {losses['critic'].item():.2f}")
    print("largest gradient norm used", worst)
    return worst, losses["critic"].item(), sum(score[-40:]) / 40


if __name__ == "__main__":
    result = main()
