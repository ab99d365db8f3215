# %% [markdown]
r"""
# 내 Trainer

약 45분 · ★★★

레슨 01과 02에서 손으로 쓴 것을 클래스 하나에 모아, 어느 모델에나 쓸 내 루프를 만듭니다. 이 노트북은 보너스입니다. 힌트는 없고, 하지 않아도 레슨을 마칠 수 있습니다.

모으기 전에 함정 하나를 확인합니다. [레슨 02](../02_loop_anatomy/6_best_checkpoint.ipynb)에서 본 것이 옵티마이저에서도 생깁니다.

먼저 아래의 `train`을 한 줄씩 읽어 보세요. 학습(training) 데이터가 100개뿐이라, 검증 손실(validation loss)은 내려가다가 다시 오릅니다. 그래서 검증 손실이 가장 작을 때마다 `best`를 바꾸고, 끝나면 `best`로 되돌립니다.
"""

# %% tags=["folded"]
# 준비: 라이브러리, 손글씨 숫자 분류기, 검증 손실을 재는 validation_loss
import copy
from itertools import islice

import torch

from grader import check, clinic, drill, hint, microscope, predict, progress, reveal
from grader.experiments.several_processes.digits import loss_fn, make_model, x_train, y_train
from grader.experiments.why_it_does_not_learn.averages import SEEDS, loss_and_accuracy
from grader.plots import show_table

torch.set_num_threads(1)


def validation_loss(model):
    return loss_and_accuracy(model)[0]


# %%
def train(seed, keep):
    model = make_model(seed)
    opt = torch.optim.Adam(model.parameters(), lr=0.02)
    rows = torch.randperm(len(x_train), generator=torch.Generator().manual_seed(seed))[:100]
    losses = []
    for epoch in range(60):
        opt.zero_grad()
        loss_fn(model(x_train[rows]), y_train[rows]).backward()
        opt.step()
        losses.append(validation_loss(model))
        if losses[-1] == min(losses):
            best = keep(model)
    model.load_state_dict(best)
    return losses, validation_loss(model)


# %% [markdown]
r"""
**예측.** `keep`이 `model.state_dict()`를 그대로 돌려줍니다. `best`로 되돌린 모델의 검증 손실은 얼마일까요?

- a: 60에폭 가운데 가장 작았던 검증 손실입니다.
- b: 마지막 에폭(epoch)의 검증 손실입니다.
- c: 첫 에폭의 검증 손실입니다.
"""

# %% tags=["predict"]
predict("06-23")

# %%
runs = [train(seed, keep=lambda model: model.state_dict()) for seed in SEEDS]
show_table(
    ["시드", "첫 에폭", "가장 작았던 값", "마지막 에폭", "best로 되돌린 모델"],
    [[s, losses[0], min(losses), losses[-1], found] for s, (losses, found) in zip(SEEDS, runs, strict=True)],
)

# %% tags=["folded"]
# 확인: 시드 6개에서 되돌린 모델의 검증 손실
assert all(found == losses[-1] for losses, found in runs), "마지막 에폭의 것과 비트까지 같아야 합니다"
assert all(losses[-1] > 1.05 * min(losses) for losses, _ in runs), "가장 작았던 값보다 커야 합니다"
reveal("06-23")

# %% [markdown]
r"""
`state_dict()`는 텐서(tensor)를 복사하지 않습니다. `best`에 든 것은 모델이 지금 쓰는 매개변수(parameter)와 메모리가 같고, `step()`은 그 메모리를 제자리에서 고칩니다. 되돌리는 줄은 모델의 지금 가중치(weight)를 자기 자신에게 다시 넣었을 뿐입니다. 파일에 저장하면 파일이 복사본이라 이 함정이 없습니다.

`copy.deepcopy` 하나면 됩니다.
"""

# %%
copied = [train(seed, keep=lambda model: copy.deepcopy(model.state_dict())) for seed in SEEDS]
print("가장 작았던 값과 비트까지 같은 시드:", sum(found == min(losses) for losses, found in copied))

# %% tags=["folded"]
# 확인: 시드 6개 모두
assert all(found == min(losses) for losses, found in copied), "복사본이면 가장 작았던 값과 같아야 합니다"

# %% [markdown]
r"""
옵티마이저(optimizer)도 같습니다. `opt.state_dict()`에 든 모멘텀은 다음 `step()`이 고칠 그 텐서이고, `opt.load_state_dict(state)`는 `state`의 텐서를 그대로 이어서 씁니다. 상태를 메모리에 들고 있을 때는 꺼낼 때도 넣을 때도 복사합니다.

### 보너스. `Trainer`

약 40분 · ★★★

60줄쯤이면 됩니다. 새로 배울 것은 없습니다. 앞에서 쓴 [`accumulate_weighted`](../01_five_line_step/9_find_the_bug.ipynb), [`evaluate`](../01_five_line_step/6_evaluation_and_switches.ipynb), [`train`](../02_loop_anatomy/8_train.ipynb), [`resume`](../02_loop_anatomy/7_resume.ipynb)을 옆에 두세요. 마지막 구간은 짧을 수 있어서, 구간의 샘플을 모두 세어야 첫 마이크로 배치를 역전파(backward pass)할 수 있습니다. `itertools.islice`로 한 구간씩 꺼내면 됩니다. 난수와 로더의 상태는 `state_dict()`에 담지 않아도 됩니다. 드롭아웃도 섞는 로더도 없는 학습을 이어 가 봅니다.

`fit`과 `evaluate`를 먼저 통과시킨 다음 `state_dict`로 넘어가세요. `check`는 다섯 항목을 따로 말해 줍니다.
"""


# %% tags=["exercise:Trainer"]
class Trainer:
    """모델 하나를 학습하고, 평가하고, 멈춘 곳에서 이어 갑니다.

    history: 에폭마다 (학습 손실, 검증 손실)을 담은 리스트입니다. 튜플에 든 둘은 float입니다.
    best: 검증 손실이 가장 작았던 에폭을 마쳤을 때의 model.state_dict()입니다. 그 뒤의 학습이 이 값을 바꾸지 않습니다.
        같으면 먼저 나온 에폭의 것이고, 첫 에폭을 마치기 전에는 None입니다.
    """

    def __init__(self, model, opt, loss_fn, *, scheduler=None, accum_steps=1, max_norm=None):
        """loss_fn(로짓, 정답)은 배치의 평균 손실입니다.

        scheduler: 업데이트마다, 옵티마이저 다음에 한 번 움직입니다. 없으면 None입니다.
        accum_steps: 한 번 업데이트하려고 모으는 마이크로 배치(한 구간)의 수입니다.
        max_norm: 업데이트에 쓰는 그레이디언트를 모두 합친 노름이 이 값을 넘지 않게 클리핑합니다. None이면 하지 않습니다.
        """
        # BEGIN SOLUTION
        self.model, self.opt, self.loss_fn, self.scheduler = model, opt, loss_fn, scheduler
        self.accum_steps, self.max_norm = accum_steps, max_norm
        self.history = []
        self.best = None
        # END SOLUTION

    def fit(self, train_loader, val_loader, epochs) -> None:
        """train_loader를 epochs번 돌며 학습하고, 에폭마다 검증해 history와 best를 고칩니다. 다시 부르면 이어집니다.

        어떤 모드로 받은 모델이든 학습 모드로 학습합니다. 두 로더는 len()이 있고 여러 번 돌 수 있습니다.
        구간의 그레이디언트는 그 구간의 샘플 전체의 평균 손실에서 구한 것과 같습니다. 마이크로 배치의 크기는 다를 수 있습니다.
        에폭의 짧은 마지막 구간도 업데이트합니다. 다른 구간의 그레이디언트와 부르기 전에 있던 것은 섞이지 않습니다.
        마이크로 배치마다 역전파하고, 지난 마이크로 배치의 계산 그래프는 붙들고 있지 않습니다.
        학습 손실은 학습하면서 구한 손실의 샘플 평균입니다.
        """
        # BEGIN SOLUTION
        for _ in range(epochs):
            self.model.train()
            total_loss, num_samples = 0.0, 0
            stream = iter(train_loader)
            while window := list(islice(stream, self.accum_steps)):
                window_samples = sum(len(xb) for xb, _ in window)
                self.opt.zero_grad()
                for xb, yb in window:
                    loss = self.loss_fn(self.model(xb), yb)
                    (loss * (len(xb) / window_samples)).backward()
                    total_loss += loss.item() * len(xb)
                if self.max_norm is not None:
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
                self.opt.step()
                if self.scheduler is not None:
                    self.scheduler.step()
                num_samples += window_samples
            val_loss = self.evaluate(val_loader)
            if all(val_loss < earlier for _, earlier in self.history):
                self.best = copy.deepcopy(self.model.state_dict())
            self.history.append((total_loss / num_samples, val_loss))
        # END SOLUTION

    def evaluate(self, loader) -> float:
        """평가 모드로 loader 전체를 보고 샘플 평균 손실을 float로 돌려줍니다.

        계산 그래프를 만들지 않습니다. 끝나면 모듈마다 원래 모드로 되돌립니다.
        """
        # BEGIN SOLUTION
        modes = {module: module.training for module in self.model.modules()}
        self.model.eval()
        total_loss, num_samples = 0.0, 0
        with torch.no_grad():
            for xb, yb in loader:
                total_loss += self.loss_fn(self.model(xb), yb).item() * len(xb)
                num_samples += len(xb)
        for module, mode in modes.items():
            module.training = mode
        return total_loss / num_samples
        # END SOLUTION

    def state_dict(self) -> dict:
        """이어서 학습하는 데 필요한 것을 모두 담아 돌려줍니다. 돌려준 값은 그 뒤에 학습해도 바뀌지 않습니다.

        torch.save로 쓰고 torch.load(path, weights_only=True)로 열 수 있는 값만 담습니다.
        """
        # BEGIN SOLUTION
        state = {"history": self.history, "best": self.best}
        state["model"] = self.model.state_dict()
        state["opt"] = self.opt.state_dict()
        if self.scheduler is not None:
            state["scheduler"] = self.scheduler.state_dict()
        return copy.deepcopy(state)
        # END SOLUTION

    def load_state_dict(self, state) -> None:
        """state_dict()가 준 상태로 되돌립니다. 새로 만든 Trainer도 끊지 않은 것과 똑같이 이어 갑니다.

        받은 state는 이어서 학습해도 바뀌지 않습니다.
        """
        # BEGIN SOLUTION
        state = copy.deepcopy(state)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        self.history = state["history"]
        self.best = state["best"]
        # END SOLUTION


# %% tags=["check"]
check(Trainer)

# %% [markdown]
r"""
## 이제 할 수 있는 것

- 누적, 클리핑, 스케줄러, 검증, 이어 가기를 갖춘 학습 루프를 라이브러리 없이 씁니다.
- 들고 있는 상태가 복사본인지 참조인지 알아보고, 어느 쪽인지 재어서 확인합니다.

이 루프에 더할 것은 이미 다 만들어 보았습니다. 업데이트하기 전에 [`guarded_step`](6_spikes.ipynb)으로 노름을 보고, 업데이트한 다음 [`ema_update_`](4_averaged_weights.ipynb)로 평균을 갱신하고, 가끔 [`Dashboard`](1_instruments.ipynb)로 계층을 읽습니다. 어느 것이든 `fit`에 한두 줄입니다.

**레슨 06을 마쳤습니다. 강의는 지금 여기까지입니다.** 며칠 쉬었다가 `clinic()`으로 복습하고, 그때 내 스크립트 하나를 이 `Trainer`로 옮겨 보세요.
"""
