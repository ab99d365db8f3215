from pathlib import Path
from torch import load


def resume(path, *, model, opt, scheduler) -> int:
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(file)
    checkpoint = load(file, map_location=next(model.parameters()).device, weights_only=True)
    for name, part in (("model", model), ("optimizer", opt), ("scheduler", scheduler)):
        part.load_state_dict(checkpoint[name])
    return checkpoint.get("step", 0)
