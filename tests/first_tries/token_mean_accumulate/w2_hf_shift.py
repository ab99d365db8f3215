# mistakes: consumes-generator, shifts-targets
# lines: 10, 18
# hidden:
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    num_tokens = 0
    for _, y in micro_batches:
        num_tokens += (y != ignore_index).sum().item()
    if num_tokens == 0:
        raise ValueError("no valid target tokens in this window")

    loss_sum = 0.0
    for x, y in micro_batches:
        logits = model(x)
        shift_logits = logits[:, :-1, :].reshape(-1, logits.size(-1))
        shift_labels = y[:, 1:].reshape(-1)
        loss = F.cross_entropy(shift_logits, shift_labels, ignore_index=ignore_index, reduction="sum")
        loss = loss / num_tokens
        loss.backward()
        loss_sum += loss.item()

    opt.step()
    opt.zero_grad()
    return loss_sum
