# mistakes: deals-by-turns
# lines: 21
# hidden:
import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.dist = dist
        self.params = list(params)
        rank, world = dist.get_rank(), dist.get_world_size()

        # 매개변수마다 맡을 rank를 차례로 정한다
        self.owners = self._assign(world)
        mine = [p for p, owner in zip(self.params, self.owners) if owner == rank]
        self.inner = None
        if mine:
            self.inner = torch.optim.AdamW(mine, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def _assign(self, world):
        return [position % world for position in range(len(self.params))]

    @property
    def state(self):
        if self.inner is None:
            return {}
        return self.inner.state

    def step(self):
        if self.inner is not None:
            self.inner.step()
        for p, owner in zip(self.params, self.owners):
            self.dist.broadcast(p.data, src=owner)

    def zero_grad(self):
        for p in self.params:
            p.grad = None
