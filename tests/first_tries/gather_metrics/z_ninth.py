# mistakes: writes-into-counts
# lines: 11
# hidden:
import torch


def gather_metrics(correct, total, dist) -> float:
    def summed_over_ranks(count):
        # 정수든 텐서든 원소 하나짜리 int64 텐서로 맞춘다
        box = torch.as_tensor(count, dtype=torch.int64).reshape(1)
        dist.all_reduce(box)
        return box.item()

    all_correct = summed_over_ranks(correct)
    all_total = summed_over_ranks(total)
    if all_total == 0:
        raise ValueError("모든 rank의 total이 0입니다")
    return all_correct / all_total
