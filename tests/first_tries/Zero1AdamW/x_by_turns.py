# mistakes: deals-by-turns, fails-without-share, clears-own-only
# lines: 13, 14, 26
# hidden:
import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params = list(params)
        self.dist = dist
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        self.mine = [p for i, p in enumerate(self.params) if i % self.world == self.rank]
        self.opt = torch.optim.AdamW(self.mine, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    @property
    def state(self):
        return self.opt.state

    def step(self):
        self.opt.step()
        for i, p in enumerate(self.params):
            self.dist.broadcast(p.data, src=i % self.world)

    def zero_grad(self):
        self.opt.zero_grad()
