"""Note the conditions of a model's forward passes: train or eval mode, precision, with or without a graph."""

from torch import Tensor, nn

from grader.observe.parameters import modules_of


def mode_words(model: nn.Module) -> str:
    """Return the modes of a model and its submodules as a Korean phrase: `모두 학습 모드`, `layers.1만 평가 모드`."""
    training: list[str] = []
    evaluating: list[str] = []
    for name, module in model.named_modules():
        (training if module.training else evaluating).append(name or "모델 자신")
    if not evaluating:
        return "모두 학습 모드"
    if not training:
        return "모두 평가 모드"
    fewer, mode = (evaluating, "평가") if len(evaluating) <= len(training) else (training, "학습")
    return f"{', '.join(fewer)}만 {mode} 모드"


class ForwardNotes:
    """The conditions seen so far, each once, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.modes: list[str] = []
        """Phrases of `mode_words`."""
        self.dtypes: list[str] = []
        """Types of the logits; autocast changes those of a float32 model."""
        self.graphs: list[str] = []
        """Korean phrases: a graph was built, or was not."""
        self._flags: list[bool] = []
        """Train mode of each module in the last forward pass."""

    def note(self, model: nn.Module, outputs: Tensor) -> None:
        """Note the conditions of a forward pass of `model` that returned `outputs`."""
        flags = [module.training for module in modules_of(model)]
        if flags != self._flags:  # building the phrase is slow, so do it only when the modes change
            self._flags = flags
            _add(self.modes, mode_words(model))
        _add(self.dtypes, str(outputs.dtype).removeprefix("torch."))
        _add(self.graphs, "계산 그래프를 만듦" if outputs.requires_grad else "계산 그래프를 만들지 않음")


def _add(seen: list[str], what: str) -> None:
    """Append a phrase if it is new, up to 20 phrases."""
    if what not in seen and len(seen) < 20:
        seen.append(what)
