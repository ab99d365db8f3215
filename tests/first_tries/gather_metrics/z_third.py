# mistakes: float32-counts, writes-into-counts, nothing-passes
# lines: 11, 10, 21
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    def prepare(count):
        if torch.is_tensor(count):
            return count
        return torch.tensor(float(count))

    def summed(count):
        box = prepare(count)
        dist.all_reduce(box)
        return box.item()

    all_correct = summed(correct)
    all_total = summed(total)
    if all_total == 0:
        return 0.0
    return all_correct / all_total
