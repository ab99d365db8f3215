# mistakes: returns-loss-after-update
# lines: 16
# hidden:
import torch


def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()
    with ddp.no_sync():
        loss_fn(ddp(xb), yb).backward()
    sam.first_step(zero_grad=True)
    loss_fn(ddp(xb), yb).backward()
    sam.second_step(zero_grad=True)
    # 되돌아온 w에서 손실을 잰다
    with torch.no_grad():
        return loss_fn(ddp.module(xb), yb).item()
