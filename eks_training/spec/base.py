"""What every section of cluster.yaml shares: strict models, scalar types, messages in the user's words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema


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


@dataclass(frozen=True)
class Form:
    """The form of a text: the whole of it matches a regular expression, which ``expected`` says in words.

    Letters are a to z unless ``any_alphabet`` admits those of other scripts: AWS and Kubernetes names do not.  The form
    also stands in the JSON Schema, whose patterns know ASCII letters only.
    """

    pattern: str
    expected: str
    hint: str = ""
    any_alphabet: bool = False

    def check(self, value: str) -> str:
        """The value itself, if it has the form."""
        # Compiled when it is first needed: a file uses few of the forms.
        if not re.fullmatch(self.pattern, value, 0 if self.any_alphabet else re.ASCII):
            raise refuse(self.expected, self.hint)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Check after the value is known to be text."""
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """What an editor shows."""
        shown = {} if self.any_alphabet else {"pattern": f"^(?:{self.pattern})$"}
        return {"type": "string", **shown, "description": self.expected}
