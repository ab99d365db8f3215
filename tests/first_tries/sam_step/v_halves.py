# mistakes: forces-eval-mode, forces-train-mode, halves-the-losses, returns-mean-loss
# lines: 11, 11, 13, 16
# hidden: forces-train-mode
def sam_step(model, sam, loss_fn, xb, yb) -> float:
    sam.zero_grad()
    first = loss_fn(model(xb), yb)
    first.backward()
    sam.first_step(zero_grad=True)

    # 두 번째 패스에서는 배치 정규화의 통계가 바뀌지 않게
    model.eval()
    second = loss_fn(model(xb), yb)
    (second / 2).backward()
    sam.second_step(zero_grad=True)
    model.train()
    return (first.item() + second.item()) / 2
