# mistakes: mean-of-means, consumes-generator, empty-window-steps
# lines: 12, 7, 15
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100):
    n = len(list(micro_batches))  # 마이크로 배치의 수
    opt.zero_grad()
    total_loss = 0.0
    for x, y in micro_batches:
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index) / n
        loss.backward()
        total_loss += loss.item()
    opt.step()
    return total_loss
