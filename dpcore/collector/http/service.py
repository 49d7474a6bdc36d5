"""The collector's HTTP routes: they serve schemes and receive reports, and answer when reports are on the disk.

`/openapi.json` documents every path.  Only `dpcore.wire` parses the bodies of reports, so each refusal has exactly one reason;
the web framework does not parse them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Path, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import ClientDisconnect
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from dpcore.collector.backend import CONTENT_TYPE, Collector, ServedScheme
from dpcore.collector.http import rate_limits
from dpcore.collector.http.access_keys import Access
from dpcore.collector.http.middleware import Ended, OuterMiddleware, add_error_handlers, trouble
from dpcore.collector.http.responses import (
    A_LINE_EACH,
    AGAIN,
    REPORT,
    BatchTaken,
    Health,
    Refused,
    SchemeEntry,
    Taken,
    documented,
    gives,
    takes,
)
from dpcore.collector.store.intake import UNREADABLE, Kind, Outcome, Upload
from dpcore.wire import most_bytes

ONE, LINES, STREAM = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
_KINDS: dict[str, Kind] = {LINES: "lines", STREAM: "stream"}
_TOML, _BYTES = "application/toml", "application/octet-stream"
_FAILURES: dict[str, tuple[int, str, float | None]] = {
    "busy": (503, "busy", 1),
    "store": (503, "the store cannot be written", 10),
    "internal": (500, "internal", None),
}


_SHARED = (401, 403, 421, 429, 500)
_router = APIRouter()
_bearer = HTTPBearer(auto_error=False, description="A key that `ldpflow key` made.")


@dataclass(frozen=True, eq=False, kw_only=True)
class Service:
    """A collector behind HTTP.

    rate: requests a second of each key, and of each address without a key.  most: bytes of a batch.  names: host names that
    requests may use, besides the receiving address.
    """

    collector: Collector
    access: Access
    rate: float
    most: int
    names: frozenset[str] = frozenset()
    buckets: rate_limits.TokenBuckets = field(default_factory=rate_limits.TokenBuckets)
    body_memory: rate_limits.BodyMemory = field(default_factory=rate_limits.BodyMemory)

    def app(self, origins: Sequence[str] = (), proxies: Sequence[str] = ()) -> FastAPI:
        """Return the application.

        origins: other sites whose pages may send.  proxies: addresses and networks whose X-Forwarded-For is trusted; it is
        ignored from all others.
        """

        @asynccontextmanager
        async def lifespan(_: FastAPI) -> AsyncIterator[None]:
            self.collector.start()
            yield
            self.collector.stop()

        app = FastAPI(
            title="ldpflow collector",
            summary="Serves schemes and receives privatized reports.",
            version="1",
            lifespan=lifespan,
            docs_url=None,  # these pages would load scripts from other sites
            redoc_url=None,
            redirect_slashes=False,
        )
        app.state.service = self
        app.include_router(_router)
        add_error_handlers(app)
        if origins:
            app.add_middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type"],
            )
        app.add_middleware(OuterMiddleware, collector=self.collector, names=self.names)
        if proxies:
            app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=rate_limits.also_mapped(proxies))
        return app

    def admit(self, request: Request, presented: str | None, right: str) -> None:
        """Check a request's rate limit and its right; raises Ended."""
        key = self.access.key_of(presented) if presented is not None else None
        address = request.client.host if request.client else ""
        sender, rate = (f"key {key.name}", key.rate or self.rate) if key else (rate_limits.network(address), self.rate)
        wait = self.buckets.wait(sender, rate)
        if wait:
            raise trouble(429, "too many requests", wait)
        if key is None and (request.headers.get("authorization") or right not in self.access.anyone):
            raise trouble(401, "a key is needed")
        if key is not None and right not in key.may | self.access.anyone:
            raise trouble(403, "the key may not do that")

    async def take(self, request: Request, served: ServedScheme, kind: Kind, longest: int) -> Outcome:
        """Read a request's body and return its outcome; raises Ended if it was not processed."""
        try:
            announced = request.headers.get("content-length")
            content = await rate_limits.body(request.stream(), announced, longest, self.body_memory)
        except rate_limits.TooLarge:
            await self.collector.take(Upload(scheme=served.scheme, kind="excess", content=b""))
            raise Ended(413, Refused(reason="too_large")) from None
        except rate_limits.TooSlow:
            raise trouble(408, "too slow") from None
        except ClientDisconnect:
            raise trouble(400, "not understood") from None
        outcome = await self.collector.take(Upload(scheme=served.scheme, kind=kind, content=content))
        if outcome.failure:
            raise trouble(*_FAILURES[outcome.failure])
        return outcome


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _admitted(right: str) -> Any:
    async def admit(
        request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
    ) -> None:
        _service(request).admit(request, None if credentials is None else credentials.credentials, right)

    return Depends(admit)


async def _served_scheme(
    request: Request, ref: Annotated[str, Path(description="A scheme's name, or its digest.", max_length=64)]
) -> ServedScheme:
    served = _service(request).collector.schemes
    if ref not in served:
        raise trouble(404, "no such place")
    return served[ref]


RequestedScheme = Annotated[ServedScheme, Depends(_served_scheme)]
RunningService = Annotated[Service, Depends(_service)]
Name = Annotated[str, Path(description="A file's name.", max_length=128)]
_READ, _SUBMIT, _WATCH = ([_admitted(right)] for right in ("read", "submit", "watch"))


@_router.get("/schemes", dependencies=_READ, response_model=list[SchemeEntry], responses=documented(*_SHARED))
async def schemes(service: RunningService) -> Response:
    """List the schemes that the collector accepts reports for."""
    entries = [
        SchemeEntry(
            name=served.scheme.name,
            digest=served.scheme.digest,
            epsilon=served.scheme.epsilon,
            longest_report=most_bytes(served.scheme),
            longest_batch=service.most,
        ).model_dump()
        for served in dict.fromkeys(service.collector.schemes.values())
    ]
    return JSONResponse(entries)


@_router.get(
    "/schemes/{ref}",
    dependencies=_READ,
    response_class=Response,
    responses=gives(_TOML) | documented(404, *_SHARED),
)
async def scheme(served: RequestedScheme) -> Response:
    """Return the canonical text, whose SHA-256 is the digest."""
    return Response(served.scheme.canonical, media_type=_TOML, headers={"ETag": f'"{served.scheme.digest}"'})


@_router.get(
    "/schemes/{ref}/bundle/{file}",
    dependencies=_READ,
    response_class=Response,
    responses=gives(ONE, _TOML, _BYTES) | documented(404, *_SHARED),
)
async def bundle(served: RequestedScheme, file: Name) -> Response:
    """Return a file of the client bundle: `manifest.json`, which lists the others, `scheme.toml`, and tables of integers."""
    return _file(served.bundle, file, {"toml": _TOML, "json": ONE})


@_router.get(
    "/survey/{ref}/",
    dependencies=_READ,
    response_class=Response,
    responses=gives("text/html") | documented(404, *_SHARED),
)
async def page(served: RequestedScheme) -> Response:
    """Return the consent page: a form whose answers are privatized in the browser and shown before they are sent."""
    answer = _file(served.page, "", {"": "text/html"})
    answer.headers["Content-Security-Policy"] = served.policy
    return answer


@_router.get(
    "/survey/{ref}/{file}",
    dependencies=_READ,
    response_class=Response,
    responses=gives("text/javascript") | documented(404, *_SHARED),
)
async def module(served: RequestedScheme, file: Name) -> Response:
    """Return a script: the browser client `ldpflow.mjs`, or a module of the page."""
    return _file(served.page, file, {"mjs": "text/javascript"})


@_router.post(
    "/schemes/{ref}/reports",
    dependencies=_SUBMIT,
    status_code=201,
    response_model=Taken,
    responses=AGAIN | documented(400, 404, 408, 413, 415, 422, 503, *_SHARED),
    openapi_extra=takes({ONE: REPORT}),
)
async def report(request: Request, service: RunningService, served: RequestedScheme) -> Response:
    """Accept one report in the canonical form of `dpcore.wire`."""
    _content_type(request, (ONE,))
    outcome = await service.take(request, served, "one", most_bytes(served.scheme) + len(b"\r\n"))
    for reason in outcome.refused:
        raise Ended(413 if reason == "too_large" else 422, Refused(reason=reason))
    return JSONResponse({"answer": "accepted"}, 201) if outcome.taken else JSONResponse({"answer": "already have it"})


@_router.post(
    "/schemes/{ref}/batches",
    dependencies=_SUBMIT,
    response_model=BatchTaken,
    responses=documented(400, 404, 408, 413, 415, 422, 503, *_SHARED),
    openapi_extra=takes({LINES: A_LINE_EACH, STREAM: {"type": "string", "format": "binary"}}),
)
async def batch(request: Request, service: RunningService, served: RequestedScheme) -> Response:
    """Accept many reports, one per line or as an Arrow stream; each is accepted or refused separately."""
    kind = _KINDS[_content_type(request, tuple(_KINDS))]
    outcome = await service.take(request, served, kind, service.most)
    if UNREADABLE in outcome.refused:
        raise Ended(422, Refused(reason=UNREADABLE))
    taken = {"accepted": outcome.taken, "already_have": outcome.replayed, "refused": dict(outcome.refused)}
    return JSONResponse(taken)


@_router.get(
    "/health", response_model=Health, responses=documented(421) | {503: {"model": Health, "description": "Failing."}}
)
async def health(service: RunningService) -> Response:
    """Return whether the collector can store reports."""
    status = "failing" if service.collector.is_failing else "ok"
    return JSONResponse({"status": status}, 503 if status == "failing" else 200)


@_router.get(
    "/metrics", dependencies=_WATCH, response_class=Response, responses=gives("text/plain") | documented(*_SHARED)
)
async def metrics(service: RunningService) -> Response:
    """Return the metrics in the format of Prometheus."""
    return Response(service.collector.metrics.text(), media_type=CONTENT_TYPE)


def _content_type(request: Request, allowed: Sequence[str]) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in allowed or request.headers.get("content-encoding", "identity") != "identity":
        raise trouble(415, "another content type is needed")
    return kind


def _file(files: dict[str, bytes], name: str, types: dict[str, str]) -> Response:
    if name not in files:
        raise trouble(404, "no such place")
    return Response(
        files[name], media_type=types.get(name.rpartition(".")[2], _BYTES), headers={"Cache-Control": "no-cache"}
    )
