"""Loops that belong to a framework: what is wrong is told at the user's own line, and right ones stay silent.

Accelerate's and Trainer's whole scripts stand in `scripts/`; Lightning runs here where it is installed.
"""

import importlib.util
from pathlib import Path

import pytest

from tests.xray.running import Ran, watched

LIGHTNING = """import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = self.loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        logits = self(x)
        self.log("val_loss", self.loss(logits, y))
        self.log("val_acc", (logits.argmax(1) == y).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"}}


def data(n, seed):
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (n,), generator=generator)
    x = torch.randn(n, 12, generator=generator) + nn.functional.one_hot(y, 12) * 2.0
    return TensorDataset(x, y)


def main():
    L.seed_everything(0)
    trainer = L.Trainer(
        max_epochs=6, accelerator="cpu", accumulate_grad_batches=2, gradient_clip_val=1.0, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )
    model = Classifier()
    trainer.fit(model, DataLoader(data(256, 1), 16, shuffle=True), DataLoader(data(96, 2), 32))
    print("val_acc", round(trainer.callback_metrics["val_acc"].item(), 3))


if __name__ == "__main__":
    main()
"""
_CLEARED = """        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()
        return loss
"""


def _lightning(*edits: tuple[str, str]) -> str:
    text = LIGHTNING
    for before, after in edits:
        assert before in text
        text = text.replace(before, after, 1)
    return text


def _by_hand(loop: str) -> str:
    return _lightning(
        ("super().__init__()", "super().__init__()\n        self.automatic_optimization = False"),
        ("        return loss\n", loop),
        (" accumulate_grad_batches=2, gradient_clip_val=1.0,", ""),
        ("accelerator", "limit_train_batches=12, accelerator"),
    )


WRONG = {
    "softmax-before-ce": _lightning(("nn.Linear(32, 3))", "nn.Linear(32, 3), nn.Softmax(dim=1))")),
    "sched-per-batch-epoch-tmax": _lightning(('"interval": "epoch"', '"interval": "step"')),
    "parameters-in-no-optimizer": _lightning(("AdamW(self.parameters", "AdamW(self.net[3].parameters")),
    "missing-zero-grad": _by_hand(_CLEARED.replace("        optimizer.zero_grad()\n", "")),
}
LINES = {
    "softmax-before-ce": "nn.Softmax",
    "sched-per-batch-epoch-tmax": "CosineAnnealingLR(",
    "parameters-in-no-optimizer": "AdamW(",
    "missing-zero-grad": "manual_backward",
}
"""What stands in the line that is named."""
RIGHT = {"automatic": LIGHTNING, "manual": _by_hand(_CLEARED)}
needs_lightning = pytest.mark.skipif(
    importlib.util.find_spec("lightning") is None, reason="lightning is not installed (extra `frameworks`)"
)
TRAINER = """import torch
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed


class Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.x = torch.randn(96, 6)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"x": self.x[i], "labels": (self.x[i, 0] > 0).long()}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 16), nn.Linear(16, 2)

    def forward(self, x=None, labels=None):
        features = self.body(x).relu()
        logits = self.head(features)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


set_seed(0)
args = TrainingArguments(
    output_dir="saved", per_device_train_batch_size=8, num_train_epochs=2, learning_rate=1e-2, save_strategy="no",
    report_to=[], use_cpu=True, disable_tqdm=True, dataloader_pin_memory=False,
)
Trainer(model=Model(), args=args, train_dataset=Rows()).train()
"""


def _run(folder: Path, text: str) -> Ran:
    script = folder / "train.py"
    script.write_text(text, encoding="utf-8")
    return watched(script)


def _line(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


@needs_lightning
@pytest.mark.parametrize("id_", WRONG)
def test_lightning_is_told_at_the_users_line(tmp_path: Path, id_: str) -> None:
    ran = _run(tmp_path, WRONG[id_])
    assert ran.ids == [(id_, _line(WRONG[id_], LINES[id_]))]
    assert ran.found["findings"][0]["file"].endswith("train.py")


@needs_lightning
@pytest.mark.parametrize("name", RIGHT)
def test_right_lightning_stays_silent(tmp_path: Path, name: str) -> None:
    ran = _run(tmp_path, RIGHT[name])
    assert ran.ids == []
    assert ran.found["updates"] >= 36
    assert not ran.found["observer_failures"]


@pytest.mark.full
def test_trainer_is_told_at_the_models_line(tmp_path: Path) -> None:
    ran = _run(tmp_path, TRAINER)
    assert ran.ids == []
    assert ran.found["updates"] == 24
    wrong = TRAINER.replace("self.head(features)", "self.head(features.detach())")
    assert _run(tmp_path, wrong).ids == [("detached-forward", _line(wrong, "detach()"))]
