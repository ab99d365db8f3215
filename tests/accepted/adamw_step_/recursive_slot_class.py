import numpy as np
import torch


class _Slot:
    """상태 dict 하나를 감싼 도우미. dict 자체가 진짜 상태다."""

    def __init__(self, box):
        self.box = box

    @classmethod
    def at(cls, state, key, like):
        if key not in state:
            state[key] = {
                "step": 0,
                "exp_avg": like.detach().new_zeros(like.shape),
                "exp_avg_sq": like.detach().new_zeros(like.shape),
            }
        return cls(state[key])

    def push(self, g, b1, b2):
        self.box["step"] += 1
        m, v = self.box["exp_avg"], self.box["exp_avg_sq"]
        m.copy_(b1 * m + (1 - b1) * g)
        v.copy_(b2 * v + (1 - b2) * g.square())
        c1, c2 = 1.0 - np.power(np.array([b1, b2], dtype=np.float64), self.box["step"])
        return m / float(c1), v / float(c2)


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    def go(i):
        if i == len(params):
            return
        if grads[i] is not None:
            p, g = params[i].detach(), grads[i].detach()
            m, v = _Slot.at(state, i, p).push(g, *betas)
            p.mul_(1 - lr * weight_decay).sub_(lr * m / (v.sqrt() + eps))
        go(i + 1)

    go(0)
