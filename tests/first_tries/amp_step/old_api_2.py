# mistakes: deprecated-amp, clip-before-unscale|missing-unscale, returns-scaled-loss
# lines: 10, 22, 29
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    if xb.is_cuda:
        ctx = torch.cuda.amp.autocast(dtype=dtype)
    else:
        ctx = torch.cpu.amp.autocast(dtype=dtype)

    opt.zero_grad()
    with ctx:
        out = model(xb)
        loss = loss_fn(out, yb)

    if scaler is not None:
        loss = scaler.scale(loss)
    loss.backward()

    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    if scaler is not None:
        scaler.step(opt)
        scaler.update()
    else:
        opt.step()
    return loss.item()
