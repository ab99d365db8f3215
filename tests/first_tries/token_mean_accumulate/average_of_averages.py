# mistakes: empty-window-steps, ignores-ignore-index, mean-of-means
# lines: 9, 13, 14
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    micro_batches = list(micro_batches)
    accum_steps = len(micro_batches)
    opt.zero_grad()
    total_loss = 0.0
    for x, y in micro_batches:
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
        loss = loss / accum_steps
        loss.backward()
        total_loss += loss.item()
    opt.step()
    return total_loss
