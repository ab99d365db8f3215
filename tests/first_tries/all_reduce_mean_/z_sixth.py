# mistakes: divides-by-holders, frozen-gets-gradient
# lines: 27, 21
# hidden:
import torch


class _Vote:
    """이 매개변수에 그레이디언트를 낸 rank가 몇인지 센다."""

    def __init__(self, dist):
        self.dist = dist

    def count(self, has_grad, device):
        ballot = torch.tensor([1.0 if has_grad else 0.0], device=device)
        self.dist.all_reduce(ballot)
        return max(ballot.item(), 1.0)


def all_reduce_mean_(params, dist) -> None:
    vote = _Vote(dist)
    for p in params:
        contributors = vote.count(p.grad is not None, p.device)
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        with torch.no_grad():
            dist.all_reduce(p.grad)
            p.grad.div_(contributors)
