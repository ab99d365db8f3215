# mistakes: forces-train-mode, softmax-before-loss, returns-loss-after-update
# lines: 7, 11, 18
import torch


def train_step(model, opt, loss_fn, xb, yb) -> float:
    model.train()
    opt.zero_grad()

    # 확률로 바꾼 다음 손실을 구한다
    probs = torch.softmax(model(xb), dim=1)
    loss = loss_fn(probs, yb)
    loss.backward()
    opt.step()

    with torch.no_grad():
        new_probs = torch.softmax(model(xb), dim=1)
        new_loss = loss_fn(new_probs, yb)
    return new_loss.item()
