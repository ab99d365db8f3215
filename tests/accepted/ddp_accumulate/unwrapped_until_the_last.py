from torch.nn.utils import clip_grad_norm_


def ddp_accumulate(ddp, opt, loss_fn, micro_batches, *, max_norm=None):
    batches = [*micro_batches]
    if not batches:
        raise ValueError("empty")
    opt.zero_grad()
    models = [ddp.module] * (len(batches) - 1) + [ddp]
    losses = []
    for model, (x, y) in zip(models, batches):
        loss = loss_fn(model(x), y)
        (loss / len(batches)).backward()
        losses.append(loss.item())
    if max_norm is not None:
        clip_grad_norm_(ddp.parameters(), max_norm)
    opt.step()
    return sum(losses) / len(losses)
