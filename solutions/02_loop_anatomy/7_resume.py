# %% [markdown]
r"""
# 이어서 학습하기

체크포인트(checkpoint)가 왜 가중치(weight) 말고 다른 것까지 들고 있어야 하는지는 이어서 학습해 보면 압니다. 120스텝(step)을 끝까지 간 학습과, 60스텝에서 끊고 이어 간 학습을 비교합니다.
"""

# %% tags=["folded"]
# 준비: import, 손글씨 숫자 데이터와 이 노트북의 실험
import random
from dataclasses import asdict
from pathlib import Path
from statistics import median

import numpy as np
import torch
from matplotlib import pyplot as plt
from torch.utils.data import DataLoader

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.loop_anatomy.checkpoints import (
    random_state,
    restore_random,
    resumed_run,
    stop_and_resume,
    whole_run,
)
from grader.experiments.loop_anatomy.digits import RunConfig, apart, flat, folder, make_model, on_cpu
from grader.experiments.loop_anatomy.precision import skipped_after
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()

# %% [markdown]
r"""
## 1. 하나씩 빠뜨려 보기

약 8분 · ★★☆

**예측 1.** 모멘텀(momentum)이 있는 SGD, 드롭아웃(dropout)이 있는 모델, 워밍업(warmup)과 코사인 스케줄입니다. 가중치는 언제나 되살리고, 배치도 같은 순서로 줍니다. 나머지 셋 가운데 **하나만** 빠뜨린다면, 끊지 않은 학습에서 가장 멀어지는 것은 무엇일까요?

- a: 옵티마이저(optimizer)의 상태
- b: 스케줄러의 상태
- c: 난수의 상태
"""

# %% tags=["predict"]
predict("02-14")


# %%
def save(model, opt, scheduler):
    state = {"가중치": model.state_dict(), "옵티마이저": opt.state_dict()}
    state |= {"스케줄러": scheduler.state_dict(), "난수": random_state()}
    torch.save(state, folder / "halfway.pt")


def restore(model, opt, scheduler, missing):
    saved = torch.load(folder / "halfway.pt", weights_only=True, map_location="cpu")
    model.load_state_dict(saved["가중치"])
    if "옵티마이저" not in missing:
        opt.load_state_dict(saved["옵티마이저"])
    if "스케줄러" not in missing:
        scheduler.load_state_dict(saved["스케줄러"])
    if "난수" not in missing:
        restore_random(saved["난수"])


# %% tags=["folded"]
# 표와 그림과 확인: 시드 6개에서 하나씩 빠뜨립니다. 그림은 시드 0입니다
everything = ("옵티마이저", "스케줄러", "난수")
omissions = {
    "없음": (),
    "난수": ("난수",),
    "옵티마이저": ("옵티마이저",),
    "스케줄러": ("스케줄러",),
    "셋 다 (가중치만 되살림)": everything,
}
distances = {name: [] for name in omissions}
rates_seen, logs = {}, {}
for seed in reversed(range(6)):
    uninterrupted, whole_log = whole_run(seed, save)
    for name, missing in omissions.items():
        weights, logs[name] = resumed_run(seed, restore, missing)
        distances[name].append(apart(uninterrupted, weights))
        rates_seen[name] = [logs[name][0][1], logs[name][-1][1]]
show_table(
    ["되살리지 않은 것", "가중치의 최대 차이 (시드 6개의 중앙값)", "첫 학습률", "마지막 학습률"],
    [
        [
            name,
            f"{median(found):.1e}" if any(found) else "0 (비트까지 같음)",
            *(f"{rate:.4f}" for rate in rates_seen[name]),
        ]
        for name, found in distances.items()
    ],
)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for column, (axis, name) in enumerate(zip(axes, ["배치 손실", "학습률"], strict=True)):
    axis.plot([entry[column] for entry in whole_log], color=COLORS["right"], label="끊지 않음")
    axis.plot(
        range(60, 120),
        [entry[column] for entry in logs["셋 다 (가중치만 되살림)"]],
        "--",
        color=COLORS["wrong"],
        label="가중치만 되살림",
    )
    axis.axvline(60, color=COLORS["muted"], linewidth=1)
    axis.set(xlabel="스텝", ylabel=name)
axes[0].legend()
show(
    figure,
    "왼쪽: 60스텝 뒤로 손실 곡선이 갈라지지만 둘 다 낮아서 이상해 보이지 않습니다. "
    "오른쪽: 끊지 않은 학습률은 코사인을 따라 0으로 내려가고, 가중치만 되살린 학습률은 워밍업을 처음부터 다시 합니다.",
)
assert max(distances["없음"]) == 0.0 if on_cpu else max(distances["없음"]) < 1e-3
assert min(min(distances[name]) for name in everything) > 0.02
for momentum_lost, schedule_lost, noise_lost in zip(*(distances[name] for name in everything), strict=True):
    assert schedule_lost > max(momentum_lost, noise_lost)
assert rates_seen["스케줄러"][1] > 0.1  # 0으로 끝났어야 합니다
assert rates_seen["옵티마이저"][0] < 0.1 * rates_seen["없음"][0]
letters = dict(zip(everything, ["a", "b", "c"], strict=True))
farthest = max(letters, key=lambda name: median(distances[name]))
reveal("02-14", measured=letters[farthest])

# %% [markdown]
r"""
스케줄러를 되살리지 않으면 워밍업부터 다시 합니다. 끝났어야 할 때 학습률(learning rate)이 아직 높습니다. 그런데 손실(loss) 곡선만 보아서는 가중치만 되살린 학습이 이상해 보이지 않습니다. 그래서 「이어졌다」를 눈으로 판단하지 않고 **끊지 않은 학습과 가중치를 비교합니다.** 이 실험에서는 넷을 모두 되살리면 CPU에서 마지막 비트까지 같았습니다(옵티마이저를 빠뜨린 줄은 첫 학습률부터 다릅니다. 지금 학습률도 옵티마이저의 상태입니다). 로더 없이 배치를 직접 주었고, 정밀도가 float32였기 때문입니다.

## 2. 무엇을 더 저장해야 할까요

약 12분 · ★★★

그렇지 않을 때는 두 가지가 더 있어야 합니다. 하나는 **로더**입니다. 에폭(epoch) 중간에 끊었다면 다음 배치부터 주어야 합니다. 이미 본 배치를 건너뛰면 될까요? 섞는 순서를 정하는 제너레이터(generator)의 상태를, 에폭을 시작할 때와 끊은 순간에 각각 저장해 두고 이어 봅니다.
"""


# %% tags=["folded"]
# 준비: 20개를 섞어 4개씩 주는 로더와 그 제너레이터입니다. state가 있으면 그 상태에서 시작합니다
def shuffled_loader(state=None):
    generator = torch.Generator().manual_seed(0)
    if state is not None:
        generator.set_state(state)
    return DataLoader(range(20), 4, shuffle=True, generator=generator), generator


# %%
loader, generator = shuffled_loader()
at_start = generator.get_state()
epoch_batches = iter(loader)
next(epoch_batches), next(epoch_batches)  # 두 배치를 보고 끊었습니다
in_the_middle = generator.get_state()
rest = [batch.tolist() for batch in epoch_batches]
continued = {}
for moment, state in {"에폭을 시작할 때": at_start, "끊은 순간": in_the_middle}.items():
    continued[moment] = [batch.tolist() for batch in shuffled_loader(state)[0]][2:]
    same = "같습니다" if continued[moment] == rest else "다릅니다"
    print(f"{moment}의 상태에서 두 배치를 건너뛰면, 나머지 배치가 {same}")

# %% tags=["folded"]
# 확인: 두 지점에서 이어 간 배치
assert continued["에폭을 시작할 때"] == rest
assert continued["끊은 순간"] != rest

# %% [markdown]
r"""
순서는 에폭을 시작할 때 제너레이터에서 한꺼번에 뽑습니다. 끊은 순간의 상태에서 다시 시작하면 다음 에폭의 순서가 나옵니다. 그래서 저장할 것은 **에폭을 시작하기 전의 상태**와 그 에폭에서 본 배치의 수입니다.

다른 하나는 **스케일러**입니다. 손실에 1,000만을 곱한 float16 학습은 맞는 배율을 찾느라 처음에 20스텝 남짓을 버립니다([건너뛴 스텝](3_skipped_steps.ipynb)). 60스텝에서 끊고 스케일러만 새로 만들면 어떻게 되는지 봅니다.
"""

# %%
lost_steps = {
    how: [skipped_after(seed, restore=restored) for seed in range(6)]
    for how, restored in {"새 스케일러": False, "되살린 스케일러": True}.items()
}
for how, counts in lost_steps.items():
    print(f"{how}: 이어 간 30스텝 가운데 건너뛴 스텝, 시드마다 {counts}")

# %% tags=["folded"]
# 확인: 시드 6개에서 되살렸을 때와 새로 만들었을 때를 비교합니다
assert min(lost_steps["새 스케일러"]) > 10
assert max(lost_steps["되살린 스케일러"]) <= 2
# 이름이 어긋난 가중치를 strict=False로 읽으면, 오류 없이 아무것도 되살리지 않습니다
compiled = {f"_orig_mod.{name}": weight for name, weight in make_model(seed=1).state_dict().items()}
target = make_model(seed=0)
before = flat(target.parameters())
assert len(target.load_state_dict(compiled, strict=False).missing_keys) == 4
assert torch.equal(before, flat(target.parameters()))

# %% [markdown]
r"""
스케일러에도 `state_dict()`가 있습니다. 빠뜨리면 맞는 배율을 처음부터 다시 찾습니다. 보통은 몇 스텝이지만, 여기서처럼 배율이 기본값에서 멀면 수십 스텝일 수도 있습니다.

파일을 읽을 때 자주 막히는 두 가지도 있습니다. GPU에서 저장한 파일은 GPU가 없는 곳에서 그냥 열리지 않으므로 `torch.load(path, map_location="cpu")`로 엽니다. `torch.compile`한 모델을 저장하면 이름마다 `_orig_mod.`이 붙어, 그냥 만든 모델에 맞지 않습니다. 그때 `strict=False`를 주면 오류만 사라지고 **아무것도 되살리지 않습니다.** 이름에서 그 앞머리를 떼어 냅니다.

**`BestCheckpoint`와 `resume`이 지키는 것을 정확히 말해 둡니다.** `BestCheckpoint`의 파일에는 모델, 옵티마이저, 스케줄러, 스텝 수, 점수, 설정이 있습니다. 난수, 로더의 제너레이터, 스케일러는 **없습니다.** 그래서 드롭아웃을 쓰거나, 로더가 섞거나, float16으로 학습하면 이어 간 학습은 끊지 않은 학습과 비트까지 같지는 않습니다. 비트까지 같아야 하는 학습이라면 이 노트북에서 한 것처럼 셋을 더 저장합니다. 아래의 보너스가 그 일을 합니다.

### 연습 7. `resume`

약 15분 · ★☆☆

`BestCheckpoint`가 쓴 파일에서 모델, 옵티마이저, 스케줄러를 되살리고 스텝 수를 돌려줍니다. 파일의 키는 `model`, `optimizer`, `scheduler`, `step`, `score`, `config`입니다.
"""


# %% tags=["exercise:resume"]
def resume(path, *, model, opt, scheduler) -> int:
    """BestCheckpoint가 쓴 파일에서 모델, 옵티마이저, 스케줄러를 되살리고, 저장할 때까지 한 스텝 수를 돌려줍니다."""
    # BEGIN SOLUTION
    # GPU에서 저장한 파일도 CPU에서 열립니다. 장치는 load_state_dict가 맞춥니다
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    opt.load_state_dict(checkpoint["optimizer"])
    scheduler.load_state_dict(checkpoint["scheduler"])
    return checkpoint["step"]
    # END SOLUTION


# %% tags=["check"]
check(resume)

# %% [markdown]
r"""
## 3. 버그 찾기: 실무용 체크포인트

약 8분 · ★★★

「실무용 체크포인트」입니다. 모델, 설정, 점수, 스텝 수를 모두 담았습니다. **읽고, 고른 다음, 실행하세요.**
"""


# %% tags=["find-the-bug"]
def loop_4_save(model, cfg, score, step, path):
    torch.save({"model": model.state_dict(), "config": asdict(cfg), "score": score, "step": step}, path)


def loop_4_resume(path):
    saved = torch.load(path, weights_only=True)
    model = make_model(saved["config"]["seed"])
    model.load_state_dict(saved["model"])
    opt = torch.optim.AdamW(model.parameters(), lr=saved["config"]["lr"])
    return model, opt, saved["step"]


# %% [markdown]
r"""
**예측 2.** AdamW로 90스텝 학습하고 저장했다가 읽어서 이어 갑니다. 학습률은 그대로입니다. 이어 간 **첫 업데이트**의 길이는 끊지 않았을 때의 몇 배일까요?

- a: 1보다 작습니다. 옵티마이저가 조심스럽게 다시 시작합니다.
- b: 거의 1배. 가중치와 배치가 같습니다.
- c: 세 배가 넘습니다.
"""

# %% tags=["predict"]
predict("02-bug4")

# %%
# 시드마다 (끊지 않은 쪽, 이어 간 쪽)의 다음 업데이트 열 개입니다
resumptions = [stop_and_resume(seed, loop_4_save, loop_4_resume) for seed in range(6)]

# %% tags=["folded"]
# 확인: 시드 6개에서 업데이트의 길이와, 첫 업데이트에서 가중치마다 움직인 만큼
ratios, full_moves, still = [], [], []
for whole, broken in resumptions:
    ratios.append(
        [(ours.norm() / theirs.norm()).item() for (ours, _), (theirs, _) in zip(broken, whole, strict=True)]
    )
    moved, gradient = broken[0]
    touched = gradient != 0
    full_moves.append((moved[touched].abs() > 0.95 * RunConfig().lr).double().mean().item())
    still.append((~touched).double().mean().item())
by_step = [median(column) for column in zip(*ratios, strict=True)]
print("이어 간 업데이트의 길이 비:", " ".join(f"{ratio:.1f}" for ratio in by_step))
print(
    f"첫 업데이트: 그레이디언트가 0이 아닌 가중치의 {median(full_moves):.1%}가 학습률의 95% 넘게 움직였습니다"
)
print(f"그레이디언트가 0인 가중치: 전체의 {median(still):.0%} (언제나 까만 픽셀에 붙은 것)")
assert min(ratio[0] for ratio in ratios) > 3
assert min(by_step) > 1.2  # 10스텝 뒤에도 아직 큽니다
assert min(full_moves) > 0.95
assert 0.05 < min(still) < max(still) < 0.3
first = median(ratio[0] for ratio in ratios)
reveal("02-bug4", measured="a" if first < 0.9 else "b" if first < 3 else "c")

# %% [markdown]
r"""
<details>
<summary>설명</summary>

AdamW는 그레이디언트와 그 제곱의 이동 평균을 `opt.state`에 들고 있습니다. 저장하지 않으면 0에서 다시 모읍니다. 첫 업데이트는 그레이디언트를 자기 크기로 나누어 거의 부호만 남깁니다. 그래서 그레이디언트가 0이 아닌 가중치는 그 크기와 거의 상관없이 학습률만큼 움직입니다(0이면 가중치 감쇠만 받습니다). 조금씩만 움직여야 할 학습 막바지에 그렇게 크게 움직입니다. 10스텝 뒤에도 업데이트가 아직 더 깁니다. 루프 안에서 옵티마이저를 새로 만드는 코드는 이 일을 스텝마다 되풀이합니다.

추론(inference)에만 쓸 파일이면 가중치만 있어도 됩니다. 이어서 학습할 파일이면 옵티마이저와 스케줄러가 꼭 있어야 합니다. 맨 위의 표가 각각의 몫입니다.

</details>

### 보너스 2. `Snapshot`

약 40분 · ★★★

점수에 들어가지 않고 힌트도 없습니다. 건너뛰고 다음 노트북으로 가도 됩니다. `resume`이 되살리지 않는 것까지 파일 하나에 남겨, 마지막 비트까지 같게 이어 갑니다. 드롭아웃이 있고, `np.random`과 `random`으로 데이터를 증강하고, 로더가 섞고, 스케일러를 쓰는 학습입니다. 스케줄러는 쓰지 않습니다. 에폭을 시작하기 직전에 `save`를 부릅니다. 그리고 **다른 프로세스에서** 모델, 옵티마이저, 스케일러, 제너레이터를 새로 만들고, 그것들로 만든 `Snapshot`의 `load`를 부릅니다. 이어 간 학습은 끊지 않은 학습과 비트까지 같아야 합니다.

난수의 상태는 라이브러리마다 타입이 다릅니다. `weights_only=True`로 열리지 않는 것이 섞여 있으니 먼저 하나씩 찍어 보세요. `scaler`를 주고 만든 `Snapshot`으로 저장했으면 되살릴 때도 `scaler`를 줍니다. `loader_generator`도 그렇습니다.
"""


# %% tags=["exercise:Snapshot"]
class Snapshot:
    """에폭을 시작하는 순간의 학습 상태를 파일 하나에 모두 남기고, 새로 만든 객체로 그대로 이어 갑니다."""

    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        """scaler: torch.amp.GradScaler, loader_generator: 섞는 DataLoader의 torch.Generator입니다. 없으면 None입니다."""
        # BEGIN SOLUTION
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.loader_generator = loader_generator
        # END SOLUTION

    def save(self, path) -> None:
        """부른 순간의 상태를 path(str이나 Path)의 파일 하나에 씁니다. 파일 이름은 받은 그대로입니다.

        모델, 옵티마이저, 스케일러와 loader_generator(있으면), 전역 난수의 상태를 담습니다.
        전역 난수는 random, np.random, torch(CPU와, 있으면 모든 GPU)의 것입니다.
        파일은 torch.load(path, weights_only=True)로 열려야 합니다. 난수를 뽑지 않고, 아무 상태도 바꾸지 않습니다.
        모드와 남아 있던 그레이디언트도 그대로 둡니다.
        """
        # BEGIN SOLUTION
        # NumPy 배열은 weights_only=True로 열리지 않으므로 평범한 리스트로 바꿉니다
        name, keys, *rest = np.random.get_state()
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.opt.state_dict(),
            "random": random.getstate(),
            "numpy": (name, keys.tolist(), *rest),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all(),
        }
        if self.scaler is not None:
            state["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            state["loader"] = self.loader_generator.get_state()
        torch.save(state, path)
        # END SOLUTION

    def load(self, path) -> None:
        """save가 쓴 파일의 상태를 이 Snapshot이 받은 객체들과 전역 난수에 되돌립니다.

        파일은 다른 이름으로 옮겨졌을 수 있습니다. 한 Snapshot으로 여러 번 저장하고 여러 번 불러올 수 있습니다.
        같은 경로에 다시 저장하면 파일을 덮어쓰고, 불러온 파일은 그대로 둡니다.
        모드는 바꾸지 않습니다.
        """
        # BEGIN SOLUTION
        # 난수의 상태는 CPU의 텐서여야 합니다. 나머지는 load_state_dict가 장치를 맞춥니다
        state = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["optimizer"])
        random.setstate(state["random"])
        np.random.set_state(state["numpy"])
        torch.set_rng_state(state["torch"])
        torch.cuda.set_rng_state_all(state["cuda"])
        if self.scaler is not None:
            self.scaler.load_state_dict(state["scaler"])
        if self.loader_generator is not None:
            self.loader_generator.set_state(state["loader"])
        # END SOLUTION


# %% tags=["check"]
check(Snapshot)

# %% [markdown]
r"""
## 이제 할 수 있는 것

- 끊긴 학습을 옵티마이저, 스케줄러와 함께 되살립니다.
- 「이어졌다」를 손실 곡선이 아니라 가중치로 확인합니다.
- 비트까지 이으려면 난수, 로더, 스케일러까지 저장해야 한다는 것을 압니다.

부품이 다 모였습니다. 다음 노트북은 한 시간 넘게 걸리니, 쉬었다가 새로 시작하세요.

[다음: 학습 루프](8_train.ipynb)
"""
