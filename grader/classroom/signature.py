"""Tells what this user's own runs wrote from what anybody else put into the same folder.

Reports are shared: whoever can write into the folder could add a line with full marks. Each line of a journal carries
an HMAC under a key that stays in the user's own data folder.
"""

import hmac
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from grader.base.files import open_regular
from grader.paths import user_folder

_KEY_BYTES = 32
_SEALED = re.compile(rb'(\{.*), "seal": "([0-9a-f]{64})"\}', re.DOTALL)


class Seal:
    """Puts a seal on JSON objects, and takes it off those that have the right one."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of_this_user(cls) -> "Seal":
        """With the user's key, which is made at the first use.

        Where it cannot be kept (a read-only home), it lasts as long as this object, and nothing sealed is opened later.
        """
        path = user_folder() / "journal.key"
        return cls(_kept(path) or _made(path))

    def sealed(self, text: str, context: str) -> bytes:
        """A JSON object in one line, with its seal as the last entry.

        Args:
            text: the object, with at least one entry.
            context: what it belongs to; it opens in no other.
        """
        body = text.encode().removesuffix(b"}")
        return body + b', "seal": "' + self._mark(body, context) + b'"}\n'

    def opened(self, line: bytes, context: str) -> bytes | None:
        """The object in a line that `sealed` made with the same key and context; None for any other line."""
        found = _SEALED.fullmatch(line.removesuffix(b"\n"))
        if found is None or not hmac.compare_digest(self._mark(found[1], context), found[2]):
            return None
        return found[1] + b"}"

    def _mark(self, body: bytes, context: str) -> bytes:
        return hmac.digest(self._key, context.encode() + b"\n" + body, "sha256").hex().encode()


def _kept(path: Path) -> bytes | None:
    with suppress(OSError), os.fdopen(open_regular(path), "rb") as file:
        key = file.read(_KEY_BYTES + 1)
        return key if len(key) == _KEY_BYTES else None
    return None


def _made(path: Path) -> bytes:
    """A new key, on the disk where that can be; the key of whoever was faster."""
    key = secrets.token_bytes(_KEY_BYTES)
    temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(key)
            with suppress(FileExistsError):
                os.link(temporary, path)  # whole, or not at all
            return _kept(path) or key
        finally:
            temporary.unlink(missing_ok=True)
    return key
