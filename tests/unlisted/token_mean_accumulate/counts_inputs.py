# mistakes: 정답 y가 아니라 입력 x에서 유효한 토큰을 셈
# lines: 10
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    batches = list(micro_batches)
    n = 0
    for x, y in batches:
        n += int((x != ignore_index).sum())
    if not any((y != ignore_index).any() for _, y in batches):
        raise ValueError("유효한 토큰이 없어요")
    opt.zero_grad()
    total = 0.0
    for x, y in batches:
        logits = model(x)
        s = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")
        (s / n).backward()
        total += s.item()
    opt.step()
    return total / n
