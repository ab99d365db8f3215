# mistakes: keeps-first-gradient, forces-eval-mode
# lines: 12, 16
# hidden:
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    def gradients_here():
        loss = loss_fn(model(xb), yb)
        loss.backward()
        return loss.item()

    sam.zero_grad()
    loss_at_w = gradients_here()
    sam.first_step()

    # 배치 정규화의 통계를 두 번 바꾸지 않으려고 두 번째는 평가 모드에서
    was_training = model.training
    model.eval()
    gradients_here()
    model.train(was_training)

    sam.second_step(zero_grad=True)
    return loss_at_w
