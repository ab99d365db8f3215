import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    share = 1 / len(micro_batches)
    scale = (lambda loss: loss) if scaler is None else scaler.scale
    opt.zero_grad(set_to_none=False)
    total, rest = 0.0, list(micro_batches)
    while rest:
        inputs, targets = rest.pop(0)
        with torch.amp.autocast(inputs.device.type, dtype=dtype):
            loss = share * loss_fn(model(inputs), targets)
        scale(loss).backward()
        total += float(loss.detach())
    if scaler is not None:
        scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_([p for group in opt.param_groups for p in group["params"]], max_norm)
    opt.step() if scaler is None else scaler.step(opt)
    if scaler is not None:
        scaler.update()
    return total
