# mistakes: empty-window-steps, ignores-ignore-index, mean-of-means, other-exception
# lines: 8, 12, 13, 8
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    window = list(micro_batches)
    opt.zero_grad()
    total = 0.0
    for x, y in window:
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
        (loss / len(window)).backward()
        total += loss.item()
    opt.step()
    return total / len(window)
