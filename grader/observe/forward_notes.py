"""Note the conditions of a model's forward passes: train or eval mode, precision, with or without a graph.

`recorder.py` notes those of the watched model (`Recorder.forward_notes`); drivers record the notes as facts. To note
another condition, add a list to `ForwardNotes` and fill it in `note`.
"""

from torch import Tensor, nn

from grader.observe.parameters import modules_of

_MAX_PHRASES = 20
"""Maximum number of phrases kept of each condition; a right program has two or three."""


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


def _add(phrases: list[str], phrase: str) -> None:
    """Append a phrase if it is new, up to `_MAX_PHRASES`."""
    if phrase not in phrases and len(phrases) < _MAX_PHRASES:
        phrases.append(phrase)
