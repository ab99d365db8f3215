# mistakes: deals-by-turns, other-defaults, clears-own-only
# lines: 15, 19, 37
# hidden:
import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.dist = dist
        self.params = list(params)
        world = dist.get_world_size()
        rank = dist.get_rank()

        # 매개변수마다 주인 rank
        self.owner = [i % world for i in range(len(self.params))]
        self.mine = [p for p, who in zip(self.params, self.owner) if who == rank]
        self.inner = None
        if self.mine:
            self.inner = torch.optim.AdamW(
                self.mine, lr=lr, betas=betas, weight_decay=weight_decay
            )

    @property
    def state(self):
        return {} if self.inner is None else self.inner.state

    @torch.no_grad()
    def step(self):
        if self.inner is not None:
            self.inner.step()
        # 주인이 고친 값을 모두에게
        for p, who in zip(self.params, self.owner):
            self.dist.broadcast(p.data, src=who)

    def zero_grad(self):
        if self.inner is not None:
            self.inner.zero_grad(set_to_none=True)
