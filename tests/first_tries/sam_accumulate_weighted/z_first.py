# mistakes: uses-stale-gradient, leftover-not-clipped
# lines: 30, 44
# hidden:
import torch


def _both_passes(model, sam, loss_fn, chunk):
    """w에서 잰 샘플 평균 손실을 돌려주고, w + e에 서서 새 그레이디언트를 남긴다."""
    total = sum(x.shape[0] for x, _ in chunk)
    measured = 0.0
    for x, y in chunk:
        part = loss_fn(model(x), y) * (x.shape[0] / total)
        part.backward()
        measured += part.item()
    sam.first_step()
    sam.zero_grad()
    for x, y in chunk:
        part = loss_fn(model(x), y) * (x.shape[0] / total)
        part.backward()
    return measured


def sam_accumulate_weighted(model, sam, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> list[float]:
    out = []
    chunk = []
    params = []
    for g in sam.param_groups:
        params += g["params"]

    for pair in micro_batches:
        chunk.append(pair)
        if len(chunk) < accum_steps:
            continue
        out.append(_both_passes(model, sam, loss_fn, chunk))
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(params, max_norm)
        sam.second_step()
        sam.zero_grad()
        chunk = []

    # 다 채우지 못한 마지막 구간
    if chunk:
        out.append(_both_passes(model, sam, loss_fn, chunk))
        sam.second_step()
        sam.zero_grad()
    return out
