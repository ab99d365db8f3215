# mistakes: consumes-generator, divides-by-all-tokens
# lines: 12, 13
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    opt.zero_grad(set_to_none=True)

    n_tokens = 0
    n_valid = 0
    for _, y in micro_batches:
        n_tokens += y.numel()
        n_valid += (y != ignore_index).sum().item()
    if n_valid == 0:
        raise ValueError("no valid token in this window")

    total_loss = 0.0
    for x, y in micro_batches:
        logits = model(x)
        loss = F.cross_entropy(
            logits.transpose(1, 2), y, ignore_index=ignore_index, reduction="sum"
        ) / n_tokens
        loss.backward()
        total_loss += loss.item()

    opt.step()
    return total_loss
