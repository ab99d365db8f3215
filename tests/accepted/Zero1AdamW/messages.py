import torch


class Zero1AdamW(torch.optim.AdamW):
    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        self.everything, self.dist = list(params), dist
        rank, size = dist.get_rank(), dist.get_world_size()
        load, self.owner = [0] * size, []
        for p in self.everything:
            r = load.index(min(load))
            load[r] += p.numel()
            self.owner.append(r)
        own = [p for p, r in zip(self.everything, self.owner) if r == rank]
        super().__init__([{"params": own}], lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def step(self):
        super().step()
        rank, size = self.dist.get_rank(), self.dist.get_world_size()
        works = []
        for tag, (p, owner) in enumerate(zip(self.everything, self.owner)):
            if owner == rank:
                works += [self.dist.isend(p.detach(), r, tag=tag) for r in range(size) if r != rank]
            else:
                works.append(self.dist.irecv(p.detach(), owner, tag=tag))
        for w in works:
            w.wait()

    def zero_grad(self):
        for p in self.everything:
            p.grad = None
