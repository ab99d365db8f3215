# %% [markdown]
r"""
# 같은 학습을 프레임워크로

프레임워크는 손으로 쓴 루프의 일부를 대신 씁니다. 얻는 것은 여러 GPU, 분산 학습, 로그입니다. 그 대신 몇몇 줄이 보이지 않게 됩니다.

**먼저 짐작해 보세요.** 손으로 쓴 아래 줄 가운데 Hugging Face Accelerate로 옮겨도 **그대로 두는** 것은 무엇일까요? 두 개를 고른 다음, 접힌 셀 아래의 표에서 확인합니다.

1. `loss.backward()`
2. `opt.zero_grad()`
3. `model.to(device)`
4. `scheduler.step()`
5. `clip_grad_norm_(…)`
"""

# %% tags=["folded"]
# 준비: import, 손글씨 숫자 데이터. 앞에서 만든 부품 셋은 강의의 것을 빌려 씁니다
import importlib.util
import inspect
import logging
import math
import os
import time
import warnings
from dataclasses import asdict
from statistics import median

import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import nn
from torch.nn.utils import clip_grad_norm_

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.loop_anatomy.accelerate_defaults import (
    precision_outside_autocast,
    rates_when_skipping,
)
from grader.experiments.loop_anatomy.digits import (
    RunConfig,
    device,
    digit_loaders,
    folder,
    make_model,
    on_cpu,
    plain_step,
    x_train,
    y_train,
)
from grader.experiments.loop_anatomy.parts import BestCheckpoint, seed_everything, warmup_cosine
from grader.experiments.loop_anatomy.schedules import warmup_then_cosine
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
warnings.filterwarnings("ignore", message="IProgress not found")  # 진행 막대 위젯은 쓰지 않습니다

# %% [markdown]
r"""
## 1. Accelerate: 루프는 그대로, 몇 줄만 바꿉니다

약 5분 · ★★☆

Accelerate는 가장 얇은 프레임워크입니다. 바꾸는 줄은 이것이 전부이고, 표에 없는 지우기와 `scheduler.step()`은 그대로 둡니다.

| 손으로 쓴 줄 | Accelerate |
|---|---|
| `model.to(device)`, `xb.to(device)` | `accelerator.prepare(model, opt, scheduler, …)` |
| `torch.autocast(…)` | `Accelerator(mixed_precision=…)`와 `accelerator.autocast()` |
| `scaler.scale(loss).backward()` | `accelerator.backward(loss)` |
| `scaler.unscale_(opt)`와 클리핑 | `accelerator.clip_grad_norm_(…)` |
| `scaler.step(opt)`, `scaler.update()` | `opt.step()` |
| 검증할 때 맞힌 수 세기 | `accelerator.gather_for_metrics(…)`로 모은 다음 세기 |
| `model.state_dict()` | `accelerator.unwrap_model(model).state_dict()` |

`prepare`가 돌려준 것을 써야 합니다. 돌려받지 않은 로더는 프로세스가 여럿일 때 모두에게 같은 배치를 줍니다. 감싼 모델을 그대로 저장하면 이름마다 `module.`이 붙어 다른 곳에서 열리지 않습니다. 프로세스가 하나면 둘 다 아무 일 없이 지나갑니다.

### 연습 9. `train_accelerate`

약 40분 · ★★☆

[`train`](8_train.ipynb)과 같은 학습을 Accelerate로 옮깁니다. float32에서 마지막 가중치가 `train`과 같아야 합니다. `seed_everything`, `warmup_cosine`, `BestCheckpoint`는 맨 위의 접힌 셀이 가져온 강의의 것을 불러도 됩니다.
"""


# %% tags=["exercise:train_accelerate"]
def train_accelerate(model, train_loader, val_loader, cfg, *, checkpoint_path) -> float:
    """train과 같은 학습을, 시드를 정하는 것까지 똑같이, Hugging Face Accelerate에 맡깁니다. 가장 높은 검증 정확도를 돌려줍니다.

    모델, 옵티마이저, train_loader를 prepare에 넘기고, 역전파와 클리핑도 Accelerator에 맡깁니다.
    cfg.amp_dtype이 None이면 float32로 계산하고, "bfloat16"이어도 오류 없이 끝까지 학습합니다.
    체크포인트에는 prepare가 감싸기 전의 모델을 담습니다. 지난 배치의 계산 그래프는 붙들고 있지 않습니다.
    모델에는 마지막 가중치가 남고, 학습 모드로 끝납니다.
    """
    # BEGIN SOLUTION
    from accelerate import Accelerator

    seed_everything(cfg.seed)
    precision = {None: "no", "bfloat16": "bf16", "float16": "fp16"}[cfg.amp_dtype]
    accelerator = Accelerator(mixed_precision=precision)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    checkpoint = BestCheckpoint(checkpoint_path)
    best_accuracy = 0.0
    step = 0

    # 장치로 옮기고, 프로세스가 여럿이면 나누고 감싼 것을 돌려받습니다
    model, opt, scheduler = accelerator.prepare(model, opt, scheduler)
    train_loader, val_loader = accelerator.prepare(train_loader, val_loader)

    model.train()
    for epoch in range(cfg.epochs):
        for xb, yb in train_loader:
            opt.zero_grad()
            with accelerator.autocast():
                logits = model(xb)
                loss = F.cross_entropy(logits, yb)
            # 배율, 프로세스 사이의 평균은 여기서 합니다
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            step += 1

        num_correct = 0
        num_samples = 0
        model.eval()
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted = model(xb).argmax(dim=1)
                # 프로세스마다 본 샘플을 모읍니다
                predicted, yb = accelerator.gather_for_metrics((predicted, yb))
                num_correct += (predicted == yb).sum().item()
                num_samples += len(yb)
        model.train()
        accuracy = num_correct / num_samples

        # 감싼 모델이 아니라 원래 모델을 저장합니다
        if accelerator.is_main_process:
            unwrapped = accelerator.unwrap_model(model)
            checkpoint.update(accuracy, model=unwrapped, opt=opt, scheduler=scheduler, step=step, config=cfg)
        best_accuracy = max(best_accuracy, accuracy)
    return best_accuracy
    # END SOLUTION


# %% tags=["check"]
check(train_accelerate)

# %% [markdown]
r"""
## 2. 네 가지로 쓴 학습

약 10분 · ★★☆

**예측.** 손으로 쓴 루프를 Accelerate, Lightning, Transformers의 Trainer로 옮깁니다. 옵티마이저(optimizer)와 가중치 감쇠(weight decay), 스케줄, 클리핑을 넷 모두에 같은 값으로 적습니다. 초기 가중치와 배치 순서도 같고, 정밀도는 float32입니다. 네 손실(loss) 곡선은 얼마나 다를까요?

- a: 소수점 여섯째 자리까지 같습니다.
- b: 1000분의 1쯤 다릅니다. 계산하는 순서가 저마다 다릅니다.
- c: 눈에 띄게 다릅니다. 프레임워크마다 기본값이 다릅니다.

아래의 네 함수는 접어 두었습니다. 앞의 둘은 연습에서 쓴 것을 float32로 줄인 것입니다. 뒤의 둘은 설치했을 때만 실행됩니다. Lightning과 Trainer를 써 본 적이 없다면 펼쳐서, 손으로 쓴 줄이 저마다 어디로 갔는지 찾아보세요.
"""

# %% tags=["predict"]
predict("02-15")


# %% tags=["folded"]
# 손으로 쓴 루프와 시간을 재는 함수
def clock():
    """CPU에서는 다른 프로그램에 덜 흔들리는 CPU 시간을, GPU에서는 끝나기를 기다려 벽시계를 읽습니다."""
    if on_cpu:
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def by_hand(model, train_loader, val_loader, cfg, journal):
    torch.manual_seed(cfg.seed)
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_then_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    best = -math.inf
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            xb, yb = xb.to(device), yb.to(device)
            opt.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            journal.append((loss.item(), clock()))
        model.eval()
        num_correct = num_samples = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                num_correct += (model(xb.to(device)).argmax(dim=1) == yb.to(device)).sum().item()
                num_samples += len(yb)
        if num_correct / num_samples > best:
            best = num_correct / num_samples
            state = {"model": model.state_dict(), "opt": opt.state_dict(), "config": asdict(cfg)}
            torch.save(state, folder / "hand.tmp")
            os.replace(folder / "hand.tmp", folder / "hand.pt")
    return best


# %% tags=["folded"]
# Accelerate
def with_accelerate(model, train_loader, val_loader, cfg, journal):
    from accelerate import Accelerator

    torch.manual_seed(cfg.seed)
    accelerator = Accelerator()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    scheduler = warmup_then_cosine(opt, cfg.warmup_steps, cfg.total_steps)
    model, opt, scheduler, train_loader, val_loader = accelerator.prepare(
        model, opt, scheduler, train_loader, val_loader
    )
    best = -math.inf
    for epoch in range(cfg.epochs):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), cfg.max_norm)
            opt.step()
            scheduler.step()
            journal.append((loss.item(), clock()))
        model.eval()
        num_correct = num_samples = 0
        with torch.no_grad():
            for xb, yb in val_loader:
                predicted, yb = accelerator.gather_for_metrics((model(xb).argmax(dim=1), yb))
                num_correct += (predicted == yb).sum().item()
                num_samples += len(yb)
        if num_correct / num_samples > best:
            best = num_correct / num_samples
            accelerator.save_state(folder / "accelerate")
    return best


# %% tags=["folded"]
# Lightning
def with_lightning(model, train_loader, val_loader, cfg, journal, interval=None):
    import lightning
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Digits(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model

        def training_step(self, batch, batch_idx):
            xb, yb = batch
            loss = F.cross_entropy(self.model(xb), yb)
            journal.append((loss.item(), clock()))
            return loss

        def validation_step(self, batch, batch_idx):
            xb, yb = batch
            correct = (self.model(xb).argmax(dim=1) == yb).float().mean()
            self.log("accuracy", correct, batch_size=len(yb))

        def configure_optimizers(self):
            opt = torch.optim.AdamW(self.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
            plan = {"scheduler": warmup_then_cosine(opt, cfg.warmup_steps, cfg.total_steps)}
            if interval is not None:
                plan["interval"] = interval
            return {"optimizer": opt, "lr_scheduler": plan}

    lightning.seed_everything(cfg.seed, verbose=False)
    best = ModelCheckpoint(folder / "lightning", monitor="accuracy", mode="max")
    trainer = lightning.Trainer(
        max_epochs=cfg.epochs, gradient_clip_val=cfg.max_norm, callbacks=[best], devices=1, **QUIET
    )
    trainer.fit(Digits(), train_loader, val_loader)
    return best.best_model_score.item()


# %% tags=["folded"]
# Transformers의 Trainer
def with_trainer(model, train_loader, val_loader, cfg, journal):
    from transformers import PrinterCallback, Trainer, TrainingArguments

    def as_dict(samples):
        return {
            "xb": torch.stack([xb for xb, _ in samples]),
            "labels": torch.stack([yb for _, yb in samples]),
        }

    class Digits(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, xb, labels):
            logits = self.model(xb)
            loss = F.cross_entropy(logits, labels)
            if self.training:
                journal.append((loss.item(), clock()))
            return {"loss": loss, "logits": logits}

    class SameOrder(Trainer):  # 배치 순서를 맞추려고 로더를 그대로 씁니다
        def get_train_dataloader(self):
            train_loader.collate_fn = as_dict
            return train_loader

    wrapped = Digits().to(device)
    opt = torch.optim.AdamW(wrapped.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    args = TrainingArguments(
        output_dir=folder / "trainer",
        num_train_epochs=cfg.epochs,
        per_device_train_batch_size=cfg.batch_size,
        per_device_eval_batch_size=512,
        max_grad_norm=cfg.max_norm,
        eval_strategy="epoch",
        save_strategy="best",
        metric_for_best_model="accuracy",
        seed=cfg.seed,
        use_cpu=on_cpu,
        dataloader_pin_memory=False,
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
    )
    trainer = SameOrder(
        wrapped,
        args,
        data_collator=as_dict,
        train_dataset=train_loader.dataset,
        eval_dataset=val_loader.dataset,
        compute_metrics=lambda found: {
            "accuracy": float((found.predictions.argmax(1) == found.label_ids).mean())
        },
        optimizers=(opt, warmup_then_cosine(opt, cfg.warmup_steps, cfg.total_steps)),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return trainer.state.best_metric


# %% tags=["folded"]
# 준비: 설치된 프레임워크를 모읍니다. Lightning의 진행 막대와 안내 문구, 학습 전에 해 보는 검증을 끕니다
QUIET = {
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "num_sanity_val_steps": 0,
}

WAYS = {"손으로": (by_hand, None), "Accelerate": (with_accelerate, "accelerate")}
if importlib.util.find_spec("lightning"):
    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    WAYS["Lightning"] = (lambda *args: with_lightning(*args, interval="step"), "lightning")
    WAYS["Lightning, interval 없음"] = (with_lightning, "lightning")
else:
    print("Lightning이 없어서 건너뜁니다. 설치: pip install lightning")
if importlib.util.find_spec("transformers"):
    import transformers

    transformers.logging.set_verbosity_error()
    WAYS["Trainer"] = (with_trainer, "transformers")
else:
    print("Transformers가 없어서 건너뜁니다. 설치: pip install transformers")


# %%
cfg = RunConfig()
journals, best_scores, step_times = {}, {}, {}
for name, (way, _) in WAYS.items():
    for _ in range(2):  # 두 번째가 빠른 쪽입니다. 처음에는 import와 준비가 섞입니다
        journals[name] = []
        loaders = digit_loaders(torch.Generator().manual_seed(0))  # 배치 순서가 같은 새 로더
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best_scores[name] = way(make_model(seed=0), *loaders, cfg, journals[name])
        times = [when for _, when in journals[name]]
        middle = median(after - before for before, after in zip(times, times[1:], strict=False))
        step_times[name] = min(middle, step_times.get(name, math.inf))
    print(f"{name}: 가장 높은 검증 정확도 {best_scores[name]:.4f}")

# %% tags=["folded"]
# 그림과 확인: 손실 곡선을 겹칩니다
curves = {name: [loss for loss, _ in journal] for name, journal in journals.items()}
gaps = {
    name: max(abs(ours - theirs) for ours, theirs in zip(curve, curves["손으로"], strict=True))
    for name, curve in curves.items()
}
figure, axis = plt.subplots()
looks = {
    "손으로": {"color": COLORS["right"], "linewidth": 6, "alpha": 0.5},
    "Accelerate": {"color": COLORS["third"], "linewidth": 2.5},
    "Lightning": {"color": COLORS["fourth"], "linestyle": "--"},
    "Trainer": {"color": COLORS["text"], "linestyle": ":"},
    "Lightning, interval 없음": {"color": COLORS["wrong"], "linewidth": 1.2},
}
for name, curve in curves.items():
    axis.plot(curve, label=name, **looks[name])
axis.set(xlabel="스텝", ylabel="배치 손실", ylim=(0, 3.2))
axis.set_title("같은 설정, 같은 배치, 다른 프레임워크")
axis.legend(loc="upper right", ncols=2)
caption = f"손실 곡선 {len(WAYS)}개. 손으로 쓴 루프와 프레임워크의 곡선이 한 줄로 겹칩니다."
if "Lightning" in WAYS:
    caption += " interval을 적지 않은 Lightning 곡선 하나만 위로 떨어져 천천히 내려갑니다."
show(figure, caption)
for name, gap in gaps.items():
    assert (gap > 0.1) if "없음" in name else (gap < (1e-6 if on_cpu else 1e-2))
largest_gap = max(gap for name, gap in gaps.items() if "없음" not in name)
reveal("02-15", measured="a" if largest_gap < 1e-6 else "b" if largest_gap < 1e-2 else "c")


# %% tags=["folded"]
# 표와 확인: 줄 수와 시간
def code_lines(function):
    """빈 줄과 주석을 뺀 줄 수입니다. 재려고 넣은 journal 줄도 뺍니다."""
    lines = [line.strip() for line in inspect.getsource(function).splitlines()]
    return sum(bool(line) and not line.startswith("#") and "journal.append" not in line for line in lines)


functions = {
    "손으로": by_hand,
    "Accelerate": with_accelerate,
    "Lightning": with_lightning,
    "Trainer": with_trainer,
}
rows = []
for name, function in functions.items():
    row = [name, code_lines(function), "설치하지 않음", "", "", ""]
    if name in curves:
        added = 1e6 * (step_times[name] - step_times["손으로"])
        row[2:] = [
            f"{best_scores[name]:.4f}",
            f"{gaps[name]:.0e}",
            f"{1e6 * step_times[name]:.0f} µs",
            f"{added:+.0f} µs",
        ]
        assert abs(best_scores[name] - best_scores["손으로"]) < (1e-6 if on_cpu else 0.02)
    rows.append(row)
show_table(["", "줄 수", "가장 높은 정확도", "손실 곡선의 최대 차이", "한 스텝", "더한 시간"], rows)
assert min(map(code_lines, functions.values())) >= code_lines(by_hand) - 3  # 거의 줄지 않습니다
extra = step_times["Accelerate"] - step_times["손으로"]

# 큰 모델의 한 스텝과 비교해 봅니다
torch.manual_seed(9)
large = nn.Sequential(
    nn.Linear(64, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 10)
).to(device)
opt = torch.optim.AdamW(large.parameters(), lr=1e-3)
begin = clock()
for _ in range(3):
    plain_step(large, opt, (x_train[:512], y_train[:512]))
large_step = (clock() - begin) / 3
print(
    f"큰 모델의 한 스텝은 {1e3 * large_step:.0f} ms입니다. Accelerate가 더한 시간은 그 {extra / large_step:.1%}입니다"
)
if on_cpu:
    assert large_step > 10 * step_times["손으로"]

# %% [markdown]
r"""
기본값에 기대지 않고 모두 적으면 같은 학습입니다. 같은 일을 빠짐없이 적으면 줄 수는 거의 줄지 않습니다. 분산 학습과 재시작 코드를 직접 쓰지 않아도 될 뿐입니다. 더하는 시간은 대개 스텝(step)마다 붙는 고정 비용입니다. 이 노트북의 작은 모델에서는 비율이 커 보이지만 큰 모델에서는 묻힙니다. **프레임워크를 고르는 기준은 줄 수나 속도가 아니라 무엇이 보이지 않게 되는가입니다.**

## 3. 무엇이 보이지 않게 되는가

약 10분 · ★★☆

| | 루프를 쓰는 사람 | 보이지 않는 것 | 말없이 정하는 것 |
|---|---|---|---|
| Accelerate | 나 | 장치, 배율, 프로세스 사이의 평균 | 스텝을 건너뛰면 학습률(learning rate)도 기다립니다(`fused=True`이면 기다리지 않습니다). `mixed_precision`을 주면 검증도 16비트로 계산합니다. 프로세스가 $n$개면 스케줄러를 $n$번 부릅니다 |
| Lightning | 프레임워크 | 장치와 배율, 지우기부터 업데이트까지의 순서, 모드, 저장 | 스케줄러를 **에폭마다** 부릅니다. 클리핑은 하지 않습니다 |
| Trainer | 프레임워크 | 위의 모두와 스케줄러, 로더 | 노름 1.0으로 클리핑하고, 0까지 직선으로 감쇠하고, 편향(bias)은 가중치 감쇠에서 뺍니다 |

Lightning을 설치했다면 그림에서 곡선 하나가 혼자 떨어져 있을 것입니다. `"interval": "step"`을 적지 않은 기본값입니다. 스텝으로 계획한 스케줄을 에폭(epoch)마다 한 번씩만 옮기므로, 세 에폭이 다 지나도 워밍업의 셋째 값에 그칩니다. 오류는 없습니다.

표의 기본값 가운데 프로세스 하나에서 볼 수 있는 것은 설치된 것에서 바로 확인합니다. 먼저 Accelerate입니다. 첫 스텝은 그레이디언트(gradient)가 inf라서 건너뛰고, 둘째 스텝은 업데이트합니다.
"""

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # 준비한 다음에 step을 감쌌다는 경고입니다
    rates = {fused: rates_when_skipping(fused=fused) for fused in [False, True]}
print("학습률:           ", rates[False], "— 건너뛴 스텝에서는 그대로입니다")
print("fused=True이면:   ", rates[True], "— 건너뛴 것을 알아차리지 못합니다")
print("bf16일 때 검증의 자료형:", precision_outside_autocast("bf16"))

# %% tags=["folded"]
# 확인: 두 학습률, 그리고 autocast() 밖에서 첫 계층이 계산한 자료형
assert rates == {False: [1.0, 0.5], True: [0.5, 0.25]}
assert precision_outside_autocast("bf16") is torch.bfloat16
assert precision_outside_autocast("no") is torch.float32

# %% tags=["folded"]
# 확인: Lightning과 Trainer의 기본값
if "Lightning" in WAYS:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default_clip = lightning.Trainer(**QUIET, enable_checkpointing=False).gradient_clip_val
    print("Lightning의 클리핑:", default_clip)
    assert default_clip is None

if "Trainer" in WAYS:
    defaults = transformers.TrainingArguments(folder / "defaults", use_cpu=on_cpu)
    decayed = transformers.Trainer(make_model(seed=0), defaults).get_decay_parameter_names(make_model(seed=0))
    print("Trainer의 클리핑:", defaults.max_grad_norm, "스케줄:", defaults.lr_scheduler_type.value)
    print("Trainer가 가중치 감쇠를 하는 매개변수:", decayed)
    assert defaults.max_grad_norm == 1.0
    assert defaults.lr_scheduler_type == "linear"
    assert decayed == ["0.weight", "3.weight"]

if len(WAYS) == 2:
    print("Lightning과 Transformers가 없어서 건너뜁니다.")

# %% [markdown]
r"""
처음 한 번은 손으로 쓰고, 같은 일을 되풀이하게 되면 프레임워크로 옮기세요. 옮길 때는 여기에서 한 것처럼 **배치 순서를 맞추고 손실 곡선을 겹쳐 봅니다.** 겹치지 않으면 말없이 정해진 것이 있습니다.

## 레슨의 정리

| 부품 | 막아 주는 것 | 기억할 한 줄 |
|---|---|---|
| 시드 | 비교할 수 없는 두 실행 | 모델과 로더를 만들기 전에 정하고, 로더마다 제너레이터를 따로 줍니다 |
| 클리핑 | 배치 하나가 망치는 학습 | `unscale_` 다음, `step` 앞입니다 |
| 혼합 정밀도 | 0이 되는 그레이디언트 | float16에는 스케일러, bfloat16에는 쓰지 않습니다 |
| 스케줄 | 최고 학습률이 클 때 처음의 튐, 끝의 흔들림 | 스텝을 세는지 에폭을 세는지는 부르는 자리가 정합니다 |
| 설정 | 다시 만들 수 없는 모델, 조용한 오타 | 바뀌지 않게 만들고, 평범한 값으로 바꾸어 체크포인트마다 저장합니다 |
| 검증과 체크포인트 | 과적합, 반쪽 파일, 이어지지 않는 학습 | 그 순간의 복사본을 옆에 쓰고 이름을 바꿉니다. 옵티마이저와 스케줄러도 담습니다 |

다섯 가지만 기억하세요.

1. 검증을 더하는 것처럼 「읽기만 하는」 줄도 전역 난수를 옮깁니다.
2. 건너뛴 스텝에서 멈추는 것은 업데이트뿐입니다. 직접 부르는 스케줄러는 계속 나아갑니다(Accelerate는 기다립니다).
3. AdamW는 배율의 실수를 숨기고, 스케일러는 `zero_grad()`의 실수를 숨깁니다. 손실만 보아서는 모릅니다.
4. 「이어졌다」와 「옮겼다」는 눈이 아니라 수로 확인합니다. 앞의 것은 가중치의 차이, 뒤의 것은 스텝마다의 손실 차이입니다. 비트까지 이으려면 난수, 로더, 스케일러도 저장합니다.
5. 프레임워크의 기본값도 누군가 정한 하이퍼파라미터입니다.

복습은 `clinic()`(터미널에서는 `grader clinic`)으로 합니다. 통과한 함수를 조금 고장 낸 코드가 하루에 5분어치씩 나오고, 직접 했던 실수는 며칠 뒤에 다시 나옵니다. 내가 쓴 스크립트나 프레임워크의 루프가 배우지 못할 때는 `grader xray train.py`가 스크립트를 그대로 실행하며 업데이트를 지켜보고, 무엇이 틀렸는지 그 줄에서 말합니다.

## 더 읽을거리

- [Automatic Mixed Precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html): 클리핑, 누적, 여러 옵티마이저와 스케일러
- [Reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html): 시드, 작업자, 결정적 연산
- [torch.optim](https://docs.pytorch.org/docs/stable/optim.html): 스케줄러를 부르는 자리와 종류
- [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html): 추론용 파일과 이어서 학습할 파일
- [torch.load](https://docs.pytorch.org/docs/stable/generated/torch.load.html): `weights_only`가 여는 것과 열지 않는 것
- [Accelerate](https://huggingface.co/docs/accelerate/index), [Lightning](https://lightning.ai/docs/pytorch/stable/), [Trainer](https://huggingface.co/docs/transformers/main_classes/trainer): 이 노트북의 세 프레임워크

## 이제 할 수 있는 것

- 손으로 쓴 루프를 Accelerate로 옮기고, 손실 곡선을 겹쳐 확인합니다.
- 프레임워크가 대신 정한 것을 찾아냅니다.

**레슨 02를 마쳤습니다.** 다음 레슨에서는 작은 GPT가 한국어 법 조문을 쓰게 될 때까지, 워밍업과 감쇠와 클리핑이 스텝마다 무엇을 바꾸는지 잽니다.

[다음 레슨: 학습을 안정시키는 기법](../03_bells_and_whistles/1_small_gpt.ipynb)
"""
