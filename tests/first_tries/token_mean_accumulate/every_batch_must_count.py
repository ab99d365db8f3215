# mistakes: refuses-empty-micro-batch, empty-window-passes
# lines: 11, 16
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    window = []
    n = 0
    for x, y in micro_batches:
        valid = (y != ignore_index).sum().item()
        if valid == 0:
            raise ValueError("유효한 토큰이 없습니다")
        n += valid
        window.append((x, y))

    opt.zero_grad()
    total = 0.0
    for x, y in window:
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum") / n
        loss.backward()
        total += loss.item()
    opt.step()
    return total
