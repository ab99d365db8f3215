# mistakes: ignores-dtype, returns-scaled-loss, step-without-scaler, clips-only-with-scaler
# lines: 11, 17, 22, 26
# hidden:
import torch


def amp_step(model, opt, loss_fn, xb, yb, *, dtype, scaler=None, max_norm=None) -> float:
    device_type = xb.device.type
    opt.zero_grad(set_to_none=True)

    with torch.autocast(device_type=device_type):
        logits = model(xb)
        loss = loss_fn(logits, yb)

    if scaler is not None:
        # 언더플로를 막으려고 배율을 곱한다
        loss = scaler.scale(loss)
        loss.backward()
        scaler.unscale_(opt)
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        scaler.update()
    else:
        loss.backward()
        opt.step()

    return loss.item()
