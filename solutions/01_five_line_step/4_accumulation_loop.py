# %% [markdown]
r"""
# 누적 루프를 씁니다

마이크로 배치의 그레이디언트를 더해 큰 배치처럼 업데이트하는 루프를 씁니다. 한 번 더하는 일은 [지난 편](3_why_accumulation_works.ipynb)의 몸풀기에서 했습니다.

먼저 무엇을 얻는지부터 예측합니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리와 이 편의 실험
import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.five_line_step.cost import time_ratios, update_peak_bytes, wide_setup
from grader.experiments.five_line_step.data import cut, on_cpu
from grader.plots import show_table

torch.set_num_threads(1)  # 작은 모델은 스레드 하나가 더 빠르고, 결과도 재현됩니다

# %% [markdown]
r"""
## 1. 누적의 비용

약 7분 · ★★☆

역전파는 순전파 때 계산한 값을 다시 씁니다. 그래서 순전파는 그 값(텐서)들을 역전파할 때까지 저장해 둡니다. 실험은 업데이트 한 번을 하는 동안 그렇게 저장한 것이 가장 많을 때 몇 MiB인지와, 걸린 시간을 잽니다.

**예측 1.** 큰 배치 하나를 넷으로 나누어 누적합니다. 무엇이 줄어들까요?

- a: 계산 시간과 메모리가 모두 4분의 1쯤으로 줄어듭니다.
- b: 역전파를 위해 저장하는 텐서의 메모리만 줄어듭니다.
- c: 계산 시간만 줄어듭니다. 한 번에 계산하는 양이 작기 때문입니다.
"""

# %% tags=["predict"]
predict("01-16")

# %%
# wide_setup은 너비가 512인 세 계층 모델과 옵티마이저, 샘플 1,024개인 배치를 만듭니다
# update_peak_bytes는 업데이트 한 번을 하는 동안 저장한 텐서가 가장 많을 때의 바이트를 잽니다
model, opt, batch = wide_setup(batch_size=1024, width=512)
windows = {"1024 한 번": [batch], "256 × 4 누적": cut(batch, 256), "64 × 16 누적": cut(batch, 64)}
memory = {name: update_peak_bytes(model, opt, window) for name, window in windows.items()}
memory["256 × 4, backward는 끝에 한 번"] = update_peak_bytes(
    model, opt, windows["256 × 4 누적"], backward_each=False
)
full = memory["1024 한 번"]
rows = [[name, f"{size / 2**20:.2f}", f"{size / full:.2f}"] for name, size in memory.items()]
show_table(["저장한 텐서", "최대 MiB", "큰 배치에 대한 비"], rows)
reveal("01-16")

# %% tags=["folded"]
# 확인: 저장한 텐서의 비
assert 0.2 < memory["256 × 4 누적"] / full < 0.3
assert 0.05 < memory["64 × 16 누적"] / full < 0.08
assert memory["256 × 4, backward는 끝에 한 번"] / full > 0.95

# %%
# time_ratios(배치 크기, 너비)는 큰 배치 한 번에 걸린 시간을 1로 놓은 비를 잽니다.
# repeats는 한 번 잴 때 되풀이하는 횟수입니다
ratios = {
    "작은 일: 배치 64, 너비 64": time_ratios(64, 64, repeats=20),
    "큰 일: 배치 1024, 너비 512": time_ratios(1024, 512, repeats=1),
}
show_table(
    ["걸린 시간의 비", *next(iter(ratios.values()))],
    [[name, *(f"{ratio:.2f}배" for ratio in row.values())] for name, row in ratios.items()],
)

# %% tags=["folded"]
# 확인: 걸린 시간의 비
if on_cpu:  # 넉넉한 경계입니다: 다른 일을 하는 컴퓨터에서도 성립해야 합니다
    small, large = ratios.values()
    assert small["4번 누적"] > 1.2
    assert small["16번 누적"] > 2
    assert 0.5 < large["4번 누적"] < 2.0
    assert small["4번 누적"] < small["나누어 4번 업데이트"]

# %% [markdown]
r"""
**시간은 아끼지 않습니다.** 같은 수의 샘플을 순전파하고 역전파하기 때문입니다. 계산이 크면 걸리는 시간이 큰 배치와 비슷합니다. 계산이 작으면 더 느립니다. 여러 번 부르는 데에도 시간이 들기 때문입니다. 마이크로 배치마다 업데이트하는 것과 비교하면 옵티마이저가 하는 일만 줄어듭니다.

**아끼는 것은 역전파를 위해 저장하는 텐서입니다.** 마이크로 배치의 `backward()`가 끝날 때마다 그 그래프에 저장된 텐서를 해제하기 때문입니다. 손실을 모았다가 끝에 한 번 `backward()`를 부르면, 값은 맞지만 메모리는 그대로입니다(첫째 표의 넷째 줄). 매개변수, 그레이디언트, 옵티마이저의 상태는 누적으로는 줄지 않습니다. 그것을 줄이는 방법(여러 장치에 나누기, 낮은 정밀도로 두기)은 따로 있습니다.

### 연습 3. `accumulate`

약 35분 · ★★★

마이크로 배치 열 개를 네 개씩 누적하면 이렇게 됩니다. 업데이트는 세 번입니다.

```text
[1 2 3 4]  1/4씩 → 업데이트
[5 6 7 8]  1/4씩 → 업데이트
[9 10]     1/2씩 → 업데이트
```

`add_gradient`를 여기에 다시 써서 불러도 되고, 그 줄들을 반복문 안에 써도 됩니다. 반복문에는 정해야 할 것이 세 가지 있습니다.

- **언제 업데이트할까요?** 마이크로 배치 `accum_steps`개를 다 쌓은 다음입니다. 업데이트한 다음에는 지웁니다. 0부터 세는지 1부터 세는지를 헷갈려 많이 틀립니다.
- **남은 구간은 어떻게 할까요?** 남은 두 개도 업데이트합니다. 4가 아니라 2로 나누어야 평균입니다.
- **언제 클리핑할까요?** 구간이 다 쌓인 뒤 한 번입니다.

`micro_batches`는 제너레이터일 수 있습니다. 차례로 하나씩 꺼낼 수만 있고 `len()`은 쓸 수 없습니다. 그래서 남은 구간의 길이를 미리 알려면 한 구간을 먼저 모으거나 한 개를 미리 꺼내 보아야 합니다. 한 구간의 입력을 들고 있는 것은 괜찮습니다.

계산 그래프는 다릅니다. 여럿을 함께 들고 있으면 큰 배치만큼 메모리가 들어 누적하는 뜻이 없습니다. 마이크로 배치마다 `backward()`를 불러 바로 해제합니다. 마이크로 배치가 하나도 없으면 업데이트하지 않고 0을 돌려줍니다.
"""


# %% tags=["exercise:accumulate"]
def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    """마이크로 배치 accum_steps개(한 구간)마다 한 번 업데이트하고, 업데이트한 횟수를 돌려줍니다.

    micro_batches: 크기가 같은 (xb, yb)를 차례로 내는 이터러블입니다. 제너레이터일 수도 있습니다(len()이 없습니다).
    accum_steps: 한 구간의 마이크로 배치 수입니다. 1보다 작으면 ValueError를 냅니다.
    max_norm: None이 아니면 구간마다 한 번 줄입니다. 0.0이면 0까지 줄입니다.

    마이크로 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 계산 그래프 여럿을 함께 들고 있지 않습니다.
    마지막 구간이 짧으면 그 구간에 실제로 있는 마이크로 배치 수로 평균을 냅니다.
    부르기 전에는 .grad가 비어 있습니다. 끝나면 그레이디언트를 남기지 않습니다.
    """
    # BEGIN SOLUTION
    from itertools import islice

    if accum_steps < 1:
        raise ValueError(f"accum_steps는 1 이상이어야 합니다: {accum_steps}")

    stream = iter(micro_batches)
    num_steps = 0
    opt.zero_grad()
    # 한 구간씩 꺼냅니다. 마지막 구간은 짧을 수 있습니다
    while window := list(islice(stream, accum_steps)):
        for xb, yb in window:
            logits = model(xb)
            # 실제 개수로 나누어, 더한 그레이디언트가 구간 평균이 되게 합니다
            loss = loss_fn(logits, yb) / len(window)
            loss.backward()
        # 구간이 다 쌓인 뒤 한 번만 줄이고, 한 번만 업데이트합니다
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        num_steps += 1
    return num_steps
    # END SOLUTION


# %% tags=["check"]
check(accumulate)

# %% [markdown]
r"""
## 여기까지

이제 이런 것을 할 수 있습니다.

- 남은 구간과 클리핑까지 맞는 누적 루프를 씁니다.
- 누적이 아끼는 것과 아끼지 않는 것을 말합니다.

이 레슨에서 가장 긴 함수를 마쳤습니다. 여기서 쉬세요. 크기가 서로 다른 마이크로 배치는 [마지막 편](9_find_the_bug.ipynb)의 보너스에서 다룹니다.

더 읽을거리: 메모리를 잰 방법인 [Hooks for autograd saved tensors](https://docs.pytorch.org/tutorials/intermediate/autograd_saved_tensors_hooks_tutorial.html)

[다음: 한 에폭, 그리고 지우지 않은 루프](5_one_epoch.ipynb)
"""
