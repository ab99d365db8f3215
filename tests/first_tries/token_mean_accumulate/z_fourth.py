# mistakes: ignores-ignore-index, empty-window-steps, zero-grad-every-micro-batch
# lines: 9, 14, 19
# hidden:
import torch
import torch.nn.functional as F


def _유효한_토큰_수(batches):
    return sum(int((y != -100).sum()) for _, y in batches)


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    if len(batches) == 0:
        raise ValueError("마이크로 배치가 없습니다")
    n_tokens = _유효한_토큰_수(batches)

    def backward_one(x, y):
        opt.zero_grad()
        logits = model(x)
        vocab = logits.shape[-1]
        summed = F.cross_entropy(
            logits.reshape(-1, vocab), y.reshape(-1), ignore_index=ignore_index, reduction="sum"
        )
        (summed / n_tokens).backward()
        return summed.item()

    total = sum(backward_one(x, y) for x, y in batches)
    opt.step()
    opt.zero_grad()
    return total / n_tokens
