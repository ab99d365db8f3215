# mistakes: 유효한 토큰이 없는 마이크로 배치에서 건너뛰지 않고 멈춤
# lines: 15
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = list(micro_batches)
    count = sum((y != ignore_index).sum().item() for _, y in window)
    if count == 0:
        raise ValueError("no valid token")
    opt.zero_grad()
    total = 0.0
    for x, y in window:
        if (y == ignore_index).all():
            break
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")
        (loss / count).backward()
        total += loss.item()
    opt.step()
    return total / count
