# mistakes: missing-autocast, missing-unscale|clip-before-unscale, divides-loss-twice
# lines: 13, 23, 31
# hidden:
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    gradient_accumulation_steps = len(micro_batches)
    losses = []

    opt.zero_grad()
    for inputs, labels in micro_batches:
        with torch.autocast("cuda", dtype=dtype):
            logits = model(inputs)
            loss = loss_fn(logits, labels) / gradient_accumulation_steps
        losses.append(loss.item())
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()

    return sum(losses) / len(losses)
