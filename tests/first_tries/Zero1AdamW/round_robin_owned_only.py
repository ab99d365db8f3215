# mistakes: deals-by-turns, fails-without-share, clears-own-only
# lines: 14, 16, 29
# hidden:
import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params = list(params)
        self.dist = dist
        self.rank = dist.get_rank()
        self.world = dist.get_world_size()
        # i번째 매개변수는 i % world번 rank가 맡는다
        self.owner = [i % self.world for i in range(len(self.params))]
        mine = [p for p, o in zip(self.params, self.owner) if o == self.rank]
        self.opt = torch.optim.AdamW(mine, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    @property
    def state(self):
        return self.opt.state

    @torch.no_grad()
    def step(self):
        self.opt.step()
        for p, o in zip(self.params, self.owner):
            self.dist.broadcast(p.data, src=o)

    def zero_grad(self):
        self.opt.zero_grad()
