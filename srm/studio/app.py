"""The studio's server: a page, its scripts, and one address for each thing that the page can ask for.

Each request to /api/NAME is a JSON object that names the tab's session; it is answered by the function of that name in a thread, with a
JSON object. What the user can mend comes back as {"error": the line}.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from srm.errors import SrmError
from srm.extras import require
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

Answer = Callable[[Any], Awaitable[Any]]


def make_app(studio: Studio, token: str, port: int) -> Any:
    """An ASGI application for one studio; the port is the one it is asked at."""
    require("studio", "`srm studio`")
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    def answer(status: int, content: bytes | str, kind: str) -> Response:
        return Response(content, status, HEADERS, media_type=kind)

    def guarded(respond: Answer, *, known: bool) -> Answer:
        """`known`: only for who has the token."""

        async def guard(request: Request) -> Response:
            try:
                refuse_foreign(request.headers, port)
                if known:
                    refuse_unknown(request.headers, token)
                response: Response = await respond(request)
                return response
            except Refused as refusal:
                return answer(refusal.status, json.dumps({"error": str(refusal)}), "application/json")

        return guard

    async def page(_: Request) -> Response:
        return answer(200, shell(), "text/html")

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            raise Refused(404, "there is no such file")
        return answer(200, asset(name), ASSETS[name])

    async def ask(request: Request) -> Response:
        content = await read_body(request, MOST_BODY)
        try:
            body = parse_json(content)
        except ValueError as error:
            raise Refused(400, f"no JSON: {error}") from None
        question = studio.questions.get(request.path_params["name"])
        if question is None or not isinstance(body, dict):
            raise Refused(404, "there is no such question")
        return await run_in_threadpool(reply, lambda: question(body))

    async def upload(request: Request) -> Response:
        content = await read_body(request, MOST_UPLOAD)
        return await run_in_threadpool(reply, lambda: studio.take_in(content))

    def reply(question: Callable[[], Any]) -> Response:
        try:
            content, status = question(), 200
        except SrmError as error:
            content, status = {"error": str(error)}, 422
        except OSError as error:
            content, status = {"error": f"{error.filename}: {error.strerror}; nothing that was saved is lost"}, 422
        return answer(status, json.dumps(content, allow_nan=False, separators=(",", ":")), "application/json")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            studio.close()

    routes = [
        Route("/", guarded(page, known=False)),
        Route("/static/{name}", guarded(static, known=False)),
        Route("/api/upload", guarded(upload, known=True), methods=["POST"]),
        Route("/api/{name}", guarded(ask, known=True), methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def make_server(studio: Studio, token: str, listening: Any) -> Any:
    """Answers on a socket that is bound already, once it is `run`."""
    uvicorn = require("studio", "`srm studio`")
    config = uvicorn.Config(
        make_app(studio, token, listening.getsockname()[1]),
        log_level="warning",
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    return uvicorn.Server(config)


def serve(studio: Studio, token: str, listening: Any) -> None:
    """Answers until Ctrl-C."""
    with suppress(KeyboardInterrupt):  # raised once more when everything is closed
        make_server(studio, token, listening).run(sockets=[listening])
