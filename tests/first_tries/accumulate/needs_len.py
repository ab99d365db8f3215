# mistakes: wrong-exception, needs-len, leftover-divided-by-full
# lines: 7, 8, 13
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    assert accum_steps >= 1, "accum_steps must be at least 1"
    n_batches = len(micro_batches)
    count = 0
    opt.zero_grad()
    for step, batch in enumerate(micro_batches, start=1):
        inputs, targets = batch
        loss = loss_fn(model(inputs), targets) / accum_steps
        loss.backward()
        if step % accum_steps == 0 or step == n_batches:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            count += 1
    return count
