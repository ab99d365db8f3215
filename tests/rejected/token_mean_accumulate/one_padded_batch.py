# expect: joins-the-window+other-exception
import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    """모두 한 배치로 이어 붙입니다."""
    xs, ys = [], []
    for x, y in micro_batches:
        xs += list(x)
        ys += list(y)
    x = pad_sequence(xs, batch_first=True, padding_value=0)
    y = pad_sequence(ys, batch_first=True, padding_value=ignore_index)
    if (y == ignore_index).all():
        raise ValueError("유효한 토큰 없음")
    opt.zero_grad()
    logits = model(x)
    loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1), ignore_index=ignore_index)
    loss.backward()
    opt.step()
    return loss.item()
