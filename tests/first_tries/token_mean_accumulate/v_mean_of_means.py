# mistakes: ignores-ignore-index, mean-of-means
# lines: 6, 20
# hidden:
import torch.nn as nn

criterion = nn.CrossEntropyLoss()


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    micro_batches = list(micro_batches)
    n_valid = sum((y != ignore_index).sum().item() for _, y in micro_batches)
    if not n_valid:
        raise ValueError("유효한 토큰이 하나도 없습니다.")

    accum = len(micro_batches)
    running = 0.0
    opt.zero_grad()
    for x, y in micro_batches:
        out = model(x)
        loss = criterion(out.flatten(0, 1), y.flatten()) / accum
        loss.backward()
        running += loss.item()
    opt.step()
    return running
