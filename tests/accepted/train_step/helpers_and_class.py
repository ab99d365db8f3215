"""3주차 과제"""
from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass
class StepResult:
    loss: float
    batch_size: int = 0


def forward_and_loss(model, loss_fn, batch):
    inputs, targets = batch
    return loss_fn(model(inputs), targets)


class Stepper:
    def __init__(self, model, opt, loss_fn):
        self.model, self.opt, self.loss_fn = model, opt, loss_fn

    def __call__(self, xb, yb) -> StepResult:
        self.opt.zero_grad()
        loss = forward_and_loss(self.model, self.loss_fn, (xb, yb))
        loss.backward()
        self.opt.step()
        return StepResult(loss=loss.item(), batch_size=xb.shape[0])


def train_step(model, opt, loss_fn, xb, yb) -> float:
    return Stepper(model, opt, loss_fn)(xb, yb).loss
