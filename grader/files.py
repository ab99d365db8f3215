"""Writing files so that whoever reads them finds the old content or the new, never half of it."""

import secrets
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write through a temporary file beside it; folders that are missing are made.

    Args:
        path: the file.
        content: bytes as they are; text as UTF-8, its line ends as they are.

    Raises:
        OSError: it cannot be written; what was there before is still there.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
