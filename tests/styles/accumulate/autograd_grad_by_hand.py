import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps")
    params = list(model.parameters())
    batches = list(micro_batches)
    num = 0
    for s in range(0, len(batches), accum_steps):
        window = batches[s:s + accum_steps]
        sums = [torch.zeros_like(p) for p in params]
        for xb, yb in window:
            grads = torch.autograd.grad(loss_fn(model(xb), yb), params)
            for acc, g in zip(sums, grads):
                acc += g
        for p, acc in zip(params, sums):
            p.grad = acc / len(window)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(params, max_norm)
        opt.step()
        num += 1
        for p in params:
            p.grad = None
    return num
