# mistakes: sums-gradients-again
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
        self.owners = _assign(self.params, dist.get_world_size())
        mine = []
        for p, owner in zip(self.params, self.owners):
            if owner == dist.get_rank():
                mine.append(p)
        self.adamw = torch.optim.AdamW(mine, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay) if mine else None

    @property
    def state(self):
        return self.adamw.state if self.adamw is not None else {}

    def step(self):
        # ZeRO-1: reduce -> 자기 몫 업데이트 -> broadcast
        for p in self.params:
            if p.grad is not None:
                self.dist.all_reduce(p.grad)
        if self.adamw is not None:
            self.adamw.step()
        for p, owner in zip(self.params, self.owners):
            self.dist.broadcast(p.data, src=owner)

    def zero_grad(self):
        for p in self.params:
            p.grad = None
