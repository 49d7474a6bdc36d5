"""What an installation has: the client needs numpy alone, and each extra brings the packages of more commands."""

from __future__ import annotations

EXTRAS = {  # module -> the extra that brings it, as pyproject.toml lists them
    **dict.fromkeys(("cryptography", "fsspec", "pandas", "pyarrow", "pydantic", "pywt"), "estimate"),
    **dict.fromkeys(("rich", "scipy", "typer", "upath"), "estimate"),
    **dict.fromkeys(("asyncpg", "duckdb", "jinja2", "markupsafe", "sqlalchemy"), "warehouse"),
    **dict.fromkeys(("PIL", "matplotlib"), "charts"),
    **dict.fromkeys(("fastapi", "h11", "prometheus_client", "starlette", "uvicorn"), "collector"),
    **dict.fromkeys(("anyio", "httpx", "prefect"), "flows"),
    "distributed": "dask",
    "numba": "compiled",
}


def reason(error: ModuleNotFoundError) -> str | None:
    """Return one line that names the extra to install, None where no extra brings the module."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return None
    return (
        f"{module} is not installed; run `pip install 'ldpflow[{EXTRAS[module]}]'`, or 'ldpflow[all]' for all commands"
    )
