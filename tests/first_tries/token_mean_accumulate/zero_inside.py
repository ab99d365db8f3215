# mistakes: zero-grad-every-micro-batch, returns-mean-of-means
# lines: 14, 21
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    micro_batches = list(micro_batches)
    valid = sum((y != ignore_index).sum().item() for x, y in micro_batches)
    if not valid:
        raise ValueError("empty window")

    losses = []
    for x, y in micro_batches:
        opt.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")
        (loss / valid).backward()
        tokens = (y != ignore_index).sum().item()
        losses.append(loss.item() / tokens if tokens else 0.0)
    opt.step()
    return sum(losses) / len(losses)
