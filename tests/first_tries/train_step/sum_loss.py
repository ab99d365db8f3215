# mistakes: forces-train-mode, loss-times-batch-size, missing-zero-grad, returns-tensor
# lines: 5, 7, 8, 10
def train_step(model, opt, loss_fn, xb, yb) -> float:
    batch_size = xb.size(0)
    model.train()            # 학습 모드
    output = model(xb)       # 순전파
    loss = loss_fn(output, yb) * batch_size
    loss.backward()          # 역전파
    opt.step()               # 업데이트
    return loss.detach()
