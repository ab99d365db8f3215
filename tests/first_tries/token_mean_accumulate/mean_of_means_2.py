# mistakes: empty-window-steps, ignores-ignore-index, mean-of-means
# lines: 10, 14, 15
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    total_loss = 0.0
    opt.zero_grad()
    for x, y in batches:
        logits = model(x)
        B, T, V = logits.shape
        loss = F.cross_entropy(logits.reshape(B * T, V), y.reshape(B * T))
        loss = loss / len(batches)
        loss.backward()
        total_loss += loss.item()
    opt.step()
    return total_loss
