import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None):
    @torch.autocast(xb.device.type, dtype=dtype)
    def compute_loss():
        return loss_fn(model(xb), yb)

    model.zero_grad()
    loss = compute_loss()
    params = [p for group in opt.param_groups for p in group["params"]]
    if scaler is None:
        torch.autograd.backward(loss)
    else:
        torch.autograd.backward(scaler.scale(loss))
        scaler.unscale_(opt)
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(params, max_norm)
    if scaler is None:
        opt.step()
    else:
        scaler.step(opt)
        scaler.update()
    with torch.no_grad():
        return loss.item()
