"""The collector over HTTP: schemes go out, reports come in, and the answer comes when they are on the disk.

Every path is documented in its OpenAPI (`/openapi.json`).  Bodies of reports are read by `dpcore.wire` alone, so that each has
the one reason it is refused for; no framework looks into them.
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

from dpcore.collector.backend import Desk, Offer
from dpcore.collector.http import rate_limits
from dpcore.collector.http.access_keys import Access
from dpcore.collector.http.metrics import CONTENT_TYPE
from dpcore.collector.http.middleware import Ended, Watched, explain, trouble
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
from dpcore.collector.store.intake import UNREADABLE, Kind, Outcome, Parcel
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
    """A desk behind HTTP.

    rate: requests a second of each key, and of each address without one.  most: bytes of a batch.  names: the hosts that
    requests may ask for beside the address that they come to.
    """

    desk: Desk
    access: Access
    rate: float
    most: int
    names: frozenset[str] = frozenset()
    buckets: rate_limits.Buckets = field(default_factory=rate_limits.Buckets)
    room: rate_limits.Room = field(default_factory=rate_limits.Room)

    def app(self, origins: Sequence[str] = (), proxies: Sequence[str] = ()) -> FastAPI:
        """Return the application.

        origins: other sites whose pages may send.  proxies: addresses and networks whose X-Forwarded-For says who sends;
        anyone else's is not looked at.
        """

        @asynccontextmanager
        async def lifespan(_: FastAPI) -> AsyncIterator[None]:
            self.desk.start()
            yield
            self.desk.stop()

        app = FastAPI(
            title="ldpflow collector",
            summary="Hands out schemes and takes privatized reports.",
            version="1",
            lifespan=lifespan,
            docs_url=None,  # they would load scripts from elsewhere
            redoc_url=None,
            redirect_slashes=False,
        )
        app.state.service = self
        app.include_router(_router)
        explain(app)
        if origins:
            app.add_middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type"],
            )
        app.add_middleware(Watched, desk=self.desk, names=self.names)
        if proxies:
            app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=rate_limits.also_mapped(proxies))
        return app

    def admit(self, request: Request, presented: str | None, right: str) -> None:
        """Let a request in that may do this and does not come too often; else raise Ended."""
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

    async def take(self, request: Request, offer: Offer, kind: Kind, longest: int) -> Outcome:
        """Return what became of a request's body; raises Ended where it was not carried out."""
        try:
            announced = request.headers.get("content-length")
            content = await rate_limits.body(request.stream(), announced, longest, self.room)
        except rate_limits.TooLarge:
            await self.desk.take(Parcel(scheme=offer.scheme, kind="excess", content=b""))
            raise Ended(413, Refused(reason="too_large")) from None
        except rate_limits.TooSlow:
            raise trouble(408, "too slow") from None
        except ClientDisconnect:
            raise trouble(400, "not understood") from None
        outcome = await self.desk.take(Parcel(scheme=offer.scheme, kind=kind, content=content))
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


async def _offer(
    request: Request, ref: Annotated[str, Path(description="A scheme's name, or its digest.", max_length=64)]
) -> Offer:
    offers = _service(request).desk.offers
    if ref not in offers:
        raise trouble(404, "no such place")
    return offers[ref]


Offered = Annotated[Offer, Depends(_offer)]
Served = Annotated[Service, Depends(_service)]
Name = Annotated[str, Path(description="A file's name.", max_length=128)]
_READ, _SUBMIT, _WATCH = ([_admitted(right)] for right in ("read", "submit", "watch"))


@_router.get("/schemes", dependencies=_READ, response_model=list[SchemeEntry], responses=documented(*_SHARED))
async def schemes(service: Served) -> Response:
    """The schemes that reports are taken under."""
    entries = [
        SchemeEntry(
            name=offer.scheme.name,
            digest=offer.scheme.digest,
            epsilon=offer.scheme.epsilon,
            longest_report=most_bytes(offer.scheme),
            longest_batch=service.most,
        ).model_dump()
        for offer in dict.fromkeys(service.desk.offers.values())
    ]
    return JSONResponse(entries)


@_router.get(
    "/schemes/{ref}",
    dependencies=_READ,
    response_class=Response,
    responses=gives(_TOML) | documented(404, *_SHARED),
)
async def scheme(offer: Offered) -> Response:
    """The canonical text, whose SHA-256 is the digest."""
    return Response(offer.scheme.canonical, media_type=_TOML, headers={"ETag": f'"{offer.scheme.digest}"'})


@_router.get(
    "/schemes/{ref}/bundle/{file}",
    dependencies=_READ,
    response_class=Response,
    responses=gives(ONE, _TOML, _BYTES) | documented(404, *_SHARED),
)
async def bundle(offer: Offered, file: Name) -> Response:
    """A file of the client bundle: `manifest.json`, which names the others, `scheme.toml`, and tables of integers."""
    return _file(offer.bundle, file, {"toml": _TOML, "json": ONE})


@_router.get(
    "/survey/{ref}/",
    dependencies=_READ,
    response_class=Response,
    responses=gives("text/html") | documented(404, *_SHARED),
)
async def page(offer: Offered) -> Response:
    """The consent page: a form that is privatized in the browser and shown before it is sent."""
    answer = _file(offer.page, "", {"": "text/html"})
    answer.headers["Content-Security-Policy"] = offer.policy
    return answer


@_router.get(
    "/survey/{ref}/{file}",
    dependencies=_READ,
    response_class=Response,
    responses=gives("text/javascript") | documented(404, *_SHARED),
)
async def module(offer: Offered, file: Name) -> Response:
    """The browser's client, `ldpflow.mjs`, and the page's own module."""
    return _file(offer.page, file, {"mjs": "text/javascript"})


@_router.post(
    "/schemes/{ref}/reports",
    dependencies=_SUBMIT,
    status_code=201,
    response_model=Taken,
    responses=AGAIN | documented(400, 404, 408, 413, 415, 422, 503, *_SHARED),
    openapi_extra=takes({ONE: REPORT}),
)
async def report(request: Request, service: Served, offer: Offered) -> Response:
    """Take one report, in the one spelling that `dpcore.wire` gives it."""
    _content_type(request, (ONE,))
    outcome = await service.take(request, offer, "one", most_bytes(offer.scheme) + len(b"\r\n"))
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
async def batch(request: Request, service: Served, offer: Offered) -> Response:
    """Take many reports, one a line or as an Arrow stream; each is taken or refused by itself."""
    kind = _KINDS[_content_type(request, tuple(_KINDS))]
    outcome = await service.take(request, offer, kind, service.most)
    if UNREADABLE in outcome.refused:
        raise Ended(422, Refused(reason=UNREADABLE))
    taken = {"accepted": outcome.taken, "already_have": outcome.replayed, "refused": dict(outcome.refused)}
    return JSONResponse(taken)


@_router.get(
    "/health", response_model=Health, responses=documented(421) | {503: {"model": Health, "description": "Failing."}}
)
async def health(service: Served) -> Response:
    """Whether reports are taken."""
    status = "failing" if service.desk.is_failing else "ok"
    return JSONResponse({"status": status}, 503 if status == "failing" else 200)


@_router.get(
    "/metrics", dependencies=_WATCH, response_class=Response, responses=gives("text/plain") | documented(*_SHARED)
)
async def metrics(service: Served) -> Response:
    """What is counted, as Prometheus reads it."""
    return Response(service.desk.metrics.text(), media_type=CONTENT_TYPE)


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
