# mistakes: deals-by-turns, clears-own-only
# lines: 13, 32
# hidden:
import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params = list(params)
        self.dist = dist
        rank, world = dist.get_rank(), dist.get_world_size()
        # 차례로 돌아가며 나누어 갖는다
        self.owner = [i % world for i in range(len(self.params))]
        mine = [p for p, o in zip(self.params, self.owner) if o == rank]
        # AdamW는 빈 리스트를 받지 않는다
        self.inner = None
        if mine:
            self.inner = torch.optim.AdamW(mine, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    @property
    def state(self):
        return self.inner.state if self.inner is not None else {}

    def step(self):
        if self.inner is not None:
            self.inner.step()
        for p, o in zip(self.params, self.owner):
            self.dist.broadcast(p.data, src=o)

    def zero_grad(self):
        if self.inner is not None:
            self.inner.zero_grad(set_to_none=True)
