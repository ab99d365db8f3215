# %% [markdown]
r"""
# 클리핑

그레이디언트(gradient)를 모두 한 줄로 이어 붙인 벡터의 길이를 노름(norm)이라고 합니다. 그레이디언트 클리핑(gradient clipping)은 노름이 `max_norm`을 넘으면 전체에 같은 수를 곱해 길이만 줄입니다. 언제부터 클리핑할지는 코드마다 다르니, 노름이 언제 커지는지부터 골라 보세요.

작은 GPT를 100스텝 학습합니다. 처음 20스텝은 워밍업(warmup)이라 학습률(learning rate)이 정점 0.01까지 곧게 올라갑니다. 클리핑은 널리 읽히는 글의 코드처럼 워밍업이 끝난 다음부터 하고, `max_norm`은 1입니다.

**예측.** 줄이기 전의 노름이 1을 가장 자주 넘는 곳은 어디일까요?

- a: 워밍업 동안
- b: 워밍업 뒤
- c: 처음부터 끝까지 비슷합니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 헌법을 배우는 작은 GPT와 그 학습
import math
from statistics import median

import torch
from matplotlib import pyplot as plt
from torch import nn
from torch.nn.utils import clip_grad_norm_

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.bells_and_whistles.data import batch_stream, short_train
from grader.experiments.bells_and_whistles.gpt import make_gpt, token_loss
from grader.experiments.bells_and_whistles.stored import each, schedule_runs, spelled
from grader.experiments.bells_and_whistles.training import climb_then, momentum_sgd, validation_loss
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)

# %% tags=["predict"]
predict("03-9")

# %%
# 시드 0과 1은 지금 학습하고, 나머지 4개는 미리 재어 둔 값을 읽습니다
late = schedule_runs("상수", peak=0.01, warmup=20, total=100, clip_from=20)
for what, name in [("over_early", "워밍업 20스텝"), ("over_late", "그 뒤 80스텝")]:
    shares = " · ".join(f"{share:.0%}" for share in each(late, what))
    print(f"{name} 가운데 노름이 1을 넘은 비율 (시드 6개): {shares}")

# %% tags=["folded"]
# 그림과 확인: 줄이기 전의 노름
print("워밍업 동안 가장 컸던 노름:", " · ".join(f"{norm:.0f}" for norm in each(late, "largest_early")))
figure, axis = plt.subplots(figsize=(7.2, 3.4))
for run, style, label in zip(late[:2], ["-", "--"], ["시드 0", "시드 1"], strict=True):
    axis.plot(run["norms"], style, color=COLORS["third"], linewidth=1.2, label=label)
axis.axvspan(0, 20, color=COLORS["grid"], alpha=0.7)
axis.axhline(1, color=COLORS["muted"], linestyle=":", linewidth=1)
axis.set(
    title="노름은 워밍업 안팎에서 솟습니다", xlabel="스텝 (칠한 곳이 워밍업)", ylabel="노름", yscale="log"
)
axis.legend()
show(
    figure,
    "줄이기 전의 노름, 시드 0과 1. 처음에 2쯤이고, 시드 0은 워밍업이 끝나기 전에 10 넘게, "
    "시드 1은 워밍업이 막 끝난 20스텝에 8쯤까지 솟았다가 그 뒤로는 거의 1 아래에 있습니다.",
)
assert min(each(late, "over_early")) > 0.7
assert max(each(late, "over_late")) < 0.4
assert median(each(late, "largest_early")) > 10
assert sum(summit < 20 for summit in each(late, "summit")) >= 5  # 학습률이 다 올라가기 전입니다
reveal("03-9")

# %% [markdown]
r"""
## 1. 언제부터 클리핑할까요

약 8분 · ★★☆

노름은 워밍업 동안 가장 자주 1을 넘습니다. 시드 6개 가운데 적어도 5개에서는 학습률이 다 올라가기도 전에 노름이 가장 큽니다. 처음부터 클리핑하는 쪽은 이때 가중치(weight)가 아직 자리를 잡지 못했다고 하고, 워밍업 뒤부터 하는 쪽은 이때 학습률이 낮으니 괜찮다고 합니다.

**예측.** 워밍업 뒤부터 클리핑하는 것과 처음부터 클리핑하는 것은 마지막 학습 손실(loss)이 어떻게 다를까요?

- a: 같습니다.
- b: 처음부터 하는 쪽이 낮습니다.
- c: 워밍업 뒤에만 하는 쪽이 낮습니다.
"""

# %% tags=["predict"]
predict("03-10")

# %%
early = schedule_runs("상수", peak=0.01, warmup=20, total=100, clip_from=0)
for name, runs in [("워밍업 뒤부터", late), ("처음부터", early)]:
    losses = each(runs)
    print(f"{name} 클리핑: 마지막 배치 10개의 손실 {spelled(losses)}, 중앙값 {median(losses):.2f}")

# %% tags=["folded"]
# 그림과 확인: 클리핑을 시작하는 때의 차이. 정점 0.003은 시드 6개 모두 미리 재어 둔 값입니다
figure, axis = plt.subplots(figsize=(7.2, 3.4))
for runs, color, style, label in [
    (late, COLORS["wrong"], "--", "워밍업 뒤부터 클리핑"),
    (early, COLORS["right"], "-", "처음부터 클리핑"),
]:
    for seed in range(2):
        name = label if seed == 0 else None
        axis.plot(runs[seed]["curve"], style, color=color, linewidth=1.2, label=name)
axis.set(title="그때 줄이지 않으면 여파가 오래갑니다", xlabel="스텝", ylabel="배치 손실")
axis.legend(loc="upper right")
show(
    figure,
    "배치 손실, 시드 0과 1. 처음부터 클리핑한 곡선은 3 아래까지 내려가고, "
    "워밍업 뒤부터 클리핑한 시드 0의 곡선은 그보다 위에 머뭅니다.",
)
low_late, low_early = (
    schedule_runs("상수", peak=0.003, warmup=20, total=100, clip_from=start, live=0) for start in (20, 0)
)
print(f"정점이 0.003이면: 워밍업 뒤부터 {spelled(each(low_late))}")
print(f"정점이 0.003이면: 처음부터 {spelled(each(low_early))}")
assert median(each(late)) - median(each(early)) > 0.3
assert sum(one > other for one, other in zip(each(late), each(early), strict=True)) >= 5
assert all(0.01 < one - other < 0.08 for one, other in zip(each(low_late), each(low_early), strict=True))
assert min(each(low_late, "over_late")) > 0.6
reveal("03-10")

# %% [markdown]
r"""
「워밍업이 있으니 워밍업 동안에는 클리핑하지 않아도 된다」는 말은 여기서 맞지 않습니다. **그 몇 스텝에서 클리핑하느냐가 마지막 손실까지 가릅니다.** 정점이 0.003으로 낮으면 차이가 0.1보다 작지만, 그래도 시드 6개 모두 처음부터 클리핑한 쪽이 낮습니다. 이때는 워밍업 뒤에도 절반 넘는 스텝에서 노름이 1을 넘습니다. 곧 노름이 어디에서 커지는지는 정점에 따라 다르므로, 재 보고 정해야 합니다.

잰 두 정점에서는 처음부터 클리핑해서 손해를 본 일이 없습니다. 그래서 다음 노트북에서 쓸 `train_gpt`는 처음부터 클리핑하는 것이 기본값입니다. 널리 읽히는 코드의 방식은 `clip_after_warmup=True`로 고릅니다.

## 2. 노름은 하나

약 4분 · ★☆☆

한 번은 손으로 계산해 봅니다. 매개변수(parameter)가 두 개이고 그레이디언트가 $(3, 4)$와 $(12)$이면, 이어 붙인 벡터는 $(3, 4, 12)$이고 노름은 $\sqrt{3^2 + 4^2 + 12^2} = 13$입니다. `max_norm`이 6.5이면 모두 절반이 됩니다.
"""

# %%
first, second = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))
first.grad, second.grad = torch.tensor([3.0, 4.0]), torch.tensor([12.0])
returned = clip_grad_norm_([first, second], max_norm=6.5)
print(f"손으로 {math.sqrt(3**2 + 4**2 + 12**2)}, clip_grad_norm_이 돌려준 값 {returned.item()}")
print("줄인 그레이디언트:", spelled([*first.grad, *second.grad]))

# %% tags=["folded"]
# 확인: 돌려주는 값은 줄이기 전의 노름이고, 모두 같은 비율로 줄었습니다. 노름이 max_norm과 같아도 1e-6만큼은 줄어듭니다
assert math.isclose(returned.item(), 13.0)
assert torch.allclose(first.grad, torch.tensor([1.5, 2.0]))
assert torch.allclose(second.grad, torch.tensor([6.0]))
edge = nn.Parameter(torch.zeros(2, dtype=torch.float64))
edge.grad = torch.tensor([3.0, 4.0], dtype=torch.float64)
clip_grad_norm_([edge], 5.0)
assert 0 < 5.0 - edge.grad.norm().item() < 2e-6

# %% [markdown]
r"""
돌려주는 값은 줄이기 **전의** 노름입니다. 이 값을 기록해 두면 튀는 배치(outlier batch)가 언제 왔는지 압니다. PyTorch가 곱하는 수는 정확히는 `max_norm / (노름 + 1e-6)`이고 1을 넘지 않습니다. 그래서 노름이 `max_norm`과 꼭 같아도 길이가 0.000001쯤 줄어듭니다. 연습에서는 `1e-6` 없이, 넘을 때만 줄입니다.

## 3. 노름이 무한대이거나 NaN이면

약 6분 · ★★☆

노름이 무한대이면 줄이는 비율이 0이 되어, 무한대였던 곳은 NaN이, 나머지는 0이 됩니다. 노름이 NaN이면 비율도 NaN이라 모두 NaN이 됩니다. PyTorch는 따로 정하지 않으면 예외 없이 지나갑니다.
"""

# %%
spoiled = nn.Parameter(torch.zeros(3))
for bad, name in [(math.inf, "무한대가"), (math.nan, "NaN이")]:
    spoiled.grad = torch.tensor([1.0, bad, 2.0])
    clip_grad_norm_([spoiled], 1.0)
    print(f"{name} 하나 섞인 그레이디언트를 클리핑하면: {spoiled.grad.tolist()}")
    assert spoiled.grad.isnan().any()
spoiled.grad = torch.tensor([1.0, math.inf, 2.0])
try:
    clip_grad_norm_([spoiled], 1.0, error_if_nonfinite=True)
    stopped = False
except RuntimeError:
    stopped = True
print("error_if_nonfinite=True이면:", "멈춥니다" if stopped else "지나갑니다")
assert stopped

# %% [markdown]
r"""
클리핑한 다음에는 온통 NaN이라 어디에서 시작했는지 알 수 없습니다. 그래서 **줄이기 전에** 멈추고, 순전파(forward pass)를 다시 하며 처음 나온 곳을 찾습니다. 모듈마다 출력을 들여다보는 훅(hook)이면 됩니다. 둘째 블록의 가중치 하나를 일부러 무한대로 바꾸어 보겠습니다.
"""

# %%
model, not_finite = make_gpt(0), []
with torch.no_grad():
    model.blocks[1].mlp[0].weight[3, 5] = math.inf


def look(name, output):
    if not output.isfinite().all():
        not_finite.append(name)


for name, module in model.named_modules():
    module.register_forward_hook(lambda _module, _inputs, output, name=name: look(name, output))
loss = token_loss(model, short_train[:4])
print(f"손실 {loss.item()}, 처음 망가진 곳: {not_finite[0]} (모두 {len(not_finite)}곳)")

# %% tags=["folded"]
# 확인: 처음 이름이 무한대를 넣은 곳입니다
assert not_finite[0] == "blocks.1.mlp.0"
assert len(not_finite) > 3
assert not loss.isfinite()

# %% [markdown]
r"""
순전파는 멀쩡한데 역전파(backward pass)에서 NaN이 나면 `torch.autograd.set_detect_anomaly(True)`를 켭니다. 느려지지만, NaN을 낸 연산이 순전파의 몇째 줄에서 왔는지 오류에 나옵니다.

### 연습. `clip_global_norm`

약 25분 · ★★☆

`clip_grad_norm_` 없이 직접 만듭니다. 노름이 유한하지 않으면 그레이디언트를 **건드리기 전에** 멈춥니다.
"""


# %% tags=["exercise:clip_global_norm"]
def clip_global_norm(params, max_norm) -> float:
    """모든 그레이디언트를 합친 L2 노름이 max_norm을 넘으면, 같은 수를 곱해 제자리에서 줄입니다.

    줄이기 전의 노름을 float로 돌려줍니다. 넘지 않으면 그대로 둡니다. .grad가 None인 매개변수는 건너뜁니다.
    노름이 무한대나 NaN이면 그레이디언트를 건드리지 않고 RuntimeError를 냅니다.
    """
    # BEGIN SOLUTION
    # model.parameters()는 한 번밖에 돌 수 없으므로 모아 둡니다
    grads = [param.grad for param in params if param.grad is not None]
    # 1. 모두 한 벡터로 이어 붙였을 때의 노름
    total_norm = math.sqrt(sum(grad.square().sum().item() for grad in grads))
    # 2. 쓸 수 없는 값이면 여기서 멈춥니다. 곱하기 전이라 그레이디언트는 그대로입니다
    if not math.isfinite(total_norm):
        raise RuntimeError(f"그레이디언트의 노름이 유한하지 않습니다: {total_norm}")
    # 3. 넘을 때만, 모두 같은 비율로 줄입니다
    if total_norm > max_norm:
        for grad in grads:
            grad.mul_(max_norm / total_norm)
    return total_norm
    # END SOLUTION


# %% tags=["check"]
check(clip_global_norm)

# %% [markdown]
r"""
## 4. 버그 찾기: 워밍업이 끝나면 클리핑하는 루프

약 6분 · ★★☆

널리 읽히는 코드에 되풀이해 나오는 오류입니다(코드는 새로 썼습니다). 워밍업이 30스텝이고, 30번째 스텝(0부터)에 그레이디언트가 512배인 튀는 배치가 옵니다. 어떻게 될까요? **읽고, 고른 다음, 실행하세요.**

- a: 클리핑됩니다. 워밍업은 29번째 스텝에서 끝났습니다.
- b: 클리핑되지 않습니다. 학습률은 정점입니다.
- c: 클리핑되지 않습니다. 그래도 학습률이 아직 낮아 괜찮습니다.
"""


# %% tags=["find-the-bug"]
def late_clipping(model, opt, stream, rates, warmup_steps, rogue):
    for step, (rate, part) in enumerate(zip(rates, stream, strict=False)):
        opt.param_groups[0]["lr"] = rate
        opt.zero_grad()
        loss = token_loss(model, part)
        (loss * 512 if step == rogue else loss).backward()
        if step > warmup_steps:
            clip_grad_norm_(model.parameters(), max_norm=1.0)
        opt.step()


# %% tags=["predict"]
predict("03-bug1")

# %%
rates = climb_then("상수", peak=0.3, warmup=30, total=60)
ends = {}
for name, rogue in [("튀는 배치 없음", None), ("29번째", 29), ("30번째", 30), ("31번째", 31)]:
    model = make_gpt(0)
    late_clipping(model, momentum_sgd(model.parameters()), batch_stream(short_train, 0), rates, 30, rogue)
    loss = validation_loss(model)
    ends[name] = loss if math.isfinite(loss) else math.inf

# %% tags=["folded"]
# 표와 확인: 튀는 배치가 온 스텝마다, 끝난 뒤의 검증 손실
show_table(
    ["튀는 배치가 온 스텝 (0부터)", "60스텝 뒤의 검증 손실"],
    [[name, f"{loss:.2f}" if loss < 20 else "발산"] for name, loss in ends.items()],
)
print(f"30번째 스텝의 학습률: {rates[30]} (정점 0.3)")
assert rates[30] == 0.3
assert ends["30번째"] > 20
assert ends["29번째"] > ends["튀는 배치 없음"] + 0.3
assert ends["31번째"] < ends["튀는 배치 없음"] + 0.3
reveal("03-bug1")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

스텝은 0부터 셉니다. 0번부터 29번까지 30스텝이 워밍업이고, 30번째가 정점입니다. 그 한 스텝만 클리핑되지 않고 빠져나갑니다. 평소에는 손실 곡선에 아무 흔적도 없습니다. 책에도 실렸다가 고쳐진 오류입니다([LLMs-from-scratch#427](https://github.com/rasbt/LLMs-from-scratch/pull/427)). `>=`로 고칩니다.

29번째에 온 튀는 배치는 `>=`로 고쳐도 클리핑되지 않습니다. 워밍업 동안에는 클리핑하지 않기로 한 루프이기 때문입니다. 위에서 보았듯이 처음부터 클리핑하는 것이 낫습니다.

</details>

## 여기까지

이제 이런 것을 할 수 있습니다.

- 노름을 기록하고, 언제부터 클리핑할지 재어 보고 정합니다.
- 노름이 유한하지 않을 때 그레이디언트를 망가뜨리기 전에 멈추고, 처음 망가진 모듈을 찾습니다.

기법 하나하나를 재는 일은 여기서 끝났습니다. 며칠 쉬었다가 이어도 좋습니다. [다음: 작은 GPT를 처음부터 끝까지](6_train_gpt.ipynb)에서는 지금까지의 것을 한 루프에 모읍니다.
"""
