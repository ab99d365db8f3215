"""Prototypical network, episodes of 5-way 3-shot classification."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tasks:
    def __init__(self, n_classes=40, dim=20, seed=0):
        self.gen = torch.Generator().manual_seed(seed)
        signal = torch.randn(n_classes, 5, generator=self.gen)
        self.mix = torch.randn(5, dim, generator=torch.Generator().manual_seed(77))
        self.centers = signal @ self.mix
        self.n_classes, self.dim = n_classes, dim

    def episode(self, way=5, shot=3, query=8):
        cls = torch.randperm(self.n_classes, generator=self.gen)[:way]
        x = self.centers[cls][:, None] + 2.5 * torch.randn(way, shot + query, self.dim, generator=self.gen)
        y = torch.arange(way).repeat_interleave(query)
        return x[:, :shot], x[:, shot:].reshape(way * query, self.dim), y


class Embed(nn.Module):
    def __init__(self, dim=20, out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, out))

    def forward(self, x):
        return self.net(x)


def proto_loss(embed, support, query, y):
    way, shot, dim = support.shape
    protos = embed(support.reshape(way * shot, dim)).view(way, shot, -1).mean(1)
    logits = -torch.cdist(embed(query), protos).pow(2) / 4
    return F.cross_entropy(logits, y), (logits.argmax(1) == y).float().mean()


def test(embed, tasks, episodes=60):
    embed.eval()
    with torch.no_grad():
        acc = [proto_loss(embed, *tasks.episode())[1].item() for _ in range(episodes)]
    embed.train()
    return sum(acc) / len(acc)


def main(n_episodes=240):
    torch.manual_seed(0)
    train_tasks, test_tasks = Tasks(seed=0), Tasks(n_classes=20, seed=1)
    embed = Embed()
    optimizer = torch.optim.Adam(embed.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=80, gamma=0.5)
    window = []
    for episode in range(1, n_episodes + 1):
        support, query, y = train_tasks.episode()
        loss, acc = proto_loss(embed, support, query, y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        window.append(loss.item())
        if episode % 60 == 0:
            print(f"episode {episode} loss {sum(window) / len(window):.4f} test acc {test(embed, test_tasks):.4f}")
            window = []


if __name__ == "__main__":
    main()
