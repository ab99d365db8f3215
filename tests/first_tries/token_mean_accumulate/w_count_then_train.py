# mistakes: consumes-generator, empty-window-steps|other-exception, missing-zero-grad, ignores-ignore-index
# lines: 16, 15, 15, 18
# hidden:
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    # 1) 유효한 토큰을 먼저 모두 센다
    n_tokens = 0
    for x, y in micro_batches:
        n_tokens += (y != ignore_index).sum().item()

    # 2) 합으로 구해서 전체 토큰 수로 나눈다
    total_loss = 0.0
    for x, y in micro_batches:
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        (loss / n_tokens).backward()
        total_loss += loss.item()
    opt.step()
    return total_loss / n_tokens
