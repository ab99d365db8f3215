# mistakes: ignores-ignore-index, mean-of-means, empty-window-steps
# lines: 14, 15, 11
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    n = len(batches)
    running = 0.0

    opt.zero_grad()
    for x, y in batches:
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
        loss = loss / n
        loss.backward()
        running += loss.item()
    opt.step()
    return running
