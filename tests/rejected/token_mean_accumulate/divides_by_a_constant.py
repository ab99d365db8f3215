# expect: divides-by-a-constant
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    batches = list(micro_batches)
    n = sum(int((y != ignore_index).sum()) for _, y in batches)
    if n == 0:
        raise ValueError("no token")
    opt.zero_grad()
    total = 0.0
    for x, y in batches:
        summed = F.cross_entropy(model(x).transpose(1, 2), y, ignore_index=ignore_index, reduction="sum")
        (summed / 4).backward()
        total += summed.item()
    opt.step()
    return total / n
