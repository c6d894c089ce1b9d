"""Data repository associations: links between FSx for Lustre and S3 (DRA001 to DRA013)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import combinations

from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules.lustre import created, is_tiered
from eks_training.spec.storage import Association, Bucket

LINK_API = "Amazon FSx API Reference, CreateDataRepositoryAssociation (model in botocore 1.44.8)"
LINK_GUIDE = "FSx for Lustre User Guide, Linking your file system to an Amazon S3 bucket"
REGION_GUIDE = f"{LINK_GUIDE}: Region and account support for linked S3 buckets"
KEY_GUIDE = f"{LINK_GUIDE}: Working with server-side encrypted Amazon S3 buckets"
REPOSITORY_GUIDE = "FSx for Lustre User Guide, Using data repositories with Amazon FSx for Lustre"
MOST = 8
"""Associations of one file system."""

_GOOD = """\
storage:
  lustre:
    work:
      create:
        deployment: SCRATCH_2
        capacity_gib: 1200
        associations:
          corpus: {bucket: corpus, prefix: c4/, path: /corpus, auto_import: [NEW, CHANGED]}
  buckets:
    corpus: {existing: {bucket_name: example-corpus}}
"""
_TWO = _GOOD.replace("  buckets:", "          more: {bucket: corpus, prefix: pile/, path: /pile}\n  buckets:")
_NINE = "".join(f"          n{i}: {{bucket: corpus, prefix: n{i}/, path: /n{i}}}\n" for i in range(8))


def links(subject: Subject) -> Iterator[tuple[Path, Association]]:
    """Every association with its path."""
    for path, asked in created(subject):
        for name, link in asked.associations.items():
            yield (*path, "associations", name), link


def linked(subject: Subject) -> Iterator[tuple[Path, Association, Bucket]]:
    """Every association whose bucket the file names."""
    for path, link in links(subject):
        bucket = subject.spec.storage.buckets.get(link.bucket)
        if bucket is not None:
            yield path, link, bucket


def bucket_region(subject: Subject, bucket: Bucket) -> str:
    """The Region of a bucket; the cluster's unless an existing bucket says otherwise."""
    stated = bucket.existing.region if bucket.existing else None
    return str(stated or subject.spec.region)


def _same_bucket(subject: Subject, name: str) -> str:
    """What identifies a bucket: its global name where the file tells it, so that two entries of one bucket are one."""
    bucket = subject.spec.storage.buckets.get(name)
    stated = (bucket.existing or bucket.create) if bucket else None
    known: str | None = stated.bucket_name if stated else None
    return known or f"/{name}"


def _pairs(subject: Subject) -> Iterator[tuple[tuple[Path, Association], tuple[Path, Association]]]:
    for path, asked in created(subject):
        entries = [((*path, "associations", name), link) for name, link in asked.associations.items()]
        yield from combinations(entries, 2)


def _nested(one: str, other: str) -> bool:
    """Whether two slash-terminated prefixes are equal or one holds the other."""
    return one.startswith(other) or other.startswith(one)


@rule(
    "DRA001",
    ERROR,
    "an association with a bucket that the file does not name",
    source="this project's plan (eks_training/plan/storage.py)",
    bad=_GOOD.replace("{bucket: corpus", "{bucket: corpsu"),
    good=_GOOD,
)
def unknown_bucket(subject: Subject) -> Iterator[Fault]:
    """The name is a key under `storage.buckets`, not the global name of the bucket."""
    names = subject.spec.storage.buckets
    for path, link in links(subject):
        if link.bucket not in names:
            near = difflib.get_close_matches(link.bucket, names, n=3, cutoff=0.6)
            by_global = [
                key for key, item in names.items() if item.existing and item.existing.bucket_name == link.bucket
            ]
            choice = (near or by_global or [""])[0]
            known = ", ".join(sorted(names)[:9]) or "there is none yet"
            yield Fault(
                (*path, "bucket"),
                link.bucket,
                f"a name under storage.buckets: {known}",
                f"did you mean `{choice}`?" if choice else f"add `{link.bucket}:` under storage.buckets",
            )


@rule(
    "DRA002",
    ERROR,
    "too many associations",
    source=f"{LINK_API}: a maximum of 8 on a file system",
    proves="arithmetic",
    bad=_GOOD.replace("  buckets:", f"{_NINE}  buckets:"),
    good=_TWO,
)
def too_many(subject: Subject) -> Iterator[Fault]:
    """FSx links one file system to eight places at most."""
    for path, asked in created(subject):
        count = len(asked.associations)
        if count > MOST:
            yield Fault(
                (*path, "associations"),
                f"{count} associations",
                f"at most {MOST}",
                on_key=True,
                hint="link a common parent prefix instead, or use a second file system",
            )


@rule(
    "DRA003",
    ERROR,
    "associations whose directories overlap",
    source=LINK_API,
    bad=_TWO.replace("path: /pile", "path: /corpus/pile"),
    good=_TWO,
)
def paths_overlap(subject: Subject) -> Iterator[Fault]:
    """Two associations cannot have overlapping file system paths: /ns1 and /ns1/ns2 exclude each other."""
    for (first, one), (second, other) in _pairs(subject):
        left, right = f"{one.path.rstrip('/')}/", f"{other.path.rstrip('/')}/"
        if "/" not in (left, right) and _nested(left, right):
            yield Fault(
                (*second, "path"),
                f"{other.path}, beside {one.path}",
                "directories of which none is equal to or inside another",
                "choose another directory",
                related=(Related((*first, "path"), "the other directory"),),
            )


@rule(
    "DRA004",
    ERROR,
    "an association of the whole file system is the only one",
    source=f"{LINK_API}: with / only one data repository can be linked",
    bad=_TWO.replace("path: /pile", "path: /"),
    good=_TWO,
)
def root_is_alone(subject: Subject) -> Iterator[Fault]:
    """`/` holds every other directory, so nothing else can be linked beside it."""
    for path, asked in created(subject):
        for name, link in asked.associations.items():
            if link.path == "/" and len(asked.associations) > 1:
                others = [other for other in asked.associations if other != name]
                yield Fault(
                    (*path, "associations", name, "path"),
                    f"/ beside {len(others)} more",
                    "/ alone, or a directory such as /data",
                    "link a directory instead of the whole file system",
                    related=(Related((*path, "associations", others[0]), "another association"),),
                )


@rule(
    "DRA005",
    ERROR,
    "associations whose S3 prefixes overlap",
    source=f"{LINK_GUIDE}: two associations cannot have overlapping data repository paths",
    bad=_TWO.replace("prefix: pile/", "prefix: c4/en/"),
    good=_TWO,
)
def prefixes_overlap(subject: Subject) -> Iterator[Fault]:
    """An object would belong to two directories.  An association without a prefix takes the whole bucket."""
    for (first, one), (second, other) in _pairs(subject):
        same = _same_bucket(subject, one.bucket) == _same_bucket(subject, other.bucket)
        if same and _nested(one.prefix or "", other.prefix or ""):
            shown = [f"s3://{link.bucket}/{link.prefix or ''}" for link in (other, one)]
            yield Fault(
                (*second, "prefix"),
                f"{shown[0]}, beside {shown[1]}",
                "prefixes of which none is equal to or inside another",
                "choose another prefix",
                related=(Related((*first, "prefix"), "the other prefix"),),
            )


@rule(
    "DRA006",
    ERROR,
    "Intelligent-Tiering cannot be linked to S3",
    source=REPOSITORY_GUIDE,
    bad=_GOOD.replace(
        "        deployment: SCRATCH_2\n        capacity_gib: 1200",
        "        deployment: PERSISTENT_2\n"
        "        storage_class: INTELLIGENT_TIERING\n        throughput_mbps: 4000\n"
        "        read_cache: {sizing: NO_CACHE}",
    ),
    good=_GOOD,
)
def link_of_tiering(subject: Subject) -> Iterator[Fault]:
    """AWS states that Intelligent-Tiering file systems do not support data repositories."""
    for path, asked in created(subject):
        if is_tiered(asked) and asked.associations:
            yield Fault(
                (*path, "associations"),
                "associations with INTELLIGENT_TIERING",
                "no associations",
                "use `storage_class: SSD`, or copy data in a job",
                on_key=True,
            )


@rule(
    "DRA007",
    ERROR,
    "associations need Lustre 2.12 or newer",
    source=LINK_API,
    bad=_GOOD.replace("capacity_gib: 1200", 'capacity_gib: 1200\n        lustre_version: "2.10"'),
    good=_GOOD,
)
def link_of_old_version(subject: Subject) -> Iterator[Fault]:
    """Data repository associations exist on 2.12 and 2.15 file systems only."""
    for path, asked in created(subject):
        if asked.lustre_version == "2.10" and asked.associations:
            yield Fault(
                (*path, "lustre_version"),
                "2.10 with associations",
                "2.15",
                "remove `lustre_version`: 2.15 is the default here",
                related=(Related((*path, "associations"), "the associations"),),
            )


@rule(
    "DRA008",
    ERROR,
    "backups of a file system that is linked to S3",
    source=f"{LINK_GUIDE}, Creating a link: data repositories cannot be linked to file systems that have backups "
    "enabled; Amazon FSx API Reference, CreateBackup",
    bad=_GOOD.replace(
        "SCRATCH_2\n        capacity_gib: 1200",
        "PERSISTENT_2\n        capacity_gib: 1200\n"
        "        throughput_mbps_per_tib: 250\n        backups: {retention_days: 7}",
    ),
    good=_GOOD.replace(
        "SCRATCH_2\n        capacity_gib: 1200",
        "PERSISTENT_2\n        capacity_gib: 1200\n        throughput_mbps_per_tib: 250",
    ),
)
def link_with_backups(subject: Subject) -> Iterator[Fault]:
    """FSx refuses the association while backups are on: the bucket is the durable copy of a linked file system.
    Directories outside the associations have no copy at all then, so keep those on a file system of their own."""
    for path, asked in created(subject):
        if asked.associations and asked.backups is not None and asked.backups.retention_days > 0:
            yield Fault(
                (*path, "backups", "retention_days"),
                f"{asked.backups.retention_days} days of backups with associations",
                "no backups, or no associations",
                "remove `backups`, or put the two on two file systems",
                related=(Related((*path, "associations"), "the associations"),),
            )


@rule(
    "DRA009",
    ERROR,
    "FSx may not use the key of a bucket made here",
    source=KEY_GUIDE,
    bad=_GOOD.replace("existing: {bucket_name: example-corpus}", "create: {encryption: kms}"),
    good=_GOOD.replace("existing: {bucket_name: example-corpus}", "create: {encryption: s3}"),
)
def link_to_new_key(subject: Subject) -> Iterator[Fault]:
    """A linked SSE-KMS bucket needs a key policy for a role that FSx makes together with the file system.  The key
    made here does not name it, so import and export would end in access denied.  SSE-S3 works by default."""
    for path, link, bucket in linked(subject):
        if bucket.create and bucket.create.encryption == "kms":
            yield Fault(
                (*path, "bucket"),
                f"{link.bucket}, which is made with `encryption: kms`",
                "a bucket with `encryption: s3`",
                f"set `encryption: s3` on `{link.bucket}`",
                related=(Related(("storage", "buckets", link.bucket, "create", "encryption"), "the key"),),
            )


@rule(
    "DRA010",
    WARNING,
    "the key of a linked bucket must admit FSx",
    source=f"{KEY_GUIDE}; FSx for Lustre User Guide, Using service-linked roles",
    bad=_GOOD.replace("example-corpus", "example-corpus, kms_key_arn: 'arn:aws:kms:us-east-2:111122223333:key/1a2b'"),
    good=_GOOD,
)
def link_to_existing_key(subject: Subject) -> Iterator[Fault]:
    """Nothing here changes the policy of a key that exists.  Until it allows the service-linked role of this very file
    system, files of the bucket are listed and reading them fails."""
    for path, link, bucket in linked(subject):
        if bucket.existing and bucket.existing.kms_key_arn:
            yield Fault(
                (*path, "bucket"),
                f"{link.bucket}, encrypted with a key of your own",
                "a key policy that allows AWSServiceRoleForFSxS3Access_<file system id> to use the key",
                "after the deployment add kms:Decrypt, Encrypt, ReEncrypt*, GenerateDataKey* and DescribeKey "
                "for that role, then suppress this finding",
                related=(Related(("storage", "buckets", link.bucket, "existing", "kms_key_arn"), "the key"),),
            )


@rule(
    "DRA011",
    ERROR,
    "automatic import does not cross Regions",
    source=REGION_GUIDE,
    bad=_GOOD.replace("example-corpus", "example-corpus, region: af-south-1"),
    good=_GOOD.replace("example-corpus", "example-corpus, region: us-east-2"),
)
def import_across_regions(subject: Subject) -> Iterator[Fault]:
    """File system and bucket must lie in one Region for automatic import; automatic export may cross Regions."""
    for path, link, bucket in linked(subject):
        region = bucket_region(subject, bucket)
        if region != subject.spec.region and link.auto_import:
            yield Fault(
                (*path, "auto_import"),
                f"automatic import from a bucket in {region}",
                f"a bucket in {subject.spec.region}, or no `auto_import`",
                "remove `auto_import`, or replicate the bucket into the cluster's Region",
                on_key=True,
                related=(Related(("storage", "buckets", link.bucket, "existing", "region"), "the bucket"),),
            )


@rule(
    "DRA012",
    WARNING,
    "a linked bucket in another Region",
    source=f"{REGION_GUIDE}; Amazon S3 pricing, data transfer between Regions",
    bad=_GOOD.replace("example-corpus", "example-corpus, region: af-south-1").replace(
        ", auto_import: [NEW, CHANGED]", ""
    ),
    good=_GOOD,
)
def link_across_regions(subject: Subject) -> Iterator[Fault]:
    """Every file that is read or exported crosses Regions: slower, and charged by the gigabyte."""
    for path, link, bucket in linked(subject):
        region = bucket_region(subject, bucket)
        if region != subject.spec.region and not link.auto_import:
            yield Fault(
                (*path, "bucket"),
                f"{link.bucket} in {region}",
                f"a bucket in {subject.spec.region}",
                "replicate the bucket into the cluster's Region",
                related=(Related(("storage", "buckets", link.bucket, "existing", "region"), "the bucket"),),
            )


@rule(
    "DRA013",
    WARNING,
    "an event twice in a list",
    source="Amazon FSx API Reference, AutoImportPolicy and AutoExportPolicy: any combination of NEW, CHANGED, DELETED",
    bad=_GOOD.replace("[NEW, CHANGED]", "[NEW, NEW]"),
    good=_GOOD,
)
def event_twice(subject: Subject) -> Iterator[Fault]:
    """A repeated event adds nothing; as a rule another one was meant and is now missing."""
    for path, link in links(subject):
        for field, events in (("auto_import", link.auto_import), ("auto_export", link.auto_export)):
            for index, event in enumerate(events):
                if event in events[:index]:
                    missing = [other for other in ("NEW", "CHANGED", "DELETED") if other not in events]
                    yield Fault(
                        (*path, field, index),
                        f"{event} again",
                        "each event once",
                        f"remove it, or write {' or '.join(missing)}",
                        related=(Related((*path, field, events.index(event)), "the first one"),),
                    )
