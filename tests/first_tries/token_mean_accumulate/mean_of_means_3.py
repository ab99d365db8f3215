# mistakes: empty-window-steps, ignores-ignore-index, mean-of-means, returns-last-loss
# lines: 7, 11, 12, 14
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    micro_batches = list(micro_batches)
    opt.zero_grad()
    for x, y in micro_batches:
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        (loss / len(micro_batches)).backward()
    opt.step()
    return loss.item()
