# mistakes: restores-from-reference, rate-of-first-group-only, nan-only
# lines: 13, 27, 37
# hidden:
import copy
import itertools
import math

import torch


def lr_range_test(model, opt, loss_fn, batches, lrs) -> list[float]:
    # 처음 상태를 적어 둔다
    start_model = {name: tensor for name, tensor in model.state_dict().items()}
    start_opt = copy.deepcopy(opt.state_dict())

    def 그레이디언트_지우기():
        opt.zero_grad(set_to_none=True)
        for p in model.parameters():
            p.grad = None

    def 되돌리기():
        model.load_state_dict(start_model)
        opt.load_state_dict(start_opt)
        그레이디언트_지우기()

    def 학습률_바꾸기(lr):
        group = opt.param_groups[0]
        group["lr"] = lr

    history = []
    try:
        for lr, (xb, yb) in zip(lrs, itertools.cycle(batches)):
            학습률_바꾸기(lr)
            그레이디언트_지우기()
            loss = loss_fn(model(xb), yb)
            value = loss.item()
            if math.isnan(value):
                break
            history.append(value)
            loss.backward()
            opt.step()
    finally:
        되돌리기()
    return history
