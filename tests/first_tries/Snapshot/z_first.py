# mistakes: half-numpy-state, reseeds-instead
# lines: 20, 35
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
        self.gen = loader_generator

    def save(self, path) -> None:
        np_state = np.random.get_state()
        blob = {
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "py": random.getstate(),
            # numpy 배열은 weights_only로 안 열려서 리스트로
            "np_keys": [int(v) for v in np_state[1]],
            "np_pos": int(np_state[2]),
            "cpu": torch.get_rng_state(),
        }
        if torch.cuda.is_available():
            blob["cuda"] = torch.cuda.get_rng_state_all()
        if self.scaler is not None:
            blob["scaler"] = self.scaler.state_dict()
        if self.gen is not None:
            blob["gen_seed"] = self.gen.initial_seed()
        torch.save(blob, path)

    def load(self, path) -> None:
        blob = torch.load(path, map_location="cpu", weights_only=True)

        self.model.load_state_dict(blob["model"])
        self.opt.load_state_dict(blob["opt"])
        if self.scaler is not None and "scaler" in blob:
            self.scaler.load_state_dict(blob["scaler"])
        if self.gen is not None and "gen_seed" in blob:
            self.gen.manual_seed(blob["gen_seed"])

        ver, inner, gauss = blob["py"]
        random.setstate((ver, tuple(inner), gauss))
        np.random.set_state(("MT19937", np.array(blob["np_keys"], dtype=np.uint32), blob["np_pos"]))
        torch.set_rng_state(blob["cpu"])
        if "cuda" in blob and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(blob["cuda"])
