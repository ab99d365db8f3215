"""What goes wrong with files: bytes that are lost, doubled, exchanged, and values that nobody expects."""

import copy
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Sequence
from random import Random

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_ODD = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"9" * 5_000, b"[" * 3_000, b"{" * 3_000, b"(" * 300,
    b'"', b"'", b'"""', b"\\", b"\\ud800", b"\r", b"\x0c", b",", b";", b"\t", b"\n\n", b"1e999", b"-1", b"nan",
    b"0x" + b"f" * 5_000, b"0001-01-01T00:00:00+23:59", b"../", b"/", b"C:\\", b"=cmd|' '!A0", "가".encode(),
    b"null", b"true", b"{}", b"[]", b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"#%%", b"%%bash\n", b"<<<<<<< ",
    b"A" * 300, b"\xe2\x80\xae", b"lambda:" * 200, b"not " * 500, b"f'{" * 30, b"-" * 2_000, b"x=" * 500, b"a." * 3_000,
)  # fmt: skip
_ODD_NAMES = (
    "hw.py", "hw.ipynb", "../up.py", "/up.py", "C:\\up.py", "..", ".", "", "a/" * 30 + "hw.py", "a/" * 900 + "hw.py",
    "n" * 300 + ".py", "n" * 60_000 + ".py", "N\0L.py", "con.py", "hw.zip", "hw.zip/hw.py", ".hidden.py", " .py",
    "\u202egnp.py", "\ud7ff.py", "가/나/다.ipynb", "9" * 240 + ".py", "submission_metadata.yml", "a\\b\\hw.py",
)  # fmt: skip
_ODD_VALUES: tuple[object, ...] = (
    None, True, -1, 10**400, 1e300, "", "9" * 5_000, "\ud800", [], {}, [[]] * 50, {"": None}, "\0", ["a", 1, None],
)  # fmt: skip


def mutated(random: Random, data: bytes, times: int = 4) -> bytes:
    """The data, changed in one to `times` places."""
    changed = bytearray(data)
    for _ in range(random.randint(1, times)):
        at = random.randint(0, len(changed))
        to = min(len(changed), at + random.choice((1, 1, 4, 30, 1_000)))
        kind = random.randrange(7)
        if kind == 0 and changed:
            changed[min(at, len(changed) - 1)] ^= 1 << random.randrange(8)
        elif kind == 1:
            del changed[at:to]
        elif kind == 2:
            changed[at:at] = changed[at:to] * random.randint(1, 5)
        elif kind == 3:
            changed[at:to] = random.randbytes(to - at)
        elif kind == 4:
            changed[at:at] = random.choice(_ODD)
        elif kind == 5:
            changed[at:to] = random.choice(_ODD)
        elif random.random() < 0.3:
            del changed[at:]
    return bytes(changed)


def zipped(random: Random, contents: Sequence[bytes], depth: int = 0) -> bytes:
    """An archive of some of these, as a program or somebody hostile makes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(random.choice((0, 1, 1, 2, 3, 8))):
            name = random.choice(("hw.py", "hw.ipynb", random.choice(_ODD_NAMES)))
            content = random.choice(contents)
            if depth < 5 and random.random() < 0.2:
                name, content = f"{random.randrange(3)}.zip", zipped(random, contents, depth + 1)
            info = zipfile.ZipInfo(name or "x")
            info.compress_type = random.choice(METHODS)
            info.external_attr = random.choice((0, 0, 0o644 << 16, 0o120777 << 16, 0x10))
            archive.writestr(info, content)
    data = file.getvalue()
    choice = random.random()
    if choice < 0.35:
        return data
    return mutated(random, data) if choice < 0.6 else _other_headers(random, data)


def _other_headers(random: Random, data: bytes) -> bytes:
    """Numbers in the headers are others: methods, flags, sizes, places."""
    changed = bytearray(data)
    marks = (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")
    places = [at for mark in marks for at in range(len(data)) if data.startswith(mark, at)]
    for at in random.sample(places, min(len(places), 3)):
        field = at + 4 + 2 * random.randrange(20)
        if field + 4 <= len(changed):
            value = random.choice((0, 1, 0xFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 14, 12, 99, random.getrandbits(32)))
            struct.pack_into("<I", changed, field, value)
    return bytes(changed)


def notebook(random: Random, data: bytes) -> bytes:
    """A notebook in which values are others, or bytes."""
    if random.random() < 0.5:
        return mutated(random, data)
    document = json.loads(data)
    for _ in range(random.randint(1, 3)):
        place = document
        for _ in range(random.randint(0, 5)):
            inner = list(place.values()) if isinstance(place, dict) else place
            deeper = [value for value in inner if isinstance(value, dict | list) and value]
            if not deeper:
                break
            place = random.choice(deeper)
        key = random.choice(list(place)) if isinstance(place, dict) else random.randrange(len(place))
        place[key] = copy.deepcopy(random.choice(_ODD_VALUES))
    return json.dumps(document).encode()


def source(random: Random, data: bytes) -> bytes:
    """A program with a few words exchanged: many of them still run."""
    if random.random() < 0.4:
        return mutated(random, data)
    words = data.split(b" ")
    for _ in range(random.randint(1, 6)):
        words[random.randrange(len(words))] = random.choice(words + list(_ODD))
    return b" ".join(words)


def table(random: Random, text: str) -> bytes:
    """CSV or TOML with cells or bytes exchanged."""
    data = text.encode(random.choice(("utf-8", "utf-8", "utf-8-sig", "cp949", "utf-16")))
    return data if random.random() < 0.3 else mutated(random, data, 3)
