# %% [markdown]
r"""
# 상태를 나누어 갖기

AdamW의 m과 v는 매개변수의 두 배입니다. rank마다 절반만 가지고도 업데이트가 비트까지 같을 수 있을까요?
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch

from grader import check

# %% [markdown]
r"""
## 1. ZeRO-1

약 20분 · ★★★

### 보너스 1. `Zero1AdamW`

약 30분 · ★★★
"""


# %% tags=["exercise:Zero1AdamW"]
class Zero1AdamW:
    """AdamW의 상태를 rank들이 나누어 갖는 옵티마이저입니다(ZeRO-1).

    params: 매개변수의 이터러블입니다. 제너레이터일 수 있습니다. 모든 rank가 같은 순서로 주고, 개수는 rank의 수보다 적을 수 있습니다.
    dist: `torch.distributed`입니다. 채점할 때는 같은 이름의 함수를 가진 객체입니다.

    rank마다 `state`라는 `torch.optim.AdamW`의 상태와 같은 dict가 있고, 그 rank가 맡은 매개변수의 m과 v만 들어 있습니다.
    rank마다 맡은 원소의 수는 전체를 rank의 수로 나눈 것에 가장 큰 매개변수 하나를 더한 것을 넘지 않습니다.
    """

    def __init__(self, params, dist, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        # BEGIN SOLUTION
        self.params, self.dist = list(params), dist
        held = [0] * dist.get_world_size()
        self.owners = [0] * len(self.params)
        # 큰 것부터, 지금까지 가장 적게 맡은 rank에 줍니다
        for index in sorted(range(len(self.params)), key=lambda i: -self.params[i].numel()):
            self.owners[index] = held.index(min(held))
            held[self.owners[index]] += self.params[index].numel()
        own = [p for p, owner in zip(self.params, self.owners, strict=True) if owner == dist.get_rank()]
        # AdamW는 빈 리스트를 받지 않습니다
        self.own = (
            torch.optim.AdamW(own, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay) if own else None
        )
        # END SOLUTION

    @property
    def state(self):
        """이 rank가 맡은 매개변수의 상태: 매개변수 -> {"step", "exp_avg", "exp_avg_sq"}."""
        # BEGIN SOLUTION
        return self.own.state if self.own else {}
        # END SOLUTION

    def step(self):
        """모든 매개변수를 `torch.optim.AdamW`와 비트까지 같게 업데이트합니다. `.grad`는 이미 모든 rank에서 같습니다."""
        # BEGIN SOLUTION
        if self.own:
            self.own.step()
        for param, owner in zip(self.params, self.owners, strict=True):
            self.dist.broadcast(param.detach(), src=owner)
        # END SOLUTION

    def zero_grad(self):
        """모든 매개변수의 `.grad`를 None으로 바꿉니다. 맡지 않은 매개변수도 그렇습니다."""
        # BEGIN SOLUTION
        for param in self.params:
            param.grad = None
        # END SOLUTION


# %% tags=["check"]
check(Zero1AdamW)
