# mistakes: steps-on-first, drops-leftover|leaks-leftover|leaves-gradients, no-accum-check
# lines: 13, 19, 8
# hidden:
from torch.nn.utils import clip_grad_norm_


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    updates = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        if i % accum_steps == 0:
            if max_norm is not None:
                clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            updates += 1
    return updates
