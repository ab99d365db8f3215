# mistakes: weights-by-samples
# lines: 17
# hidden:
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = [(x, y) for x, y in micro_batches if (y != ignore_index).any()]
    if not window:
        raise ValueError("유효한 토큰이 없습니다.")
    n_samples = sum(len(x) for x, _ in window)
    opt.zero_grad()
    value = 0.0
    for x, y in window:
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1), ignore_index=ignore_index)
        weighted = loss * len(x) / n_samples
        weighted.backward()
        value += weighted.item()
    opt.step()
    opt.zero_grad()
    return value
