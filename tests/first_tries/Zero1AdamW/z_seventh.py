# mistakes: deals-by-turns, clears-own-only, other-defaults
# lines: 18, 35, 15
# hidden:
import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.dist = dist
        self.params = list(params)
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self.mine = [p for i, p in enumerate(self.params) if self._owner(i) == self.rank]
        # 매개변수가 rank 수보다 적으면 맡은 것이 없을 수 있다
        self.inner = torch.optim.AdamW(self.mine, lr=lr, betas=betas, eps=eps) if self.mine else None

    def _owner(self, index):
        return index % self.world

    @property
    def state(self):
        if self.inner is None:
            return {}
        return self.inner.state

    def step(self):
        if self.inner is not None:
            self.inner.step()
        for i, p in enumerate(self.params):
            self.dist.broadcast(p.data, src=self._owner(i))

    def zero_grad(self):
        if self.inner is None:
            return
        self.inner.zero_grad(set_to_none=True)
