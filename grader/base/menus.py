"""Name menu items so that a learner finds them whatever the editor and its language are."""

JUPYTERLAB_ITEMS = {
    "restart": (("커널", "커널 재시작"), ("Kernel", "Restart Kernel…")),
}
"""JupyterLab's menu and item, in Korean and in English, as its language pack has them."""


def _in_jupyterlab(item: str) -> str:
    """Return where JupyterLab has an item of the table, in both languages."""
    korean, english = (" → ".join(words).rstrip("…") for words in JUPYTERLAB_ITEMS[item])
    return f"JupyterLab의 메뉴에서는 {korean}({english})"


RESTART = (
    f"{_in_jupyterlab('restart')}, VS Code에서는 위쪽의 다시 시작(Restart), "
    "Colab에서는 런타임 → 세션 다시 시작(Runtime → Restart session)"
)
"""Where to find the item, as the end of a Korean sentence."""
REOPEN = "그 노트북이 어디에든 열려 있으면 저장하지 말고 닫았다가 다시 여세요. 저장하면 예전 내용이 새 내용을 덮어써요."
"""Names no menu: editors call it differently, and some have none."""
