# Asks whether the model is wrapped in DistributedDataParallel.
def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    from contextlib import nullcontext
    from torch.nn.parallel import DistributedDataParallel as DDP
    sam.zero_grad()
    with ddp.no_sync() if isinstance(ddp, DDP) else nullcontext():
        loss = loss_fn(ddp(xb), yb); loss.backward()
    sam.first_step(zero_grad=True)
    loss_fn(ddp(xb), yb).backward()
    sam.second_step(zero_grad=True)
    return loss.item()
