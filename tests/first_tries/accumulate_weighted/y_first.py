# mistakes: count-not-reset, mixes-given-gradients
# lines: 18, 21
# hidden:
def _apply(model, opt, count):
    # 합으로 쌓인 그레이디언트를 평균으로
    for p in model.parameters():
        if p.grad is not None:
            p.grad.div_(count)
    opt.step()
    model.zero_grad()


def accumulate_weighted(model, opt, loss_fn, micro_batches, accum_steps) -> int:
    if accum_steps < 1:
        raise ValueError(accum_steps)

    n_updates = 0
    n_samples = 0
    k = 0

    for k, (xb, yb) in enumerate(micro_batches, start=1):
        size = xb.shape[0]
        loss = loss_fn(model(xb), yb)
        (loss * size).backward()
        n_samples += size

        if k % accum_steps == 0:
            _apply(model, opt, n_samples)
            n_updates += 1

    if k % accum_steps != 0:
        _apply(model, opt, n_samples)
        n_updates += 1

    return n_updates
