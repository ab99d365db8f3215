# 제 메모장이 이렇게 저장합니다 (독고현)
import math, os, random
import tomllib
from dataclasses import dataclass, asdict, fields
import numpy as np
import torch


@dataclass(frozen=True)
class TrainConfig:
    """학습 설정"""
    lr: float = 3e-4
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 10
    total_steps: int = 100
    max_norm: float = 1.0
    amp_dtype: str | None = None
    seed: int = 0

    def __post_init__(self):
        if self.lr <= 0:
            raise ValueError(f"학습률은 양수: {self.lr}")
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError("에폭과 배치 크기는 1 이상")
        if self.warmup_steps > self.total_steps:
            raise ValueError("워밍업이 너무 길다")

    @classmethod
    def from_toml(cls, path):
        with open(path, "rb") as 파일:
            값 = tomllib.load(파일)
        아는_키 = [칸.name for 칸 in fields(cls)]
        for 키 in 값:
            if 키 not in 아는_키:
                raise ValueError("모르는 설정이 있습니다. 파일을 확인하세요.")
        return cls(**값)

    def to_dict(self):
        return asdict(self)


def seed_everything(seed):
    for 심기 in (random.seed, np.random.seed, torch.manual_seed):
        심기(seed)
    생성기 = torch.Generator()
    생성기.manual_seed(seed)
    return 생성기


def warmup_cosine(opt, warmup_steps, total_steps):
    def 배율(k):
        if k <= warmup_steps and warmup_steps > 0:
            return (k + 1) / warmup_steps
        if k >= total_steps:
            return 0.0
        진행률 = (k - warmup_steps) / (total_steps - warmup_steps)
        return 0.5 * (1 + math.cos(math.pi * 진행률))
    return torch.optim.lr_scheduler.LambdaLR(opt, 배율)


def resume(path, *, model, opt, scheduler):
    저장본 = torch.load(path, weights_only=True)
    model.load_state_dict(저장본["model"])
    opt.load_state_dict(저장본["optimizer"])
    scheduler.load_state_dict(저장본["scheduler"])
    return 저장본["step"]
