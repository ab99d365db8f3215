# mistakes: leftover-divided-by-full, clips-each-micro-batch, returns-perturbed-loss
# lines: 19, 22, 23
import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    everything = list(micro_batches)
    history = []
    for begin in range(0, len(everything), accum_steps):
        window = everything[begin:begin + accum_steps]

        sam.zero_grad()
        for xb, yb in window:
            (loss_fn(model(xb), yb) / accum_steps).backward()
        sam.first_step(zero_grad=True)

        window_loss = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / accum_steps
            loss.backward()
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            window_loss += loss.item()
        sam.second_step(zero_grad=True)
        history.append(window_loss)
    return history
