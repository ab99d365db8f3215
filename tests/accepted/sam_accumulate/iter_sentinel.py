from itertools import chain, islice

from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    stream = iter(micro_batches)

    def one_pass(window):
        total = 0.0
        for xb, yb in window:
            share = loss_fn(model(xb), yb) / len(window)
            share.backward()
            total += share.item()
        return total

    def updates():
        for window in iter(lambda: list(islice(stream, accum_steps)), []):
            sam.zero_grad()
            at_w = one_pass(window)
            sam.first_step(zero_grad=True)
            one_pass(window)
            if max_norm is not None:
                clip_grad_norm_(list(chain.from_iterable(g["params"] for g in sam.param_groups)), max_norm)
            sam.second_step(zero_grad=True)
            yield at_w

    return list(updates())
