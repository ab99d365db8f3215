import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    losses, window, sums = [], [], 0.0

    def update():
        if max_norm is not None:  # 첫 패스를 잘라도 달라지는 것은 없다
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.first_step(zero_grad=True)
        for x, y in window:
            (loss_fn(model(x), y) / len(window)).backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        losses.append(sums / len(window))

    for x, y in micro_batches:
        window.append((x, y))
        loss = loss_fn(model(x), y)
        loss.backward()
        sums += loss.item()
        if len(window) == accum_steps:
            update()
            window, sums = [], 0.0
    if window:
        update()
    return losses
