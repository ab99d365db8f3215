import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.dist = dist
        self.params = [p for p in params]
        total, world = sum(p.numel() for p in self.params), dist.get_world_size()
        self.owner, before = {}, 0
        for p in self.params:
            middle = before + p.numel() / 2
            self.owner[p] = min(world - 1, int(middle * world / max(1, total)))
            before += p.numel()
        mine = [p for p in self.params if self.owner[p] == dist.get_rank()]
        self.inner = None
        if mine:
            self.inner = torch.optim.AdamW(mine, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    @property
    def state(self):
        return {} if self.inner is None else self.inner.state

    @torch.no_grad()
    def step(self):
        if self.inner is not None:
            self.inner.step()
        works = [self.dist.broadcast(p.data, self.owner[p], async_op=True) for p in self.params]
        for work in works:
            work.wait()

    def zero_grad(self):
        for p in self.params:
            p.grad = None
