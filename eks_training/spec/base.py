"""What every section of cluster.yaml shares: strict models, scalar types, messages in the user's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, WithJsonSchema
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """A frozen section: unknown keys are refused, nothing is converted behind the user's back."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        defer_build=True,
        protected_namespaces=(),
        populate_by_name=True,
    )


def refuse(expected: str, hint: str = "") -> PydanticCustomError:
    """The error of a field that holds something of the right kind but the wrong form."""
    return PydanticCustomError("form", "not in the expected form", {"expected": expected, "hint": hint})


def form(pattern: str, expected: str, hint: str = "", *, any_alphabet: bool = False) -> Callable[[str], str]:
    """A check of the whole text against a regular expression; ``expected`` says it in words.

    Letters are a to z unless ``any_alphabet`` admits those of other scripts: AWS and Kubernetes names do not.
    """
    compiled = re.compile(pattern, 0 if any_alphabet else re.ASCII)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise refuse(expected, hint)
        return value

    return check


def text_type(pattern: str, expected: str, hint: str = "", *, any_alphabet: bool = False) -> Any:
    """A text type with a form; also written into the JSON Schema, whose patterns know ASCII letters only."""
    shown = {} if any_alphabet else {"pattern": f"^(?:{pattern})$"}
    return Annotated[
        str,
        AfterValidator(form(pattern, expected, hint, any_alphabet=any_alphabet)),
        WithJsonSchema({"type": "string", **shown, "description": expected}),
    ]
