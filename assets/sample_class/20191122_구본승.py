# 1주차 과제 / 구본승 (20191122)
# 메모장에서 작성해서 인코딩이 다를 수 있습니다.
import torch


def train_step(model, opt, loss_fn, xb, yb):
    """그레이디언트를 지우고, 순전파, 손실, 역전파, 업데이트"""
    opt.zero_grad()          # 지우기
    출력 = model(xb)         # 순전파
    손실 = loss_fn(출력, yb)
    손실.backward()
    opt.step()
    return 손실.item()


def zero_gradients(params):
    """비우기"""
    for 가중치 in params:
        가중치.grad = None


def sgd_update(params, lr):
    """손으로 하는 업데이트: 반대 방향으로"""
    with torch.no_grad():
        for 가중치 in params:
            if 가중치.grad is not None:
                가중치 += lr * 가중치.grad   # 부호가 헷갈림
