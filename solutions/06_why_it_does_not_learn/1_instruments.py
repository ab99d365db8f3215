# %% [markdown]
r"""
# 손실 곡선에 보이지 않는 것

약 5분 · ★☆☆

손실(loss)이 비슷하게 내려가는 학습 여섯 가지가 있고, 그 가운데 다섯은 고장 나 있습니다. 비행기의 계기판처럼, 학습에도 손실 말고 읽을 것이 여럿 있습니다. 그것을 계기(instrument)라고 부르겠습니다. 이 노트북에서는 고장마다 그것이 드러나는 계기를 찾고, 그런 계기를 어느 모델에나 달 수 있게 만듭니다.

아래의 셀들을 실행해 곡선 여섯을 보고, **A부터 F까지 가운데 멀쩡하다고 생각하는 곡선의 글자를 하나 적어 두세요.**
"""

# %% tags=["folded"]
# 준비: 라이브러리, 여섯 가지 학습
from statistics import fmean, median

import torch
from matplotlib import pyplot as plt
from torch import nn

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.why_it_does_not_learn.broken_runs import (
    FAULTS,
    FOUND_BY,
    LAYERS,
    LETTERS,
    LR,
    SEEDS,
    Fault,
    dead_share,
    train,
    x_train,
)
from grader.plots import COLORS, show, show_table, use_course_style

use_course_style()

# %%
# 여섯 가지를 시드 6개로 학습합니다. 다른 일을 하지 않는 컴퓨터에서 4초쯤 걸립니다
runs = {name: [train(fault, seed) for seed in SEEDS] for name, fault in FAULTS.items()}
by_rate = {lr: [train(Fault(), seed, lr) for seed in SEEDS] for lr in (0.02, 0.03, 0.3)}
by_rate[LR] = runs["멀쩡한 학습"]

# %% tags=["folded"]
# 그림과 확인: 여섯 학습의 손실과, 학습률만 바꾼 멀쩡한 학습의 범위
sound = torch.tensor([run.losses for same in by_rate.values() for run in same])
low, high = sound.min(dim=0).values, sound.max(dim=0).values
middle = {
    name: torch.tensor([run.losses for run in same]).median(dim=0).values for name, same in runs.items()
}
epochs = range(1, len(low) + 1)
figure, axis = plt.subplots(figsize=(8, 4))
axis.fill_between(epochs, low, high, color=COLORS["grid"], label="멀쩡한 학습의 범위 (학습률 0.02~0.3)")
styles = [("-", "o"), ("-", "s"), ("--", "^"), (":", "D"), ("-.", "v"), ("--", "x")]
colors = [COLORS[name] for name in ("right", "wrong", "third", "fourth", "text", "muted")]
for (letter, name), (line, mark), color in zip(LETTERS.items(), styles, colors, strict=True):
    axis.plot(epochs, middle[name], line, marker=mark, markersize=4, color=color, label=letter)
axis.set(yscale="log", xlabel="에폭", ylabel="학습 손실 (에폭의 평균, 로그)", title="어느 것이 멀쩡할까요")
axis.set_yticks(ticks := [0.05, 0.1, 0.2, 0.5, 1, 2], [f"{tick:g}" for tick in ticks])
axis.minorticks_off()
axis.legend(loc="upper right", ncols=2)
show(
    figure,
    "여섯 학습의 손실은 모두 1.1~1.5에서 시작해 일곱 에폭 동안 0.05~0.13쯤까지 내려갑니다. "
    "둘째 에폭부터는 모두 학습률만 바꾼 멀쩡한 학습의 범위 안에 있습니다. B와 C는 완전히 겹칩니다.",
)
assert all(((low <= curve) & (curve <= high))[1:].all() for curve in middle.values())
assert all(1.1 < curve[0] < 1.5 and 0.03 < curve[-1] < 0.16 for curve in middle.values())
assert [run.losses for run in runs[LETTERS["B"]]] == [run.losses for run in runs[LETTERS["C"]]]
scores = {lr: median(run.val_loss for run in same) for lr, same in by_rate.items()}
assert min(scores, key=scores.get) == LR, "학습률은 이 가운데 검증 손실이 가장 낮은 것입니다"

# %% [markdown]
r"""
곡선은 다섯으로 보이지만 여섯입니다. B와 C는 손실이 비트까지 같습니다. 까닭은 아래의 표에 있습니다. 넓은 띠는 고장 없이 학습률(learning rate)만 0.02부터 0.3까지 바꾼 것입니다. 둘째 에폭(epoch)부터 여섯 곡선 모두 그 안에 있으니, 비교할 학습이 없으면 **고장인지 학습률이 다른지 학습 손실로는 구별할 수 없습니다.** 같은 학습률로 잘 되던 학습의 손실이 있다면 사정이 낫지만, 그때도 B와 C는 가릴 수 없습니다.

## 1. 다섯 가지 고장

약 9분 · ★☆☆

모델은 계층(layer) 셋입니다. `first` → ReLU → `second` → LayerNorm → ReLU → `head`. LayerNorm은 값을 평균 0, 분산 1로 맞춘 다음 유닛마다 배율을 곱하고 편향(bias)을 더하는 계층입니다. SGD로 숫자 그림을 배웁니다. 고장은 이렇습니다.

| 이름 | 무엇이 잘못됐을까요 |
|---|---|
| 끊긴 그래프 | `first`의 출력에 `.detach()`가 붙어 있습니다 |
| 굳은 계층 | `second`의 처음 가중치(weight)와 편향(bias)이 모두 20배입니다 |
| 죽은 유닛 | `second` 다음의 LayerNorm에서 유닛(unit) 64개 가운데 32개의 편향이 -5입니다. ReLU를 지나면 늘 0입니다 |
| 빠뜨린 온도 | 모델이 로짓(logits)에 8을 곱해 내보냅니다. 손실에서만 다시 8로 나눕니다. 8은 2의 거듭제곱이라 곱했다 나누어도 오차가 없습니다. 로짓을 나누는 이런 수를 온도(temperature)라고 합니다 |
| 덜 섞은 데이터 | 라벨 순서로 놓인 그림을 앞에서부터 200장 담아 둔 통에서 하나씩 뽑고, 뽑을 때마다 다음 그림을 하나 채웁니다(shuffle buffer) |

**예측 1.** 학습하지 않은 그림으로 정확도를 잽니다. 시드 6개의 평균이 멀쩡한 학습보다 1.5%p 넘게 낮은 고장은 몇 가지일까요?

- a: 다섯 가지 모두입니다.
- b: 하나도 없습니다.
- c: 두 가지입니다.
"""

# %% tags=["predict"]
predict("06-1")

# %% tags=["folded"]
# 표와 확인: 마지막 에폭 동안의 검증, 시드 6개의 평균
rows, drops = [], {}
for name, same in runs.items():
    lower = [100 * (one.val_accuracy - run.val_accuracy) for run, one in zip(same, by_rate[LR], strict=True)]
    drops[name] = fmean(lower)
    accuracy, loss = fmean(run.val_accuracy for run in same), fmean(run.val_loss for run in same)
    rows.append([name, f"{accuracy:.1%}", f"{min(lower):.1f} ~ {max(lower):.1f}", loss])
show_table(["학습", "검증 정확도", "낮아진 정도 (%p, 시드마다)", "검증 손실"], rows)
assert {name for name, drop in drops.items() if drop > 1.5} == {"끊긴 그래프", "덜 섞은 데이터"}
assert all(drop < 1 for name, drop in drops.items() if name not in ("끊긴 그래프", "덜 섞은 데이터"))
warm = [run.val_loss / one.val_loss for run, one in zip(runs["빠뜨린 온도"], by_rate[LR], strict=True)]
assert drops["빠뜨린 온도"] == 0
assert min(warm) > 3
reveal("06-1")

# %% [markdown]
r"""
빠뜨린 온도는 정확도가 그대로입니다. 양수를 곱해도 가장 큰 로짓은 가장 큽니다. 그러나 softmax를 하면 확률이 거의 0과 1이 되어, 틀린 답도 확신합니다. 검증 손실이 세 배 넘게 커진 까닭입니다.

굳은 계층과 죽은 유닛은 검증에서도 티가 나지 않습니다. 검증이 괜찮으면 된 것일까요? 유닛 절반이 아무 일도 하지 않고, 계층 하나는 배우지 않는데, 메모리와 시간은 그대로 듭니다. 이 문제에는 나머지로도 넉넉해서 보이지 않을 뿐입니다.

## 2. 다섯 가지 계기

약 17분 · ★★☆

학습 스텝(step)마다 잴 수 있는 것 다섯입니다.

1. **그레이디언트의 노름**: 계층마다 그레이디언트(gradient)를 이어 붙인 벡터의 노름(norm)입니다.
2. **업데이트 비율**: 계층마다 업데이트의 노름을 가중치의 노름으로 나눈 것입니다. SGD의 업데이트는 학습률 × 그레이디언트입니다.
3. **죽은 유닛**: ReLU를 지난 출력이 배치의 모든 그림에서 0인 유닛의 비율입니다.
4. **로짓의 크기**: 로짓 전체의 표준편차입니다.
5. **라벨의 엔트로피**: 배치에 라벨이 얼마나 고루 있는지입니다. 열 가지가 똑같이 있으면 $\log_2 10 = 3.32$비트, 한 가지뿐이면 0입니다. 32장뿐이라 고루 섞어도 3.32보다 조금 작습니다.

죽은 유닛은 셋째 계기에서 보일 것입니다. 끊긴 그래프는 `first`까지 역전파(backward pass)가 오지 않으니 첫째 계기가 0일 것입니다. 나머지 셋은 어떨까요?

**예측 2.** 고장과 계기를 바르게 짝지은 것은 어느 것일까요?

- a: 굳은 계층은 로짓의 크기, 빠뜨린 온도는 그레이디언트의 노름, 덜 섞은 데이터는 라벨의 엔트로피에서 보입니다.
- b: 굳은 계층은 업데이트 비율, 빠뜨린 온도는 로짓의 크기, 덜 섞은 데이터는 라벨의 엔트로피에서 보입니다.
- c: 굳은 계층은 업데이트 비율, 빠뜨린 온도는 그레이디언트의 노름, 덜 섞은 데이터는 로짓의 크기에서 보입니다.
"""

# %% tags=["predict"]
predict("06-2")

# %%
seen = {  # 계기마다, 학습마다, 시드 6개에서 마지막 에폭 동안 읽은 값의 평균
    what: {name: [run.readings[what] for run in same] for name, same in runs.items()} for what in FOUND_BY
}

# %% tags=["folded"]
# 그림과 확인: 마지막 에폭의 평균, 점 하나가 시드 하나입니다
seen["검증 정확도"] = {name: [run.val_accuracy for run in same] for name, same in runs.items()}
labels = ("노름", "비율 (로그)", "비율", "표준편차", "비트", "비율")
figure, axes = plt.subplots(2, 3, figsize=(9, 5), sharey=True)
for axis, label, (what, values) in zip(axes.flat, labels, seen.items(), strict=True):
    for place, (name, points) in enumerate(values.items()):
        color, mark = (COLORS["wrong"], "D") if FOUND_BY.get(what) == name else (COLORS["right"], "o")
        axis.plot(points, [place] * len(points), mark, color=color, markersize=5, alpha=0.8)
    axis.set(title=what, xlabel=label, ylim=(len(FAULTS) - 0.5, -0.5))
    axis.set_yticks(range(len(FAULTS)), FAULTS)
    if "로그" in label:
        axis.set_xscale("log")
    elif what in FOUND_BY:
        axis.set_xlim(left=-0.03 * max(map(max, values.values())))
show(
    figure,
    "계기 다섯과 검증 정확도에서 여섯 학습을 비교합니다. 계기마다 고장 하나(마름모)가 나머지와 겹치지 않습니다. "
    "그레이디언트의 노름은 끊긴 그래프, 업데이트 비율은 굳은 계층, 죽은 유닛은 죽은 유닛, 로짓의 크기는 빠뜨린 온도, 엔트로피는 덜 섞은 데이터입니다. "
    "검증 정확도에서는 덜 섞은 데이터가 멀리 있고 나머지는 가깝습니다.",
)
rest = {what: [v for name in FAULTS if name != FOUND_BY[what] for v in seen[what][name]] for what in FOUND_BY}
told = {what: seen[what][name] for what, name in FOUND_BY.items()}
assert max(told["그레이디언트의 노름 first"]) == 0
assert min(rest["그레이디언트의 노름 first"]) > 0.5
assert max(told["업데이트 비율 second"]) < 1e-4
assert min(rest["업데이트 비율 second"]) > 5e-3
assert min(told["죽은 유닛 second"]) >= 0.5
assert max(rest["죽은 유닛 second"]) < 0.2
assert min(told["로짓의 크기"]) > 5 * max(rest["로짓의 크기"])
assert max(told["라벨의 엔트로피"]) < 2
assert min(rest["라벨의 엔트로피"]) > 3
reveal("06-2")

# %% [markdown]
r"""
계기마다 고장 하나가 멀리 떨어져 있습니다. 이번에는 계층마다의 값까지 열 가지(노름 셋, 비율 셋, 죽은 유닛 둘, 로짓, 엔트로피)를 모두 재어, 멀쩡한 학습과 다섯 배 넘게 다른 것만 추립니다. 엔트로피는 1비트, 죽은 유닛은 20%p 넘게 다르면 추립니다.
"""

# %% tags=["folded"]
# 표와 확인: 멀쩡한 학습과 크게 다른 것, 시드 6개의 중앙값
usual = {what: median(run.readings[what] for run in by_rate[LR]) for what in by_rate[LR][0].readings}
rows, marked = [], {name: set() for name in FAULTS}
for name, same in runs.items():
    for what, normal in usual.items():
        value = median(run.readings[what] for run in same)
        if what.startswith("죽은") or what.startswith("라벨"):
            far = abs(value - normal) > (0.2 if what.startswith("죽은") else 1)
        else:
            far = not normal / 5 < value < normal * 5
        if far:
            marked[name].add(what)
            rows.append([name, what, f"{value:.2g}", f"{normal:.2g}"])
show_table(["고장", "계기", "그 학습의 값", "멀쩡한 학습의 값"], rows)
alive = [f"`{layer}` {usual[f'죽은 유닛 {layer}']:.0%}" for layer in ("first", "second")]
print("멀쩡한 학습의 죽은 유닛 (배치 32장):", ", ".join(alive).replace("`", ""))
print("처음의 글자:", ", ".join(f"{letter} {name}" for letter, name in LETTERS.items()))
assert marked == {
    "멀쩡한 학습": set(),
    "끊긴 그래프": {"그레이디언트의 노름 first", "업데이트 비율 first"},
    "굳은 계층": {"그레이디언트의 노름 second", "업데이트 비율 second"},
    "죽은 유닛": {"죽은 유닛 second"},
    "빠뜨린 온도": {"로짓의 크기"},
    "덜 섞은 데이터": {"라벨의 엔트로피"},
}
shares = {}
for what in ("그레이디언트의 노름 second", "업데이트 비율 second"):
    pairs = list(zip(runs["굳은 계층"], by_rate[LR], strict=True))
    shares[what] = [one.at_start[what] / run.at_start[what] for run, one in pairs]
    later = [one.readings[what] / run.readings[what] for run, one in pairs]
    print(
        f"굳은 계층의 `second` {what.rsplit(' ', 1)[0]}: 첫 스텝에는 {fmean(shares[what]):.0f}분의 1",
        end=", ",
    )
    print(f"마지막 에폭에는 {min(later):.0f}~{max(later):.0f}분의 1")
    assert min(later) > (5 if what.startswith("그레이디언트") else 100)
hardened = runs["굳은 계층"]
assert all(
    run.readings["업데이트 비율 second"] < run.readings[f"업데이트 비율 {other}"] / 30
    for run in hardened
    for other in ("first", "head")
)
assert all(abs(share - 20) < 0.2 for share in shares["그레이디언트의 노름 second"])
assert all(abs(share - 400) < 4 for share in shares["업데이트 비율 second"])

# %% [markdown]
r"""
다섯 고장이 모두 나왔습니다. 이 기준으로는 셋이 **계기 하나에서만** 보입니다. 처음에 적은 글자를 표 아래의 이름과 비교해 보세요. B와 C는 학습 손실만으로는 아무도 가릴 수 없었습니다.

굳은 계층에서 무슨 일이 있었을까요? LayerNorm이 크기를 지우므로 가중치와 편향이 20배여도 출력은 같습니다. 가중치가 20배인데 출력이 같으니, 가중치를 조금 옮겼을 때 출력이 바뀌는 정도는 20분의 1입니다. 첫 스텝의 그레이디언트가 그만큼 작습니다. 비율은 거기서 20배인 가중치로 한 번 더 나누어 400분의 1입니다. 마지막 에폭까지 보아도 **노름은 열 배쯤 작을 뿐이지만, 비율로 보면 거의 멈추었습니다.** SGD라서 그렇습니다. AdamW라면 그레이디언트의 크기가 지워지므로 비율은 이만큼 작아지지 않고, 노름에서 먼저 보입니다.

계기 다섯을 다 보았습니다. 여기서 쉬어 가도 됩니다.

## 3. 몇 장으로 잴까요

약 7분 · ★☆☆

멀쩡한 학습의 `second`에는 죽은 유닛이 거의 없습니다. 그런데 위의 표 아래를 보면 `first`에서는 멀쩡한 학습에서도 열에 하나둘이 죽어 있습니다. 배치 32장으로 잰 것입니다.

**예측 3.** 학습이 끝난 모델에 학습 그림 1,437장을 한꺼번에 넣고 다시 잽니다. `first`의 죽은 유닛은 어떻게 될까요?

- a: 절반 아래로 줄어듭니다.
- b: 거의 그대로입니다.
- c: 그림이 많아진 만큼 늘어납니다.
"""

# %% tags=["predict"]
predict("06-3")

# %%
counted, zeros = {}, []
for name in ("멀쩡한 학습", "죽은 유닛"):
    with torch.no_grad():
        outputs = [run.model(x_train) for run in runs[name]]
    counted[name] = [(dead_share(out.first), dead_share(out.second)) for out in outputs]
    if name == "멀쩡한 학습":
        zeros = [(out.second == 0).double().mean().item() for out in outputs]

# %% tags=["folded"]
# 표와 확인: 32장과 1,437장으로 잰 죽은 유닛의 비율, 시드 6개
rows = []
for name, whole in counted.items():
    for number, layer in enumerate(("first", "second")):
        small = [run.readings[f"죽은 유닛 {layer}"] for run in runs[name]]
        large = [shares[number] for shares in whole]
        rows.append(
            [
                name,
                f"`{layer}`",
                f"{min(small):.1%} ~ {max(small):.1%}",
                f"{min(large):.1%} ~ {max(large):.1%}",
            ]
        )
        if layer == "first":
            assert all(0.08 < few < 0.25 and many < few / 2 for few, many in zip(small, large, strict=True))
        elif name == "죽은 유닛":
            assert min(*small, *large) >= 0.5
show_table(["학습", "계층", "32장씩", "1,437장"], rows)
print(f"멀쩡한 학습에서 `second`의 출력 가운데 0인 값: {min(zeros):.0%} ~ {max(zeros):.0%}")
assert len(x_train) == 1437
assert min(zeros) > 0.5
reveal("06-3")

# %% [markdown]
r"""
「이 배치에서 한 번도 켜지지 않았다」와 「다시는 켜지지 않는다」는 다릅니다. 정말 죽은 유닛은 몇 장으로 재도 그대로입니다. 배치가 작으면 여러 스텝에 걸쳐 같은 유닛인지 봅니다.

죽은 유닛의 비율은 출력 가운데 0인 값의 비율과도 다릅니다. 멀쩡한 학습에서도 ReLU의 출력은 절반이 넘게 0입니다. 그림마다 다른 유닛이 켜지는 것이 ReLU가 하는 일입니다.

## 4. 비율은 얼마여야 할까요

약 8분 · ★★☆

업데이트 비율은 0.001쯤이 좋다고들 합니다([CS231n](https://cs231n.github.io/neural-networks-3/#ratio)). 한 스텝에 가중치가 1,000분의 1쯤 바뀐다는 뜻입니다. 학습률 0.03, 0.1, 0.3으로 학습한 것을 비교합니다. 검증 손실은 0.1에서 가장 낮습니다.

**예측 4.** 학습률을 0.03에서 0.3으로 열 배 올립니다. 마지막 에폭의 업데이트 비율은 시드 6개의 중앙값으로 몇 배가 될까요?

- a: 늘지만 10배에는 한참 못 미칩니다.
- b: 학습률과 똑같이 10배가 됩니다.
- c: 거의 그대로입니다.
"""

# %% tags=["predict"]
predict("06-4")

# %%
ratios = {
    lr: {layer: [run.readings[f"업데이트 비율 {layer}"] for run in by_rate[lr]] for layer in LAYERS}
    for lr in by_rate
}
growth = {
    layer: [big / small for small, big in zip(ratios[0.03][layer], ratios[0.3][layer], strict=True)]
    for layer in LAYERS
}

# %% tags=["folded"]
# 표와 확인: 학습률마다 마지막 에폭의 업데이트 비율 (시드 6개의 중앙값)과 검증 손실
rows = [
    [lr, *(f"{median(ratios[lr][layer]):.2g}" for layer in LAYERS), f"{scores[lr]:.3f}"]
    for lr in (0.03, 0.1, 0.3)
]
show_table(["학습률", *(f"`{layer}`" for layer in LAYERS), "검증 손실 (중앙값)"], rows)
for layer, times in growth.items():
    low, high = min(times), max(times)
    print(f"{layer}: 학습률이 10배이면 비율은 {median(times):.1f}배 (시드에 따라 {low:.1f}~{high:.1f}배)")
    assert 1.5 < median(times) < 7  # 시드 하나는 반올림만 달라도 10배에 이를 수 있습니다
for what in ("업데이트 비율 first", "업데이트 비율 second", "업데이트 비율 head"):
    starts = zip(by_rate[0.03], by_rate[0.3], strict=True)
    assert all(abs(big.at_start[what] / small.at_start[what] - 10) < 1e-3 for small, big in starts)
for layer in LAYERS:
    what = f"그레이디언트의 노름 {layer}"
    small, big = (median(run.readings[what] for run in by_rate[lr]) for lr in (0.03, 0.3))
    assert big < small
assert all(0.003 < ratio < 0.015 for layer in LAYERS for ratio in ratios[LR][layer])
reveal("06-4")

# %% [markdown]
r"""
검증 손실이 가장 낮은 학습률에서 비율은 0.003에서 0.015 사이입니다. 흔히 말하는 0.001보다 몇 배 크니, 그 숫자로 고장을 판단했다면 틀렸을 것입니다. **정해진 값에 맞추기보다 비교할 학습을 정해 두는 편이 낫습니다.** 어제 잘 되던 학습, 같은 학습의 다른 계층과 비교합니다. 굳은 계층의 비율은 멀쩡한 학습의 100분의 1, 다른 계층의 30분의 1도 되지 않았습니다.

첫 스텝의 비율은 학습률에 비례합니다. 그레이디언트도 가중치도 아직 같기 때문입니다. 그다음부터는 비례하지 않았습니다. 학습률이 크면 같은 스텝까지 더 많이 배워 그레이디언트가 작아지고, 비율을 나누는 가중치는 커지기 때문입니다. 시드 6개의 중앙값으로, 마지막 에폭의 그레이디언트는 세 계층 모두에서 학습률 0.3 쪽이 작습니다. 시드 하나하나는 다를 수 있습니다. 학습률이 이만큼 크면 반올림만 달라도 마지막 에폭의 값이 달라집니다. 그래서 학습률에서 짐작하지 말고 재야 합니다.

재는 일은 끝났습니다. 연습이 기니 쉬었다 와도 좋습니다.

### 연습. `Dashboard`

약 60분 · ★★★

지금까지는 이 노트북의 모델에만 맞춘 계기로 쟀습니다. 이번에는 어느 모델에나 달 수 있게 만듭니다. 출력은 순전파 훅(forward hook)으로 봅니다.

- `layer.register_forward_hook(fn)`이라고 하면 그 계층이 순전파(forward pass)를 마칠 때마다 `fn(layer, inputs, output)`을 부릅니다.
- `fn`이 값을 돌려주면 그것이 출력을 대신하므로, 보기만 하는 훅은 아무것도 돌려주지 않습니다.
- 이때 받은 핸들(handle)의 `remove()`를 부르면 훅이 떨어집니다.
- 반복문 안에서 훅을 만들면 훅이 불릴 때의 이름을 보게 되니, `lambda …, name=name:`처럼 기본값으로 붙들어 둡니다.

지킬 것은 이렇습니다.

- 죽은 유닛은 ReLU의 출력에서 보입니다. 그래서 매개변수가 없는 `nn.ReLU`도 계층으로 봅니다.
- 모듈이 「직접 가진」 매개변수는 하위 모듈의 것을 빼고 그 모듈에 바로 등록된 것입니다. `module.parameters(recurse=False)`가 그것을 돌려줍니다.
- 출력은 훅이 불린 바로 그때 읽습니다. `nn.ReLU(inplace=True)` 같은 다음 계층이 그 텐서를 제자리에서 바꿀 수 있습니다.
- 계기를 단 학습은 달지 않은 학습과 비트까지 같아야 합니다. 계기가 학습을 바꾸면 고장이 하나 더 늘 뿐입니다.
"""


# %% tags=["exercise:Dashboard"]
class Dashboard:
    """모델의 계층마다 계기를 달아, 방금 끝난 학습 스텝의 값을 읽습니다.

    계층은 하위 모듈이 없는 모듈(`nn.ReLU`도)과, 직접 가진 매개변수가 있는 모듈입니다. 이름은 model.named_modules()의 이름입니다.
    모든 계층의 출력은 텐서 하나입니다. 두 계층이 함께 쓰는 매개변수는 두 계층 모두에서 셉니다.
    계기를 달아도 순전파의 결과, 그레이디언트, 난수는 비트까지 같습니다. 계산 그래프를 붙들어 두지 않습니다.
    """

    def __init__(self, model: nn.Module):
        """모델의 계층에 계기를 답니다. 여러 개를 달아도 서로 방해하지 않습니다."""
        # BEGIN SOLUTION
        self.outputs = {}
        self.layers = {
            name: layer
            for name, layer in model.named_modules()
            if not list(layer.children()) or list(layer.parameters(recurse=False))
        }

        def note(name, layer, output):
            # 평가할 때의 순전파는 재지 않습니다
            if layer.training and torch.is_grad_enabled():
                # 수만 남깁니다. 텐서를 두면 그래프가 붙들리거나, 다음 계층이 제자리에서 바꿀 수 있습니다
                units = output.detach().reshape(-1, output.shape[-1])
                dead = (units == 0).all(dim=0).double().mean().item()
                self.outputs[name] = {"output_std": units.std(correction=0).item(), "dead": dead}

        self.hooks = [
            layer.register_forward_hook(lambda layer, _, output, name=name: note(name, layer, output))
            for name, layer in self.layers.items()
        ]
        # END SOLUTION

    def read(self, lr: float) -> dict[str, dict[str, float]]:
        """역전파 다음, `step()` 앞에 부릅니다. 계층의 이름마다 다음 값을 float로 담은 dict를 돌려줍니다.

        "grad_norm"    그 계층이 직접 가진 매개변수의 그레이디언트를 모두 이어 붙인 벡터의 노름. `.grad`가 하나도 없으면 0.0
        "update_ratio" lr × grad_norm ÷ 그 매개변수를 (`.grad`가 없는 것도) 모두 이어 붙인 벡터의 노름. 나눌 노름이 0이면 0.0
        "output_std"   마지막 학습 순전파에서 그 계층이 막 내놓았을 때의 값 전체의 표준편차 (correction=0)
        "dead"         마지막 차원의 유닛 가운데, 그 순전파에서 낸 값이 모두 0인 것의 비율

        학습 순전파는 그 계층이 학습 모드이고 그레이디언트 계산이 켜져 있는 순전파입니다.
        그런 순전파를 아직 하지 않은 계층에는 "output_std"와 "dead"가 없습니다.
        """
        # BEGIN SOLUTION
        told = {}
        for name, layer in self.layers.items():
            params = list(layer.parameters(recurse=False))
            grads = [p.grad for p in params if p.grad is not None]
            grad_norm = sum(grad.square().sum().item() for grad in grads) ** 0.5
            size = sum(p.square().sum().item() for p in params) ** 0.5
            ratio = lr * grad_norm / size if size else 0.0
            told[name] = {"grad_norm": grad_norm, "update_ratio": ratio, **self.outputs.get(name, {})}
        return told
        # END SOLUTION

    def close(self) -> None:
        """단 계기를 모두 뗍니다. 모델에는 아무것도 남지 않고, 두 번 불러도 됩니다."""
        # BEGIN SOLUTION
        for hook in self.hooks:
            hook.remove()
        # END SOLUTION


# %% tags=["check"]
check(Dashboard)

# %% [markdown]
r"""
통과했으면 여러분의 학습 루프에 달아 보세요.

```python
board = Dashboard(model)
for step, (xb, yb) in enumerate(loader):
    opt.zero_grad()
    loss_fn(model(xb), yb).backward()
    if step % 100 == 0:
        for name, values in board.read(opt.param_groups[0]["lr"]).items():
            print(step, name, values)
    opt.step()
board.close()
```

`update_ratio`는 모멘텀이 없는 SGD의 업데이트로 구한 값입니다. AdamW의 업데이트는 학습률 × 그레이디언트가 아니므로, `step()` 앞뒤의 매개변수를 빼서 구해야 합니다. 혼합 정밀도의 scaler를 쓴다면 `unscale_` 다음에 읽습니다. GPU에서는 훅이 `.item()`을 부를 때마다 그때까지의 계산을 기다립니다. 늘 달아 두려면 수를 텐서로 남겼다가 `read`에서 `.item()`으로 바꿉니다.

## 여기까지

이제 이런 것을 할 수 있습니다.

- 손실 곡선만 보고 멀쩡하다고 말하지 않습니다.
- 고장마다 어느 계기를 볼지 고르고, 무엇과 비교할지 정합니다.
- 계층마다 텐서 하나를 내고 마지막 차원이 유닛인 모델에 계기를 달고, 아무것도 남기지 않고 뗍니다. GRU나 합성곱이라면 출력을 고르는 줄을 고칩니다.

여기서 쉬어 가도 됩니다. [다음: AdamW를 손으로](2_adamw.ipynb)에서는 업데이트를 만드는 쪽을 직접 씁니다.
"""
