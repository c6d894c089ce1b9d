"""Make the contracts of `k8s/contracts/` from the charts and definitions as their makers ship them.

    python -m eks_training.contracts.build --upstream DIR --out k8s/contracts
    python -m eks_training.contracts.build --archive CHART.tgz --out k8s/contracts

`--upstream` is a folder of `<chart>/<version>/` with `values.yaml`, where present `values.schema.json`,
`template-keys.json` (the value paths that the templates name) and `crds/`, and an `INDEX.md` whose table names
repository and commit.  An archive is a chart as `helm pull` stores it; its templates are searched for value paths, and
nothing is unpacked.

The output is a pure function of the input: sorted, no clock.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from eks_training.contracts.chart import ChartFiles, OpenTable, chart_document
from eks_training.contracts.crd import Document, crd_contracts
from eks_training.contracts.model import ContractError, from_json
from eks_training.files import write_whole

RENDERED = frozenset({
    "karpenter.sh/v1/NodePool", "karpenter.k8s.aws/v1/EC2NodeClass",
    "slinky.slurm.net/v1beta1/Accounting", "slinky.slurm.net/v1beta1/Controller", "slinky.slurm.net/v1beta1/LoginSet",
    "slinky.slurm.net/v1beta1/NodeSet", "slinky.slurm.net/v1beta1/RestApi", "slinky.slurm.net/v1beta1/Token",
    "kubeflow.org/v2beta1/MPIJob",
    "batch.volcano.sh/v1alpha1/Job", "scheduling.volcano.sh/v1beta1/Queue", "scheduling.volcano.sh/v1beta1/PodGroup",
    "topology.volcano.sh/v1alpha1/HyperNode",
    "ray.io/v1/RayCluster", "ray.io/v1/RayJob",
})  # fmt: skip
"""The kinds that the project writes, as group/version/Kind; the contracts of other kinds would only be ballast."""

KINDS = frozenset(name.split("/")[-1] for name in RENDERED)

BIGGEST_MEMBER = 32 * 1024 * 1024
"""Bytes of one file of an archive that are read; the biggest chart file seen has 1.4 MB."""
VALUE_PATH = re.compile(r"\.Values((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)")
INDEXED = re.compile(r'index\s+\$?\.Values((?:\s+"[^"]+")+)')


def build_all(upstream: Path, table: OpenTable | None = None) -> dict[str, str]:
    """Map the relative name of each contract file to its text.

    Raises `ContractError` when the folder holds no chart, or a file of it has another form.
    """
    table = table or OpenTable.read()
    sources = read_index(upstream / "INDEX.md")
    texts: dict[str, str] = {}
    for folder in sorted(path for path in upstream.glob("*/*") if path.is_dir()):
        chart, version = folder.parent.name, folder.name
        if chart not in sources:
            raise ContractError(f"{folder}: no row in {upstream / 'INDEX.md'}")
        if (folder / "values.yaml").is_file():
            files = read_folder(folder, chart)
            texts[f"{chart}.json"] = spelled(chart_document(files, table, version, sources[chart]))
        for file in sorted(folder.glob("crds/*.yaml")):
            texts |= _definitions(_text(file), file, version, sources[chart], table.note(chart))
    if not texts:
        raise ContractError(f"{upstream}: no chart and no definition in it")
    return texts


def build_archive(archive: Path, table: OpenTable | None = None) -> dict[str, str]:
    """Do the same for one chart archive.  Raises `ContractError` when it cannot be read or holds no chart."""
    members = _members(archive)
    files, version = _chart_of(members, archive)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    texts = {
        f"{files.name}.json": spelled(chart_document(files, table or OpenTable.read(), version, f"sha256:{digest}"))
    }
    for name, text in sorted(members.items()):
        if re.fullmatch(r"crds/[^/]+\.yaml", name):
            texts |= _definitions(text, archive / name, version, f"sha256:{digest}")
    return texts


def spelled(document: Document) -> str:
    """Return the text of a contract file: sorted, one item a line for the diff, no blanks.  It must load."""
    from_json(document)
    return json.dumps(document, indent=0, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"


def read_index(file: Path) -> dict[str, str]:
    """Map each component of the index to repository@commit.  Raises `ContractError`."""
    rows = re.findall(r"^\| ([\w-]+) \| [^|]+ \| ([\w./-]+) \| [^|]+ \| `([0-9a-f]{40})`", _text(file), re.M)
    if not rows:
        raise ContractError(f"{file}: no row with repository and commit")
    return {name: f"{repository}@{commit}" for name, repository, commit in rows}


def read_folder(folder: Path, chart: str) -> ChartFiles:
    """Read one chart folder.  Raises `ContractError`."""
    about = _yaml(_text(folder / "Chart.yaml"), folder / "Chart.yaml")
    schema, keys = folder / "values.schema.json", folder / "template-keys.json"
    return ChartFiles(
        name=chart,
        values=_yaml(_text(folder / "values.yaml"), folder / "values.yaml"),
        schema=_json(_text(schema), schema) if schema.is_file() else None,
        templates=_json(_text(keys), keys)["paths"] if keys.is_file() else None,
        dependencies=_dependencies(about),
    )


def template_paths(template: str) -> set[str]:
    """Return the value paths that a template names outright; what `with` and `range` reach is not seen."""
    found = {match.removeprefix(".") for match in VALUE_PATH.findall(template)}
    return found | {".".join(re.findall(r'"([^"]+)"', match)) for match in INDEXED.findall(template)}


def _members(archive: Path) -> dict[str, str]:
    """Map each text file of the archive to its content, without the chart's own folder in the name."""
    wanted = re.compile(r"(Chart|values)\.yaml$|values\.schema\.json$|\.(yaml|yml|tpl|txt)$")
    members: dict[str, str] = {}
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                name = member.name.partition("/")[2]
                if member.isfile() and wanted.search(name):
                    stream = tar.extractfile(member)
                    data = stream.read(BIGGEST_MEMBER + 1) if stream else b""
                    if len(data) > BIGGEST_MEMBER:
                        raise ContractError(f"{archive}: {member.name} is bigger than {BIGGEST_MEMBER} bytes")
                    members[name] = data.decode(errors="replace")
    except (OSError, tarfile.TarError, EOFError) as error:
        raise ContractError(f"{archive}: not a chart archive: {error}") from error
    return members


def _chart_of(members: Mapping[str, str], archive: Path) -> tuple[ChartFiles, str]:
    if "Chart.yaml" not in members:
        raise ContractError(f"{archive}: no Chart.yaml in it")
    about = _yaml(members["Chart.yaml"], archive / "Chart.yaml")
    if not {"name", "version"} <= about.keys():
        raise ContractError(f"{archive}: Chart.yaml names no chart or no version")
    paths = {path for name, text in members.items() if name.startswith("templates/") for path in template_paths(text)}
    aliases = {item["name"]: item.get("alias", item["name"]) for item in about.get("dependencies") or ()}
    inner = sorted({name.split("/")[1] for name in members if re.match(r"charts/[^/]+/Chart\.yaml$", name)})
    subcharts = {}
    for name in inner:
        prefix = f"charts/{name}/"
        own = {key.removeprefix(prefix): text for key, text in members.items() if key.startswith(prefix)}
        subcharts[str(aliases.get(name, name))] = _chart_of(own, archive / prefix)[0]
    files = ChartFiles(
        name=str(about["name"]),
        values=_yaml(members.get("values.yaml", ""), archive / "values.yaml"),
        schema=_json(members["values.schema.json"], archive) if "values.schema.json" in members else None,
        templates=sorted(paths),
        dependencies=tuple(sorted({*_dependencies(about), *subcharts})),
        subcharts=subcharts,
        published=True,
    )
    return files, str(about["version"]).removeprefix("v")


def _definitions(text: str, file: Path, version: str, source: str, note: str = "") -> dict[str, str]:
    texts: dict[str, str] = {}
    if not KINDS & set(re.findall(r"^ +kind: (\w+)$", text, re.M)):
        return texts  # reading the megabytes of the others would take most of the time
    for one in _documents(text, file):
        if isinstance(one, dict) and one.get("kind") == "CustomResourceDefinition":
            for document in crd_contracts(one, version, source):
                if document["name"] in RENDERED:
                    name = f"crds/{document['name'].replace('/', '_')}.json"
                    texts[name] = spelled(document | ({"note": note} if note else {}))
    return texts


def _documents(text: str, file: Path) -> Iterator[Any]:
    try:
        yield from yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ContractError(f"{file}: {error}") from error


def _dependencies(about: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(item.get("alias", item["name"])) for item in about.get("dependencies") or ())


def _yaml(text: str, file: Path) -> dict[str, Any]:
    loaded = next(iter(_documents(text, file)), None)
    if loaded is not None and not isinstance(loaded, dict):
        raise ContractError(f"{file}: not a map")
    return loaded or {}


def _json(text: str, file: Path) -> dict[str, Any]:
    try:
        loaded = json.loads(text)
    except ValueError as error:
        raise ContractError(f"{file}: {error}") from error
    if not isinstance(loaded, dict):
        raise ContractError(f"{file}: not a map")
    return loaded


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ContractError(f"{file}: {error}") from error


def main(argv: Sequence[str] | None = None) -> int:
    """Write the contracts.  Exit code 0, or 2 with one line on stderr when an input cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m eks_training.contracts.build", description="Make the contracts")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--upstream", type=Path, help="folder of charts and definitions")
    source.add_argument("--archive", type=Path, help="one chart archive (.tgz)")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    options = parser.parse_args(argv)
    try:
        texts = build_all(options.upstream) if options.upstream else build_archive(options.archive)
        for name, text in texts.items():
            write_whole(options.out / name, text)
    except (ContractError, OSError) as error:
        print(f"contracts.build: {error}", file=sys.stderr)
        return 2
    print(f"{len(texts)} contracts in {options.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
