# %% [markdown]
r"""
# 학습 루프: 여섯 부품을 하나로

시드(seed), 혼합 정밀도(mixed precision), 클리핑, 스케줄, 설정, 체크포인트(checkpoint). 부품이 다 모였고, 조립하면 50줄쯤입니다.

**먼저 맞춰 보세요.** 한 스텝(step)의 여덟 줄이 뒤섞여 있습니다. 접힌 셀을 실행한 다음, 그다음 셀의 `order`에 실행할 순서대로 글자 여덟 개를 적고 실행합니다.

| 글자 | 줄 |
|---|---|
| A | `scaler.unscale_(opt)` |
| B | `opt.zero_grad()` |
| C | `scheduler.step()` |
| D | `scaler.step(opt)` |
| E | `with torch.autocast(…): loss = …` |
| F | `clip_grad_norm_(…)` |
| G | `scaler.scale(loss).backward()` |
| H | `scaler.update()` |
"""

# %% tags=["folded"]
# 준비: import, 손글씨 숫자 데이터. 앞에서 만든 부품 셋은 강의의 것을 빌려 씁니다
import math

import torch
import torch.nn.functional as F

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.loop_anatomy.digits import (
    RunConfig,
    apart,
    device,
    digit_loaders,
    flat,
    folder,
    make_model,
)
from grader.experiments.loop_anatomy.parts import BestCheckpoint, seed_everything, warmup_cosine
from grader.experiments.loop_anatomy.whiteboard import grade_order
from grader.plots import use_course_style

use_course_style()

# %%
order = ""  # 예: "ABCDEFGH"
print(grade_order(order))

# %% [markdown]
r"""
## 1. 쓰기 전에 소리 내어 읽기

약 10분 · ★☆☆

1. **시드**를 정합니다. 이 함수가 하는 일 가운데 가장 먼저입니다.
2. 모델을 장치로 옮기고, AdamW와 **스케줄러**와 체크포인트를 만듭니다.
3. 에폭(epoch)마다 학습 모드(train mode)로 시작합니다.
4. 배치마다 그레이디언트(gradient)를 지우고, **autocast** 안에서 순전파(forward pass)하고, 밖에서 역전파(backward pass)합니다.
5. 배율을 되돌리고, **클리핑하고**, 업데이트하고, 배율을 고치고, 학습률(learning rate)을 다음 값으로 바꿉니다.
6. 에폭이 끝나면 평가 모드(evaluation mode), `no_grad()`, float32로 **검증합니다.** 모든 샘플을 셉니다.
7. 점수가 가장 높으면 **설정**과 함께 저장합니다.
8. 학습 모드로 끝내고, 가장 높은 정확도를 돌려줍니다.

4번과 5번의 순서는 지금까지의 실험이 하나씩 정한 것입니다. 외우지 말고, 한 줄을 옮기면 무엇이 깨지는지 떠올려 보세요. 2번에서 장치로 옮기는 것이 먼저인 까닭도 있습니다. 옵티마이저(optimizer)의 상태는 매개변수(parameter)가 있는 장치에 생기고, 매개변수를 새 텐서로 바꾸는 모델이라면 옮기기 전에 만든 옵티마이저는 버려진 텐서를 업데이트합니다.

**`cfg.seed`가 정하지 못하는 것.** `train`은 이미 만든 모델과 로더를 받습니다. 그러니 1번의 시드는 그 뒤에 뽑는 난수(드롭아웃 같은 것)만 정합니다. 초기 가중치(weight)와 섞는 순서까지 같게 다시 학습하려면, `train`을 부르기 **전에도** 시드를 정한 다음 모델을 만들고, 제너레이터를 로더에 넘깁니다. 아래의 마지막 셀이 그렇게 합니다.
"""


# %% tags=["folded"]
# 확인: train을 부르기 전에 시드를 정하면 초기 가중치와 배치 순서가 같고, 나중에 정하면 다릅니다
def prepared(seed_before):
    if seed_before:
        generator = seed_everything(0)
    model = torch.nn.Linear(64, 10)
    if not seed_before:
        generator = seed_everything(0)
    train_loader, _ = digit_loaders(generator)
    return flat(model.parameters()), next(iter(train_loader))[1].tolist()


first, again = prepared(True), prepared(True)
assert apart(first[0], again[0]) == 0.0
assert first[1] == again[1]
assert apart(prepared(False)[0], prepared(False)[0]) > 0.01

# %% [markdown]
r"""
### 연습 8. `train`

약 60분 · ★★★

앞에서 쓴 `seed_everything`, `warmup_cosine`, `BestCheckpoint`를 부릅니다. 맨 위의 접힌 셀이 강의의 것을 가져왔으니 그대로 불러도 되고, 채점할 때도 그렇게 합니다. 자기 것을 쓰고 싶으면 이 연습 셀 위에 붙여 넣습니다. `cfg`에는 `TrainConfig`와 같은 필드가 있습니다. float16이면 스케일러가 필요하고, bfloat16과 float32이면 필요 없습니다.
"""


# %% tags=["exercise:train"]
def train(model, train_loader, val_loader, cfg, *, device="cpu", checkpoint_path) -> float:
    """맨 먼저 cfg.seed로 시드를 정하고, cfg대로 처음부터 끝까지 학습합니다. 가장 높은 검증 정확도를 돌려줍니다.

    AdamW, 교차 엔트로피, 클리핑, 스텝마다 warmup_cosine을 씁니다. cfg.amp_dtype이 있으면 autocast 안에서 순전파하고,
    float16이면 학습이 끝날 때까지 GradScaler 하나를 씁니다. 체크포인트의 step은 그때까지 한 업데이트의 수입니다.
    에폭마다 평가 모드, float32로 val_loader의 모든 샘플에서 정확도를 재고, 가장 좋을 때를 BestCheckpoint로 남깁니다.
    두 로더에는 배치가 하나 이상 있습니다. 지난 배치의 계산 그래프는 붙들고 있지 않습니다.
    모델에는 마지막 가중치가 남고, 학습 모드로 끝납니다.
    """
    # BEGIN SOLUTION
    # 1. 준비: 시드가 가장 먼저입니다
    seed_everything(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    best_accuracy = 0.0
    step = 0

    # float16만 스케일러를 켭니다. amp_dtype이 None이면 autocast도 꺼져 있습니다
    device_type = torch.device(device).type
    amp_dtype = getattr(torch, cfg.amp_dtype) if cfg.amp_dtype else None
    scaler = torch.amp.GradScaler(device_type, enabled=amp_dtype is torch.float16)

    model.train()
    for epoch in range(cfg.epochs):
        # 2. 학습: 지우기, 순전파, 역전파, 클리핑, 업데이트, 학습률
        for xb, yb in train_loader:
            xb = xb.to(device)
            yb = yb.to(device)
            opt.zero_grad()
            with torch.autocast(device_type, dtype=amp_dtype, enabled=amp_dtype is not None):
                logits = model(xb)
                loss = F.cross_entropy(logits, yb)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)
            scaler.step(opt)
            scaler.update()
            scheduler.step()
            step += 1

        # 3. 검증: 평가 모드로 재고, 학습 모드로 되돌립니다
        num_correct = 0
        num_samples = 0
        model.eval()
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted = model(xb.to(device)).argmax(dim=1)
                num_correct += (predicted == yb.to(device)).sum().item()
                num_samples += len(yb)
        model.train()
        accuracy = num_correct / num_samples

        # 4. 가장 좋은 순간을 파일로 남깁니다
        checkpoint.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)
        best_accuracy = max(best_accuracy, accuracy)
    return best_accuracy
    # END SOLUTION


# %% tags=["check"]
check(train)

# %% [markdown]
r"""
다 썼으면 진짜 데이터로 돌려 봅니다. 시드를 정하고, 모델을 만들고, 제너레이터를 로더에 넘기는 차례를 보세요.
"""

# %%
cfg = RunConfig(lr=0.01, epochs=5, warmup_steps=22, total_steps=225)
generator = seed_everything(cfg.seed)
model = make_model(cfg.seed)
train_loader, val_loader = digit_loaders(generator, cfg.batch_size)
try:
    best = train(model, train_loader, val_loader, cfg, device=device, checkpoint_path=folder / "train.pt")
    stored = torch.load(folder / "train.pt", weights_only=True)
    print(f"가장 높은 검증 정확도 {best:.3f}, 저장한 스텝 {stored['step']}, 설정 {stored['config']}")
except NotImplementedError:
    print("train을 완성하면 여기에 결과가 나옵니다.")

# %% [markdown]
r"""
## 이제 할 수 있는 것

- 여섯 부품을 순서까지 스스로 조립합니다.
- 시드를 어디에서 정해야 학습을 처음부터 다시 만들 수 있는지 압니다.
- 자기 데이터로 학습할 때는 빈 루프에서 시작합니다. 이 노트북 옆의 [loop_template.py](loop_template.py)에 번호가 붙은 빈칸 13개가 있습니다. 아무것도 보지 않고 모두 채울 수 있으면 이 루프를 다 익힌 것입니다. 그 파일은 채점하지 않습니다.

이 레슨에서 가장 긴 함수를 썼습니다. 마지막 노트북은 하루쯤 쉬었다가 열어도 됩니다.

[다음: 프레임워크](9_frameworks.ipynb)
"""
