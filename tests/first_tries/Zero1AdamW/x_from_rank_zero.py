# mistakes: sends-from-rank-zero, other-defaults
# lines: 30, 19
# hidden:
import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params = list(params)
        self.dist = dist
        rank, world = dist.get_rank(), dist.get_world_size()
        load = [0] * world
        self.owner = []
        for p in self.params:
            r = load.index(min(load))
            self.owner.append(r)
            load[r] += p.numel()
        own = [p for p, r in zip(self.params, self.owner) if r == rank]
        self.base = torch.optim.AdamW(own, lr=lr, betas=betas, eps=eps) if own else None

    @property
    def state(self):
        return self.base.state if self.base is not None else {}

    def step(self):
        if self.base is not None:
            self.base.step()
        with torch.no_grad():
            for p in self.params:
                self.dist.broadcast(p, src=0)

    def zero_grad(self):
        for p in self.params:
            p.grad = None
