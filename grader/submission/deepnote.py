"""Read a project of Deepnote: YAML that lists notebooks, and in each its blocks, of which some are code.

The format is `deepnote-format.md` in github.com/deepnote/deepnote: `project.notebooks[].blocks[]` with `type`,
`content`, and `sortingKey`, whose order as text is that of the blocks.
"""

import json
from typing import Any

from grader.base.decoding import ReadError

_MAX_CHARS = 8 * 2**20
"""Largest project that is read; only a snapshot, which holds outputs, is larger."""
_CELL_TYPES = {"code": "code", "markdown": "markdown"}


def notebook_of_project(text: str) -> str:
    """Return a project's code and Markdown blocks as the JSON of one notebook.

    Raises:
        ReadError: it is no project of Deepnote.
    """
    import yaml  # here, because hardly anybody needs it

    # Neither makes anything but text, lists and dictionaries, and neither copies what an alias names.
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    if len(text) > _MAX_CHARS:
        raise ReadError("Deepnote 프로젝트가 너무 커요. Deepnote에서 노트북을 .ipynb로 내보내 내 주세요.")
    try:
        notebooks = yaml.load(text, loader)["project"]["notebooks"]
        cells = [cell for notebook in notebooks for cell in _cells(notebook["blocks"])]
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ReadError(
            "Deepnote 프로젝트로 읽을 수 없어요. Deepnote에서 노트북을 .ipynb로 내보내 내 주세요."
        ) from error
    return json.dumps({"cells": cells})


def _cells(blocks: list[dict[str, Any]]) -> list[dict[str, str]]:
    ordered = sorted(blocks, key=lambda block: str(block.get("sortingKey", "")))
    return [
        {"cell_type": _CELL_TYPES[block["type"]], "source": str(block.get("content", ""))}
        for block in ordered
        if block["type"] in _CELL_TYPES
    ]
