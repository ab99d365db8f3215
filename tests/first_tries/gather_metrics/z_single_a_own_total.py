# mistakes: own-total
# lines: 13
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    counts = torch.tensor([int(correct), int(total)], dtype=torch.int64)
    dist.all_reduce(counts)
    if counts[1].item() == 0:
        raise ValueError("no samples")
    everything = int(total) * dist.get_world_size()
    return counts[0].item() / everything if everything else 0.0
