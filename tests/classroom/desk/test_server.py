"""Who may ask the desk: one browser on this machine, from its own page, and nobody else."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base.errors import HanstepError
from grader.cli.main import run
from tests.classroom.desk.running import Running, desk_over, running_desk, write_class
from tests.report import samples


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("desk") / "report"
    write_class(out, samples.small_class(), out.parent / "work")
    return out


@pytest.fixture
def served(report: Path) -> Iterator[Running]:
    with running_desk(desk_over(report), report) as running:
        yield running


def test_the_address_is_good_once(served: Running) -> None:
    """Whoever reads it later, in a history or a list of processes, gets nothing."""
    assert served.ask("/")[0] == 403
    assert served.ask("/?token=")[0] == 403
    assert served.ask(f"/?token={'x' * 43}")[0] == 403
    status, _, headers = served.ask(f"/?{served.address.split('?')[1]}")
    assert status == 302
    assert headers["Location"] == "/"
    flags = headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "Path=/", "SameSite=Strict"} <= set(flags)
    assert served.ask(f"/?{served.address.split('?')[1]}")[0] == 403
    served.cookie = flags[0]
    assert served.ask("/")[0] == 200
    served.cookie = f"{flags[0][:-1]}x"
    assert served.ask("/")[0] == 403


@pytest.mark.parametrize(
    "path", ["/", "/desk.js", "/draw.js", "/drafts.js", "/desk.css", "/api/class", "/api/version", "/nosuch"]
)
def test_without_the_cookie_there_is_nothing(served: Running, path: str) -> None:
    status, said, _ = served.ask(path)
    assert status == 403
    assert "train_step" not in str(said)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_hosts_and_pages_are_refused_even_with_the_cookie(
    served: Running, headers: dict[str, str]
) -> None:
    """A name that resolves to 127.0.0.1, a page elsewhere, another port of this machine."""
    served.enter()
    assert served.ask("/api/class")[0] == 200
    assert served.ask("/api/class", headers=headers)[0] == 403
    assert served.ask("/api/undo", {}, headers=headers)[0] == 403


def test_changes_need_our_origin_and_json(served: Running) -> None:
    """A form on another page can send neither."""
    served.enter()
    assert served.ask("/api/undo", {})[0] == 200
    assert served.ask("/api/undo", method="POST")[0] == 403  # no Origin
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert served.ask("/api/undo", {}, headers={"Content-Type": kind})[0] in (400, 415)
    for body in (b"{", b"[]", b"[" * 60_000):
        assert served.ask("/api/undo", body)[0] == 400
    assert served.ask("/api/undo")[0] == 405  # a link or an image
    assert served.ask("/api/class", {})[0] == 405


def test_every_answer_forbids_what_a_page_could_be_talked_into(served: Running) -> None:
    served.enter()
    for path in ("/", "/desk.js", "/api/class", "/nosuch"):
        headers = served.ask(path)[2]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
        assert "Server" not in headers
    assert served.ask("/../results.json")[0] == 404
    assert served.ask("/%2e%2e/results.json")[0] == 404


@pytest.mark.parametrize(
    "request_",
    [
        {"exercise": "nosuch", "scope": "group", "target": "x", "text": "a"},
        {"exercise": "train_step", "scope": "group", "target": "x", "text": "a"},
        {"exercise": "train_step", "scope": "student", "target": "x", "text": "a"},
        {"exercise": "train_step", "scope": "mistake", "target": "missing-zero-grad", "text": " "},
        {
            "exercise": "train_step",
            "scope": "mistake",
            "target": "missing-zero-grad",
            "text": "a",
            "score": "99",
        },
        {
            "exercise": "train_step",
            "scope": "mistake",
            "target": "missing-zero-grad",
            "text": "a",
            "score": "x",
        },
        {"exercise": 3, "scope": [], "target": None, "text": {}},
        {},
    ],
)
def test_a_request_that_cannot_be_meant_is_told_in_korean_and_changes_nothing(
    served: Running, request_: dict[str, object], report: Path
) -> None:
    served.enter()
    status, said, _ = served.ask("/api/judge", request_)
    assert status == 409
    assert re.search("[가-힣]{3}.*(요|점|')", said["error"])
    assert not (report / "overrides.csv").exists()
    assert not (report / "comments.csv").exists()


def test_a_missing_package_is_told_with_the_command_that_installs_it(
    report: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "tornado"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tornado", None)
    assert run(["desk", str(report)]) == HanstepError.status
    assert "pip install -e '.[desk]'" in capsys.readouterr().err


def test_a_port_that_is_taken_is_told(
    report: Path, served: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    port = served.host.split(":")[1]
    assert run(["desk", str(report), "--no-browser", "--port", port]) == HanstepError.status
    assert f"{port}번 포트를 열 수 없어요" in capsys.readouterr().err
