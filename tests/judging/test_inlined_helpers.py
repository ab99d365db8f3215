"""The bodies of a learner's helpers, placed beside the calls."""

import ast

from grader.judging.compared_statements import inlined_definition

ASKED_FOR = frozenset({"step"})


def inlined(text: str, name: str) -> str:
    """Return the code of a definition of the program after its helpers are inlined."""
    found = inlined_definition(text, name, ASKED_FOR)
    assert found is not None
    return ast.unparse(found)


def step_after(call: str, helper: str) -> str:
    """Return the code of `C.step(self, loss)`, which calls the helper, after inlining."""
    text = f"class C:\n    def step(self, loss):\n        {call}\n\n{helper}"
    return inlined(text, "C").partition("def step(self, loss):\n        ")[2]


METHOD = "    def use(self, x):\n        x.backward()\n"


def test_a_method_is_renamed_alike_whether_called_by_the_object_or_by_the_class() -> None:
    for call in ("self.use(loss)", "C.use(self, loss)"):
        assert step_after(call, METHOD) == f"{call}\n        loss.backward()"


def test_class_methods_get_the_class_and_static_methods_get_nothing() -> None:
    of_class = "    @classmethod\n    def use(cls, x):\n        x.backward()\n"
    static = "    @staticmethod\n    def use(x):\n        x.backward()\n"
    for helper in (of_class, static):
        for call in ("self.use(loss)", "C.use(loss)"):
            assert step_after(call, helper) == f"{call}\n        loss.backward()"


def test_a_method_of_an_inner_class_is_not_called_by_its_plain_name() -> None:
    text = "def f(x):\n    class Meter:\n        def add(self, y):\n            pass\n    return add(x)\n"
    assert inlined(text, "f") == ast.unparse(ast.parse(text))


def test_a_return_is_assigned_tested_or_left_as_the_caller_uses_it() -> None:
    helper = "def higher(x):\n    return x > best\n\n"
    assert inlined(helper + "def f(a):\n    y = higher(a)\n", "f") == (
        "def f(a):\n    y = higher(a)\n    y = a > best"
    )
    assert inlined(helper + "def f(a):\n    if not higher(a):\n        return\n", "f") == (
        "def f(a):\n    if not a > best:\n        pass\n    if not higher(a):\n        return"
    )
    assert inlined(helper + "def f(a):\n    return higher(a)\n", "f") == (
        "def f(a):\n    return higher(a)\n    return a > best"
    )
    assert inlined(helper + "def f(a):\n    while higher(a):\n        a -= 1\n", "f") == (
        "def f(a):\n    a > best\n    while higher(a):\n        a -= 1"
    )


def test_a_helper_that_is_handed_over_or_read_is_placed_there() -> None:
    """A hook, and a property; a nested function stays where it is written."""
    hook = "def hook(module, args, out):\n    seen.append(out)\n\n"
    assert inlined(hook + "def f(m):\n    m.register_forward_hook(hook)\n", "f") == (
        "def f(m):\n    m.register_forward_hook(hook)\n    seen.append(out)"
    )
    nested = "def f(m):\n\n    def hook(module, args, out):\n        seen.append(out)\n    m.register(hook)"
    assert inlined(nested, "f") == nested
    meter = "class Meter:\n    @property\n    def mean(self):\n        return self.total / self.count\n\n"
    assert inlined(meter + "def f(xs):\n    print(meter.mean)\n", "f") == (
        "def f(xs):\n    print(meter.mean)\n    self.total / self.count"
    )


def test_a_method_that_only_a_library_calls_is_placed_where_the_class_is_called() -> None:
    schedule = (
        "class Schedule(LRScheduler):\n    def __init__(self, opt, n):\n        self.n = n\n\n"
        "    def get_lr(self):\n        return [self.scale()]\n\n    def scale(self):\n        return 0.5\n\n"
    )
    assert inlined(schedule + "def f(opt, n):\n    return Schedule(opt, n)\n", "f") == (
        "def f(opt, n):\n    return Schedule(opt, n)\n    self.n = n\n    return [self.scale()]\n    0.5"
    )
