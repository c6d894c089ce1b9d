"""A file with every field of every section, and what must hold for every message about a file."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from pydantic import BaseModel

from eks_training import report
from eks_training.document import parse, walk
from eks_training.finding import Finding, Path
from eks_training.loading import Loaded, load_bytes
from eks_training.section_fields import fields_at, models_at, nested_models
from eks_training.spec import Cluster

# Every field of every section stands here once; a test below says so.
COMPLETE = """\
name: complete
region: us-east-2
account: "111122223333"
tags: {team: research}
network:
  training_zone: us-east-2b
  second_zone: us-east-2a
  cidr: 10.64.0.0/16
  existing_vpc:
    id: vpc-0123456789abcdef0
    cidr: 10.64.0.0/16
    training_subnet: {id: subnet-0123456789abcdef0, zone: us-east-2b, cidr: 10.64.0.0/20}
    system_subnets: [{id: subnet-0123456789abcdef1, zone: us-east-2b, cidr: 10.64.16.0/24}]
    control_plane_subnets:
      - {id: subnet-0123456789abcdef2, zone: us-east-2b, cidr: 10.64.17.0/27}
      - {id: subnet-0123456789abcdef3, zone: us-east-2a, cidr: 10.64.17.32/27}
  egress: nat
  flow_logs: {enabled: true, retention_days: 30}
kubernetes:
  version: "1.35"
  endpoint: {access: public, allowed_cidrs: [192.0.2.0/24], private_cidrs: [172.16.0.0/12]}
  administrators: ["arn:aws:iam::111122223333:role/admin"]
  scaling_tier: standard
  log_retention_days: 90
  addon_versions: {vpc-cni: v1.20.0-eksbuild.1}
  addon_configuration: {vpc-cni: {env: {WARM_IP_TARGET: "4"}}}
  support: standard
pools:
  train:
    purpose: training
    instance_type: p5.48xlarge
    provisioner: node-group
    nodes: {min: 0, max: 8, desired: 4}
    capacity:
      type: capacity-block
      id: cr-0a1b2c3d4e5f67890
      resource_group: arn:aws:resource-groups:us-east-2:111122223333:group/blocks
      start: "2026-12-01T11:30:00Z"
      end: "2026-12-08T11:30:00Z"
    placement: {existing: my-group}
    efa: all
    image: {family: al2023, release: 1.35.6-20260714}
    root_volume: {size_gib: 500, iops: 3000, throughput_mibps: 250}
    local_nvme: raid0
    labels: {team: a}
    taints: [{key: a.example/b, value: c, effect: NoSchedule}]
    security_groups: [sg-0123456789abcdef0]
    auto_repair: false
    static_capacity: false
    longest_job: 72h
    checkpoint_interval: 30m
    disruption:
      expire_after: 720h
      termination_grace_period: 4h
      consolidation: WhenEmpty
      consolidate_after: 10m
storage:
  removal: retain
  lustre:
    work:
      create:
        deployment: PERSISTENT_2
        storage_class: SSD
        capacity_gib: 9600
        throughput_mbps_per_tib: 500
        throughput_mbps: 4000
        read_cache: {sizing: USER_PROVISIONED, size_gib: 100}
        metadata: {mode: USER_PROVISIONED, iops: 6000}
        efa: true
        compression: LZ4
        lustre_version: "2.15"
        backups: {retention_days: 7, start_time: "04:00", copy_tags: true}
        maintenance_window: "7:03:30"
        associations:
          data:
            bucket: data
            prefix: c4/
            path: /data
            auto_import: [NEW]
            auto_export: [NEW]
            import_metadata_on_create: true
            chunk_mib: 1024
        removal: delete
      existing:
        id: fs-0123456789abcdef0
        dns_name: fs.example.org
        mount_name: a1b2cdef
        deployment: PERSISTENT_2
        lustre_version: "2.15"
  efs:
    homes:
      create:
        throughput: elastic
        backups: true
        access_points: {home: {path: /home, uid: 1000, gid: 100, permissions: "0750"}}
        removal: retain
      existing: {id: fs-0123456789abcdef0, access_points: {home: fsap-0123456789abcdef0}}
  buckets:
    data:
      create:
        bucket_name: example-new
        encryption: s3
        noncurrent_days: 30
        abort_uploads_days: 7
        removal: retain
      existing:
        bucket_name: example-old
        region: us-east-2
        kms_key_arn: arn:aws:kms:us-east-2:111122223333:key/1a2b
      grants: [{namespace: training, service_account: trainer, access: write}]
      mount: false
instance_types:
  p9.48xlarge:
    source: made up for a test
    arch: amd64
    vcpus: 192
    memory_mib: 2097152
    accelerator: {kind: neuron, model: t9, count: 8, memory_mib_each: 1, neuron_cores: 2}
    network_cards: 1
    interfaces_per_card: [8]
    ipv4_per_interface: 50
    efa_interfaces: 1
    efa_cards: [0]
    instance_store_gb: 100
registry_mirror: registry.example.com:5000/mirror
components: {anything: {goes: here}}
suppressions: [{rule: FSX001, at: storage, reason: because of a test}]
"""


@functools.cache
def complete() -> Any:
    document, findings = parse(COMPLETE, "f")
    assert document is not None
    assert not findings
    return document.value


def dumped(value: Any) -> str:
    """One key in a line, so that the line of a finding says which key it means."""
    return json.dumps(value, indent=1, ensure_ascii=False)


def changed(path: Path, change: Any) -> Any:
    """The complete example with `change(section, key)` done at a path."""
    value = deepcopy(complete())
    section = value
    for part in path[:-1]:
        section = section[part]
    change(section, path[-1])
    return value


def fields() -> Iterator[tuple[Path, type[BaseModel], str]]:
    """Every field of the complete example with its model."""
    for path, _ in walk(complete()):
        if path and isinstance(path[-1], str) and path[-1] in fields_at(path[:-1]):
            yield from ((path, model, path[-1]) for model in models_at(path[:-1]) if path[-1] in model.model_fields)


@functools.cache
def models() -> tuple[type[BaseModel], ...]:
    found: list[type[BaseModel]] = [Cluster]
    for model in found:
        for field in model.model_fields.values():
            found += [item for item in nested_models(field.annotation) if item not in found]
    return tuple(found)


COMPOUND = [model.__name__ for model in models() if re.fullmatch(r"(?:[A-Z][a-z]+){2,}", model.__name__)]
MODEL_NAMES = re.compile(rf"\b(?:{'|'.join(COMPOUND)})\b")
LIBRARY_WORDS = re.compile(
    r"pydantic|validat|input should|valid string|nonetype|traceback|function-|union_tag|literal\[|\bdict\b"
    r"|(?:string|int|bool|list|dict|model|float)_type\b",
    re.IGNORECASE,
)


def loaded(value: Any) -> Loaded:
    return load_bytes(dumped(value).encode(), "f")


def in_plain_words(findings: tuple[Finding, ...]) -> None:
    for item in findings:
        ours = f"{item.title} {item.expected} {item.hint}"
        assert not LIBRARY_WORDS.search(ours), item
        assert not MODEL_NAMES.search(ours), item
        assert item.found, item
        assert item.expected, item


def well_placed(result: Loaded) -> None:
    for item in result.findings:
        span = item.span
        assert span is not None
        assert 1 <= span.line <= span.end_line
        assert span.column >= 1
        if result.lines:
            assert span.end_line <= len(result.lines)
            assert span.column <= len(result.lines[span.line - 1]) + 1
    report.text(result.findings, result.file, result.lines)
    report.as_json(result.findings, result.file)
