"""What the sections of the Spec hold: fields by path, their notes, and the models inside them."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import typing
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, Tag

from eks_training.finding import Path
from eks_training.spec import Cluster


@cache
def field_notes(model: type[BaseModel]) -> dict[str, str]:
    """The documentation of each field: the text that follows its declaration."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(model)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    notes: dict[str, str] = {}
    for declared, following in pairwise(body):
        if (
            isinstance(declared, ast.AnnAssign)
            and isinstance(declared.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            notes[declared.target.id] = " ".join(str(following.value.value).split())
    return notes


def fields_at(path: Path) -> tuple[str, ...]:
    """The keys that the section at a path takes; empty when the path leads to no section of fixed keys."""
    models = models_at(path)
    return tuple(name for model in models for name in model.model_fields)


def description(path: Path) -> str:
    """The documented meaning of a field, from the docstring below it."""
    for model in models_at(path[:-1]):
        note = field_notes(model).get(str(path[-1]))
        if note:
            return note
    return ""


def models_at(path: Path) -> list[type[BaseModel]]:
    """The models that may stand at a path."""
    candidates: list[Any] = [Cluster]
    for part in path:
        candidates = [found for candidate in candidates for found in step(candidate, part)]
    return [model for candidate in candidates for model in _models(candidate)]


def step(annotation: Any, part: str | int) -> Iterable[Any]:
    """What a location leads to by one part: a field, an entry of a mapping, an item of a list."""
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            field = member.model_fields.get(str(part))
            if field is not None:
                yield field.annotation
        elif typing.get_origin(member) is dict:
            yield typing.get_args(member)[1]
        elif typing.get_origin(member) is list:
            yield typing.get_args(member)[0]


def tags(annotation: Any) -> Iterable[str]:
    """The names of union members that the library puts into locations."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from (str(item.tag) for item in arguments[1:] if isinstance(item, Tag))
        yield from tags(arguments[0])
    elif origin in (typing.Union, types.UnionType):
        for member in arguments:
            yield from tags(member)


def _models(annotation: Any) -> Iterable[type[BaseModel]]:
    return (member for member in _members(annotation) if isinstance(member, type) and issubclass(member, BaseModel))


def _members(annotation: Any) -> Iterable[Any]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        yield from _members(typing.get_args(annotation)[0])
    elif origin in (typing.Union, types.UnionType):
        for member in typing.get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def nested_models(annotation: Any) -> Iterable[type[BaseModel]]:
    """Every model inside an annotation, through lists and mappings."""
    for member in _members(annotation):
        if isinstance(member, type) and issubclass(member, BaseModel):
            yield member
        else:
            for inner in typing.get_args(member):
                yield from nested_models(inner)
