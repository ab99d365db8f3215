import torch


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    criterion = torch.nn.CrossEntropyLoss(ignore_index=ignore_index)
    window = [(x, y, int((y != ignore_index).sum())) for x, y in micro_batches]
    total = sum(n for _, _, n in window)
    if not total:
        raise ValueError("no tokens")
    value = 0.0
    for x, y, n in window:
        if n == 0:
            continue
        loss = criterion(model(x).transpose(1, 2), y) * n / total
        loss.backward()
        value += float(loss.detach())
    opt.step()
    opt.zero_grad()
    return value
