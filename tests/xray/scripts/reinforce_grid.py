import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical

# REINFORCE with a moving baseline on a 5x5 grid (reach the lower right corner)
MOVES = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]])


class Policy(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.affine1 = nn.Linear(10, hidden)
        self.affine2 = nn.Linear(hidden, 4)

    def forward(self, obs):
        return Categorical(logits=self.affine2(torch.relu(self.affine1(obs))))


def encode(pos):
    obs = torch.zeros(1, 10)
    obs[0, pos[0]] = 1
    obs[0, 5 + pos[1]] = 1
    return obs


def play(policy, max_len=20):
    pos, log_probs, entropies, rewards = torch.tensor([0, 0]), [], [], []
    for _ in range(max_len):
        dist = policy(encode(pos))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        pos = (pos + MOVES[action.item()]).clamp(0, 4)
        done = bool((pos == 4).all())
        rewards.append(1.0 if done else -0.04)
        if done:
            break
    return log_probs, entropies, rewards


def returns(rewards, gamma):
    out, r = [], 0.0
    for reward in reversed(rewards):
        r = reward + gamma * r
        out.insert(0, r)
    return torch.tensor(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--episodes", type=int, default=240)
    ap.add_argument("--episodes-per-update", type=int, default=4)
    ap.add_argument("--lr", type=float, default=1.5e-2)
    args = ap.parse_args()
    torch.manual_seed(543)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    baseline, running = 0.0, -0.8
    for update in range(args.episodes // args.episodes_per_update):
        losses = []
        for _ in range(args.episodes_per_update):
            log_probs, entropies, rewards = play(policy)
            G = returns(rewards, args.gamma)
            adv = G - baseline
            losses.append(-(torch.cat(log_probs) * adv).sum() - 0.02 * torch.cat(entropies).sum())
            baseline = 0.95 * baseline + 0.05 * G[0].item()
            running = 0.95 * running + 0.05 * sum(rewards)
        policy_loss = torch.stack(losses).sum() / args.episodes_per_update
        optimizer.zero_grad()
        policy_loss.backward()
        optimizer.step()
        if update % 15 == 14:
            print(f"update {update + 1} running reward {running:.3f} loss {policy_loss.item():.4f}")
    with torch.no_grad():
        lens = [len(play(policy)[2]) for _ in range(30)]
    print(f"mean path length {sum(lens) / len(lens):.2f} (shortest 8)")


if __name__ == "__main__":
    main()
