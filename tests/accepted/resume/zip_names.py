import io
from pathlib import Path

import torch


def resume(path, *, model, opt, scheduler) -> int:
    raw = io.BytesIO(Path(path).read_bytes())
    saved = torch.load(raw, weights_only=True, map_location="cpu")
    for key, target in {"model": model, "optimizer": opt, "scheduler": scheduler}.items():
        target.load_state_dict(saved[key])
    return int(saved["step"])
