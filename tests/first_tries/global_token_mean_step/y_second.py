# mistakes: forgets-world-size, ignores-ignore-index
# lines: 26, 25
# hidden:
import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    batches = list(micro_batches)
    device = batches[0][1].device

    # 1) 유효한 토큰을 모든 rank에서 센다
    n_tok = torch.zeros(1, dtype=torch.long, device=device)
    for _, y in batches:
        n_tok += (y != ignore_index).sum()
    dist.all_reduce(n_tok)
    n = n_tok.item()
    if n == 0:
        raise ValueError("유효한 토큰이 없습니다")

    total = torch.zeros(1, dtype=torch.float64, device=device)

    def run(x, y):
        logits = ddp(x)
        loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), y.reshape(-1), reduction="sum")
        (loss / n).backward()
        total.add_(loss.detach().double())

    # 2) 마지막 마이크로 배치에서만 합친다
    opt.zero_grad()
    for x, y in batches[:-1]:
        with ddp.no_sync():
            run(x, y)
    run(*batches[-1])
    opt.step()

    # 3) 손실도 모은다
    dist.all_reduce(total)
    return total.item() / n
