# mistakes: fills-with-zeros, state-by-number, other-defaults
# lines: 43, 31, 25
# hidden:
import torch


def _assign(params, world):
    """가장 가벼운 rank에 하나씩 얹는다."""
    load = [0] * world
    owner = []
    for p in params:
        r = load.index(min(load))
        load[r] += p.numel()
        owner.append(r)
    return owner


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self._all = [*params]
        self._dist = dist
        self._owner = _assign(self._all, dist.get_world_size())
        me = dist.get_rank()
        own = [p for p, r in zip(self._all, self._owner) if r == me]
        self._opt = torch.optim.AdamW(own, lr=lr, betas=betas, weight_decay=weight_decay) if own else None

    @property
    def state(self):
        if self._opt is None:
            return {}
        return self._opt.state_dict()["state"]

    @torch.no_grad()
    def step(self):
        if self._opt is not None:
            self._opt.step()
        for p, r in zip(self._all, self._owner):
            self._dist.broadcast(p.detach(), src=r)

    def zero_grad(self):
        for p in self._all:
            if p.grad is not None:
                p.grad.zero_()
