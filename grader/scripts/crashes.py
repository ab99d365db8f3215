"""Explain the exceptions that are classics of training loops, at the learner's own line."""

import re
from collections.abc import Iterable

from grader.scripts.facts import Facts, ForwardRan
from grader.scripts.findings import Finding, Rule, Said, Told
from grader.scripts.places import Place, is_own, place_of

_CLASSICS: tuple[tuple[str, str, Said, Said, Said], ...] = (
    (
        "crash-second-backward",
        r"backward through the graph a second time",
        Said("같은 그래프로 backward를 두 번 했어요", "A second backward through one graph"),
        Said(
            "이미 `backward()`한 계산 그래프를 다시 지나가려고 했어요. 앞 반복의 텐서(은닉 상태, 더해 온 손실)가 "
            "그래프째 남아 있을 때 자주 생겨요.",
            "backward() reached a graph that an earlier backward() has freed. A tensor of an earlier iteration "
            "(a hidden state, a running loss) usually still carries its graph.",
        ),
        Said(
            "이어서 쓰는 텐서에 `.detach()`를 하세요. 한 그래프에 정말 두 번 해야 하면 `retain_graph=True`예요.",
            "Call `.detach()` on what is carried over; `retain_graph=True` only if both passes are meant.",
        ),
    ),
    (
        "crash-no-grad",
        r"does not require grad and does not have a grad_fn",
        Said("backward할 그래프가 없어요", "Nothing to back-propagate"),
        Said(
            "손실까지 오는 길에 그래프가 끊겼어요. `torch.no_grad()`, `.detach()`, `.item()`, `torch.tensor(...)`, "
            "얼린 매개변수 가운데 하나예요.",
            "The way to the loss holds no graph: `torch.no_grad()`, `.detach()`, `.item()`, `torch.tensor(...)` "
            "or frozen parameters cut it.",
        ),
        Said("손실을 만드는 줄에서 끊긴 곳을 찾아 없애세요.", "Find and remove the cut before the loss."),
    ),
    (
        "crash-inplace",
        r"modified by an inplace operation",
        Said("backward에 필요한 값을 제자리에서 바꿨어요", "A value needed by backward was changed in place"),
        Said(
            "그레이디언트를 계산하는 데 필요한 텐서가 순전파 뒤에 제자리에서 바뀌었어요. `backward()` 전에 `step()`을 "
            "했거나 `+=`, `relu_()` 같은 연산을 썼을 때 생겨요.",
            "A tensor that backward() needs was changed in place after the forward: by step() before backward(), "
            "or by an operation such as `+=` or `relu_()`.",
        ),
        Said(
            "새 텐서를 만드는 연산으로 바꾸거나 순서를 바꾸세요.",
            "Use an out-of-place operation, or reorder.",
        ),
    ),
    (
        "crash-device",
        r"Expected all tensors to be on the same device|Input type .* and weight type .*cuda",
        Said("텐서가 서로 다른 장치에 있어요", "Tensors are on different devices"),
        Said("모델과 데이터 가운데 하나만 GPU에 있어요.", "Model and data are on different devices."),
        Said("`.to(device)`를 둘 다에 하세요.", "Move both with `.to(device)`."),
    ),
    (
        "bn-batch-of-one",
        r"Expected more than 1 value per channel when training",
        Said("배치 정규화에 샘플이 하나만 들어갔어요", "Batch norm was given one sample"),
        Said(
            "배치에 샘플이 하나뿐이라 배치 정규화가 분산을 계산할 수 없어요. 데이터 수를 배치 크기로 나눈 나머지가 "
            "1이면 에폭의 마지막 배치가 그래요.",
            "A batch of one sample has no variance for batch norm. The last batch of an epoch is one when the "
            "number of samples leaves a remainder of 1.",
        ),
        Said(
            "`DataLoader(..., drop_last=True)`로 남은 배치를 빼거나 배치 크기를 바꾸세요.",
            "Drop the last batch (`drop_last=True`), or choose another batch size.",
        ),
    ),
    (
        "crash-dtype",
        r"must have the same dtype|expected scalar type|Found dtype|expected m1 and m2 to have the same dtype",
        Said("자료형이 맞지 않아요", "Types do not match"),
        Said(
            "한 연산에 들어간 두 텐서의 자료형이 달라요. NumPy 배열은 float64인 채로 들어오고, "
            "분류의 정답은 int64여야 해요.",
            "Two tensors of one operation have different types. NumPy arrays arrive as float64, and class "
            "targets must be int64.",
        ),
        Said("`.float()`나 `.long()`으로 맞추세요.", "Convert with `.float()` or `.long()`."),
    ),
)


def explained(error: BaseException, facts: Facts) -> Told | None:
    """Explain an exception of the script; None if it is no classic."""
    for id_, pattern, title, sentence, mend in _CLASSICS:
        if re.search(pattern, str(error)):
            rule = Rule(id=id_, severity="bug", title=title, lesson="01_five_line_step", find=_nothing)
            first = str(error).strip().partition("\n")[0][:200]
            evidence = Said(
                f"업데이트 {facts.updates}번 뒤에 멈췄어요: {type(error).__name__}: {first}",
                f"Stopped after {facts.updates} updates: {type(error).__name__}: {first}",
            )
            place = place_of_error(error)
            if id_ == "bn-batch-of-one":
                place = _last_forward(facts) or place
            finding = Finding(place=place, sentence=sentence, evidence=evidence, mend=mend)
            return Told(rule, finding)
    return None


def _last_forward(facts: Facts) -> Place | None:
    """Return the line that called the model last; the error itself lies deep inside it."""
    places = [one.place for one in facts.of(ForwardRan)]
    return places[-1] if places else None


def _nothing(_: Facts) -> Iterable[Finding]:
    return ()


def place_of_error(error: BaseException) -> Place | None:
    """Return the innermost line of the learner's code in a traceback."""
    found = None
    step = error.__traceback__
    while step is not None:
        if is_own(step.tb_frame.f_code.co_filename):
            found = place_of(step.tb_frame.f_code, step.tb_lineno)
        step = step.tb_next
    return found
