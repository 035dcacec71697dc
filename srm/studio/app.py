"""The studio's server: a page, its scripts, and one address for each thing that the page can ask for.

Each request to /api/NAME is a JSON object that names the tab's session; it is answered by the function of that name in a thread, with a
JSON object. What the user can mend is an answer too, {"error": the line}; browsers complain of any other status.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from srm.errors import SrmError
from srm.files import parse_json
from srm.studio.page import ASSETS, asset, shell
from srm.studio.security import (
    HEADERS,
    MOST_BODY,
    MOST_UPLOAD,
    Refused,
    read_body,
    refuse_foreign,
    refuse_unknown,
)
from srm.studio.studio import Studio


class Application:
    """Answers requests to one studio, at one port."""

    def __init__(self, studio: Studio, token: str, port: int) -> None:
        self.studio, self.token, self.port = studio, token, port

    async def page(self, request: Request) -> Response:
        return _response(200, shell(), "text/html")

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            raise Refused(404, "there is no such file")
        return _response(200, asset(name), ASSETS[name])

    async def ask(self, request: Request) -> Response:
        content = await read_body(request, MOST_BODY)
        try:
            body = parse_json(content)
        except ValueError as error:
            raise Refused(400, f"no JSON: {error}") from None
        question = self.studio.questions.get(request.path_params["name"])
        if question is None or not isinstance(body, dict):
            raise Refused(404, "there is no such question")
        return await _in_thread(lambda: question(body))

    async def upload(self, request: Request) -> Response:
        content = await read_body(request, MOST_UPLOAD)
        return await _in_thread(lambda: self.studio.take_in(content))

    def guarded(self, respond: Callable[[Request], Awaitable[Response]], *, known: bool) -> Any:
        """`known`: only for who has the token."""

        async def guard(request: Request) -> Response:
            try:
                refuse_foreign(request.headers, self.port)
                if known:
                    refuse_unknown(request.headers, self.token)
                return await respond(request)
            except Refused as refusal:
                return _response(refusal.status, json.dumps({"error": str(refusal)}), "application/json")
            except ClientDisconnect:  # the page was closed while it asked; nobody reads this
                return Response(status_code=400)

        return guard

    def routes(self) -> list[Route]:
        return [
            Route("/", self.guarded(self.page, known=False)),
            Route("/static/{name}", self.guarded(self.static, known=False)),
            Route("/api/upload", self.guarded(self.upload, known=True), methods=["POST"]),
            Route("/api/{name}", self.guarded(self.ask, known=True), methods=["POST"]),
        ]


def _response(status: int, content: str, kind: str) -> Response:
    return Response(content, status, HEADERS, media_type=kind)


async def _in_thread(question: Callable[[], Any]) -> Response:
    """The answer; what the user can mend, as a line."""

    def reply() -> Response:
        try:
            content = question()
        except SrmError as error:
            content = {"error": str(error)}
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""  # a full disk names no file
            content = {"error": f"{place}{error.strerror}; nothing that was saved is lost"}
        return _response(
            200, json.dumps(content, allow_nan=False, separators=(",", ":"), default=dict), "application/json"
        )

    return await run_in_threadpool(reply)


class StudioServer(uvicorn.Server):
    """Ends what takes long before it waits for those who wait for it."""

    def __init__(self, config: uvicorn.Config, studio: Studio) -> None:
        super().__init__(config)
        self._studio = studio

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._studio.close()
        await super().shutdown(sockets)


def make_server(studio: Studio, token: str, listening: socket.socket) -> StudioServer:
    """Answers on a socket that is bound already, once it is `run`."""
    application = Application(studio, token, listening.getsockname()[1])
    config = uvicorn.Config(
        Starlette(routes=application.routes()),
        lifespan="off",
        log_level="error",
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    return StudioServer(config, studio)


def serve(studio: Studio, token: str, listening: socket.socket) -> None:
    """Answers until Ctrl-C."""
    with suppress(KeyboardInterrupt):  # raised once more when everything is closed
        make_server(studio, token, listening).run(sockets=[listening])
