# mistakes: returns-mean-of-means, ignores-ignore-index, empty-window-steps
# lines: 32, 17, 11
# hidden:
import torch
import torch.nn.functional as F


def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    # 제너레이터는 한 번만 돌 수 있으므로 먼저 모은다
    all_micro_batches = list(micro_batches)
    if len(all_micro_batches) == 0:
        raise ValueError("마이크로 배치가 없습니다")

    # 구간 전체의 유효한 토큰 수
    number_of_valid_tokens = 0
    for _, target in all_micro_batches:
        number_of_valid_tokens += (target != -100).sum().item()

    opt.zero_grad()
    mean_losses = []
    for inputs, target in all_micro_batches:
        logits = model(inputs)
        sum_of_losses = F.cross_entropy(
            logits.flatten(0, 1), target.flatten(), ignore_index=ignore_index, reduction="sum"
        )
        (sum_of_losses / number_of_valid_tokens).backward()
        valid_here = (target != ignore_index).sum().item()
        mean_losses.append(sum_of_losses.item() / max(valid_here, 1))

    opt.step()
    opt.zero_grad()
    return sum(mean_losses) / len(mean_losses)
