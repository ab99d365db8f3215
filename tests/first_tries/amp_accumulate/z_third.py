# mistakes: no-division, missing-unscale|clip-before-unscale
# lines: 22, 30
# hidden:
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    def forward(xb, yb):
        with torch.autocast(device_type=xb.device.type, dtype=dtype):
            return loss_fn(model(xb), yb)

    def clip():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    opt.zero_grad()
    losses = []
    for xb, yb in micro_batches:
        loss = forward(xb, yb)
        losses.append(loss.item())
        if scaler is None:
            loss.backward()
        else:
            scaler.scale(loss).backward()

    if scaler is None:
        clip()
        opt.step()
    else:
        clip()
        scaler.step(opt)
        scaler.update()
    return sum(losses) / len(losses)
