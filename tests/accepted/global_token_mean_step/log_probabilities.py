import torch


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100):
    batches = list(micro_batches)
    world = dist.get_world_size()
    masks = [y != ignore_index for _, y in batches]
    n = torch.stack([m.sum() for m in masks]).sum()
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    ddp.zero_grad()
    report = torch.zeros((), dtype=torch.float64)
    for i in range(len(batches)):
        ddp.require_backward_grad_sync = i == len(batches) - 1
        x, y = batches[i]
        logp = ddp(x).log_softmax(-1)
        picked = logp.gather(-1, y.where(masks[i], torch.zeros_like(y)).unsqueeze(-1)).squeeze(-1)
        loss = -(picked * masks[i]).sum()
        (world * loss / n).backward()
        report += loss.detach() / n
    opt.step()
    dist.all_reduce(report)
    return report.item()
