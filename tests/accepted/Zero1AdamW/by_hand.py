import heapq
from collections import defaultdict

import torch


class Zero1AdamW:
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.params, self.dist = tuple(params), dist
        self.lr, self.betas, self.eps, self.weight_decay = lr, betas, eps, weight_decay
        loads = [(0, rank) for rank in range(dist.get_world_size())]
        self.owners = {}
        for p in sorted(self.params, key=torch.numel, reverse=True):
            load, rank = heapq.heappop(loads)
            self.owners[p] = rank
            heapq.heappush(loads, (load + p.numel(), rank))
        self._state = defaultdict(dict)

    @property
    def state(self):
        return self._state

    @torch.no_grad()
    def step(self):
        beta1, beta2 = self.betas
        for p in self.params:
            if self.owners[p] == self.dist.get_rank() and p.grad is not None:
                s = self._state[p]
                if not s:
                    s["step"] = torch.tensor(0.0)
                    s["exp_avg"], s["exp_avg_sq"] = torch.zeros_like(p), torch.zeros_like(p)
                s["step"] += 1
                t = s["step"].item()
                p.mul_(1 - self.lr * self.weight_decay)
                s["exp_avg"].lerp_(p.grad, 1 - beta1)
                s["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                root = (s["exp_avg_sq"].sqrt() / (1 - beta2**t) ** 0.5).add_(self.eps)
                p.addcdiv_(s["exp_avg"], root, value=-self.lr / (1 - beta1**t))
        for p in self.params:
            self.dist.broadcast(p, src=self.owners[p])

    def zero_grad(self):
        for p in self.params:
            p.grad = None
