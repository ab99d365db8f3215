"""Answer the exceptions that Python raises: a value that is None or of another type, a call, a name."""

from grader.report.exceptions.entry import Advice

IMPORTS = {
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "torch": "import torch",
    "optim": "from torch import optim",
    "math": "import math",
    "copy": "import copy",
    "deepcopy": "from copy import deepcopy",
    "random": "import random",
    "os": "import os",
    "json": "import json",
    "tomllib": "import tomllib",
    "tempfile": "import tempfile",
    "itertools": "import itertools",
    "islice": "from itertools import islice",
    "functools": "import functools",
    "Path": "from pathlib import Path",
    "Tensor": "from torch import Tensor",
    "DataLoader": "from torch.utils.data import DataLoader",
    "LambdaLR": "from torch.optim.lr_scheduler import LambdaLR",
    "SequentialLR": "from torch.optim.lr_scheduler import SequentialLR",
    "clip_grad_norm_": "from torch.nn.utils import clip_grad_norm_",
    "autocast": "from torch import autocast",
    "GradScaler": "from torch.amp import GradScaler",
    "Accelerator": "from accelerate import Accelerator",
    "dataclass": "from dataclasses import dataclass",
    "dataclasses": "import dataclasses",
    "asdict": "from dataclasses import asdict",
    "field": "from dataclasses import field",
}
"""Name that learners use without importing it -> the import that it needs."""
_IN_A_LINE = r"."
"""The exception was raised in a line of the learner's, not by the grader's call."""

_NONE_PATTERNS = (
    r"AttributeError: 'NoneType' object has no attribute",
    r"TypeError: unsupported operand type\(s\) for .*'NoneType'",
    r"TypeError: bad operand type for unary .*'NoneType'",
    r"TypeError: \w+\(\): argument .* must be (?:Tensor|tuple of Tensors), not NoneType",
    r"TypeError: expected Tensor as element \d+ in argument \d+, but got NoneType",
    r"TypeError: 'NoneType' object is not \w+",
    r"TypeError: cannot unpack non-iterable NoneType",
    r"TypeError: object of type 'NoneType' has no len\(\)",
    r"TypeError: .* not supported between instances of .*'NoneType'",
    r"TypeError: (?:int|float)\(\) argument must be .*'NoneType'",
)
_NONE_PATTERN = f"(?:{'|'.join(_NONE_PATTERNS)})"

_NONE_ENTRIES = (
    Advice(
        "adds-to-no-gradient",
        f"(?:{'|'.join(_NONE_PATTERNS[1:])})",
        "`.grad`가 아직 `None`이라 더할 것이 없어요. `.grad`는 `backward()`가 채워요(`torch.autograd.grad`는 채우지 "
        "않아요). `.grad`가 `None`이면 더하지 말고 새로 구한 값을 그대로 `.grad`에 담으세요.",
        line=r"\.grad\s*(?:[-+]=|=.*\.grad\s*[-+])",
    ),
    Advice(
        "no-gradient",
        r"AttributeError: 'NoneType' object has no attribute '(?P<name>\w+)'",
        "`.grad`가 `None`이에요. 아직 `backward()`를 하지 않았거나, `zero_grad()`로 지웠거나, 손실에 쓰이지 않은 "
        "매개변수예요. `backward()` 다음에 읽고, `None`인 매개변수는 건너뛰세요.",
        line=r"\.grad\s*\.\s*{name}\b",
    ),
    Advice(
        "no-gradient-operand",
        f"(?:{'|'.join(_NONE_PATTERNS[1:])})",
        "이 줄에서 쓰는 값 가운데 하나가 `None`이에요. `.grad`가 `None`이라면 아직 `backward()`를 하지 않았거나, "
        "`zero_grad()`로 지웠거나, 손실에 쓰이지 않은 매개변수예요. `backward()` 다음에 읽고, `None`인 매개변수는 "
        "건너뛰세요. `.grad`에 값이 있다면 함께 쓴 값을 하나씩 출력해 보세요.",
        line=r"\.grad\b(?!\s*[.(\[])",  # `p.grad.norm() > max_norm`: there, the gradient is not None
    ),
    Advice(
        "none-attribute",
        r"AttributeError: 'NoneType' object has no attribute '(?P<name>\w+)'",
        "`.{name}` 앞의 값이 `None`이에요. 주지 않은 인자(`scheduler=None`처럼)나 아직 없는 `.grad`, 값을 "
        "돌려주지 않는 함수(`backward()`처럼)의 결과일 수 있어요. 없어도 되는 값이면 `is not None`일 때만 쓰고, "
        "내 함수의 결과라면 `return`을 넣으세요.",
    ),
    Advice(
        "none-value",
        _NONE_PATTERN,
        "이 줄에서 쓰는 값 가운데 하나가 `None`이에요. 주지 않은 인자(`max_norm=None`처럼)나 아직 없는 `.grad`, "
        "값을 돌려주지 않는 함수(`backward()`처럼)의 결과일 수 있어요. 없어도 되는 값이면 `is not None`일 때만 "
        "쓰고, 내 함수의 결과라면 `return`을 넣으세요.",
    ),
)

_VALUES = (
    Advice(
        "item-of-a-number",
        r"AttributeError: '(?:float|int)' object has no attribute 'item'",
        "이미 Python 숫자라서 `.item()`이 필요 없어요. `.item()`을 지우거나, 숫자로 바꾼 앞의 줄을 지우세요.",
    ),
    Advice(
        "number-for-a-tensor",
        r"AttributeError: '(?:float|int|bool)' object has no attribute '(?P<name>\w+)'",
        "`.{name}` 앞의 값이 텐서나 객체가 아니라 Python 숫자예요. `.item()`으로 너무 일찍 꺼내지 않았는지, "
        "인자의 순서가 맞는지 보세요.",
    ),
    Advice(
        "sequence-for-a-tensor",
        r"AttributeError: '(?P<type>list|tuple)' object has no attribute '(?P<name>\w+)'",
        "`{type}`에는 `.{name}`{name:이/가} 없어요. 배치라면 `xb, yb = batch`처럼 먼저 나누고, 여러 텐서를 모은 "
        "것이라면 하나를 꺼내서 쓰세요. 리스트나 튜플의 메서드를 부른 것이라면 철자를 확인하세요.",
    ),
    Advice(
        "attribute-of-a-dict",
        r"AttributeError: 'dict' object has no attribute '(?P<name>\w+)'",
        "딕셔너리에는 `.{name}`{name:이/가} 없어요. 딕셔너리의 값은 점(.)이 아니라 대괄호로 꺼내니 "
        '`["{name}"]`처럼 쓰고, 메서드라면 철자를 확인하세요.',
    ),
    Advice(
        "missing-parentheses",
        r"(?:AttributeError|TypeError): '(?:method|builtin_function_or_method)' object (?:has no|is not subscr)",
        "함수를 부르지 않고 이름만 썼어요. 이름 바로 뒤에 괄호 `()`를 붙여 부르세요.",
    ),
    Advice(
        "attribute-of-a-function",
        r"AttributeError: 'function' object has no attribute '(?P<name>\w+)'",
        "`.{name}` 앞의 값이 함수예요. 함수를 부르는 괄호 `()`가 빠졌거나, 그 변수에 다른 인자가 들어왔어요. 함수 "
        "첫 줄의 인자 순서가 문제와 같은지 보세요.",
    ),
    Advice(
        "attribute-of-a-generator",
        r"(?:AttributeError|TypeError): (?:'generator' object (?:has no|is not subscr)|object of type 'generator')",
        "제너레이터에는 길이도 번호도 없고, 앞에서부터 한 번만 읽을 수 있어요. 읽으면서 세거나, `list(...)`로 모은 "
        "다음 쓰세요.",
    ),
    Advice(
        "self-too-early",
        r"AttributeError: '\w+' object has no attribute '(?P<name>\w+)'",
        "`self.{name}`에 아직 값이 없어요. `__init__`에서 값을 넣는지, 그보다 먼저 `super().__init__(...)`을 "
        "부르는지, 읽는 메서드가 넣는 메서드보다 먼저 불리지 않는지 보세요.",
        line=r"\bself\.{name}\b",
    ),
    Advice(
        "attribute-of-a-module",
        r"AttributeError: (?:partially initialized )?module '(?P<type>[\w.]+)' has no attribute '(?P<name>\w+)'",
        "`{type}` 안에 `{name}`{name:이라는/라는} 이름이 없어요. 철자를 확인하고, 다른 모듈의 "
        "이름은 아닌지 찾아보세요.",
    ),
    Advice(
        "attribute",
        r"AttributeError: '(?P<type>\w+)' object has no attribute '(?P<name>\w+)'",
        "`{type}` 값에는 `.{name}`{name:이/가} 없어요. 철자를 확인하고, 그 변수에 다른 값이 들어 있지 않은지 "
        "타입을 출력해 보세요.",
    ),
    Advice(
        "frozen",
        r"FrozenInstanceError",
        "`frozen=True`인 dataclass라서 만든 다음에는 값을 바꿀 수 없어요. `dataclasses.replace`로 값을 바꾼 "
        "객체를 새로 만드세요.",
    ),
    Advice(
        "scalar-tensor-in-a-loop",
        r"TypeError: iteration over a 0-d tensor",
        "숫자 하나뿐인 텐서에서는 여러 값을 꺼낼 수 없어요. 손실처럼 이미 하나로 합친 값인지 보고, 숫자가 "
        "필요하면 `.item()`으로 꺼내세요.",
    ),
    Advice(
        "number-in-a-loop",
        r"TypeError: (?:'(?:int|float)' object is not iterable|cannot unpack non-iterable (?:int|float))",
        "숫자 하나에서는 여러 값을 꺼낼 수 없어요. 그 수만큼 반복하려면 `range(...)`를 쓰고, 함수의 결과라면 "
        "값을 몇 개 돌려주는지 보세요.",
    ),
    Advice(
        "not-iterable",
        r"TypeError: (?:'(?P<type>\w+)' object is not iterable|cannot unpack non-iterable (?P<other>\w+))",
        "하나씩 꺼낼 수 없는 값에서 여러 값을 꺼내려 했어요. 모델이라면 `model.parameters()`처럼 무엇을 꺼낼지 "
        "적으세요.",
    ),
    Advice(
        "module-called",
        r"TypeError: 'module' object is not callable",
        "모듈을 함수처럼 불렀어요. `copy.deepcopy(...)`처럼 그 안의 함수 이름까지 적으세요.",
    ),
    Advice(
        "not-callable",
        r"TypeError: '(?P<type>\w+)' object is not callable",
        "함수가 아닌 `{type}` 값 뒤에 괄호를 붙여 불렀어요. 함수와 같은 이름의 변수에 값을 넣지 않았는지, 괄호가 "
        "필요 없는 값인지 보세요.",
    ),
    Advice(
        "not-subscriptable",
        r"TypeError: '(?P<type>\w+)' object is not subscriptable",
        "`{type}` 값에는 대괄호 `[...]`를 쓸 수 없어요. 여러 값이 들어 있을 줄 알았다면 타입을 출력해 보세요.",
    ),
    Advice(
        "tuple-assignment",
        r"TypeError: 'tuple' object does not support item assignment",
        "튜플의 원소는 바꿀 수 없어요. 리스트로 만들거나 새 튜플을 만드세요.",
    ),
    Advice(
        "tensor-wanted",
        r"TypeError: (?P<function>\w+)\(\): argument '(?P<name>\w+)'.* must be (?:Tensor|tuple of Tensors), "
        r"not (?P<type>\w+)",
        "`{function}`의 `{name}` 자리에 `{type}` 값은 넣을 수 없어요. `cat`과 `stack`에는 텐서의 리스트를, 다른 "
        "함수에는 텐서를 주세요. Python 숫자라면 `math`의 함수나 `**`로 계산하세요.",
    ),
    Advice(
        "argument-types",
        r"TypeError: (?P<function>\w+)\(\)(?: received an invalid combination|: argument '\w+'.* must be)",
        "`{function}`에 준 인자의 타입이나 개수가 맞지 않아요. 인자를 하나씩 출력해 보고, 문서에 적힌 인자와 "
        "비교해 보세요.",
    ),
    Advice(
        "too-many-to-unpack",
        r"ValueError: too many values to unpack",
        "왼쪽의 변수보다 값이 더 많아요. 오른쪽 값을 출력해 보고 변수의 수를 맞추세요. 텐서는 첫 차원을 따라 "
        "나뉘어요.",
    ),
    Advice(
        "too-few-to-unpack",
        r"ValueError: not enough values to unpack",
        "왼쪽의 변수보다 값이 적어요. 오른쪽 값을 출력해 보고 변수의 수를 맞추세요.",
    ),
    Advice(
        "zero-division",
        r"ZeroDivisionError",
        "0으로 나눴어요. 배치나 샘플을 센 값이 0일 수 있어요. 데이터가 하나도 없을 때를 나누기 전에 따로 "
        "처리하고, 개수를 세는 줄이 실행되는지 보세요.",
    ),
    Advice(
        "entry-not-kept",
        r"KeyError: '(?P<name>\w+)'",
        '`"{name}"`{name:을/를} 적어 두지 않은 것이 섞여 있어요. 적는 줄을 건너뛴 것이 있는지 보세요. 매개변수마다 '
        "적었다면, 그때 `.grad`가 `None`이던 매개변수예요. 적어 둔 것만 읽게 하세요.",
        line=r"\]\s*\[\s*[\"']{name}[\"']\s*\]",
    ),
    Advice(
        "parameter-not-kept",
        r"KeyError: (?:Parameter containing|tensor\()",
        "이 매개변수로 적어 둔 것이 없어요. 적는 줄을 건너뛴 매개변수(그때 `.grad`가 `None`이던 것)가 있는지 보고, "
        "적어 둔 것만 읽게 하세요.",
    ),
    Advice(
        "missing-key",
        r"KeyError: '(?P<name>\w+)'",
        '딕셔너리에 `"{name}"` 키가 없어요. 철자를 확인하고, `.keys()`를 출력해 어떤 키가 있는지 보세요.',
    ),
    Advice(
        "pop-from-empty",
        r"(?:IndexError: pop from |KeyError: 'pop(?: from an empty|item\(\)))",
        "비어 있어서 꺼낼 것이 없어요. 꺼내기 전에 비어 있지 않은지 확인하고, 넣는 줄이 먼저 실행되는지 보세요.",
    ),
    Advice(
        "missing-other-key",
        r"KeyError",
        "딕셔너리에 그 키가 없어요. `.keys()`를 출력해 어떤 키가 있는지 보고, 없을 수 있는 키라면 "
        "`.get(...)`을 쓰세요.",
    ),
    Advice(
        "assignment-out-of-range",
        r"IndexError: list assignment index out of range",
        "리스트의 길이를 벗어난 번호의 값을 바꾸거나 지우려 했어요. 끝에 새 값을 넣으려면 `.append(...)`를 쓰세요.",
    ),
    Advice(
        "math-domain",
        r"ValueError: (?:math domain error|expected a (?:positive|nonnegative) input)",
        "`math`의 함수에 계산할 수 없는 수를 넣었어요. 예를 들어 `math.log`에는 0보다 큰 수를, `math.sqrt`에는 0 "
        "이상인 수를 주어야 해요. 넣은 값을 출력해서 0이나 음수, 무한대가 아닌지 보세요.",
    ),
    Advice(
        "empty-sequence",
        r"ValueError: (?:min|max)\(\) (?:arg|iterable argument) is an? empty",
        "`min`이나 `max`에 준 것이 비어 있어요. 데이터가 없거나 모두 건너뛴 경우를 따로 처리하고, 제너레이터라면 "
        "앞에서 이미 다 읽지 않았는지 보세요.",
    ),
    Advice(
        "format-of-a-tensor",
        r"TypeError: unsupported format string passed to (?:Tensor|Parameter|numpy\.ndarray)\.__format__",
        "차원이 있는 텐서나 배열은 `:.3f`처럼 형식을 정해 출력할 수 없어요. 원소가 하나면 `.item()`으로 꺼내고, "
        "여럿이면 `.flatten().tolist()`로 바꿔 하나씩 출력하세요.",
    ),
    Advice(
        "context-without-call",
        r"TypeError: '(?:type|function|method)' object does not support the (?:asynchronous )?context manager",
        "`with`에 함수나 클래스를 부르지 않고 그대로 주었어요. `with torch.no_grad():`처럼 이름 뒤에 괄호 `()`를 "
        "붙이세요. 괄호가 있거나 붙여도 안 되면 `with`에 쓸 수 있는 것인지 보세요.",
    ),
    Advice(
        "index-out-of-range",
        r"IndexError: (?:list|tuple|deque|pop) index out of range",
        "리스트의 길이를 벗어난 번호예요. 번호는 0부터 시작하고, 비어 있으면 아무것도 꺼낼 수 없어요. "
        "`len(...)`을 출력해 보세요.",
    ),
    Advice(
        "string-index-out-of-range",
        r"IndexError: string index out of range",
        "문자열의 길이보다 큰 번호를 꺼냈어요. 번호는 0부터 세고, 빈 문자열에서는 아무 글자도 꺼낼 수 없어요. "
        "그 문자열을 출력해 보세요.",
    ),
    Advice(
        "tensor-index-out-of-range",
        r"IndexError: (?:index -?\d+ is out of bounds|Dimension out of range|invalid index of a 0-dim)",
        "텐서에 없는 번호나 차원이에요. 그 텐서의 `.shape`을 출력해 보세요.",
    ),
    Advice(
        "exhausted",
        r"(?:StopIteration|RuntimeError: generator raised StopIteration)",
        "`next(...)`로 더 꺼낼 것이 없어요. 제너레이터는 한 번만 읽을 수 있고, 비어 있을 수도 있어요. `for`로 읽거나 "
        "`next(..., None)`으로 끝을 확인하세요.",
    ),
)

_CALLS = (
    Advice(
        "unexpected-keyword",
        r"TypeError: (?P<function>[\w.]+)\(\) got an unexpected keyword argument '(?P<name>\w+)'",
        "`{function}`에는 `{name}`{name:이라는/라는} 인자가 없어요. 철자를 확인하고, 다른 함수에 줄 인자가 "
        "아닌지 보세요.",
        line=_IN_A_LINE,
    ),
    Advice(
        "missing-argument",
        r"TypeError: (?P<function>[\w.]+)\(\) missing \d+ required [\w-]+ arguments?: '(?P<name>\w+)'",
        "`{function}`{function:을/를} 부를 때 `{name}` 인자를 빠뜨렸어요. 그 함수의 인자를 순서대로 다 주었는지 "
        "보세요.",
        line=_IN_A_LINE,
    ),
    Advice(
        "too-few-arguments",
        r"TypeError: (?P<function>[\w.]+)(?:\(\) takes (?:at least|exactly one argument \(0|exactly [2-9] .*\([01] )|"
        r" expected (?:at least \d+|[2-9]) arguments?, got [01]\b)",
        "`{function}`에 인자를 너무 적게 주었어요. 괄호 안에 넣을 값을 빠뜨리지 않았는지 보세요.",
        line=_IN_A_LINE,
    ),
    Advice(
        "too-many-arguments",
        r"TypeError: (?P<function>[\w.]+)\(\) takes ",
        "`{function}`에 인자를 너무 많이 주었어요. 함수 정의에서 `*` 뒤에 있는 인자는 이름을 적어서 주고, 내가 "
        "쓴 메서드라면 첫 매개변수가 `self`인지 보세요.",
        line=_IN_A_LINE,
    ),
    Advice(
        "argument-twice",
        r"TypeError: (?P<function>[\w.]+)\(\) got multiple values for argument '(?P<name>\w+)'",
        "`{function}`에 `{name}` 인자를 두 번 주었어요. 순서대로 준 인자와 이름을 적어 준 인자가 겹쳐요. 하나만 "
        "남기세요.",
        line=_IN_A_LINE,
    ),
    Advice(
        "own-signature",
        r"TypeError: [\w.<>]+\(\) (?:got an unexpected keyword|got multiple values|missing \d+ required|takes )",
        "함수의 첫 줄이 문제와 같은지 보세요. 채점기는 문제에 적힌 순서와 이름으로 값을 넣어요.",
    ),
)

_NAMES = (
    Advice(
        "missing-import",
        rf"NameError: name '(?P<name>{'|'.join(IMPORTS)})' is not defined",
        "`{name}`{name:을/를} import하지 않았어요. 파일이나 노트북의 맨 위에 `{import_line}` 줄을 넣으세요.",
    ),
    Advice(
        "other-spelling",
        r"NameError: name '(?P<name>true|false|none|null)' is not defined",
        "`{name}`{name:은/는} Python의 값이 아니에요. 대문자로 시작하는 `True`, `False`, `None`을 쓰세요.",
    ),
    Advice(
        "unknown-name",
        r"NameError: .*'(?P<name>\w+)'",
        "`{name}`{name:이라는/라는} 이름은 없어요. 철자를 확인하세요. 함수 밖에서 만든 값이라면 인자로 받거나 "
        "함수 안에서 만드세요.",
    ),
    Advice(
        "unbound",
        r"UnboundLocalError: .*local variable '(?P<name>\w+)'",
        "`{name}`에 값을 넣기 전에 읽었어요. 여기까지 오는 동안 값을 넣는 줄이 실행되지 않을 때가 있어요. "
        "그보다 앞에서 첫 값을 넣어 두세요.",
    ),
)

_OTHERS = (
    Advice(
        "unknown-import",
        r"ImportError: cannot import name '(?P<name>\w+)' from (?:partially initialized module )?'(?P<type>[\w.]+)'",
        "`{type}`에서 `{name}`{name:을/를} 찾을 수 없어요. 철자와 대소문자를 확인하고, 다른 모듈에 있는 이름은 아닌지 "
        "찾아보세요.",
    ),
    Advice(
        "missing-package",
        r"(?:ImportError|ModuleNotFoundError)",
        "모듈이나 이름의 철자를 확인하세요. 철자가 맞다면 채점하는 컴퓨터에 없는 것이에요. 이 강의에 필요한 "
        "패키지만 있으니 그것 없이 쓰세요.",
    ),
    Advice(
        "exit",
        r"SystemExit",
        "`exit()`, `quit()`, `sys.exit()`를 부르는 줄을 지우세요. 함수를 끝내려면 `return`을 쓰세요.",
    ),
    Advice(
        "input",
        r"EOFError: .*reading a line",
        "`input()`을 부르는 줄을 지우세요. 채점할 때는 입력할 사람이 없고, 필요한 값은 인자로 들어와요.",
    ),
    Advice(
        "file-ends",
        r"EOFError",
        "파일이 비어 있거나 도중에 끝났어요. 다 저장한 다음에 읽는지, 메모리에 쓴 것이라면 읽기 전에 `seek(0)`을 "
        "부르는지 보세요.",
    ),
    Advice(
        "recursion",
        r"RecursionError",
        "함수가 자기 자신을 너무 깊이 불렀어요. 멈추는 조건이 있는지 보고, 정말 깊이 들어가야 한다면 반복문으로 "
        "바꾸세요.",
    ),
    Advice(
        "no-file",
        r"FileNotFoundError",
        "그 경로에 파일이나 폴더가 없어요. 경로를 직접 적지 말고 인자로 받은 것을 그대로 쓰고, 저장하기 전에 "
        "읽지 않는지 보세요.",
    ),
)

PYTHON_ERRORS = (*_NONE_ENTRIES, *_VALUES, *_CALLS, *_NAMES, *_OTHERS)
"""All entries of this module."""
