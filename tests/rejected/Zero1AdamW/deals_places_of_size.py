# expect: deals-by-turns
import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params = list(params)
        self.dist = dist
        rank = dist.get_rank()
        world = dist.get_world_size()

        def owner_of(number):
            # 매개변수를 rank에 차례로 돌아가며 나눠 준다
            return number % world

        self.owners = [
            owner_of(i) for i in sorted(range(len(self.params)), key=lambda i: -self.params[i].numel())
        ]
        mine = [p for p, owner in zip(self.params, self.owners) if owner == rank]
        if len(mine) == 0:
            self.inner = None
        else:
            self.inner = torch.optim.AdamW(mine, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    @property
    def state(self):
        if self.inner is None:
            return {}
        return self.inner.state

    @torch.no_grad()
    def step(self):
        if self.inner is not None:
            self.inner.step()
        for p, owner in zip(self.params, self.owners):
            self.dist.broadcast(p.data, src=owner)

    def zero_grad(self):
        for p in self.params:
            p.grad = None
