# mistakes: float32-counts
# lines: 12
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    def plain(value):
        return int(value.item()) if isinstance(value, torch.Tensor) else int(value)

    def reduced(*values):
        box = torch.tensor([plain(v) for v in values], dtype=torch.float32)
        dist.all_reduce(box)
        return box.tolist()

    all_correct, all_total = reduced(correct, total)
    if all_total == 0:
        raise ValueError("센 데이터가 하나도 없습니다")
    return all_correct / all_total
