# expect: one-backward-per-window
import torch


class Window(list):
    def loss(self, model, loss_fn):
        return torch.stack([loss_fn(model(x), y) for x, y in self]).mean()


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    batches = list(micro_batches)
    history = []
    for i in range(0, len(batches), accum_steps):
        window = Window(batches[i:i + accum_steps])
        loss = window.loss(model, loss_fn)
        loss.backward()
        sam.first_step(zero_grad=True)
        window.loss(model, loss_fn).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf") if max_norm is None else max_norm)
        sam.second_step(zero_grad=True)
        history.append(loss.item())
    return history
