# mistakes: returns-mean-loss, forces-eval-mode
# lines: 17, 8
import torch


def sam_step(model, sam, loss_fn, xb, yb):
    # 두 패스의 드롭아웃이 달라지지 않게
    model.eval()
    sam.zero_grad()

    losses = []
    for step in (sam.first_step, sam.second_step):
        loss = loss_fn(model(xb), yb)
        loss.backward()
        step(zero_grad=True)
        losses.append(loss.item())
    return sum(losses) / 2
