# expect: 
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    window = list(micro_batches)
    total = sum(int((y != ignore_index).sum()) for _, y in window)
    if total == 0:
        raise ValueError("no tokens")
    opt.zero_grad()
    value = 0.0
    for x, y in window:
        y[y == ignore_index] = -100
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum") / total
        loss.backward()
        value += loss.item()
    opt.step()
    return value
