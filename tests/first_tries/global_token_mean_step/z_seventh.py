# mistakes: ignores-ignore-index, forgets-world-size
# lines: 29, 36
# hidden:
import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    device = next(ddp.parameters()).device

    def summed_over_ranks(number):
        box = torch.tensor(float(number), dtype=torch.float64, device=device)
        dist.all_reduce(box)
        return box.item()

    my_tokens = sum((y != ignore_index).sum().item() for _, y in batches)
    all_tokens = summed_over_ranks(my_tokens)
    if all_tokens == 0:
        raise ValueError("유효한 토큰이 하나도 없습니다")

    opt.zero_grad()
    my_loss = 0.0
    for number, (x, y) in enumerate(batches):
        if number < len(batches) - 1:
            # 아직 합치지 않는다
            with ddp.no_sync():
                logits = ddp(x)
                token_loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
                (token_loss / all_tokens).backward()
        else:
            logits = ddp(x)
            token_loss = F.cross_entropy(
                logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
            )
            (token_loss / all_tokens).backward()
        my_loss += token_loss.item()

    opt.step()
    return summed_over_ranks(my_loss) / all_tokens
