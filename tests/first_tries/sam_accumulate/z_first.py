# mistakes: returns-perturbed-loss, clips-each-micro-batch
# lines: 33, 34
# hidden:
from itertools import islice

from torch.nn.utils import clip_grad_norm_


def sam_accumulate(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    stream = iter(micro_batches)
    weights = [p for group in sam.param_groups for p in group["params"]]
    history = []

    while True:
        window = list(islice(stream, accum_steps))
        if len(window) == 0:
            return history
        k = len(window)

        # 첫 번째 패스: 올라갈 방향
        sam.zero_grad()
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / k
            loss.backward()
        sam.first_step()
        sam.zero_grad()

        # 두 번째 패스: 업데이트할 그레이디언트
        window_loss = 0.0
        for xb, yb in window:
            loss = loss_fn(model(xb), yb) / k
            loss.backward()
            window_loss += loss.item()
            if max_norm is not None:
                clip_grad_norm_(weights, max_norm)
        sam.second_step()
        sam.zero_grad()
        history.append(window_loss)
