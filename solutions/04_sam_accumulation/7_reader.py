# %% [markdown]
r"""
# 한국어 기계 독해를 SAM과 누적으로

지금까지의 것을 진짜 과제 하나에 모읍니다. 기계 독해(MRC)는 지문과 질문을 읽고, 지문에서 답인 구절을 찾습니다. 채점은 KorQuAD와 같이 EM과 F1로 하는데, 그 값부터 골라 보세요.

EM(exact match)은 문장 부호를 지우고 띄어쓰기를 한 칸으로 줄인 답이 정답과 **똑같은** 비율입니다. F1은 **글자가 겹치는** 정도입니다. 예측의 글자 가운데 정답에 있는 비율(정밀도)과 정답의 글자 가운데 예측에 있는 비율(재현율)의 조화 평균입니다.

**예측.** 정답은 「5년」, 예측은 「임기는 5년」입니다. EM과 F1은 얼마일까요?

- a: EM 0, F1 0
- b: EM 0, F1 0.40
- c: EM 0, F1 0.57
"""

# %% tags=["folded"]
# 준비: 라이브러리, 한국어 질문과 독해 모델(1분 안에 배우는 작은 모델)
import math
import random
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path
from statistics import mean, stdev

import torch
from matplotlib import pyplot as plt
from torch.nn.utils import clip_grad_norm_

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.sam_accumulation.answers import (
    exact_match,
    find_answers,
    letter_f1,
    score,
    score_facts,
    score_pairs,
)
from grader.experiments.sam_accumulation.digits import device, on_cpu
from grader.experiments.sam_accumulation.loops import VectorSAM
from grader.experiments.sam_accumulation.passages import (
    LengthLoader,
    collate,
    dev_set,
    encode,
    fact,
    test_set,
    train_set,
    vocabulary,
)
from grader.experiments.sam_accumulation.pretrained import (
    best_answers,
    cut_into_pieces,
    load_pretrained,
    piece_batches,
)
from grader.experiments.sam_accumulation.reader import Reader
from grader.experiments.sam_accumulation.reading_runs import (
    KNOBS,
    reader_rise,
    stored_log,
    stored_runs,
    train_reader,
)
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()
torch.set_num_threads(1)
scratch = tempfile.TemporaryDirectory()  # 체크포인트를 두는 곳입니다. 끝나면 지워집니다
folder = Path(scratch.name)

# %% tags=["predict"]
predict("04-17")

# %%
ours, theirs = Counter("임기는5년"), Counter("5년")
shared = (ours & theirs).total()  # 겹치는 글자의 수
precision, recall = shared / ours.total(), shared / theirs.total()
f1 = 2 * precision * recall / (precision + recall)

# %% tags=["folded"]
# 표와 확인: 예측과 정답의 짝 다섯
pairs = [
    ("5년", "5년"),
    ("임기는 5년", "5년"),
    ("대통령", "대통령령"),
    ("국무 총리", "국무총리"),
    ("국회", "법률"),
]
show_table(
    ["예측", "정답", "EM", "F1"],
    [[ours, right, exact_match(ours, right), f"{letter_f1(ours, right):.2f}"] for ours, right in pairs],
)
assert exact_match("임기는 5년", "5년") == 0
assert letter_f1("임기는 5년", "5년") == f1  # 정밀도 2/5, 재현율 1
assert abs(f1 - 4 / 7) < 1e-9
assert letter_f1("국무 총리", "국무총리") == 1 > exact_match("국무 총리", "국무총리")
reveal("04-17")

# %% [markdown]
r"""
## 1. 데이터와 모델

약 8분 · ★★☆

지문은 대한민국헌법의 조문이고, 질문은 이 강의에서 만들었습니다. 질문의 3분의 1은 손으로 한 문장씩 썼고, 나머지는 템플릿으로 만들어 같은 사실을 두 가지 문장으로 묻습니다. 그래서 질문의 수와 함께 서로 다른 사실의 수를 보아야 합니다. 나누는 단위는 조문입니다. 검증(validation)과 시험 질문의 조문은 학습할 때 한 번도 보지 못합니다.
"""

# %% tags=["folded"]
# 표와 확인: 질문과 사실의 수
show_table(
    ["", "질문", "서로 다른 사실", "손으로 쓴 질문", "지문의 평균 길이"],
    [
        [
            name,
            len(examples),
            len({fact(one) for one in examples}),
            sum(one.kind == "natural" for one in examples),
            f"{mean(len(one.context) for one in examples):.0f}자",
        ]
        for name, examples in [("학습", train_set), ("검증", dev_set), ("시험", test_set)]
    ],
)
print(f"글자 {len(vocabulary)}가지. 예: {dev_set[3].question} → {dev_set[3].answer}")
ids, start, end = encode(dev_set[3])
offset = len(dev_set[3].question) + 2
assert dev_set[3].context[start - offset : end - offset + 1] == dev_set[3].answer
assert sum(one.kind == "natural" for one in train_set + dev_set + test_set) >= 400
assert not {one.context for one in train_set} & {one.context for one in dev_set + test_set}
assert not {fact(one) for one in train_set} & {fact(one) for one in dev_set + test_set}

# %% [markdown]
r"""
모델은 글자마다 「여기에서 답이 시작한다」와 「여기에서 끝난다」의 로짓(logits)을 냅니다. 글자 단위의 작은 트랜스포머 인코더입니다. 10만 개 남짓한 매개변수(parameter)로 1분 안에 배우게 하려고 두 가지를 보탰습니다. 합성곱 계층(layer) 둘로 이웃한 글자를 먼저 보고, 「이 글자들이 질문에도 있는가」를 입력에 더해 줍니다.

바깥 모양은 Hugging Face 모델과 같습니다. `model(**batch).loss`입니다. 그래서 사전 학습된 모델로 바꾸어도 학습 루프(training loop)는 그대로입니다.
"""

# %%
torch.manual_seed(0)
reader = Reader().to(device)
batch = collate(dev_set[:4])  # input_ids, attention_mask, start_positions, end_positions
output = reader(**batch)
print(f"매개변수 {sum(p.numel() for p in reader.parameters()):,}개, 로짓 {tuple(output.start_logits.shape)}")
untrained = score(reader, dev_set)
print(f"학습하기 전: 손실 {untrained[0]:.2f}, EM {untrained[1]:.1f}, F1 {untrained[2]:.1f}")
assert output.start_logits.shape == batch["input_ids"].shape

# %% [markdown]
r"""
### 연습. `train_qa`

약 75분 · ★★★

`sam_accumulate`에 에폭(epoch)과 검증과 저장을 붙입니다. 채점에 쓰는 학습 배치는 크기가 모두 같습니다. 여기의 데이터에서는 에폭마다 배치 하나만 질문 7개짜리입니다. 배치는 dict이고 손실(loss)은 `model(**batch).loss`입니다.

- 구간(window)은 에폭 안에서 끝납니다. 남은 배치를 다음 에폭의 첫 구간에 섞지 않습니다.
- 학습 손실과 검증 손실은 **그 에폭의** 샘플 평균입니다. 에폭마다 새로 셉니다.
- 검증은 평가 모드(evaluation mode)에서 하고, 다음 에폭은 학습 모드로 시작합니다. 끝난 모델도 학습 모드입니다.
- 검증 손실이 가장 낮을 때 **그 순간의** `state_dict()`를 파일에 씁니다.
"""


# %% tags=["exercise:train_qa"]
def train_qa(
    model,
    sam,
    train_loader,
    dev_loader,
    *,
    epochs,
    accum_steps,
    scheduler=None,
    max_norm=1.0,
    checkpoint_path,
) -> dict:
    """추출형 질의응답 모델을 SAM과 누적으로 학습합니다.

    배치는 input_ids, attention_mask, start_positions, end_positions를 담은 dict이고, 손실은 model(**batch).loss입니다.
    학습 배치의 크기(샘플 수)는 모두 같습니다. 다르면 구간을 이어 붙인 배치와 어긋납니다.
    학습 배치를 하나씩 model에 넣고, 하나마다 역전파합니다. 지난 배치의 계산 그래프는 붙들고 있지 않습니다.
    train_loader, dev_loader: 배치가 하나 이상 있습니다.
    scheduler: 있으면 업데이트마다 한 번 step()을 부릅니다.
    max_norm: 구간마다 한 번, 업데이트에 쓸 그레이디언트를 이 노름까지 줄입니다. 0.0이면 0까지 줄입니다.
    checkpoint_path: 검증 손실이 가장 낮은 에폭의 model.state_dict()를 저장합니다.

    돌려주는 dict:
        train_losses    에폭마다, w에서 잰 손실의 샘플 평균
        dev_losses      에폭마다, 평가 모드에서 잰 검증 손실의 샘플 평균
        best_epoch      검증 손실이 가장 낮은 에폭(0부터). 같으면 먼저 나온 에폭
    끝나면 모델은 학습 모드입니다.
    """
    # BEGIN SOLUTION
    train_losses, dev_losses = [], []
    best_epoch = None
    for epoch in range(epochs):
        model.train()
        total, num_samples = 0.0, 0
        stream = iter(train_loader)
        while window := list(islice(stream, accum_steps)):
            for batch in window:
                loss = model(**batch).loss
                (loss / len(window)).backward()
                total += loss.item() * len(batch["input_ids"])
                num_samples += len(batch["input_ids"])
            sam.first_step(zero_grad=True)

            for batch in window:
                perturbed_loss = model(**batch).loss
                (perturbed_loss / len(window)).backward()
            clip_grad_norm_(model.parameters(), max_norm)
            sam.second_step(zero_grad=True)
            if scheduler is not None:
                scheduler.step()
        train_losses.append(total / num_samples)

        model.eval()
        # 에폭마다 새로 셉니다
        dev_total, dev_samples = 0.0, 0
        with torch.no_grad():
            for batch in dev_loader:
                dev_loss = model(**batch).loss
                dev_total += dev_loss.item() * len(batch["input_ids"])
                dev_samples += len(batch["input_ids"])
        dev_losses.append(dev_total / dev_samples)
        if best_epoch is None or dev_losses[-1] < dev_losses[best_epoch]:
            best_epoch = epoch
            torch.save(model.state_dict(), checkpoint_path)
    model.train()
    return {"train_losses": train_losses, "dev_losses": dev_losses, "best_epoch": best_epoch}
    # END SOLUTION


# %% tags=["check"]
check(train_qa)

# %% [markdown]
r"""
다 썼으면 한 에폭을 학습해 보세요. `VectorSAM`은 같은 인터페이스의 실험용 SAM입니다. 여러분의 `SAM`을 새 셀에 옮겨 와 바꾸어도 됩니다.
"""

# %%
try:
    torch.manual_seed(0)
    model = Reader().to(device)
    sam = VectorSAM(model, torch.optim.AdamW(model.parameters(), lr=2e-3), rho=0.1)
    loaders = LengthLoader(train_set, 8, shuffle=True), LengthLoader(dev_set, 32)
    result = train_qa(model, sam, *loaders, epochs=1, accum_steps=2, checkpoint_path=folder / "mine.pt")
    loss, em, f1 = score(model, dev_set)
    print(f"학습 손실 {result['train_losses'][0]:.2f}, 검증 손실 {loss:.2f}, EM {em:.1f}, F1 {f1:.1f}")
except (NotImplementedError, TypeError, AttributeError) as error:
    print(f"train_qa를 완성하면 여기에 결과가 나옵니다. ({type(error).__name__})")

# %% [markdown]
r"""
## 2. AdamW와 비교합니다

약 15분 · ★★☆

AdamW와, AdamW를 base로 하는 SAM을 같은 에폭만큼 학습합니다. 똑같이 조정한 상대끼리 비교하려고, 방법마다 설정 4개를 시드(seed) 0으로 학습해 검증 손실이 가장 낮은 것을 골라 두었습니다. AdamW는 학습률(learning rate) 2개와 가중치 감쇠(weight decay) 2개를, SAM은 학습률 2개와 $\rho$ 2개를 짝지었습니다. 마이크로 배치(micro-batch)는 8, 두 개씩 누적해 유효 배치 크기(effective batch size)는 16입니다. 학습률은 워밍업(warmup)으로 올렸다가 직선으로 낮추고, 노름(norm)이 1.0을 넘으면 클리핑합니다. AdamW는 지금 학습하고, 시간이 두 배쯤 드는 SAM은 같은 코드로 미리 학습해 둔 기록을 읽습니다.

**예측.** 마지막 에폭의 **학습** 손실은 어느 쪽이 낮을까요?

- a: AdamW
- b: SAM
- c: 거의 같습니다.
"""

# %% tags=["predict"]
predict("04-18")

# %%
tried = {
    method: [run for run in stored_runs() if run["method"] == method and run["seed"] == 0]
    for method in ("AdamW", "SAM")
}
chosen = {method: min(every, key=lambda run: run["dev_loss"]) for method, every in tried.items()}
trained, log = train_reader(**{knob: chosen["AdamW"][knob] for knob in KNOBS}, epochs=3)
logs = {"AdamW": log, "SAM": stored_log(chosen["SAM"])}

# %% tags=["folded"]
# 표와 그림과 확인: 조정한 설정 8개, 고른 설정으로 학습한 기록
show_table(
    ["방법 (시드 0)", "ρ", "학습률", "가중치 감쇠", "검증 손실", "고른 것"],
    [
        [
            method,
            *(f"{run[knob]:g}" for knob in KNOBS),
            f"{run['dev_loss']:.3f}",
            "✓" * (run is chosen[method]),
        ]
        for method, every in tried.items()
        for run in every
    ],
)
assert len(tried["AdamW"]) == len(tried["SAM"]) == 4
rows = []
for name, history in logs.items():
    best_epoch = min(range(len(history)), key=lambda k: history[k].dev_loss)
    best = history[best_epoch]
    scores = [f"{best.em:.1f}", f"{best.f1:.1f}", f"{chosen[name]['seconds']:.0f}초"]
    rows.append([name, f"{history[-1].train_loss:.2f}", f"{best.dev_loss:.2f}", best_epoch + 1, *scores])
show_table(
    ["방법 (시드 1개)", "마지막 학습 손실", "가장 낮은 검증 손실", "그 에폭", "EM", "F1", "미리 잰 CPU 시간"],
    rows,
)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True, sharey=True)
for name, color, style in [("SAM", "right", "s-"), ("AdamW", "third", "o--")]:
    for axis, column in zip(axes, ["train_loss", "dev_loss"], strict=True):
        values = [getattr(epoch, column) for epoch in logs[name]]
        axis.plot(range(1, len(values) + 1), values, style, color=COLORS[color], label=name)
axes[0].set(title="학습 손실", xlabel="에폭", ylabel="손실")
axes[1].set(title="검증 손실은 훨씬 덜 내려갑니다", xlabel="에폭")
axes[0].set_xticks(range(1, len(log) + 1))
axes[0].legend()
show(
    figure,
    "에폭마다의 손실. 왼쪽: 두 학습 손실이 모두 내려가고 마지막에는 AdamW가 SAM보다 낮습니다. "
    "오른쪽: 검증 손실은 2.5 안팎에서 훨씬 덜 내려가고, 두 방법의 차이가 작습니다.",
)
assert untrained[0] > 3.5
for history in logs.values():
    assert history[-1].train_loss < 0.7 * history[0].train_loss
    assert min(epoch.dev_loss for epoch in history) < 2.6
    assert max(epoch.f1 for epoch in history) > untrained[2] + 20
adamw_log, sam_log = logs.values()
assert abs(min(epoch.dev_loss for epoch in adamw_log) - min(epoch.dev_loss for epoch in sam_log)) < 0.4
assert 1.2 < chosen["SAM"]["seconds"] / chosen["AdamW"]["seconds"] < 3.5
closeness = sam_log[-1].train_loss / adamw_log[-1].train_loss - 1
reveal("04-18", measured="a" if closeness > 0.03 else "b" if closeness < -0.03 else "c")

# %% [markdown]
r"""
1분이 안 되는 학습으로, 처음 보는 조문에서 답을 찾기 시작합니다. 손실은 5에서 2.5쯤으로 내려가고 F1은 몇 배가 됩니다.

시드 하나로는 어느 쪽이 나은지 알 수 없습니다. 그래서 설정을 고를 때 쓰지 않은 시드 4개(1~4)로 두 방법을 학습해 두었습니다. 검증 데이터에서 재고, 무엇을 고르는 데도 쓰지 않은 시험 데이터에서도 쟀습니다. SAM은 시간을 두 배쯤 쓰므로, 에폭을 두 배로 늘린 AdamW도 함께 쟀습니다. 다시 재려면 강의 저장소에서 `python assets/data/reader_runs/measure_reader_runs.py`를 실행합니다(10분쯤).

**예측.** 시드 4개 **모두에서** SAM이 AdamW(같은 에폭)보다 나은 것은 어느 것일까요?

- a: 검증 손실과 시험 손실
- b: 검증 손실만
- c: 검증 EM과 시험 EM
"""

# %% tags=["predict"]
predict("04-19")


# %%
def seeds_of(method, epochs=3):
    return [
        run
        for run in stored_runs()
        if (run["method"], run["epochs"]) == (method, epochs) and run["seed"] != 0
    ]


adamw_seeds, sam_seeds, long_seeds = seeds_of("AdamW"), seeds_of("SAM"), seeds_of("AdamW", epochs=6)

# %% tags=["folded"]
# 표와 확인: 미리 학습한 시드 4개. 평균 ± 표준편차, 그리고 SAM이 더 나은 시드의 수
SCORES = {"손실": "loss", "EM": "em", "F1": "f1", "사실별 EM": "fact_em", "사실별 F1": "fact_f1"}
better = {}
for split, title in [("dev", "검증"), ("test", "시험")]:
    rows = []
    for name, every in [("AdamW", adamw_seeds), ("SAM", sam_seeds), ("AdamW, 에폭 두 배", long_seeds)]:
        columns = [[run[f"{split}_{what}"] for run in every] for what in SCORES.values()]
        digits = [2, 1, 1, 1, 1]
        rows.append(
            [name, *(f"{mean(c):.{n}f} ± {stdev(c):.{n}f}" for c, n in zip(columns, digits, strict=True))]
        )
    for label, what in SCORES.items():
        gaps = [
            two[f"{split}_{what}"] - one[f"{split}_{what}"]
            for one, two in zip(adamw_seeds, sam_seeds, strict=True)
        ]
        better[split, what] = sum(gap < 0 if what == "loss" else gap > 0 for gap in gaps)
    rows.append(
        ["SAM이 AdamW보다 나은 시드", *(f"4개 중 {better[split, what]}개" for what in SCORES.values())]
    )
    show_table([f"{title} (시드 4개)", *SCORES], rows)
times = [mean(run["seconds"] for run in every) for every in (adamw_seeds, sam_seeds, long_seeds)]
print(f"CPU 시간: AdamW {times[0]:.0f}초, SAM {times[1]:.0f}초, 에폭 두 배 {times[2]:.0f}초")
assert all(two["train_loss"] > one["train_loss"] for one, two in zip(adamw_seeds, sam_seeds, strict=True))
assert (better["dev", "loss"], better["test", "loss"]) == (4, 2)
assert (better["dev", "em"], better["test", "em"]) == (2, 1)
assert mean(run["dev_loss"] for run in long_seeds) > mean(run["dev_loss"] for run in adamw_seeds)
assert mean(run["train_loss"] for run in long_seeds) < 0.65 * mean(run["train_loss"] for run in adamw_seeds)
for split in ("dev", "test"):
    for what in ("em", "f1", "fact_em", "fact_f1"):
        gap = mean(run[f"{split}_{what}"] for run in sam_seeds) - mean(
            run[f"{split}_{what}"] for run in adamw_seeds
        )
        assert abs(gap) < 3  # 한 방법의 시드 사이에서 보이는 차이보다 크지 않습니다
reveal("04-19")

# %% [markdown]
r"""
**SAM이 이겼다고 말할 수는 없습니다.** 검증 손실은 시드 4개 모두에서 SAM이 낮았습니다. 그러나 차이는 시드마다 0.02~0.04이고, 설정과 에폭을 고를 때 쓴 데이터에서 잰 값입니다. 시험 데이터에서는 손실이 2:2로 갈렸고, EM과 F1의 차이는 시드 사이의 흔들림에 묻힙니다. 시험 사실은 110개뿐이라, 사실 하나만 더 맞혀도 사실별 EM이 0.9%p 움직입니다. 학습 손실은 늘 AdamW가 낮았습니다.

AdamW의 에폭을 두 배로 늘리면 SAM만큼 시간을 쓰지만, 학습 손실만 절반쯤으로 내려가고 검증 손실은 나아지지 않습니다. 설정은 방법마다 4개만 비교했고, 두 $\rho$ 가운데 큰 쪽이 뽑혔으니 더 큰 값이 나을 수도 있습니다. 여기에서 잰 것은 이 작은 모델과 이 데이터의 이야기입니다.

첨예도(sharpness)는 어떨까요? 한 걸음과 10걸음의 두 측정법으로, 평가 모드에서 짧은 학습 질문 32개로 쟀습니다. 방금 학습한 모델은 지금 재고, 시드 4개의 모델은 재어 둔 값을 읽습니다.
"""

# %%
rulers = {"한 걸음, 0.1": (0.1, 1), "10걸음, 0.3": (0.3, 10)}
just_trained = [reader_rise(trained, rho, steps) for rho, steps in rulers.values()]
print("방금 학습한 AdamW 모델:", [f"{rise:.3f}" for rise in just_trained])

# %% tags=["folded"]
# 표와 확인: 두 방법의 첨예도. 평균 ± 표준편차
rises = {
    name: {what: [run[what] for run in every] for what in ("one_step", "ten_steps")}
    for name, every in [("AdamW", adamw_seeds), ("SAM", sam_seeds)]
}
show_table(
    ["검증 손실이 가장 낮았던 모델 (시드 4개)", *rulers],
    [
        [name, *(f"{mean(values):.3f} ± {stdev(values):.3f}" for values in columns.values())]
        for name, columns in rises.items()
    ],
)
assert 0 < just_trained[0] < just_trained[1]
for columns in rises.values():
    assert all(0 < one < ten for one, ten in zip(*columns.values(), strict=True))
assert max(rises["SAM"]["ten_steps"]) < min(rises["AdamW"]["ten_steps"])

# %% [markdown]
r"""
10걸음으로 재면 시드 4개 모두 SAM의 모델이 더 평탄합니다. 그래도 시험 점수에서는 SAM이 이겼다고 말할 수 없었습니다. 한 걸음의 값은 그레이디언트(gradient)의 크기에 크게 좌우되므로, 이것으로는 결론을 내지 않습니다.

## 3. 무엇을 맞히고 무엇을 틀릴까요

약 5분 · ★☆☆

숫자만 보지 말고 답을 읽습니다. 방금 학습한 AdamW 모델에 물은, 손으로 쓴 질문 5개와 템플릿으로 만든 질문 5개입니다.
"""

# %% tags=["folded"]
# 표: 질문 10개의 답, 질문별 점수와 사실별 점수
found, _ = find_answers(trained, dev_set)
by_kind = {kind: [pair for pair in found if pair[0].kind == kind] for kind in ["natural", "template"]}
picked = by_kind["natural"][::20][:5] + by_kind["template"][::24][:5]
show_table(
    ["질문", "예측", "정답", "EM", "F1"],
    [
        [
            one.question,
            ours,
            one.answer,
            int(exact_match(ours, one.answer)),
            f"{letter_f1(ours, one.answer):.2f}",
        ]
        for one, ours in picked
    ],
)
for kind, name in [("template", "템플릿으로 만든 질문"), ("natural", "손으로 쓴 질문")]:
    em, f1 = score_pairs(by_kind[kind])
    print(f"{name} {len(by_kind[kind])}개: EM {em:.1f}, F1 {f1:.1f}")
facts = {}
for one, ours in found:
    facts.setdefault(fact(one), []).append(exact_match(ours, one.answer))
several = [scores for scores in facts.values() if len(scores) > 1]  # 두 문장 이상으로 물은 사실
whole, some = mean(map(min, several)), mean(map(max, several))
print(
    f"두 문장 이상으로 물은 검증 사실 {len(several)}개: "
    f"모두 맞힘 {100 * whole:.1f}%, 하나라도 맞힘 {100 * some:.1f}%"
)
assert whole < some
test_found, test_loss = find_answers(trained, test_set)
test_em, test_f1 = score_pairs(test_found)
fact_em, fact_f1 = score_facts(test_found)
print(f"시험 데이터: 손실 {test_loss:.2f}")
print(f"  질문별({len(test_set)}개) EM {test_em:.1f}, F1 {test_f1:.1f}")
print(f"  사실별({len(set(map(fact, test_set)))}개) EM {fact_em:.1f}, F1 {fact_f1:.1f}")
assert test_f1 > untrained[2] + 10
assert score_pairs(by_kind["template"])[1] > score_pairs(by_kind["natural"])[1] + 5

# %% [markdown]
r"""
같은 사실이라도 묻는 문장에 따라 맞히기도 하고 틀리기도 합니다. 질문의 말이 지문의 말과 겹치면 잘 찾고, 바꾸어 말한 질문에는 약합니다. 사전 학습을 하지 않은 작은 모델의 한계일 수 있습니다. 에폭을 고를 때 검증 데이터를 썼으므로, 마지막 숫자는 무엇을 고르는 데도 쓰지 않은 시험 데이터로 쟀습니다.

## 4. 사전 학습된 모델로 바꾸기

약 5분 · ★★☆

`Reader` 대신, 많은 글로 사전 학습된 모델을 씁니다. 이런 모델도 `model(**batch).loss`를 주므로 `train_qa`는 그대로입니다. 새로 필요한 것은 글자와 토큰(token) 사이를 오가는 두 곳입니다.

- **넣을 때**(`cut_into_pieces`): 빠른(fast) 토크나이저는 토큰마다 몇 번째 글자부터 몇 번째 글자까지인지(`offset_mapping`)를 알려 줍니다. 답의 글자와 겹치는 토큰이 답입니다. 긴 지문은 서로 `DOC_STRIDE`토큰씩 겹치는 조각으로 나눕니다. 답이 온전히 들어 있지 않은 조각은 관례대로 첫 토큰을 답으로 둡니다.
- **꺼낼 때**(`best_answers`): 시작의 로짓이 높은 토큰과 끝의 로짓이 높은 토큰을 20개씩 짝지어, 순서가 뒤집혔거나 너무 긴 것을 버리고 점수의 합이 큰 차례로 놓습니다(n-best). 조각이 여럿이면 한데 모읍니다. 구절은 토큰을 이어 붙이지 않고 **지문의 글자 범위에서** 가져옵니다. 이어 붙이면 띄어쓰기가 달라집니다.

Transformers와 모델이 필요합니다. 설치는 `pip install transformers`이고, 아래의 `PRETRAINED`에 모델의 이름이나 내려받아 둔 폴더를 적습니다. 한국어 모델이고 빠른 토크나이저가 있으면 됩니다. 여러분의 `train_qa`로 학습하고, CPU에서는 오래 걸리므로 질문 64개만 학습합니다.
"""

# %%
PRETRAINED = None  # 예: "klue/roberta-small"
SAVE_TO = folder / "pretrained"  # 끝나면 지워지는 폴더입니다. 남기려면 다른 곳을 적습니다
LONGEST, DOC_STRIDE = 384, 128  # 조각 하나의 토큰 수, 이웃한 조각이 겹치는 토큰 수

# %%
if PRETRAINED is None:
    print("PRETRAINED가 비어 있어서 건너뜁니다.")
else:
    tokenizer, model = load_pretrained(PRETRAINED)
    asked = random.Random(0).sample(train_set, 64 if on_cpu else len(train_set))
    both = [cut_into_pieces(tokenizer, part, LONGEST, DOC_STRIDE) for part in (asked, dev_set)]
    loaders = piece_batches(tokenizer, both[0], 8), piece_batches(tokenizer, both[1], 32)
    sam = VectorSAM(model, torch.optim.AdamW(model.parameters(), lr=3e-5), rho=0.05)
    print(train_qa(model, sam, *loaders, epochs=1, accum_steps=2, checkpoint_path=folder / "tuned.pt"))
    model.load_state_dict(torch.load(folder / "tuned.pt", weights_only=True))  # 가장 좋았던 에폭
    model.save_pretrained(SAVE_TO)
    tokenizer.save_pretrained(SAVE_TO)  # 다음에는 PRETRAINED에 이 폴더를 적습니다

# %% tags=["folded"]
# 표: 질문 하나의 후보 셋, 질문별 점수와 사실별 점수
if PRETRAINED is not None:
    answers = best_answers(model, tokenizer, both[1])
    found = [(one, every[0][1]) for one, every in answers.items()]
    one, every = next(iter(answers.items()))
    print(f"{one.question} (정답: {one.answer})")
    show_table(["후보", "점수"], [[text, value] for value, text in every[:3]])
    show_table(
        ["검증", "EM", "F1"],
        [
            ["질문별", *(f"{value:.1f}" for value in score_pairs(found))],
            ["사실별", *(f"{value:.1f}" for value in score_facts(found))],
        ],
    )

# %% [markdown]
r"""
## 정리

| 부품 | 첫 번째 패스 ($w$) | 두 번째 패스 ($w + e$) |
|---|---|---|
| 마이크로 배치 | 구간 전부 | **구간 전부.** 리스트에 모아 둔 것을 다시 봅니다 |
| 개수로 나누기 | 없어도 같습니다 | 반드시. 크기가 다르면 샘플 수로 가중합니다 |
| 클리핑 | 쓸모없습니다 | 되돌리기 전이든 후든, base 옵티마이저의 스텝 앞 |
| 배치 정규화의 이동 통계량 | 바뀝니다 | 얼립니다. 구간에 한 번만 얼리고 풉니다 |
| 드롭아웃 마스크 | 난수 상태를 적어 둡니다 | 되돌리면 같은 마스크입니다. 다르게 두어도 되지만 알고 고릅니다 |
| 스케일러 | 배율을 되돌리지 않습니다 | 가중치를 되돌린 다음 `unscale_`, 클리핑, `step`, `update` |
| 스케줄러 | | 업데이트마다 한 번, base 옵티마이저에 겁니다 |
| 기록할 손실 | 여기에서 잰 것 | 일부러 나쁜 곳에서 잰 값이라 쓰지 않습니다 |

다섯 가지만 기억하세요.

1. 코드가 돌아가고 손실이 내려간다는 것은 증거가 아닙니다. 업데이트가 무엇으로 만들어졌는지 풀어 보거나, 큰 배치 하나와 비교합니다.
2. SAM을 가져다 쓰면 먼저 **학습률 0 시험**을 합니다. 비트까지 그대로여야 합니다.
3. 첫 번째 그레이디언트는 방향만, 두 번째 그레이디언트는 길이까지 쓰입니다. 부품의 자리는 여기에서 나옵니다.
4. SAM의 비용은 두 배의 계산과 가중치 한 벌입니다. 같은 시간을 쓴 상대, 똑같이 조정한 상대와 비교해야 합니다.
5. 첨예도는 측정법과 스케일에 따라 순서가 뒤집힙니다. 그레이디언트로 한 걸음, 최악, $\lambda_{\max}$ 가운데 무엇을 쟀는지 함께 말합니다.

## 더 읽을거리

- [Sharpness-Aware Minimization for Efficiently Improving Generalization](https://arxiv.org/abs/2010.01412): SAM과 m-첨예도의 원래 논문
- [ASAM](https://arxiv.org/abs/2102.11600): 가중치의 스케일에 흔들리지 않는 첨예도
- [davda54/sam](https://github.com/davda54/sam): 잘 알려진 PyTorch 구현. 누적([#3](https://github.com/davda54/sam/issues/3)), 배치 정규화([#17](https://github.com/davda54/sam/issues/17)), 스케일러([#7](https://github.com/davda54/sam/issues/7))에 관한 이슈도 읽어 보세요
- [Automatic Mixed Precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html): `unscale_`을 업데이트마다 한 번 부르는 까닭
- [KorQuAD 1.0](https://korquad.github.io/category/1.0_KOR.html): 한국어 기계 독해 데이터와 채점 방법

## 여기까지

이제 이런 것을 할 수 있습니다.

- 한국어 독해 모델을 SAM과 누적으로 학습하고, 가장 좋은 순간을 저장하고, EM과 F1로 채점합니다.
- 두 방법을 같은 시간, 같은 만큼의 조정, 여러 시드로 비교합니다.

다섯 줄에서 시작해, 그 다섯 줄을 두 번 하는 알고리즘까지 왔습니다. 새 방법을 만나면 논문의 식보다 먼저 물어보세요. **이 줄은 무엇을 읽고 무엇을 바꿀까요?** 지금까지의 버그는 이 물음으로 드러났습니다. 이 물음이 습관이 되도록 가끔 `clinic()`(터미널에서는 `grader clinic`)을 열어 틀린 코드를 고쳐 보세요. `grader clinic --real`에서는 공개 저장소에 실제로 있었던 버그를 만납니다. 레슨 04는 여기서 끝납니다. 다음 레슨에서는 같은 한 스텝을 여러 프로세스가 나누어 합니다.

[다음 레슨: 두 프로세스, 한 스텝](../05_several_processes/1_mean_of_gradients.ipynb)
"""
