# mistakes: uses-stale-gradient, zero-norm-ignored
# lines: 19, 22
# hidden:
import torch


def _gradients(model, loss_fn, bucket):
    n_all = sum(len(xb) for xb, _ in bucket)
    mean = 0.0
    for xb, yb in bucket:
        share = len(xb) / n_all
        loss = loss_fn(model(xb), yb) * share
        loss.backward()
        mean += loss.item()
    return mean


def _update(model, sam, loss_fn, bucket, max_norm):
    value = _gradients(model, loss_fn, bucket)
    sam.first_step(zero_grad=True)
    _gradients(model, loss_fn, bucket)
    if max_norm:
        params = [p for group in sam.param_groups for p in group["params"]]
        torch.nn.utils.clip_grad_norm_(params, max_norm)
    sam.second_step(zero_grad=True)
    return value


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    losses, bucket = [], []
    for pair in micro_batches:
        bucket.append(pair)
        if len(bucket) == accum_steps:
            losses.append(_update(model, sam, loss_fn, bucket, max_norm))
            bucket = []
    if bucket:
        losses.append(_update(model, sam, loss_fn, bucket, max_norm))
    return losses
