# expect: 
import torch


def mend_step(model, opt, loss_fn, xb, yb) -> None:
    """미니 배치 하나로 매개변수를 한 번 업데이트합니다."""
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()
    with torch.no_grad():
        for group in opt.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p -= group["lr"] * p.grad
    opt.zero_grad()
