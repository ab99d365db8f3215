"""Sign the lines of a journal, to tell those that this user's own runs wrote from anybody else's.

Report folders are shared, and whoever can write there could add a line with full marks. So each line carries an HMAC,
called its seal, under a key that stays in the user's own data folder.
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
    """Add a seal to JSON objects, and remove it from those whose seal is right."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def of_this_user(cls) -> "Seal":
        """Return a seal with this user's key, which is created at first use.

        If the key cannot be stored (a read-only home), it lasts only as long as this object, and no later process can
        open what it sealed.
        """
        path = user_folder() / "journal.key"
        return cls(_stored_key(path) or _new_key(path))

    def sealed(self, text: str, context: str) -> bytes:
        """Return a JSON object as one line, with its seal as the last entry.

        Args:
            text: the JSON object, with at least one entry.
            context: identifies what the line belongs to; `opened` accepts it with the same context only.
        """
        body = text.encode().removesuffix(b"}")
        return body + b', "seal": "' + self._hmac(body, context) + b'"}\n'

    def opened(self, line: bytes, context: str) -> bytes | None:
        """Return the JSON object of a line that `sealed` made with the same key and context; None for other lines."""
        found = _SEALED.fullmatch(line.removesuffix(b"\n"))
        if found is None or not hmac.compare_digest(self._hmac(found[1], context), found[2]):
            return None
        return found[1] + b"}"

    def _hmac(self, body: bytes, context: str) -> bytes:
        return hmac.digest(self._key, context.encode() + b"\n" + body, "sha256").hex().encode()


def _stored_key(path: Path) -> bytes | None:
    """Return the stored key; None if there is none of the right length."""
    with suppress(OSError), os.fdopen(open_regular(path), "rb") as file:
        key = file.read(_KEY_BYTES + 1)
        return key if len(key) == _KEY_BYTES else None
    return None


def _new_key(path: Path) -> bytes:
    """Create a key, store it if possible, and return it; if another process was faster, return that one's key."""
    key = secrets.token_bytes(_KEY_BYTES)
    temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(key)
            with suppress(FileExistsError):
                os.link(temporary, path)  # atomic, and does not replace a key that is there
            return _stored_key(path) or key
        finally:
            temporary.unlink(missing_ok=True)
    return key
