# mistakes: missing-zero-grad, forces-eval-mode
# lines: 23, 19
# hidden:
import torch


def sam_step(model, sam, loss_fn, xb, yb) -> float:
    def forward_backward():
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss.item()

    # 첫 번째 패스: w에서
    first_loss = forward_backward()
    sam.first_step(zero_grad=True)

    # 두 번째 패스: w + e에서. 배치 정규화 통계가 두 번 바뀌지 않게 평가 모드로 잰다
    mode = model.training
    model.eval()
    forward_backward()
    model.train(mode)

    sam.second_step()
    return first_loss
