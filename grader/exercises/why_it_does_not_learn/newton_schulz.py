"""Driver of `newton_schulz`, which keeps a matrix's singular vectors and brings its singular values near 1.

Promises of the exercise, and the scenarios that check them:
    the matrix is divided by its Frobenius norm: `norm`
    it goes through the polynomial five times: `square`, `wide`, `tall`; what was tall is tall again: `shapes`
    with another `steps`, that many times: `steps`
    a norm below 1e-7 is replaced by 1e-7, and zeros stay zeros: `tiny`, `zero`
    no product has more elements than the matrix: `products`
    the result has the dtype of the matrix: `types`, and is computed in no lower precision: `precision`
    the matrix itself stays as it is: `input`

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from grader.exercises.fixtures.witnesses import seeded_number
from grader.observe.play import Driver, Stage
from grader.observe.wording import yes_or_no

driver = Driver("newton_schulz")

_DEVIATION = 100.0
"""Standard deviation of the matrices' elements: so large that 1e-7 added to a norm fails no scenario but `tiny`."""
_ATOL = 1e-4
"""Absolute tolerance for results, up to 1.2 in size. Computing in float32 moves their elements by less than 5e-6, which
`precision` judges; known mistakes of another kind, and bfloat16, move one by more than 5e-3 (both measured)."""
_COARSE_ATOL = 0.02
"""Absolute tolerance for divided matrices, whose elements are below 1. Computing in bfloat16 (8 bits) moves them by at
most 0.004, which `precision` judges; another norm moves some of them by more than 0.03."""


def _matrix(stage: Stage, rows: int, columns: int, salt: str = "matrix") -> Tensor:
    """Return a matrix of large normal numbers in float64, shape (rows, columns)."""
    generator = stage.env.generator(salt)
    return _DEVIATION * torch.randn(rows, columns, generator=generator, dtype=torch.float64).to(
        stage.env.device
    )


def _call(stage: Stage, matrix: Tensor, **kwargs: Any) -> Any:
    """Call the learner's function with a copy of the matrix, and return its result.

    The recorder does not see the copy among the arguments, so that a program which works in place loses the points of
    `input` only.
    """
    student = partial(stage.student("newton_schulz"), matrix.clone(), **kwargs)
    return stage.recorder.call(student)


def _in_float64(result: Any) -> Tensor:
    """Return the tensor that the function returned, in float64 and outside any graph; NaN where it is infinite.

    Once numbers overflow, the order of the terms decides whether infinity or NaN comes out.
    """
    converted: Tensor = result.detach().double()
    return converted.masked_fill(converted.isinf(), torch.nan)


def _claim_if_computed(stage: Stage, name: str, value: Any, result: Any, matrix: Tensor) -> None:
    """Record a fact that is the same for every seed, with a witness that the function computed something.

    The witness is a number from the seed. It is 0 for a program that returns the matrix itself, or a tensor with
    another number of elements.

    Args:
        stage: the scenario's stage.
        name: name of the fact.
        value: the fact.
        result: what the function returned.
        matrix: what it was given.
    """
    is_new = result.numel() == matrix.numel() and not torch.equal(
        _in_float64(result).ravel(), matrix.double().ravel()
    )
    stage.recorder.claim(name, value, [seeded_number(stage.env, name) if is_new else 0.0])


class _LargestResult(TorchFunctionMode):
    """Notes the size of the largest tensor that a function of torch returns; tensors inside tuples do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0
        """Number of elements of that tensor; 0 if there was none."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function of torch, and look at what it returns."""
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor):
            self.elements = max(self.elements, result.numel())
        return result


@driver.scenario("square", "가로와 세로가 같은 행렬", check="values", atol=_ATOL)
def _square(stage: Stage) -> None:
    """Call with a square matrix.

    A wrong program divides by another norm, multiplies element by element, or has other coefficients.
    """
    stage.recorder.array("돌려준 행렬", _in_float64(_call(stage, _matrix(stage, 5, 5))))


@driver.scenario("wide", "가로로 긴 행렬", check="values", atol=_ATOL)
def _wide(stage: Stage) -> None:
    """Call with a wide matrix, then with a single row.

    A wrong program multiplies `X.mT @ X` from the left, which raises an exception here, or leaves out the steps for a
    row, whose singular value is 1 once it is divided by its norm, and not what the steps make of 1.
    """
    stage.recorder.array("돌려준 행렬", _in_float64(_call(stage, _matrix(stage, 3, 7))))
    stage.recorder.array("행이 하나일 때 돌려준 행렬", _in_float64(_call(stage, _matrix(stage, 1, 6, "row"))))


@driver.scenario("tall", "세로로 긴 행렬", check="values", atol=_ATOL)
def _tall(stage: Stage) -> None:
    """Call with a tall matrix.

    A wrong program returns it transposed.
    """
    stage.recorder.array("돌려준 행렬", _in_float64(_call(stage, _matrix(stage, 8, 4))))


@driver.scenario("norm", "노름으로 나눈 행렬", check="steps", atol=_COARSE_ATOL)
def _norm(stage: Stage) -> None:
    """Call with `steps=0`, which returns the matrix divided by its norm.

    A wrong program divides by another number, or each row by its own, or makes steps all the same.
    """
    stage.recorder.array("나눈 행렬", _in_float64(_call(stage, _matrix(stage, 3, 6), steps=0)))


@driver.scenario("shapes", "돌려준 행렬의 모양", check="values")
def _shapes(stage: Stage) -> None:
    """Record the shapes that come back for a tall and for a wide matrix, whatever the numbers in them.

    A wrong program returns one transposed.
    """
    for name, rows, columns in (("세로로 긴", 6, 4), ("가로로 긴", 4, 6)):
        matrix = _matrix(stage, rows, columns, name)
        result = _call(stage, matrix)
        _claim_if_computed(stage, f"{name} 행렬을 넣었을 때의 모양", list(result.shape), result, matrix)


@driver.scenario("steps", "되풀이하는 횟수", atol=_ATOL)
def _steps(stage: Stage) -> None:
    """Ask for one step, for a drawn number from two to four, for seven, and for none.

    A wrong program always makes five, or one too few.
    """
    for steps in (1, stage.env.draw("steps").whole(2, 4), 7, 0):
        result = _call(stage, _matrix(stage, 3, 6), steps=steps)
        stage.recorder.array(f"steps={steps}일 때 돌려준 행렬", _in_float64(result))


@driver.scenario("tiny", "노름이 아주 작은 행렬", check="edges", atol=_ATOL)
def _tiny(stage: Stage) -> None:
    """Call with one matrix whose norm is a little above 1e-7, and with one whose norm is below.

    A wrong program adds 1e-7 to the norm, or divides by the norm whatever it is.
    """
    draw = stage.env.draw("norms")
    for name, norm in (
        ("1e-7보다 클 때", draw.real(2e-7, 4e-7)),
        ("1e-7보다 작을 때", draw.real(1e-8, 5e-8)),
    ):
        matrix = _matrix(stage, 3, 4, name)
        result = _call(stage, matrix * (norm / matrix.norm()))
        stage.recorder.array(f"노름이 {name} 돌려준 행렬", _in_float64(result))


@driver.scenario("zero", "모두 0인 행렬", check="edges")
def _zero(stage: Stage) -> None:
    """Call with zeros.

    A wrong program divides 0 by 0.
    """
    result = _call(stage, torch.zeros(3, 5, dtype=torch.float64, device=stage.env.device))
    stage.recorder.array("0을 넣고 돌려받은 행렬", _in_float64(result))


@driver.scenario("products", "곱의 크기")
def _products(stage: Stage) -> None:
    """Call with a very tall and with a very wide matrix, and record whether a tensor as large as the product was made.

    A wrong program makes the product whose sides are as long as the longer side, a much larger matrix.
    """
    draw = stage.env.draw("sides")
    long, short = draw.whole(20, 30), draw.whole(2, 4)
    for name, rows, columns in (("세로로 긴", long, short), ("가로로 긴", short, long)):
        matrix = _matrix(stage, rows, columns, name)
        with _LargestResult() as largest:
            result = _call(stage, matrix)
        # More than the three terms of the polynomial take together, if a program stacks them.
        is_large = largest.elements >= long * long
        title = f"{name} 행렬에서 긴 쪽 × 긴 쪽만큼 큰 텐서를 만듦"
        _claim_if_computed(stage, title, yes_or_no(is_large), result, matrix)


@driver.scenario("types", "받은 dtype 그대로")
def _types(stage: Stage) -> None:
    """Call with matrices of two dtypes, and record the dtypes that come back.

    A wrong program returns the dtype in which it computes.
    """
    for dtype in (torch.float64, torch.float32):
        name = str(dtype).removeprefix("torch.")
        matrix = _matrix(stage, 3, 5, name).to(dtype)
        result = _call(stage, matrix)
        _claim_if_computed(stage, f"{name}로 불렀을 때의 dtype", str(result.dtype), result, matrix)


@driver.scenario("precision", "거의 같은 두 행렬", check="types")
def _precision(stage: Stage) -> None:
    """Call with two matrices that differ only beyond the precision of float32.

    A wrong program computes in a lower precision, and returns the same for both. One whose numbers overflow to NaN does
    not show here, because NaN differs from itself; it shows in `square`.
    """
    matrix = _matrix(stage, 3, 5)
    other = matrix.clone()
    other[1, 2] *= 1 + 2**-40
    result, other_result = _call(stage, matrix), _call(stage, other)
    differ = yes_or_no(not torch.equal(_in_float64(result), _in_float64(other_result)))
    _claim_if_computed(stage, "마지막 자릿수만 다른 두 float64 행렬의 결과가 다름", differ, result, matrix)


@driver.scenario("input", "받은 행렬")
def _input(stage: Stage) -> None:
    """Call with the matrix itself, and record it afterwards, and whether it is what was returned.

    A wrong program divides it in place. There is a second call with a float32 matrix, because a program that converts
    to float32 makes no copy of that one.
    """
    matrix = _matrix(stage, 4, 5)
    before = matrix.clone()
    result = stage.recorder.call(stage.student("newton_schulz"), matrix)
    stage.recorder.array("부른 다음의 G", matrix)
    single = before.float()
    stage.recorder.call(stage.student("newton_schulz"), single)
    stage.recorder.array("부른 다음의 float32 G", single)
    _claim_if_computed(
        stage, "받은 행렬과 다른 텐서를 돌려줌", yes_or_no(result is not matrix), result, before
    )
