import torch
from torch.optim import AdamW


def shares(params, world):
    """가장 큰 것부터, 가장 가벼운 rank에."""
    bins = [[] for _ in range(world)]
    for p in sorted(params, key=lambda q: q.numel())[::-1]:
        min(bins, key=lambda b: sum(q.numel() for q in b)).append(p)
    return bins


class Zero1AdamW(AdamW):
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.everything = list(params)
        self.dist = dist
        self.bins = shares(self.everything, dist.get_world_size())
        mine = self.bins[dist.get_rank()]
        # 빈 그룹은 dict로 주면 받아 준다
        super().__init__(
            [{"params": mine}], lr=lr, betas=betas, eps=eps, weight_decay=weight_decay
        )

    def step(self):
        super().step()
        for rank, members in enumerate(self.bins):
            for p in members:
                self.dist.broadcast(p.data, src=rank)

    def zero_grad(self):
        for p in self.everything:
            p.grad = None
