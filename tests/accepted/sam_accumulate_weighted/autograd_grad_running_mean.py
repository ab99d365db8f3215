from itertools import islice, tee

import torch


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    params = [p for p in model.parameters() if p.requires_grad]

    def mean_over_samples(stream):
        seen, mean_loss, mean_grads = 0, 0.0, [torch.zeros_like(p) for p in params]
        for xb, yb in stream:
            loss = loss_fn(model(xb), yb)
            seen += len(xb)
            share = len(xb) / seen
            mean_loss += share * (loss.item() - mean_loss)
            for mean, grad in zip(mean_grads, torch.autograd.grad(loss, params)):
                mean.lerp_(grad, share)
        return seen, mean_loss, mean_grads

    first, second = tee(micro_batches)
    history = []
    while True:
        seen, loss, grads = mean_over_samples(islice(first, accum_steps))
        if not seen:
            return history
        for p, grad in zip(params, grads):
            p.grad = grad
        sam.first_step()
        _, _, grads = mean_over_samples(islice(second, accum_steps))
        if max_norm is not None:
            norm = torch.cat([grad.flatten() for grad in grads]).norm()
            grads = [grad * (max_norm / norm).clamp(max=1) for grad in grads]
        for p, grad in zip(params, grads):
            p.grad = grad
        sam.second_step(zero_grad=True)
        history.append(loss)
