# %% [markdown]
r"""
# 튀는 배치를 건너뛰기

그레이디언트가 유난히 큰 배치를 만났을 때 줄여서 가는 것과 아예 건너뛰는 것 가운데 무엇이 나을까요?

### 연습. `guarded_step`

약 20분 · ★★☆
"""

# %% tags=["folded"]
# 준비: 라이브러리
import math
from statistics import median

import torch

from grader import check, hint


# %% tags=["exercise:guarded_step"]
def guarded_step(opt, sched, history: list[float], *, factor: float = 4.0, window: int = 20) -> bool:
    """그레이디언트의 노름이 보통이면 업데이트하고 True를, 유난히 크면 이 배치를 건너뛰고 False를 돌려줍니다.

    opt: 옵티마이저입니다. 역전파까지 끝나 있습니다. `.grad`가 None인 매개변수가 있을 수 있습니다.
    sched: 업데이트마다 한 번 부르는 스케줄러입니다.
    history: 지금까지 업데이트한 배치의 노름입니다. 업데이트하면 이번 노름을 float로 끝에 더하고, 건너뛰면 그대로 둡니다.

    노름은 옵티마이저가 가진 모든 그레이디언트를 이어 붙인 벡터의 노름입니다.
    history가 window개보다 적으면 유한한 노름은 모두 보통입니다. 아니면 마지막 window개의 중앙값의 factor배를 넘는 것이 유난히 큽니다.
    NaN이거나 무한대이면 언제나 건너뜁니다.
    업데이트할 때는 `opt.step()` 다음에 `sched.step()`을 부릅니다. 건너뛸 때는 둘 다 부르지 않아, 매개변수와 옵티마이저와 스케줄러의
    상태가 비트까지 그대로입니다. 어느 쪽이든 끝에는 그레이디언트를 지웁니다.
    """
    # BEGIN SOLUTION
    grads = [p.grad for group in opt.param_groups for p in group["params"] if p.grad is not None]
    norm = math.sqrt(sum(grad.double().square().sum().item() for grad in grads))
    is_usual = math.isfinite(norm) and (len(history) < window or norm <= factor * median(history[-window:]))
    if is_usual:
        opt.step()
        sched.step()
        history.append(norm)
    opt.zero_grad()
    return is_usual
    # END SOLUTION


# %% tags=["check"]
check(guarded_step)
