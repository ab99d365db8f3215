import io
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import torch


class BestCheckpoint:
    """점수가 가장 높았던 순간의 학습 상태를 파일 하나에 남깁니다."""

    def __init__(self, path):
        self._target = Path(path)
        self._scores = []

    def update(self, score, *, model, opt, scheduler, step, config) -> bool:
        score = float(score)
        if math.isnan(score) or any(score <= earlier for earlier in self._scores):
            return False
        parts = {"model": model, "optimizer": opt, "scheduler": scheduler}
        content = {key: part.state_dict() for key, part in parts.items()}
        content |= {"step": int(step), "score": score}
        content["config"] = dict(config) if isinstance(config, Mapping) else config.to_dict()
        buffer = io.BytesIO()
        torch.save(content, buffer)
        self._write(buffer.getvalue())
        self._scores.append(score)
        return True

    def _write(self, data):
        handle, beside = tempfile.mkstemp(dir=self._target.parent, prefix=self._target.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._target)
        except BaseException:
            os.unlink(beside)
            raise
