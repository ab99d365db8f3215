# mistakes: forces-train-mode, divides-by-samples, other-exception, returns-tensor
# lines: 8, 19, 12, 23
import torch
from torch.nn.functional import cross_entropy


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    model.train()
    window = [(x, y) for x, y in micro_batches]
    n_valid = sum(int((y != ignore_index).sum()) for _, y in window)
    if n_valid == 0:
        raise RuntimeError("유효한 토큰이 없어요")
    n_samples = sum(len(x) for x, _ in window)

    opt.zero_grad()
    mean_loss = 0.0
    for x, y in window:
        loss = cross_entropy(model(x).transpose(1, 2), y, ignore_index=ignore_index, reduction="sum")
        loss = loss / n_samples
        loss.backward()
        mean_loss = mean_loss + loss.detach()
    opt.step()
    return mean_loss
