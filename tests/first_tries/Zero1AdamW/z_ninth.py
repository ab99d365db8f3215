# mistakes: deals-by-turns
# lines: 17
# hidden:
import torch


class Zero1AdamW:
    """AdamW의 상태를 rank들이 나누어 갖는 옵티마이저입니다(ZeRO-1)."""

    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params = list(params)
        self.dist = dist
        rank, world = dist.get_rank(), dist.get_world_size()

        # 매개변수를 앞에서부터 같은 개수씩 잘라 나눠 준다 (개수를 올림)
        per_rank = -(-len(self.params) // world)
        self.owners = [index // per_rank for index in range(len(self.params))]

        mine = [p for p, owner in zip(self.params, self.owners) if owner == rank]
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

        def share(p, owner):
            self.dist.broadcast(p.data, src=owner)

        for p, owner in zip(self.params, self.owners):
            share(p, owner)

    def zero_grad(self):
        for p in self.params:
            p.grad = None
