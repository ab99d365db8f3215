# mistakes: averages-none, no-zero-grad
# lines: 20, 14
# hidden:
import torch


def sam_step_local(ddp, sam, loss_fn, xb, yb) -> float:
    def local_pass():
        with ddp.no_sync():
            loss = loss_fn(ddp(xb), yb)
            loss.backward()
        return loss.item()

    # 첫 번째 패스: 이 rank의 배치만 본다
    loss_at_w = local_pass()
    sam.first_step(zero_grad=False)
    sam.zero_grad()

    # 두 번째 패스: w + e에서 다시 구한다
    local_pass()
    sam.second_step(zero_grad=False)
    sam.zero_grad()
    return loss_at_w
