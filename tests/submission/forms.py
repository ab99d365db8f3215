"""One right answer in the forms in which tools save it; each form maps the names in a student's folder to bytes.

The layouts come from what the tools write themselves: jupytext 1.19, marimo 0.25 and nbconvert 7.17 were run on a
notebook, Colab, Kaggle, Databricks and Deepnote from public repositories that hold their files.
"""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

EXERCISES = ("train_step", "accumulate")
IMPORTS = "import torch\nfrom torch import nn"
STEP = '''def train_step(model, opt, loss_fn, xb, yb):
    """Update once.

    Return the loss before it.
    """
    opt.zero_grad()
    loss = loss_fn(model(xb), yb)
    loss.backward()

    opt.step()
    return loss.item()'''
ACCUMULATE = """def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError(accum_steps)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return len(micro_batches)"""
ANSWERS = (STEP, ACCUMULATE)
CELLS = (IMPORTS, *ANSWERS)
_ANSWERS = "\n\n".join(ANSWERS)
SCRIPT = "\n\n\n".join(CELLS) + "\n"
PNG = "iVBORw0KGgo" * 2_400_000


def _cell(source: object, kind: str = "code", **more: Any) -> dict[str, Any]:
    own = {"execution_count": 1, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **own, **more}


def _notebook(cells: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [*cells], **more}


def _text(cells: Sequence[Mapping[str, Any]], indent: int | None = None, **more: Any) -> str:
    return json.dumps(_notebook(cells, **more), indent=indent, ensure_ascii=False)


def _tagged(kind: str = "code") -> list[dict[str, Any]]:
    metadata = [{"tags": [f"exercise:{name}"]} for name in EXERCISES]
    return [_cell(source, kind, metadata=m) for source, m in zip(ANSWERS, metadata, strict=True)]


def _indented(text: str, indent: str = "    ") -> str:
    return "\n".join(indent + line if line else line for line in text.split("\n"))


def _lines(source: str) -> list[str]:
    return source.split("\n")


def _zipped(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def _tarred(name: str, content: bytes, kind: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{kind}") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _marimo() -> str:
    def cell(body: str, needs: str, returned: str, options: str = "") -> str:
        end = f"    return {returned}".rstrip()
        return f"@app.cell{options}\ndef _({needs}):\n{_indented(body)}\n{end}\n"

    setup = f"with app.setup:\n{_indented('import math')}\n"
    cells = [
        cell("import marimo as mo\n", "", "(mo,)"),
        cell('mo.md(r"""\n# 숙제\n""")', "mo", "", "(hide_code=True)"),
        cell(IMPORTS, "", "nn, torch"),
        cell(STEP, "torch", "(train_step,)"),
        f"@app.function\n{ACCUMULATE}\n",
        cell("model = nn.Linear(1, 1)\nprint(train_step, model)", "\n    nn,\n    train_step,\n", "(model,)"),
    ]
    start = (
        '# /// script\n# dependencies = ["torch"]\n# ///\n\n'
        'import marimo\n\n__generated_with = "0.25.2"\napp = marimo.App()\n'
    )
    return "\n\n".join([start, setup, *cells, 'if __name__ == "__main__":\n    app.run()\n'])


def _databricks() -> str:
    cells = (
        "# MAGIC %md\n# MAGIC # 숙제 (괄호",
        "# MAGIC %pip install torch",
        *CELLS,
        "# DBTITLE 1,보기\ndisplay(spark.range(3))",
        "dbutils." + "library.restartPython()",
    )
    return "# Databricks notebook source\n" + "\n\n# COMMAND ----------\n\n".join(cells)


def _highlighted() -> str:
    """Code cells as nbconvert's HTML has them."""
    blocks = "".join(
        '<div class="jp-Cell jp-CodeCell"><div class="cm-editor"><div class="highlight hl-ipython3"><pre><span></span>'
        f'<span class="k">{escape(cell[:3])}</span>{escape(cell[3:])}\n</pre></div></div></div>'
        for cell in CELLS
    )
    return f"<!DOCTYPE html>\n<html><body><h1>숙제</h1>{blocks}</body></html>"


def _fenced(opening: str, option: str = "") -> str:
    blocks = [f"{opening}\n{option}{cell}\n```" for cell in CELLS]
    return "---\ntitle: hw\n---\n\n# 숙제\n\n" + "\n\n설명입니다.\n\n".join(blocks) + "\n"


def _conflicting(line: str, other: str) -> str:
    """A notebook in which Git could not merge one line, in every cell."""
    text = _text([_cell(_lines_with_ends(c)) for c in CELLS], indent=1)
    assert line in text
    return text.replace(line, f"<<<<<<< HEAD\n{line}=======\n{other}>>>>>>> origin/main\n")


def _lines_with_ends(source: str) -> list[str]:
    return source.splitlines(keepends=True)


_WRITTEN = _cell(f"%%writefile hw1/train.py\n{IMPORTS}\n\n{STEP}\n")
_NOTEBOOK = _text([_cell(source) for source in CELLS]).encode()
_COMMANDS = {
    "version": "NotebookV1",
    "language": "python",
    "commands": [
        {"version": "CommandV1", "position": 3.0 - i, "command": c} for i, c in enumerate(CELLS[::-1])
    ],
}


def _deepnote(cells: Sequence[str]) -> str:
    """A project as Deepnote writes it: the blocks in any order, their keys tell the right one."""
    blocks = [
        "      - blockGroup: 9dd9\n        content: |-\n"
        f"{_indented(cell, ' ' * 10)}\n"
        f"        id: b75d{number}\n        metadata: {{}}\n        sortingKey: a{number}\n        type: code\n"
        for number, cell in enumerate(cells)
    ]
    others = (
        "      - content: '# 숙제 (괄호'\n        sortingKey: Zz\n        type: text-cell-h1\n"
        "      - content: SELECT 1\n        sortingKey: b0\n        type: sql\n        metadata:\n"
        "          deepnote_variable_name: df\n"
    )
    return (
        "metadata:\n  createdAt: '2026-03-01T00:00:00.000Z'\nproject:\n  id: 2e81\n  name: 숙제\n  notebooks:\n"
        f"  - id: e132\n    name: hw\n    executionMode: block\n    isModule: false\n    blocks:\n{others}"
        + "".join(reversed(blocks))
        + "version: 1.0.0\n"
    )


FORMS: Mapping[str, Mapping[str, str | bytes]] = {
    # --- outputs ----
    "25 MB of picture": {
        "hw.ipynb": _text([*map(_cell, CELLS), _cell("0", outputs=[{"data": {"image/png": PNG}}])])
    },
    "brackets in an output": {
        "hw.ipynb": _text([_cell("0", outputs=[{"data": [[1, {}]] * 300_000}]), *map(_cell, CELLS)])
    },
    "state of widgets": {
        "hw.ipynb": _text(list(map(_cell, CELLS)), metadata={"widgets": {"state": [[], {}] * 300_000}})
    },
    "outputs named in code": {
        "hw.ipynb": _text([_cell('SHOWN = """"outputs": [[[" """'), *map(_cell, CELLS)])
    },
    # --- formats of notebooks ----
    "format 3 without line ends": {
        "hw.ipynb": json.dumps(
            {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": _lines(c)} for c in CELLS]}]}
        )
    },
    "format 4 without line ends": {"hw.ipynb": _text([_cell(_lines(c)) for c in CELLS])},
    "Databricks notebook": {
        "hw.ipynb": _text(
            [
                _cell("%md\n# 숙제 (괄호\n설명"),
                *(_cell(f"%python\n{c}") for c in CELLS),
                _cell("%sql\nSELECT * FROM t"),
            ]
        )
    },
    "Databricks archive": {"hw.dbc": _zipped({"hw.python": json.dumps(_COMMANDS).encode()})},
    "Deepnote project": {"hw.deepnote": _deepnote(CELLS)},
    "zip named .ipynb": {"hw.ipynb": _zipped({"hw/hw.ipynb": _NOTEBOOK})},
    "zip named .py within a zip": {"hw.zip": _zipped({"hw.py": _zipped({"a.py": SCRIPT.encode()})})},
    "JSON within JSON": {"hw.ipynb": json.dumps(_NOTEBOOK.decode())},
    # --- merges ----
    "conflict in a count": {
        "hw.ipynb": _conflicting('   "execution_count": 1,\n', '   "execution_count": 7,\n')
    },
    "conflict in outputs": {
        "hw.ipynb": _conflicting('   "outputs": []\n', '   "outputs": [{"text": "]"}]\n').replace("\n", "\r\n")
    },
    "conflict in a comment": {"hw.py": f"<<<<<<< HEAD\n# 나\n=======\n# 너\n>>>>>>> main\n{SCRIPT}"},
    "conflict in a function's comment": {
        "hw.py": SCRIPT.replace(
            "    opt.step()\n", "<<<<<<< HEAD\n    opt.step()\n=======\n    opt.step()  # 끝\n>>>>>>> main\n"
        )
    },
    # --- names ----
    ".ipynb.txt": {"hw.ipynb.txt": _NOTEBOOK},
    ".ipynb.json": {"hw.ipynb.json": _NOTEBOOK},
    ".py.txt": {"hw.py.txt": SCRIPT},
    ".txt": {"readme.txt": "읽어 주세요", "hw.txt": SCRIPT},
    ".json": {"hw.json": _NOTEBOOK},
    "no suffix": {"hw": SCRIPT},
    "notebook named .py": {"hw.py": _NOTEBOOK},
    "script named .ipynb": {"hw.ipynb": SCRIPT},
    # --- cells of another type ----
    "markdown cells with tags": {"hw.ipynb": _text([_cell(IMPORTS), *_tagged("markdown")])},
    "raw cells": {"hw.ipynb": _text([_cell(IMPORTS), *(_cell(a, "raw") for a in ANSWERS)])},
    "all cells are markdown": {"hw.ipynb": _text([_cell(c, "markdown") for c in CELLS])},
    "answer in a fence of a markdown cell": {
        "hw.ipynb": _text([_cell(IMPORTS), *(_cell(f"답입니다.\n\n```python\n{a}\n```", "markdown") for a in ANSWERS)])
    },
    "markdown above the empty cell": {
        "hw.ipynb": _text(
            [_cell(IMPORTS), _cell(STEP, "markdown"), _cell("def train_step():\n    raise NotImplementedError"),
             _cell(ACCUMULATE)]
        )
    },
    # --- %%writefile and main guards ----
    "%%writefile and a star import": {
        "hw.ipynb": _text([_WRITTEN, _cell(f"%%writefile -a hw1/train.py\n\n{ACCUMULATE}\n"),
                           _cell("import sys; sys.path.append('hw1')"), _cell("from train import *")])
    },
    "%%writefile of a helper": {
        "hw.ipynb": _text([_cell(f"%%writefile helper.py\n{IMPORTS}\n"), _cell("from helper import nn, torch"),
                           *map(_cell, ANSWERS)])
    },
    "%%prun": {"hw.ipynb": _text([_cell(IMPORTS), *(_cell(f"%%prun -q\n{a}") for a in ANSWERS)])},
    "main guard": {"hw.py": f"{IMPORTS}\n\nif __name__ == '__main__':\n{_indented(_ANSWERS)}\n    print(1)\n"},
    "all under a main guard": {"hw.py": f"if '__main__' == __name__:\n{_indented(SCRIPT, '  ')}\n  main()\n"},
    "main guards in cells": {
        "hw.ipynb": _text([_cell(IMPORTS), *(_cell(f'if __name__ == "__main__":\n{_indented(a)}') for a in ANSWERS)])
    },
    # --- scripts of tools ----
    "marimo": {"hw.py": _marimo()},
    "Databricks source": {"hw.py": _databricks()},
    "nbconvert script": {"hw.py": "\n".join(f"# In[{i}]:\n\n\n{c}\n" for i, c in enumerate(CELLS))},
    "Colab script": {
        "hw.py": f'"""hw.ipynb\n\nAutomatically generated by Colab.\n"""\n\n!pip install -q x\n\n{SCRIPT}'
    },
    "jupytext light": {
        "hw.py": f"# ---\n# jupyter: {{}}\n# ---\n\n# # 숙제\n\n# %matplotlib inline\n\n# + tags=[\"a\"]\n{SCRIPT}# -\n"
    },
    "format 3 script": {"hw.py": "# <nbformat>3.0</nbformat>\n\n" + "\n".join(f"# <codecell>\n\n{c}\n" for c in CELLS)},
    # --- documents ----
    "Markdown": {"hw.md": _fenced("```python")},
    "MyST": {"hw.md": _fenced("```{code-cell} ipython3", ":tags: [a]\n\n")},
    "R Markdown": {"hw.Rmd": _fenced('```{python tags=c("a")}')},
    "Quarto": {"hw.qmd": _fenced("```{python}", "#| label: a\n")},
    "marimo in Markdown": {"hw.md": _fenced('```python {.marimo name="a"}')},
    "HTML": {"hw.html": _highlighted()},
    # --- archives ----
    "tar.gz": {"hw.tar.gz": _tarred("hw/hw.ipynb", _NOTEBOOK, "gz")},
    "tgz": {"hw.tgz": _tarred("./hw.py", SCRIPT.encode(), "gz")},
    "tar": {"hw.tar": _tarred("hw.ipynb", _NOTEBOOK, "")},
    "tar.xz in a zip": {"hw.zip": _zipped({"a/hw.tar.xz": _tarred("hw.ipynb", _NOTEBOOK, "xz")})},
    "one file in gzip": {"hw.ipynb.gz": gzip.compress(_NOTEBOOK)},
    "zip with .ipynb.txt": {"hw.zip": _zipped({"hw.ipynb.txt": _NOTEBOOK, "__MACOSX/._hw.ipynb.txt": b"\0"})},
}  # fmt: skip
