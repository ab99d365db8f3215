# mistakes: mean-of-means, ignores-ignore-index, returns-last-loss, empty-window-steps
# lines: 15, 14, 18, 7

import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    batches = list(micro_batches)
    accum = len(batches)

    opt.zero_grad()
    for x, y in batches:
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
        loss = loss / accum
        loss.backward()
    opt.step()
    return loss.item()
