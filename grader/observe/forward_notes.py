"""What a model's forward passes were made under: modes, precision, with a graph or without."""

from torch import Tensor, nn

from grader.observe.parameters import modules_of


def mode_words(model: nn.Module) -> str:
    """The modes of a model and all its submodules in one Korean phrase: `모두 학습 모드`, `layers.1만 평가 모드`."""
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
    """Each thing that was seen, once, in the order in which it was first seen."""

    def __init__(self) -> None:
        self.modes: list[str] = []
        self.dtypes: list[str] = []
        """Of the logits: autocast changes those of a float32 model."""
        self.graphs: list[str] = []
        self._flags: list[bool] = []

    def note(self, model: nn.Module, outputs: Tensor) -> None:
        """A forward pass of `model` gave `outputs`."""
        flags = [module.training for module in modules_of(model)]
        if flags != self._flags:  # words are made for what is new
            self._flags = flags
            _add(self.modes, mode_words(model))
        _add(self.dtypes, str(outputs.dtype).removeprefix("torch."))
        _add(self.graphs, "계산 그래프를 만듦" if outputs.requires_grad else "계산 그래프를 만들지 않음")


def _add(seen: list[str], what: str) -> None:
    if what not in seen and len(seen) < 20:
        seen.append(what)
