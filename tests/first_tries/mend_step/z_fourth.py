# mistakes: unlisted(divides a mean again), missing-zero-grad
# lines: 9, 17
# hidden:
import torch


def _평균_손실_역전파(loss, 개수):
    # 배치 크기로 나누어 평균을 낸다
    (loss / 개수).backward()


def mend_step(model, opt, loss_fn, xb, yb) -> None:
    """미니 배치 하나로 매개변수를 한 번 업데이트합니다."""
    logits = model(xb)
    loss = loss_fn(logits, yb)
    _평균_손실_역전파(loss, len(xb))
    opt.step()
