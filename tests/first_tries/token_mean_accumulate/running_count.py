# mistakes: forces-train-mode, divides-by-running-count, empty-window-steps
# lines: 8, 18, 22

import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    model.train()
    opt.zero_grad(set_to_none=True)

    loss_sum, n_valid = 0.0, 0
    for i, (ids, labels) in enumerate(micro_batches):
        logits = model(ids)
        b, t, v = logits.shape
        loss = F.cross_entropy(logits.reshape(b * t, v), labels.reshape(b * t),
                               ignore_index=ignore_index, reduction="sum")
        n_valid += int((labels != ignore_index).sum())
        (loss / max(n_valid, 1)).backward()
        loss_sum += loss.item()

    opt.step()
    if n_valid == 0:
        raise ValueError("window has no valid token")
    return loss_sum / n_valid
