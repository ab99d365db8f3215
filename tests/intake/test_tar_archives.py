"""Hostile tar archives: nothing is written outside, nothing fills the disk, and links and devices are not made."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from grader.intake import archives
from grader.intake.archives import Quota, Unpacker

CODE = b"def train_step(): ...\n"


def _tar(*members: tuple[str, bytes, bytes], kind: str = "gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{kind}") as archive:
        for name, content, type_ in members:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = type_, len(content), "/etc/passwd"
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _unpacked(tmp_path: Path, data: bytes, name: str = "hw.tar.gz", quota: Quota | None = None) -> Unpacker:
    archive = tmp_path / name
    archive.write_bytes(data)
    unpacker = Unpacker(quota or Quota())
    unpacker.unpack(archive, tmp_path / "in", name)
    return unpacker


@pytest.fixture(autouse=True)
def _into(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()


def _written(tmp_path: Path) -> dict[str, bytes]:
    return {
        p.relative_to(tmp_path / "in").as_posix(): p.read_bytes()
        for p in (tmp_path / "in").rglob("*")
        if p.is_file()
    }


@pytest.mark.parametrize("path", ["../evil.py", "/tmp/hanstep-evil.py", "a/../../evil.py"])
def test_no_path_leads_outside(path: str, tmp_path: Path) -> None:
    found = _unpacked(tmp_path, _tar((path, CODE, tarfile.REGTYPE), ("hw.py", CODE, tarfile.REGTYPE)))
    assert _written(tmp_path) == {"hw.py": CODE}
    assert "폴더 밖으로 나가는 경로" in found.unreadable[0].message
    assert not (tmp_path / "evil.py").exists()


@pytest.mark.parametrize("type_", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_not_made(type_: bytes, tmp_path: Path) -> None:
    found = _unpacked(tmp_path, _tar(("hw.py", b"", type_)))
    assert _written(tmp_path) == {}
    assert "링크라서" in found.unreadable[0].message


@pytest.mark.parametrize("type_", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_devices_and_pipes_become_empty_files(type_: bytes, tmp_path: Path) -> None:
    _unpacked(tmp_path, _tar(("hw.py", b"", type_)))
    assert _written(tmp_path) == {"hw.py": b""}


def test_an_archive_that_swells_is_listed_but_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED_TAR_BYTES", 1_000_000)
    found = _unpacked(tmp_path, gzip.compress(bytes(3_000_000)))
    assert _written(tmp_path) == {"hw.tar.gz": b""}
    assert found.unreadable == ()


def test_one_file_that_swells_is_refused(tmp_path: Path) -> None:
    found = _unpacked(tmp_path, gzip.compress(bytes(300_000)), "hw.py.gz", Quota(bytes_left=100_000))
    assert _written(tmp_path) == {"hw.py": b""}
    assert "MB가 넘어서" in found.unreadable[0].message


def test_too_many_entries_are_refused(tmp_path: Path) -> None:
    members = [(f"{number}.py", CODE, tarfile.REGTYPE) for number in range(5)]
    found = _unpacked(tmp_path, _tar(*members), quota=Quota(entries_left=4))
    assert _written(tmp_path) == {}
    assert "너무 많이" in found.unreadable[0].message


@pytest.mark.parametrize("data", [b"", b"x", _tar(("hw.py", CODE, tarfile.REGTYPE))[:60]])
def test_a_broken_one_is_told(data: bytes, tmp_path: Path) -> None:
    found = _unpacked(tmp_path, data)
    assert _written(tmp_path) == {}
    assert "압축 파일을 열 수 없어요" in found.unreadable[0].message
