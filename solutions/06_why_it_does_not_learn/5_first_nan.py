# %% [markdown]
r"""
# 첫 NaN을 찾아서

손실이 NaN이 되었을 때는 이미 늦습니다. 클리핑이 NaN 하나를 모든 매개변수에 퍼뜨린 뒤입니다. 어느 계층에서 시작했을까요?

### 연습. `first_bad_layer`

약 20분 · ★★☆
"""

# %% tags=["folded"]
# 준비: 라이브러리
import copy

import torch
from torch import nn

from grader import check, hint


# %% tags=["exercise:first_bad_layer"]
def first_bad_layer(model: nn.Module, batch: torch.Tensor) -> str | None:
    """model(batch)을 한 번 실행해, 유한한 입력으로 유한하지 않은 값을 처음 낸 계층의 이름을 돌려줍니다.

    계층은 안에 다른 모듈이 없는 모듈이고, 이름은 named_modules()의 이름입니다. 입력과 출력은 텐서 하나입니다.
    유한하지 않은 값은 NaN, 양의 무한대, 음의 무한대입니다. 그런 계층이 없으면 None입니다.
    batch에 이미 있으면 그것을 받은 계층은 답이 아닙니다. 여러 번 불리는 계층은 처음 잘못된 때로 셉니다.

    모델은 부르기 전과 같습니다: 모드, 매개변수, 버퍼(배치 정규화의 통계량도), `.grad`, 훅, 난수.
    순전파 도중에 오류가 나도 그렇고, 그때까지 찾은 것이 있으면 그 이름을, 없으면 그 오류를 그대로 냅니다.
    """
    # BEGIN SOLUTION
    found = []

    def watch(name):
        def look(layer, inputs, output):
            good_inputs = all(one.isfinite().all() for one in inputs if isinstance(one, torch.Tensor))
            if not found and good_inputs and not output.isfinite().all():
                found.append(name)

        return look

    buffers = copy.deepcopy(dict(model.named_buffers()))
    leaves = [(name, one) for name, one in model.named_modules() if not list(one.children())]
    hooks = [layer.register_forward_hook(watch(name)) for name, layer in leaves]
    try:
        with torch.no_grad(), torch.random.fork_rng():
            model(batch)
    except Exception:
        if not found:
            raise
    finally:
        for hook in hooks:
            hook.remove()
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(buffers[name])
    return found[0] if found else None
    # END SOLUTION


# %% tags=["check"]
check(first_bad_layer)
