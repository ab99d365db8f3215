# mistakes: softmax-before-loss, returns-loss-after-update
# lines: 14, 23
# hidden:
import torch
import torch.nn.functional as F


def train_step(model, opt, loss_fn, xb, yb) -> float:
    """미니 배치 하나로 한 번 업데이트한다."""
    # 1. 지우기
    opt.zero_grad()
    # 2. 순전파: 점수를 확률로 바꾼다
    logits = model(xb)
    probs = F.softmax(logits, dim=1)
    # 3. 손실
    loss = loss_fn(probs, yb)
    # 4. 역전파
    loss.backward()
    # 5. 업데이트
    opt.step()
    # 손실이 얼마나 되었는지 확인
    with torch.no_grad():
        final_loss = loss_fn(model(xb), yb)
    return final_loss.item()
