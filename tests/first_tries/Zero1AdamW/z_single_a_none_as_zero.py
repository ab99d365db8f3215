# mistakes: none-as-zero
# lines: 36
# hidden:
import torch


def _assign(params, world):
    loads = [0] * world
    owners = []
    for p in params:
        target = loads.index(min(loads))
        loads[target] += p.numel()
        owners.append(target)
    return owners


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params = list(params)
        self.dist = dist
        self.rank = dist.get_rank()
        self.owners = _assign(self.params, dist.get_world_size())
        self.mine = [p for p, o in zip(self.params, self.owners) if o == self.rank]
        self.opt = None
        if self.mine:
            self.opt = torch.optim.AdamW(self.mine, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    @property
    def state(self):
        return self.opt.state if self.opt else {}

    def step(self):
        # 쓰이지 않은 매개변수의 몫은 0입니다
        for p in self.mine:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
        if self.opt:
            self.opt.step()
        for p, o in zip(self.params, self.owners):
            self.dist.broadcast(p.data, src=o)

    def zero_grad(self):
        for p in self.params:
            p.grad = None
