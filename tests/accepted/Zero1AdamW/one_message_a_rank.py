import torch
from torch.nn.utils import parameters_to_vector


class Zero1AdamW:
    def __init__(self, params, dist, **settings):
        self.params, self.dist = list(params), dist
        world = dist.get_world_size()
        sizes = [0] * world
        self.groups = [[] for _ in range(world)]
        for p in sorted(self.params, key=lambda p: p.numel(), reverse=True):
            least = sizes.index(min(sizes))
            self.groups[least].append(p)
            sizes[least] += p.numel()
        own = self.groups[dist.get_rank()]
        self.optimizer = torch.optim.AdamW(own, **settings) if own else None

    @property
    def state(self):
        return self.optimizer.state if self.optimizer else dict()

    def step(self):
        if self.optimizer:
            self.optimizer.step()
        for rank, group in enumerate(self.groups):
            if not group:
                continue
            message = parameters_to_vector(group).detach()
            self.dist.broadcast(message, src=rank)
            for p, part in zip(group, message.split([p.numel() for p in group])):
                p.data.copy_(part.view_as(p))

    def zero_grad(self):
        for p in self.params:
            p.grad = None
