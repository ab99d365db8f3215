import torch


def baseline_loss(targets):
    if targets.is_floating_point():
        squares, mean = (targets * targets).mean(), targets.mean()
        return max(0.0, (squares - mean**2).item())
    _, counts = torch.unique(targets[targets != -100], return_counts=True)
    return torch.special.entr(counts / counts.sum()).sum().item()
