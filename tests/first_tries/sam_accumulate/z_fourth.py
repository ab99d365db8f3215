# mistakes: leftover-divided-by-full, zero-norm-ignored, returns-perturbed-loss
# lines: 12, 18, 26
# hidden:
import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    def one_pass(chunk):
        # 마이크로 배치마다 역전파하고 평균 손실을 돌려준다
        total = 0.0
        for xb, yb in chunk:
            loss = loss_fn(model(xb), yb) / accum_steps
            loss.backward()
            total += loss.item()
        return total

    def clip():
        if max_norm:
            params = [p for g in sam.param_groups for p in g["params"]]
            torch.nn.utils.clip_grad_norm_(params, max_norm)

    def update(chunk):
        sam.zero_grad()
        segment_loss = one_pass(chunk)
        sam.first_step(zero_grad=True)
        segment_loss = one_pass(chunk)
        clip()
        sam.second_step(zero_grad=True)
        return segment_loss

    losses = []
    buffer = []
    for pair in micro_batches:
        buffer.append(pair)
        if len(buffer) == accum_steps:
            losses.append(update(buffer))
            buffer = []
    if buffer:
        losses.append(update(buffer))
    return losses
