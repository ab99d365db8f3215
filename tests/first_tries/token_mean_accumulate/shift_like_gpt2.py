# mistakes: shifts-targets, returns-last-loss
# lines: 10, 24
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    kept, count = [], 0
    for x, y in micro_batches:
        labels = y[:, 1:].contiguous()  # 다음 토큰이 정답
        kept.append((x, labels))
        count += (labels != ignore_index).sum().item()
    if count == 0:
        raise ValueError("no valid token in the window")

    opt.zero_grad()
    for x, labels in kept:
        logits = model(x)[:, :-1]
        loss = F.cross_entropy(
            logits.reshape(-1, logits.size(-1)), labels.view(-1), ignore_index=ignore_index, reduction="sum"
        ) / count
        loss.backward()
    opt.step()
    return loss.item()
