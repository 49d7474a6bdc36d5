"""Parameters of flows: each option of a flow's form is one, so that Prefect replaces one and keeps the others.

Until 0.2 a flow had a single parameter `settings` with the whole form, which Prefect replaces as a whole.  It is still
accepted, in Python as a form and elsewhere as an object; its values take precedence.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, Optional

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from dpcore.errors import SchemeError

OLDER = "settings"
_DESCRIPTION = "All parameters in one object, as in older versions; its values take precedence over the others."


def flat(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with each field of its form `settings` as a parameter of its own."""
    form, defaults = _form(function)

    @wraps(function)
    def called(settings: Any = None, **options: Any) -> Any:
        return function(filled(form, {OLDER: settings, **options}))

    own = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.is_required() else getattr(defaults, name, field.default),
            annotation=_type(field),
        )
        for name, field in form.model_fields.items()
    ]
    older = inspect.Parameter(OLDER, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Any)
    called.__signature__ = inspect.Signature([older, *own])  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in (older, *own)}
    # Prefect reads the descriptions for its form.
    lines = [f"    {name}: {field.description}" for name, field in form.model_fields.items()]
    called.__doc__ = "\n".join([inspect.getdoc(function) or "", "", "Args:", *lines, f"    {OLDER}: {_DESCRIPTION}"])
    return called


def _form(function: Callable[..., Any]) -> tuple[type[BaseModel], Any]:
    """The form that a flow's function takes, and the one that it takes by default."""
    parameter = inspect.signature(function, eval_str=True).parameters[OLDER]
    return parameter.annotation, parameter.default


def _required(form: type[BaseModel]) -> list[str]:
    return [name for name, field in form.model_fields.items() if field.is_required()]


def _type(field: FieldInfo) -> Any:
    """The type of a field with its bounds; of a required one, which Python callers may leave to the form, also None."""
    kind: Any = Optional[field.annotation] if field.is_required() else field.annotation  # noqa: UP045 - of a value
    return Annotated[kind, *field.metadata] if field.metadata else kind


def complete(flow: Any, function: Callable[..., Any]) -> Any:
    """Return the flow with the details of its form in the UI: the required parameters, and `settings` at the end."""
    form, _ = _form(function)
    schema = flow.parameters
    schema.required = _required(form)
    schema.properties[OLDER] |= {"type": "object", "position": len(form.model_fields) + 1}
    schema.properties[OLDER].pop("default", None)
    flow.description = inspect.getdoc(function)
    return flow


def filled(form: type[BaseModel], parameters: Mapping[str, Any]) -> BaseModel:
    """Return the form of a flow with its parameters; raises SchemeError, in one line, if they are invalid."""
    required = _required(form)
    stated = {name: value for name, value in merged(parameters).items() if value is not None or name not in required}
    try:
        return form(**stated)
    except ValidationError as error:
        raise SchemeError(refusal(error)) from None


def refusal(error: ValidationError) -> str:
    """Return the first error of a form, in one line."""
    first = error.errors()[0]
    if not first["loc"]:  # incompatible parameters
        return str(first["msg"])
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}, got {first['input']!r}"


def merged(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a flow run, with the values of `settings` in place of the others."""
    older = parameters.get(OLDER) or {}
    older = older.model_dump() if isinstance(older, BaseModel) else dict(older)
    return {name: value for name, value in parameters.items() if name != OLDER} | older
