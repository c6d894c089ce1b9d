"""Every field of every section: misspelt, missing, or with a wrong value, it is refused at its place in plain words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from eks_training.document import parse
from eks_training.finding import Path
from eks_training.loading import validate
from tests.complete import changed, complete, dumped, fields, in_plain_words, loaded, models, well_placed

pytestmark = pytest.mark.schema

FIELDS = list(fields())
IDS = [".".join(map(str, path)) for path, _, _ in FIELDS]


def test_the_complete_example_has_every_field_of_every_section() -> None:
    every = {(model.__name__, name) for model in models() for name in model.model_fields}
    assert every == {(model.__name__, name) for _, model, name in FIELDS}
    assert loaded(complete()).findings == ()


def misspelt(name: str) -> list[str]:
    middle = len(name) // 2
    swapped = name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :]
    return [name + name[-1], *([swapped] if len(name) > 5 and swapped != name else [])]


@pytest.mark.parametrize(("path", "model", "name"), FIELDS, ids=IDS)
def test_a_misspelt_key_is_refused_on_its_line_with_the_right_name(
    path: Path, model: type[BaseModel], name: str
) -> None:
    for wrong in misspelt(name):

        def rename(section: Any, key: str, wrong: str = wrong) -> None:
            items = [(wrong if old == key else old, value) for old, value in section.items()]
            section.clear()
            section.update(items)

        result = loaded(changed(path, rename))
        (finding,) = result.findings
        assert (finding.rule, finding.at) == ("CFG003", (*path[:-1], wrong))
        assert finding.hint == f"did you mean `{name}`?"
        assert finding.span is not None
        line = result.lines[finding.span.line - 1]
        assert line[finding.span.column - 1 : finding.span.end_column - 1] == f'"{wrong}"'
        in_plain_words(result.findings)


@pytest.mark.parametrize(
    ("path", "name"),
    [(path, name) for path, model, name in FIELDS if model.model_fields[name].is_required()],
    ids=[name for name, (_, model, field) in zip(IDS, FIELDS, strict=True) if model.model_fields[field].is_required()],
)
def test_a_missing_key_is_named_at_its_section(path: Path, name: str) -> None:
    result = loaded(changed(path, lambda section, key: section.pop(key)))
    (finding,) = result.findings
    assert (finding.rule, finding.at, finding.found) == ("CFG004", path, f"no `{name}` here")
    assert finding.hint == f"add `{name}:` to this section"
    assert finding.expected.endswith((".", ")")), "the description of the field"
    well_placed(result)


WRONG = ([["x"]], {"zzz": {"y": 1}}, True, -1, 1.5, 10**30, "", "no such\nvalue é", "x" * 5000)


@pytest.mark.parametrize(("path", "model", "name"), FIELDS, ids=IDS)
def test_wrong_values_are_refused_in_plain_words(path: Path, model: type[BaseModel], name: str) -> None:
    if path[0] == "components":
        return
    for wrong in WRONG:
        result = loaded(changed(path, lambda section, key, wrong=wrong: section.update({key: wrong})))
        in_plain_words(result.findings)
        well_placed(result)
        assert all(item.at[: len(path)] == path for item in result.findings)
        assert all(len(item.found) < 200 for item in result.findings)


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=12)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=5,
)


@given(st.sampled_from(FIELDS), VALUES)
def test_any_value_in_any_field_is_refused_in_plain_words_or_read(
    field: tuple[Path, type[BaseModel], str], value: object
) -> None:
    path = field[0]
    document, _ = parse(dumped(changed(path, lambda section, key: section.update({key: value}))), "f")
    if document is not None:
        spec, findings = validate(document)
        assert (spec is None) == bool(findings)
        if path[0] != "components":
            in_plain_words(tuple(item for item in findings if item.rule == "CFG005"))
