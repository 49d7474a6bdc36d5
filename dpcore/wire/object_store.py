"""Objects of S3 and of what speaks as it does, by pyarrow's own client, as paths like any other.

Credentials come from where AWS's programs look for them: variables (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_SESSION_TOKEN, AWS_PROFILE), files in ~/.aws, or the machine's role.  AWS_DEFAULT_REGION and AWS_ENDPOINT_URL give the
location.  No path holds any of it, so that neither a plan nor a table does.
"""

from __future__ import annotations

import os
from typing import Any

from fsspec.implementations.arrow import ArrowFSWrapper
from pyarrow.fs import S3FileSystem
from upath.implementations.cloud import S3Path
from upath.registry import register_implementation


class _Store(ArrowFSWrapper):  # type: ignore[misc]  # fsspec has no types
    """The objects that these credentials may read; they have no folders, only names that begin alike."""

    def __init__(self) -> None:
        endpoints = (
            os.environ.get(name) for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        )  # the rest pyarrow reads
        where = next(filter(None, endpoints), None)
        super().__init__(S3FileSystem(endpoint_override=where, allow_delayed_open=True))  # small objects: one request

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make nothing."""


class ObjectPath(S3Path):
    """The path of an object, or of all whose names begin with it: s3://BUCKET/NAME."""

    __slots__ = ()

    @classmethod
    def _fs_factory(cls, urlpath: str, protocol: str, storage_options: Any) -> _Store:
        return _Store()


register_implementation("s3", ObjectPath, clobber=True)  # in this process; what fsspec takes s3:// for is left as it is
