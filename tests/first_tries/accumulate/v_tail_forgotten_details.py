# mistakes: wrong-exception, leftover-divided-by-full, fails-on-empty, leftover-not-clipped, leftover-not-counted
# lines: 8, 12, 22, 23, 24
# hidden:
from torch import nn


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    assert accum_steps >= 1, "accum_steps must be >= 1"
    opt.zero_grad()
    n_updates = 0
    for count, (inputs, targets) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(inputs), targets) / accum_steps
        loss.backward()
        if count % accum_steps == 0:
            if max_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            n_updates += 1

    # 남은 구간
    if count % accum_steps != 0:
        opt.step()
        opt.zero_grad()
    return n_updates
