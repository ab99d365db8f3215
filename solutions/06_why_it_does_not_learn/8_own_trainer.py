# %% [markdown]
r"""
# 내 Trainer

레슨 01–03에서 손으로 쓴 것을 클래스 하나에 모읍니다. 모으면 새로 틀릴 곳이 생깁니다.

아래는 검증 손실(validation loss)이 가장 작았던 가중치(weight)를 남기는 코드입니다. `best`에 무엇이 담기는지 먼저 읽어 보세요.
"""

# %% tags=["folded"]
# 준비: 라이브러리
import copy
from itertools import islice

import torch

from grader import check

# %% [markdown]
r"""
### 보너스. `Trainer`

약 40분 · ★★★
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
