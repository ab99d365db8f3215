# mistakes: unlisted(calls len on a generator), empty-window-steps, ignores-ignore-index, mean-of-means, other-exception
# lines: 9, 16, 13, 14, 17
# hidden:
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    opt.zero_grad()
    num_batches = len(micro_batches)
    total_loss = 0.0
    for x, y in micro_batches:
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        (loss / num_batches).backward()
        total_loss += loss.item()
    opt.step()
    return total_loss / num_batches
