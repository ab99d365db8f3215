# mistakes: consumes-generator, keeps-first-gradient, returns-perturbed-loss, leftover-divided-by-full
# lines: 11, 17, 23, 22
# hidden:
import torch


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    history = []
    sam.zero_grad()
    # 리스트를 accum_steps개씩 자른다
    for start in range(0, len(micro_batches), accum_steps):
        window = micro_batches[start : start + accum_steps]

        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / len(window)).backward()
        sam.first_step()

        window_loss = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb)
            (loss / accum_steps).backward()
            window_loss += loss.item()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        sam.second_step(zero_grad=True)
        history.append(window_loss / len(window))
    return history
