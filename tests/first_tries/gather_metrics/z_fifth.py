# mistakes: writes-into-counts
# lines: 10
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    def over_all_ranks(count):
        # 소수로 바꾸면 큰 수를 정확히 못 세니까 int64
        box = torch.as_tensor(count, dtype=torch.int64)
        dist.all_reduce(box)
        return box.item()

    everyone_correct = over_all_ranks(correct)
    everyone_total = over_all_ranks(total)
    if everyone_total == 0:
        raise ValueError("데이터가 하나도 없습니다")
    return everyone_correct / everyone_total
