# mistakes: deals-by-turns
# lines: 23
# hidden:
import torch


class Zero1AdamW:
    """AdamW의 상태를 rank들이 나누어 갖는 옵티마이저입니다(ZeRO-1)."""

    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.everything = list(params)  # 제너레이터일 수 있다
        self.dist = dist
        self.me = dist.get_rank()
        self.world = dist.get_world_size()
        mine = [p for i, p in enumerate(self.everything) if self._owner(i) == self.me]
        # 맡은 것이 하나도 없으면 AdamW를 만들 수 없다
        self.inner = None
        if mine:
            self.inner = torch.optim.AdamW(mine, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def _owner(self, index):
        """카드를 나누듯이 한 장씩 돌린다."""
        return index % self.world

    @property
    def state(self):
        return {} if self.inner is None else self.inner.state

    def step(self):
        if self.inner is not None:
            self.inner.step()
        with torch.no_grad():
            for i, p in enumerate(self.everything):
                self.dist.broadcast(p.data, src=self._owner(i))

    def zero_grad(self):
        for p in self.everything:
            p.grad = None
