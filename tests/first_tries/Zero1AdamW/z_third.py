# mistakes: deals-by-turns, other-defaults, clears-own-only
# lines: 22, 18, 36
# hidden:
import torch


class Zero1AdamW:
    """AdamW의 상태를 rank들이 나누어 갖는 옵티마이저입니다(ZeRO-1)."""

    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.dist = dist
        self.params = list(params)
        self.owners = self._assign_owners(dist.get_world_size())
        rank = dist.get_rank()
        self.mine = [p for p, owner in zip(self.params, self.owners) if owner == rank]
        self.inner = None
        if self.mine:
            self.inner = torch.optim.AdamW(self.mine, lr=lr, eps=eps, weight_decay=weight_decay)

    def _assign_owners(self, world_size):
        # 차례대로 하나씩 돌아가며 맡긴다
        return [i % world_size for i in range(len(self.params))]

    @property
    def state(self):
        return self.inner.state if self.inner is not None else {}

    @torch.no_grad()
    def step(self):
        if self.inner is not None:
            self.inner.step()
        for p, owner in zip(self.params, self.owners):
            self.dist.broadcast(p.data, src=owner)

    def zero_grad(self):
        for p in self.mine:
            p.grad = None
