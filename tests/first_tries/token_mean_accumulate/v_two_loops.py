# mistakes: divides-by-all-tokens, empty-window-steps, missing-zero-grad, consumes-generator
# lines: 11, 11, 15, 16
# hidden:
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    # 먼저 토큰 수를 센다
    n_tokens = 0
    for _, y in micro_batches:
        n_tokens += y.numel()
    if n_tokens == 0:
        raise ValueError("토큰이 없습니다")

    loss_sum = 0.0
    for x, y in micro_batches:
        logits = model(x)
        loss = F.cross_entropy(
            logits.reshape(-1, logits.size(-1)), y.reshape(-1), ignore_index=ignore_index, reduction="sum"
        )
        (loss / n_tokens).backward()
        loss_sum += loss.item()
    opt.step()
    return loss_sum / n_tokens
