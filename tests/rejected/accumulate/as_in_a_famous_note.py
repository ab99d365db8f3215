# expect: steps-on-first
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError("accum_steps must be positive")
    n_updates = 0
    opt.zero_grad()
    for i, (inputs, labels) in enumerate(micro_batches):
        outputs = model(inputs)
        loss = loss_fn(outputs, labels) / accum_steps
        loss.backward()
        if i % accum_steps == 0:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            n_updates += 1
    return n_updates
