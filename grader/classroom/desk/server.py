"""Serve the desk to one browser on this machine, and to nobody else.

Whoever opens the printed address first gets a cookie; afterwards the address opens the page in that browser only. Every
request must come under our own host name (a foreign name that resolves to this machine does not do) and from our own
page. The content security policy allows our own files and no other script, style, frame or request; setting HTML is
refused.
"""

import asyncio
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import tornado.httpserver
import tornado.web
from tornado.netutil import bind_sockets

from grader.base.errors import HanstepError
from grader.classroom.desk.changes import DeskError
from grader.classroom.desk.desk import Desk

_STATIC = Path(__file__).parent / "static"
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/desk.css": ("desk.css", "text/css; charset=utf-8"),
    "/desk.js": ("desk.js", "text/javascript; charset=utf-8"),
    "/draw.js": ("draw.js", "text/javascript; charset=utf-8"),
    "/drafts.js": ("drafts.js", "text/javascript; charset=utf-8"),
}
_MAX_BODY = 64 * 1024
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_CLOSED = (
    "이 주소로는 들어올 수 없어요. 터미널에서 grader desk를 다시 실행하고, 거기에 나온 주소를 열어 주세요. "
    "쓰던 글은 저장되어 있어서 다시 나와요."
)


class Door:
    """Who may come in: one browser, which exchanges the token in the printed address for a cookie."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(32)
        self.cookie_name = f"hanstep_desk_{port}"  # cookies of one host are shared by all its ports
        self._session = ""
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}

    @property
    def address(self) -> str:
        """The address to open, good for one time."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def enter(self, token: str) -> str | None:
        """Exchange the token for the value of the cookie; None if it is wrong or has been used."""
        if not self.token or not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        self.token, self._session = "", secrets.token_urlsafe(32)
        return self._session

    def knows(self, cookie: str) -> bool:
        """True if this is the cookie that was handed out."""
        return bool(self._session) and hmac.compare_digest(cookie.encode(), self._session.encode())


class _Handler(tornado.web.RequestHandler):
    """Checks each request before anything else, and answers errors in Korean."""

    def initialize(self, door: Door) -> None:
        self.door = door

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in _HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        headers = self.request.headers
        hosts, origins = headers.get_list("Host"), headers.get_list("Origin")
        is_own_host = len(hosts) == 1 and hosts[0] in self.door.hosts
        is_own_page = all(origin in self.door.origins for origin in origins)
        if self.request.method != "GET":
            is_own_page &= len(origins) == 1
        site = headers.get("Sec-Fetch-Site", "none")
        is_own_page &= site in ("same-origin", "none")
        if not (is_own_host and is_own_page):
            raise tornado.web.HTTPError(403)
        if not (self.is_entrance or self.door.knows(self.get_cookie(self.door.cookie_name) or "")):
            raise tornado.web.HTTPError(403)

    @property
    def is_entrance(self) -> bool:
        """True if the request brings a token."""
        return self.request.method == "GET" and self.request.path == "/" and "token" in self.request.arguments

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(_CLOSED if status_code == 403 else f"잘못된 요청이에요 ({status_code}).")

    def log_exception(self, kind: Any, value: Any, trace: Any) -> None:
        if not isinstance(value, tornado.web.HTTPError):
            super().log_exception(kind, value, trace)


class _File(_Handler):
    """The page itself: files that hold nothing of the class."""

    def get(self) -> None:
        if self.is_entrance:
            if self.door.knows(self.get_cookie(self.door.cookie_name) or ""):  # opened a second time
                self.redirect("/")
                return
            session = self.door.enter(self.get_query_argument("token"))
            if session is None:
                raise tornado.web.HTTPError(403)
            self.set_cookie(self.door.cookie_name, session, httponly=True, samesite="Strict", path="/")
            self.redirect("/")
            return
        name, kind = _FILES[self.request.path]
        self.set_header("Content-Type", kind)
        self.finish((_STATIC / name).read_bytes())


class _Api(_Handler):
    """Views and changes as JSON."""

    def initialize(self, door: Door, answer: Callable[[Mapping[str, Any]], Any], reads: bool) -> None:  # type: ignore[override]
        super().initialize(door)
        self._answer, self._reads = answer, reads

    async def get(self) -> None:
        if not self._reads:
            raise tornado.web.HTTPError(405)
        await self._reply({name: self.get_query_argument(name) for name in self.request.query_arguments})

    async def post(self) -> None:
        kind = self.request.headers.get("Content-Type", "").split(";")[0].strip()
        if self._reads or kind != "application/json":
            raise tornado.web.HTTPError(405 if self._reads else 415)
        try:
            request = json.loads(self.request.body)
        except (ValueError, RecursionError) as error:
            raise tornado.web.HTTPError(400) from error
        if not isinstance(request, dict):
            raise tornado.web.HTTPError(400)
        await self._reply(request)

    async def _reply(self, request: Mapping[str, Any]) -> None:
        try:
            found = self._answer(request)
            if isinstance(found, Awaitable):
                found = await found
        except (HanstepError, OSError) as error:
            self.set_status(409)
            found = {"error": _in_words(error)}
        self.set_header("Content-Type", "application/json; charset=utf-8")
        # ASCII only, so that lone surrogates of a student's text pass as they are
        self.finish(json.dumps(found, ensure_ascii=True, allow_nan=False))


def _in_words(error: HanstepError | OSError) -> str:
    if isinstance(error, HanstepError):
        return str(error)
    return f"파일을 읽거나 쓰지 못했어요: {error.filename or ''} ({error.strerror or error})."


def application(desk: Desk, door: Door, publish: Callable[[], str]) -> tornado.web.Application:
    """Return the web application.

    Args:
        desk: what it shows and changes.
        door: who may come in.
        publish: computes marks and writes all pages again; returns a Korean line.
    """

    async def published(_request: Mapping[str, Any]) -> dict[str, str]:
        said = await asyncio.get_running_loop().run_in_executor(None, publish)
        return {"said": said}

    views: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "class": lambda _: desk.overview(),
        "exercise": lambda request: desk.exercise(str(request.get("name", ""))),
        "answers": lambda request: desk.answers(
            str(request.get("name", "")),
            str(request.get("key", "")),
            _number(request.get("start", "0")),
            str(request.get("student", "")),
        ),
        "find": lambda request: desk.found(str(request.get("text", ""))),
        "student": lambda request: desk.student(str(request.get("id", ""))),
        "drafts": lambda _: desk.drafts.all(),
        "version": lambda _: {"version": desk.version()},
    }
    changes: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "judge": desk.judge,
        "take_back": desk.take_back,
        "keep": desk.keep,
        "see": lambda request: desk.see(str(request.get("exercise", "")), str(request.get("key", ""))),
        "release": lambda _: desk.release(),
        "draft": desk.drafts.keep,
        "undo": lambda _: desk.undo(),
        "publish": published,
    }
    return tornado.web.Application(
        [
            *((path.replace(".", r"\."), _File, {"door": door}) for path in _FILES),
            *((f"/api/{n}", _Api, {"door": door, "answer": a, "reads": True}) for n, a in views.items()),
            *((f"/api/{n}", _Api, {"door": door, "answer": a, "reads": False}) for n, a in changes.items()),
        ],
        default_handler_class=_Nothing,
        default_handler_args={"door": door},
        log_function=lambda _handler: None,
        compress_response=False,
    )


class _Nothing(_Handler):
    """Any other path."""

    def get(self) -> None:
        raise tornado.web.HTTPError(404)


def _number(text: Any) -> int:
    try:
        return max(0, int(text))
    except (TypeError, ValueError, OverflowError):
        raise DeskError("몇 번째부터 보여 줄지 알 수 없어요. 페이지를 새로 고쳐 주세요.") from None


async def serve(desk: Desk, port: int, publish: Callable[[], str], opened: Callable[[str], None]) -> None:
    """Serve until the task is cancelled.

    Args:
        desk: what is shown and changed.
        port: port on 127.0.0.1; 0 for any that is free.
        publish: see `application`.
        opened: called with the address once the server answers.

    Raises:
        DeskError: the port is taken.
    """
    try:
        sockets = bind_sockets(port, "127.0.0.1")
    except OSError as error:
        raise DeskError(
            f"{port}번 포트를 열 수 없어요 ({error.strerror or error}). --port를 빼거나 다른 수를 주세요."
        ) from error
    door = Door(sockets[0].getsockname()[1])
    server = tornado.httpserver.HTTPServer(
        application(desk, door, publish), max_body_size=_MAX_BODY, max_buffer_size=4 * _MAX_BODY
    )
    server.add_sockets(sockets)
    opened(door.address)
    try:
        await asyncio.Event().wait()
    finally:
        server.stop()
        await server.close_all_connections()
