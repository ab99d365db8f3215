import torch


def gather_metrics(correct, total, dist):
    counts = torch.zeros(2, dtype=torch.long)
    counts[0] += int(correct)
    counts[1] += int(total)
    dist.reduce(counts, dst=0)
    answer = [None]
    if dist.get_rank() == 0 and counts[1] > 0:
        answer = [counts[0].item() / counts[1].item()]
    dist.broadcast_object_list(answer, src=0)
    if answer[0] is None:
        raise ValueError("no data on any rank")
    return answer[0]
