import itertools

import torch


def _pass(model, loss_fn, window, samples):
    """Gradients and mean loss of a window, one micro-batch after the other."""
    mean = 0.0
    for xb, yb in window:
        share = yb.shape[0] / samples
        loss = loss_fn(model(xb), yb)
        loss.backward(torch.full_like(loss, share))
        mean += share * loss.detach().item()
    return mean


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    numbered = enumerate(micro_batches)
    losses = []
    for _, group in itertools.groupby(numbered, key=lambda pair: pair[0] // accum_steps):
        window = [batch for _, batch in group]
        samples = sum(yb.shape[0] for _, yb in window)
        sam.zero_grad()
        losses.append(_pass(model, loss_fn, window, samples))
        sam.first_step(zero_grad=True)
        _pass(model, loss_fn, window, samples)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
    return losses
