"""Answer the exceptions that PyTorch raises: graphs and gradients, tensors, optimizers, scalers and checkpoints."""

from grader.report.exceptions.entry import Advice

_GRAPH = (
    Advice(
        "clips-nothing-yet",
        r"RuntimeError: Expected !nested_tensorlist\[0\]\.empty\(\)",
        "클리핑할 그레이디언트가 아직 하나도 없어요. 클리핑은 `.grad`를 읽으니, `backward()`와 `step()` 사이에 두세요.",
        line=r"clip_grad_value_",
    ),
    Advice(
        "no-graph",
        r"RuntimeError: element \d+ of tensors does not require grad",
        "역전파할 그래프가 없어요. 손실이 매개변수와 이어져 있지 않아요. 순전파를 `torch.no_grad()` 안에서 하지 "
        "않았는지, `.item()`, `.detach()`, `torch.tensor(...)`로 그래프를 끊지 않았는지 보세요.",
    ),
    Advice(
        "second-backward",
        r"RuntimeError: Trying to backward through the graph a second time",
        "같은 그래프로 `backward()`를 두 번 했어요. 그래프는 일회용이라 한 번 쓰면 지워져요. `retain_graph=True`로 "
        "남겨 두지 말고, `backward()`마다 순전파를 새로 하세요. 손실을 텐서로 모으고 있다면 `.item()`으로 "
        "꺼내거나 `.detach()`로 끊으세요.",
    ),
    Advice(
        "changed-in-place",
        r"RuntimeError: one of the variables needed for gradient computation has been modified by an inplace",
        "역전파에 쓰려고 저장해 둔 값을 제자리에서 바꾼 줄이 있어요. 순전파와 역전파 사이의 줄을 보세요. "
        "`step()`이 그 사이에 있거나, `+=`나 `_`로 끝나는 메서드가 그 값을 바꿨을 거예요.",
    ),
    Advice(
        "leaf-in-place",
        r"RuntimeError: a (?:view of a )?leaf Variable that requires grad is being used in an in-place",
        "그레이디언트 계산이 켜진 채로 매개변수를 제자리에서 바꾸려 했어요. 매개변수를 바꾸는 줄을 `with "
        "torch.no_grad():` 안에 넣으세요.",
    ),
    Advice(
        "numpy-with-grad",
        r"RuntimeError: Can't call numpy\(\) on Tensor that requires grad",
        "그래프가 달린 텐서는 NumPy 배열로 바꿀 수 없어요. `.detach()`로 끊은 다음 `.numpy()`를 부르세요. 숫자 "
        "하나라면 `.item()`으로 꺼내세요.",
    ),
    Advice(
        "not-a-scalar",
        r"RuntimeError: grad can be implicitly created only for scalar outputs",
        "`backward()`를 부른 값이 숫자 하나가 아니에요. 손실을 `.mean()`이나 `.sum()`으로 하나로 합친 다음 "
        "부르세요.",
    ),
    Advice(
        "unused-in-graph",
        r"RuntimeError: (?:One of the|The) differentiated Tensors?\b.* appears? to not have been used",
        "그레이디언트를 구하려는 매개변수 가운데 이 손실에 쓰이지 않은 것이 있어요. `torch.autograd.grad`에 "
        "`allow_unused=True`를 주고, `None`으로 나온 것은 건너뛰세요.",
    ),
    Advice(
        "copy-of-a-graph",
        r"RuntimeError: Only Tensors created explicitly by the user .* support the deepcopy",
        "그래프가 달린 텐서는 `deepcopy`할 수 없어요. `.detach().clone()`으로 값만 복사하세요.",
    ),
    Advice(
        "requires-grad-again",
        r"RuntimeError: you can only change requires_grad flags of leaf variables",
        "이 줄은 지우세요. 계산해서 얻은 텐서는 이미 그래프에 이어져 있어서, `requires_grad`를 켜지 않아도 "
        "`backward()`가 매개변수까지 거슬러 가요.",
        line=r"\.requires_grad\s*=\s*True",
    ),
    Advice(
        "requires-grad-of-a-result",
        r"RuntimeError: you can only change requires_grad flags of leaf variables",
        "계산해서 얻은 텐서의 `requires_grad`는 바꿀 수 없어요. 그래프에서 떼려면 `.detach()`를 쓰세요.",
    ),
    Advice(
        "inference-mode",
        r"RuntimeError: (?:Inference tensors cannot be saved|Inplace update to inference tensor)",
        "`torch.inference_mode()` 안에서 만든 텐서는 밖에서 학습에 쓰거나 제자리에서 바꿀 수 없어요. "
        "`torch.no_grad()`로 바꾸거나, 밖에서 `.clone()`한 것을 쓰세요.",
    ),
    Advice(
        "wrong-gradient",
        r"(?:RuntimeError: attempting to assign a gradient|TypeError: assigned grad)",
        "`.grad`에 넣은 것이 매개변수와 맞지 않아요. 모양, 자료형, 장치가 매개변수와 같은 텐서를 넣으세요.",
    ),
    Advice(
        "tensor-as-parameter",
        r"TypeError: cannot assign '[\w.]+' as parameter",
        "매개변수 자리에 보통 텐서를 넣었어요. 값만 바꾸려면 `with torch.no_grad():` 안에서 `.copy_(...)`를 쓰세요.",
    ),
)

_TENSORS = (
    Advice(
        "device",
        r"RuntimeError: (?:.*(?:tensors to be on the same device|is not on the expected device)|"
        r"Input type \((?i:[\w.]*cuda\w*[\w.]*)\) and \w+ type \((?i:(?![\w.]*cuda)[\w.]+)\)|"
        r"Input type \((?i:(?![\w.]*cuda)[\w.]+)\) and \w+ type \((?i:[\w.]*cuda))",
        "서로 다른 장치(CPU, GPU)에 있는 텐서를 함께 계산했어요. 새로 만드는 텐서에는 `device=xb.device`를 주고, "
        "모델과 배치를 같은 장치로 옮기세요.",
    ),
    Advice(
        "no-gpu",
        r"\w+: (?:Torch not compiled with CUDA|Found no NVIDIA driver|No CUDA GPUs|.*deserialize object on a CUDA)",
        '채점하는 컴퓨터에는 GPU가 없을 수 있어요. `"cuda"`라고 직접 쓰지 말고, 인자로 받은 `device`나 '
        "`xb.device`를 쓰세요.",
    ),
    Advice(
        "loss-arguments",
        r"(?:NotImplementedError: \"log_softmax|RuntimeError: (?:0D or 1D target tensor expected|"
        r"Expected floating point type for target))",
        "교차 엔트로피에 준 출력이나 정답이 맞지 않아요. 순서는 `loss_fn(출력, 정답)`이에요. 출력은 실수이고, "
        "정답은 출력에서 클래스 차원만 뺀 모양의 클래스 번호예요. 두 값의 `.shape`과 `.dtype`을 출력해 보세요.",
    ),
    Advice(
        "target-dtype",
        r"RuntimeError: expected (?:target dtype to be|scalar type) Long\b",
        "교차 엔트로피의 정답은 클래스 번호라서 정수(`torch.long`)여야 해요. 정답에 `.float()`를 붙이거나 출력과 "
        "정답의 순서를 바꿔 주지 않았는지 보세요. 순서는 `loss_fn(출력, 정답)`이에요.",
    ),
    Advice(
        "index-dtype",
        r"RuntimeError: Expected tensor for argument #1 'indices'",
        "임베딩에 넣는 토큰 번호는 정수여야 해요. `.float()`를 붙이거나 자료형을 바꾼 줄이 있는지 보세요.",
    ),
    Advice(
        "dtype",
        r"RuntimeError: (?:.*(?:same dtype|expected scalar type|Found dtype|can't be cast to|dtypes match)|"
        r"Input type \(.*\) and \w+ type \(.*\) should be the same)",
        "자료형이 다른 텐서를 함께 계산했어요. `.double()`, `.half()`, `.long()`이나 NumPy에서 온 `float64`가 "
        "섞이지 않았는지 `.dtype`을 출력해 보고, 한쪽에 맞추세요.",
    ),
    Advice(
        "integers",
        r"\w+: (?:\"\w+\" not implemented for '(?:Long|Int|Bool|Byte)'|.*must be either a floating point|"
        r"[Oo]nly Tensors of floating point)",
        "정수나 참·거짓(`bool`) 텐서로는 이 계산을 할 수 없어요. `.float()`로 바꾸거나, 정수로 바꾼 줄을 "
        "지우세요.",
    ),
    Advice(
        "matrix-shapes",
        r"RuntimeError: mat1 and mat2 shapes cannot be multiplied \((?P<one>\w+) and (?P<other>\w+)\)",
        "행렬의 모양이 맞지 않아요. {one}{one:과/와} {other}{other:은/는} 곱할 수 없어요. 안쪽의 두 수가 같아야 "
        "해요. 모델에서 났다면 모델에 넣은 것이 입력이 맞는지, 모양을 바꾼 줄이 있는지 보세요.",
    ),
    Advice(
        "vector-shapes",
        r"RuntimeError: (?:size mismatch, got input|inconsistent tensor size, expected tensor|"
        r"Expected size for first two dimensions of batch2)",
        "곱하려는 두 텐서의 크기가 맞지 않아요. 두 텐서의 `.shape`을 출력해 보세요. 앞 텐서의 마지막 차원과 뒤 "
        "텐서의 끝에서 두 번째 차원(벡터라면 그 길이)은 크기가 같아야 해요. `torch.bmm`이라면 첫 차원(배치)의 "
        "크기도 같아야 해요.",
    ),
    Advice(
        "layer-shapes",
        r"\w+: (?:Given normalized_shape=|Given groups=\d+, weight of size .* expected input|"
        r"input\.size\(-1\) must be equal|was expecting embedding dimension|running_mean should contain)",
        "계층에 정해 둔 크기와 입력의 크기가 달라요. 계층을 만들 때(함수라면 부를 때) 준 크기와 입력의 `.shape`을 "
        "나란히 출력해 보세요. 차원의 순서가 바뀌지 않았는지도 보세요.",
    ),
    Advice(
        "binary-target-shape",
        r"ValueError: (?:Using a target size|Target size \(torch\.Size)",
        "출력과 정답의 모양이 달라요. 한쪽이 `(배치, 1)`이고 다른 쪽이 `(배치,)`일 때가 많아요. 출력의 마지막 "
        "차원이 1이면 `.squeeze(-1)`로 없애세요. 클래스가 여럿이라면 `nn.CrossEntropyLoss`를 쓰세요.",
    ),
    Advice(
        "ragged-list",
        r"ValueError: expected sequence of length \d+ at dim \d+",
        "안에 든 것의 길이(모양)가 서로 달라서 텐서 하나로 만들 수 없어요. 길이를 맞추거나 따로따로 텐서로 만드세요.",
    ),
    Advice(
        "batch-shapes",
        r"(?:ValueError|RuntimeError): Expected (?:input batch_size .* to match target|target size )",
        "출력과 정답의 모양이 맞지 않아요. 교차 엔트로피에 주는 출력은 클래스가 두 번째 차원이어야 해요. `(배치, "
        "시간, 클래스)`라면 `logits.flatten(0, 1)`과 `targets.flatten()`으로 펴세요.",
    ),
    Advice(
        "shapes",
        r"\w+: .*(?:size of tensor a |Sizes of tensors must match|each tensor to be equal size|"
        r"doesn't match the broadcast shape|expanded size of the tensor)",
        "모양이 맞지 않는 텐서를 함께 계산했어요. 두 값의 `.shape`을 출력해 보고, 어느 쪽이 예상과 다른지 "
        "찾으세요.",
    ),
    Advice(
        "view-size",
        r"RuntimeError: (?:shape '.*' is invalid for input of size|view size is not compatible)",
        "그 모양으로는 바꿀 수 없어요. 원소 수가 같은지 보고, 수를 직접 적는 대신 `-1`이나 `.shape`에서 꺼낸 "
        "수를 쓰세요. 원소 수가 같은데 `view`가 안 되면 `reshape`를 쓰세요.",
    ),
    Advice(
        "too-many-indices",
        r"IndexError: too many indices for tensor of dimension (?P<count>\d+)",
        "{count}차원 텐서인데 대괄호 `[...]` 안에서 그보다 많은 차원을 골랐어요. 번호와 `:`은 하나에 한 차원, "
        "마스크는 그 마스크의 차원 수만큼 차지해요. 그 텐서의 `.shape`을 출력해 보세요.",
    ),
    Advice(
        "float-as-index",
        r"IndexError: tensors used as indices must be",
        "번호로 쓸 수 없는 자료형의 텐서예요. 실수 텐서일 때가 많으니 `.dtype`을 출력해 보세요. 위치로 고르려면 "
        "`.long()`으로 바꾸고, 조건으로 고르려면 `x > 0`처럼 참·거짓 텐서를 쓰세요. `torch.tensor([])`는 비어 "
        "있어도 실수 텐서예요.",
    ),
    Advice(
        "no-tensors",
        r"\w+: (?:torch\.cat\(\): expected a non-empty|stack expects a non-empty)",
        "합칠 텐서가 하나도 없어요. 모은 리스트가 비어 있어요. 데이터가 없거나 모두 건너뛴 경우를 따로 "
        "처리하세요.",
    ),
    Advice(
        "target-out-of-bounds",
        r"IndexError: Target -?\d+ is out of bounds",
        "정답의 클래스 번호가 출력의 클래스 수를 벗어나요. 출력의 클래스 차원이 맞는지, 무시할 번호(`ignore_index`)를 "
        "주었는지 보세요.",
    ),
    Advice(
        "token-out-of-range",
        r"IndexError: index out of range in self",
        "임베딩에 없는 번호가 들어왔어요. 입력과 정답의 순서를 바꾸지 않았는지, 무시할 번호(-100)가 입력에 "
        "섞이지 않았는지, 위치 임베딩이라면 입력이 최대 길이보다 길지 않은지 보세요.",
    ),
    Advice(
        "one-sample",
        r"ValueError: Expected more than 1 value per channel when training",
        "학습 모드의 배치 정규화에는 채널마다 값이 2개 이상 필요한데, 샘플이 하나뿐인 배치가 들어왔어요. 배치를 "
        "하나씩 쪼개지 않았는지, 평가인데 `model.eval()`을 빠뜨리지 않았는지 보세요.",
    ),
    Advice(
        "condition-of-many",
        r"RuntimeError: Boolean value of Tensor with more than one value",
        "원소가 여럿인 텐서를 조건(`if`, `while`, `and`, `not`)에 썼어요. `.any()`나 `.all()`로 하나로 만들거나, "
        "텐서가 있는지 물으려면 `is not None`을 쓰세요. 텐서의 리스트에 `in`을 써도 이렇게 돼요.",
    ),
    Advice(
        "number-of-many",
        r"\w+: (?:a Tensor with \d+ elements cannot be converted to Scalar|only one element tensors|"
        r"only (?:length-1|0-dimensional) arrays)",
        "원소가 여럿인 텐서를 숫자 하나로 바꾸려 했어요. `.mean()`이나 `.sum()`으로 하나로 만든 다음 꺼내세요. "
        "텐서를 한데 모으려면 `torch.tensor([...])`가 아니라 `torch.stack([...])`을 쓰세요.",
    ),
)

_TOOLS = (
    Advice(
        "no-process-group",
        r"ValueError: Default process group has not been initialized",
        "채점할 때 `torch.distributed`에는 프로세스 그룹이 없어요. 인자로 받은 `dist`로 부르세요. `dist`를 받지 않는 "
        "함수라면 `ddp(x)`와 역전파가 합치게 하세요.",
    ),
    Advice(
        "unscaled-twice",
        r"RuntimeError: unscale_\(\) has already been called",
        "`scaler.update()` 없이 `scaler.unscale_(opt)`를 두 번 했어요. 클리핑하기 바로 앞에서 한 번만 부르고, "
        "업데이트가 끝나면 `scaler.update()`를 부르세요.",
    ),
    Advice(
        "unscaled-after-step",
        r"RuntimeError: unscale_\(\) is being called after step\(\)",
        "`scaler.step(opt)` 다음에 `scaler.update()`를 부르지 않은 채 `scaler.unscale_(opt)`를 불렀어요. 그 `step`은 "
        "앞 업데이트의 것일 수도 있어요. `unscale_`, 클리핑, `step`, `update`의 순서로 한 번씩 부르세요.",
    ),
    Advice(
        "scaler-stepped-twice",
        r"RuntimeError: step\(\) has already been called since the last update",
        "`scaler.update()`를 부르지 않고 `scaler.step(opt)`를 또 불렀어요. `scaler.step(opt)` 바로 다음 줄에서 "
        "`scaler.update()`를 부르세요.",
    ),
    Advice(
        "updated-before-step",
        r"AssertionError: No inf checks were recorded prior to update",
        "`scaler.step(opt)` 없이 `scaler.update()`를 불렀어요. 업데이트마다 `step` 다음에 `update`를 한 번씩만 "
        "부르세요.",
    ),
    Advice(
        "nothing-to-unscale",
        r"AssertionError: No inf checks were recorded for this optimizer",
        "`scaler.step(opt)`를 부를 때 옵티마이저의 매개변수에 그레이디언트가 하나도 없었어요. "
        "`scaler.scale(loss).backward()`가 먼저 실행되는지, 그 사이에 그레이디언트를 지우지 않는지 보세요.",
    ),
    Advice(
        "never-scaled",
        r"AssertionError: Attempted \w+ but _scale is None",
        "`scaler.scale(loss)`를 부르지 않고 다른 스케일러 메서드를 불렀어요. `loss.backward()`를 "
        "`scaler.scale(loss).backward()`로 바꾸세요.",
    ),
    Advice(
        "half-gradients",
        r"ValueError: Attempting to unscale FP16 gradients",
        "매개변수 자체가 float16이 되었어요. `model.half()`로 바꾸지 말고, 모델은 float32로 둔 채 순전파만 "
        "`torch.autocast` 안에서 하세요.",
    ),
    Advice(
        "not-finite",
        r"RuntimeError: The total norm of order .* is non-finite",
        "그레이디언트에 무한대나 NaN이 있는데 `error_if_nonfinite=True`로 클리핑했어요. 스케일러를 쓴다면 그 "
        "인자를 빼세요. 오버플로가 난 스텝은 `scaler.step`이 알아서 건너뛰어요. 쓰지 않는다면 손실이 언제 NaN이 "
        "되는지 출력해 보세요.",
    ),
    Advice(
        "dtype-as-text",
        r"TypeError: .*must be torch\.dtype, not str",
        '자료형 자리에 문자열이 들어갔어요. `"bfloat16"`이 아니라 `torch.bfloat16`을 주세요. 문자열로 받은 '
        "이름은 `getattr(torch, name)`으로 바꿀 수 있어요.",
    ),
    Advice(
        "no-parameters",
        r"ValueError: optimizer got an empty parameter list",
        "옵티마이저가 매개변수를 하나도 받지 못했어요. `model.parameters()`는 제너레이터라서 한 번 다 읽으면 "
        "비어요. 두 번 쓰려면 먼저 `list(...)`로 만드세요.",
    ),
    Advice(
        "not-a-parameter",
        r"(?:ValueError: can't optimize a non-leaf|TypeError: (?:params argument given to the optimizer|"
        r"optimizer can only optimize Tensors))",
        "옵티마이저에 매개변수가 아닌 것을 주었어요. 이름이나 계산한 텐서가 아니라 `model.parameters()`의 "
        "텐서를 리스트로 주세요.",
    ),
    Advice(
        "parameter-in-two-groups",
        r"ValueError: some parameters appear in more than one parameter group",
        "같은 매개변수를 두 그룹에 넣었어요. 그룹을 나누는 조건이 서로 겹치지 않는지, 여러 계층이 함께 쓰는 "
        "매개변수를 두 번 세지 않는지 보세요.",
    ),
    Advice(
        "not-an-optimizer",
        r"TypeError: (?P<type>\w+) is not an Optimizer",
        "스케줄러의 첫 인자는 옵티마이저인데 `{type}` 값을 주었어요. 인자의 순서를 보세요.",
    ),
    Advice(
        "model-state",
        r"RuntimeError: Error\(s\) in loading state_dict",
        "읽은 상태가 이 모델의 것이 아니에요. 매개변수의 이름이나 모양이 달라요. 저장할 때 "
        "`model.state_dict()`를 넣었는지, 읽은 딕셔너리에서 모델의 것만 꺼냈는지 보세요.",
    ),
    Advice(
        "optimizer-state",
        r"(?:ValueError: loaded state dict (?:contains a parameter group|has a different number)|"
        r"KeyError: '(?:param_groups|state)')",
        "읽은 상태가 이 옵티마이저의 것이 아니에요. `opt.load_state_dict`에는 `opt.state_dict()`로 저장한 것을 "
        "넣어야 하고, 매개변수 그룹의 수와 크기도 같아야 해요.",
        # The key is one that `load_state_dict` looks for, not one that this line itself reads
        line=r"^(?!.*\[\s*['\"](?:param_groups|state)['\"]).*load_state_dict\(",
    ),
    Advice(
        "state-is-no-dict",
        r"TypeError: Expected state_dict to be dict-like",
        "`load_state_dict`에는 딕셔너리가 들어가야 해요. 모델이나 경로가 아니라 `torch.load(...)`로 읽은 "
        "상태를 주세요.",
    ),
    Advice(
        "weights-only",
        r"UnpicklingError: Weights only load failed",
        "파일에 텐서, 숫자, 문자열, 리스트, 딕셔너리처럼 단순한 값이 아닌 것이 들어 있어서 `weights_only=True`로 "
        "읽을 수 없어요. 저장할 때 객체는 빼거나 `state_dict()`로, NumPy 값은 `float(...)`로 바꿔 넣으세요.",
    ),
    Advice(
        "unknown-device",
        r"RuntimeError: (?:Expected one of cpu, cuda|Invalid device string)",
        '장치 이름으로 읽을 수 없는 문자열이에요. `"cpu"`, `"cuda"`, `"cuda:0"`처럼 써요. 장치 이름을 코드에 직접 '
        "적지 말고 `xb.device`(`torch.autocast`에는 `xb.device.type`)를 쓰면 어느 컴퓨터에서나 실행돼요. 자료형을 "
        "바꾸려던 것이라면 `torch.float16`처럼 따옴표 없이 쓰세요.",
    ),
    Advice(
        "module-before-init",
        r"AttributeError: cannot assign (?:module|buffer|parameter)s? before Module\.__init__",
        "`super().__init__()`이 실행되지 않은 채 `self`에 계층이나 매개변수를 넣었어요. `__init__`의 첫 줄에 "
        "`super().__init__()`을 적고, 괄호가 있는지 보세요.",
    ),
    Advice(
        "no-folder",
        r"RuntimeError: Parent directory .* does not exist",
        "저장할 폴더가 없어요. 경로를 직접 적지 말고 인자로 받은 것을 그대로 쓰세요.",
    ),
)

TORCH_ERRORS = (*_GRAPH, *_TOOLS, *_TENSORS)
"""All entries of this module. `_TOOLS` comes before `_TENSORS`: `load_state_dict` quotes the errors of tensors that it
copies, and patterns of `_TENSORS` that begin with `.*` would fit there."""
