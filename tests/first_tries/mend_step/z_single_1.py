# mistakes: step-before-backward
# lines: 8
# hidden:
def mend_step(model, opt, loss_fn, xb, yb) -> None:
    """미니 배치 하나로 매개변수를 한 번 업데이트합니다."""
    logits = model(xb)
    loss = loss_fn(logits, yb)
    opt.step()
    opt.zero_grad()
    loss.backward()
