# mistakes: reseeds-instead, half-numpy-state, mode-changed-by-load
# lines: 29, 23, 54
# hidden:
import random

import numpy as np
import torch


class Snapshot:
    def __init__(self, model, opt, *, scaler=None, loader_generator=None):
        self.parts = {"model": model, "opt": opt}
        if scaler is not None:
            self.parts["scaler"] = scaler
        self.loader_generator = loader_generator

    # ---- 난수 상태를 파일에 담을 수 있는 모양으로 바꾸는 함수들 ----
    def _collect_random(self):
        version, internal, gauss = random.getstate()
        numpy_state = np.random.get_state()
        result = {
            "python": [version, list(internal), gauss],
            "numpy": [numpy_state[1].tolist(), int(numpy_state[2])],
            "torch": torch.get_rng_state(),
        }
        if torch.cuda.is_available():
            result["cuda"] = torch.cuda.get_rng_state_all()
        if self.loader_generator is not None:
            result["loader"] = self.loader_generator.initial_seed()
        return result

    def _restore_random(self, saved):
        version, internal, gauss = saved["python"]
        random.setstate((version, tuple(internal), gauss))
        keys, pos = saved["numpy"]
        np.random.set_state(("MT19937", np.array(keys, dtype=np.uint32), pos))
        torch.set_rng_state(saved["torch"])
        if "cuda" in saved and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(saved["cuda"])
        if self.loader_generator is not None and "loader" in saved:
            self.loader_generator.manual_seed(saved["loader"])

    def save(self, path) -> None:
        content = {name: part.state_dict() for name, part in self.parts.items()}
        content["random"] = self._collect_random()
        torch.save(content, path)

    def load(self, path) -> None:
        content = torch.load(path, map_location="cpu", weights_only=True)
        for name, part in self.parts.items():
            if name in content:
                part.load_state_dict(content[name])
        # 이어서 학습할 거니까 학습 모드로
        self.parts["model"].train()
        self._restore_random(content["random"])
