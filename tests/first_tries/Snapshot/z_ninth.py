# mistakes: half-numpy-state, reseeds-instead, snapshot-without-scaler
# lines: 22, 53, 59
# hidden:
import random

import numpy as np
import torch


class Snapshot:
    """에폭을 시작하는 순간의 학습 상태를 파일 하나에 모두 남기고, 새로 만든 객체로 그대로 이어 갑니다."""

    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.model = model
        self.opt = opt
        self.scaler = scaler
        self.loader_generator = loader_generator

    # --- 전역 난수 ---
    @staticmethod
    def _collect_rng():
        name, keys, pos, *_ = np.random.get_state()
        rng = {
            "python": random.getstate(),
            # 넘파이 배열은 weights_only로 못 여니까 텐서로 바꾼다
            "numpy_keys": torch.from_numpy(keys.astype(np.int64)),
            "numpy_pos": int(pos),
            "torch": torch.get_rng_state(),
        }
        if torch.cuda.is_available():
            rng["cuda"] = torch.cuda.get_rng_state_all()
        return rng

    @staticmethod
    def _put_back_rng(rng):
        random.setstate(rng["python"])
        keys = rng["numpy_keys"].numpy().astype(np.uint32)
        np.random.set_state(("MT19937", keys, rng["numpy_pos"]))
        torch.set_rng_state(rng["torch"])
        if "cuda" in rng and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(rng["cuda"])

    def save(self, path) -> None:
        content = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "rng": self._collect_rng(),
        }
        if self.scaler is not None:
            content["scaler"] = self.scaler.state_dict()
        if self.loader_generator is not None:
            # 시드만 있으면 같은 순서를 다시 만들 수 있다
            content["loader_seed"] = self.loader_generator.initial_seed()
        torch.save(content, path)

    def load(self, path) -> None:
        content = torch.load(path, map_location="cpu", weights_only=True)
        self.model.load_state_dict(content["model"])
        self.opt.load_state_dict(content["opt"])
        if self.loader_generator is not None:
            self.loader_generator.manual_seed(content["loader_seed"])
        self._put_back_rng(content["rng"])
