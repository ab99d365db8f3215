"""Lines of Python and of Jupyter, alone and in every mixture that Hypothesis thinks of."""

from hypothesis import strategies as st

KEPT = [
    "import torch.nn as nn",
    "from torch import nn",
    "from __future__ import annotations",
    "LR = 0.1",
    "A = B = (1, 'x', [2.0], {'k': None})",
    "LR: float = 0.1",
    "WARMUP = [i * i for i in (1, 2, 3)]",
    "square = lambda x: x.pow(2)",
    "class Net(object): layers = list()",
    "async def load(): return await get()",
    "if True: LR = 0.1",
    "try: import wandb\nexcept ImportError as error: wandb = error",
    "if True: A = 1; B = A",
    "try: import x\nfinally: pass",
    "train_step = compile_it(train_step)",
    "train_step, other = make()",
]
DROPPED = [
    "print('hi')",
    "model = Net()",
    "x = unknown + 1",
    "unknown += 1",
    "x = [f(i) for i in (1, 2)]",
    "x = y = await_me()",
    "for i in (1, 2): LR = i",
    "with open('x') as f: data = 1",
    "while True: pass",
    "assert False",
    "del LR",
    "opt.param_groups[0]['lr'] = 0.1",
    "if cuda(): device = 'cuda'",
    "if __name__ == '__main__': LR = 0.1",
    "if True: print('hi')",
    "raise SystemExit",
    "'a docstring'",
]
MAGICS = [
    "%matplotlib inline",
    "!pip install it's",
    "!ls \\\n  -l",
    "files = !ls",
    "t = %time 1",
    "torch.nn?",
    "?print",
    "a.b[0]??",
    "if A:\n    !ls '\nelse:\n    %cd ..",
]
PYTHON = [
    "A = 5 \\\n  % 3",
    "B = (5\n% 3)",
    "C = '''\n!ls\n%time\n'''",
    'D = "%d?"  # what?',
    "if A != 1:\n    E = 2",
    "def f(x):\n    return x  # f?",
    "G = '\\'' \"#(\" r'\\''",
    "H = [\n    '?',  # )\n]",
]
SIMPLE = st.sampled_from(
    [
        "A = 1",
        "x",
        "print('한글')",
        "B = '''\n é\n'''",
        "C = (1,\n  2)",
        "D = 1 + \\\n 2",
        "f(\n)",
        "import os",
    ]
)
COMPOUND = st.sampled_from(
    ["def f(x):\n    return x  # why", "@a\n@b(\n1)\ndef g(): pass", "class N:\n  '''é'''\n\n  x = 1",
     "if A: B = 1; C = 2", "try:\n  import x\nexcept E:\n  x = None", "@(\na)\nclass M: pass",
     "\f\ndef h(): 0"]
)  # fmt: skip
LINE = st.builds(
    lambda parts, separator, end: separator.join(parts) + end,
    st.lists(SIMPLE, min_size=1, max_size=4),
    st.sampled_from([";", "; ", " ;  "]),
    st.sampled_from(["", ";", "  # 끝", " ; # 끝"]),
)
SOURCE = st.lists(LINE | COMPOUND | st.sampled_from(["", "# %%", "  # x", "\f"]), max_size=8).map("\n".join)
FRAGMENTS = st.lists(
    st.sampled_from(MAGICS + PYTHON + KEPT + DROPPED)
    | st.sampled_from([*"()[]{}'\"\\\n\t\f;:#%!?@=\0", '"""', "\r\n"]),
    max_size=8,
).flatmap(lambda parts: st.sampled_from(["", "\n"]).map(lambda glue: glue.join(parts)))
