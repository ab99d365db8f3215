# mistakes: ignores-dtype, clip-before-unscale|missing-unscale, divides-loss-twice
# lines: 12, 33, 37
# hidden:
import torch


def amp_accumulate(model, opt, loss_fn, micro_batches, *, dtype, scaler=None, max_norm=None) -> float:
    개수 = len(micro_batches)
    총손실 = 0.0

    def 손실_구하기(xb, yb):
        with torch.autocast(device_type=xb.device.type):
            logits = model(xb)
            return loss_fn(logits, yb) / 개수

    def 줄이기():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    opt.zero_grad()
    if scaler is None:
        for xb, yb in micro_batches:
            loss = 손실_구하기(xb, yb)
            loss.backward()
            총손실 += loss.item()
        줄이기()
        opt.step()
    else:
        for xb, yb in micro_batches:
            loss = 손실_구하기(xb, yb)
            scaler.scale(loss).backward()
            총손실 += loss.item()
        줄이기()
        scaler.step(opt)
        scaler.update()
    opt.zero_grad()
    return 총손실 / 개수
