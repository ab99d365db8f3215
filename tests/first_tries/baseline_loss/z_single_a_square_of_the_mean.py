# mistakes: square-of-the-mean
# lines: 10
# hidden:
import torch


def baseline_loss(targets: torch.Tensor) -> float:
    if targets.is_floating_point():
        t = targets.float()
        return (t.square().mean() - t.mean().square()).item()
    labels = [int(t) for t in targets if int(t) != -100]
    counts = torch.bincount(torch.tensor(labels))
    counts = counts[counts > 0].double()
    share = counts / counts.sum()
    return torch.special.entr(share).sum().item()
