"""S3 buckets and who may use them (BKT001 to BKT011)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules.associations import bucket_region, linked
from eks_training.rules.lustre import one_of_two

NAMES = "Amazon S3 User Guide, General purpose bucket naming rules"
MOUNTPOINT = "awslabs/mountpoint-s3, doc/SEMANTICS.md: no rename of existing files, no random writes, no appends"
RESERVED_STARTS = ("xn--", "sthree-", "amzn-s3-demo-")
RESERVED_ENDS = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")

ADDON_NAMESPACE = "kube-system"
"""Where the add-ons and Karpenter run."""

_ADDRESS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
_GOOD = "storage: {buckets: {runs: {create: {bucket_name: example-runs}}}}"
_READ = (
    "storage: {buckets: {runs: {create: {}, grants: [{namespace: training, service_account: trainer, access: read}]}}}"
)


def _named(subject: Subject) -> Iterator[tuple[Path, str, bool]]:
    """Every stated global name: path, name, and whether the bucket is made here."""
    for name, item in subject.spec.storage.buckets.items():
        if item.create and item.create.bucket_name:
            yield ("storage", "buckets", name, "create", "bucket_name"), item.create.bucket_name, True
        if item.existing:
            yield ("storage", "buckets", name, "existing", "bucket_name"), item.existing.bucket_name, False


@rule(
    "BKT001",
    ERROR,
    "a bucket is made or exists, not both",
    source="this project's plan (eks_training/plan/storage.py) takes one of the two",
    bad="storage: {buckets: {runs: {}}}",
    good=_GOOD,
)
def create_or_existing(subject: Subject) -> Iterator[Fault]:
    """With both, it is unclear which one the grants are for; with neither, there is no bucket."""
    for name, item in subject.spec.storage.buckets.items():
        yield from one_of_two(("storage", "buckets", name), item.create, item.existing)


@rule(
    "BKT002",
    ERROR,
    "a name that no bucket can have",
    source=NAMES,
    bad=_GOOD.replace("example-runs", "example..runs"),
    good=_GOOD,
)
def impossible_name(subject: Subject) -> Iterator[Fault]:
    """Bucket names become host names: no two dots in a row, no dot beside a hyphen, nothing like an IP address."""
    for path, name, _ in _named(subject):
        if ".." in name:
            fault = "two dots in a row"
        elif ".-" in name or "-." in name:
            fault = "a dot beside a hyphen"
        elif _ADDRESS.fullmatch(name):
            fault = "like an IP address"
        else:
            continue
        yield Fault(
            path,
            f"{name}: {fault}",
            "3 to 63 small letters, digits and hyphens",
            f"for instance {re.sub('[.-]+', '-', name)}",
        )


@rule(
    "BKT003",
    ERROR,
    "a bucket name with a reserved beginning or end",
    source=NAMES,
    bad=_GOOD.replace("example-runs", "example-s3alias"),
    good=_GOOD,
)
def reserved_name(subject: Subject) -> Iterator[Fault]:
    """S3 keeps these for access point aliases, directory buckets and the like; CreateBucket refuses them."""
    for path, name, is_new in _named(subject):
        parts = [start for start in RESERVED_STARTS if name.startswith(start)]
        parts += [end for end in RESERVED_ENDS if name.endswith(end)]
        if is_new and parts:
            yield Fault(
                path,
                f"{name}: {parts[0]} is reserved",
                f"no {', '.join(RESERVED_STARTS)} at the beginning, no {', '.join(RESERVED_ENDS)} at the end",
                "choose another name, or leave it out: CloudFormation makes one",
            )


@rule(
    "BKT004",
    WARNING,
    "a bucket name with dots",
    source=NAMES,
    bad=_GOOD.replace("example-runs", "runs.example.org"),
    good=_GOOD,
)
def dots_and_tls(subject: Subject) -> Iterator[Fault]:
    """The certificate of S3 covers one label before the endpoint, so TLS with the bucket in the host name fails for a
    name with dots, and buckets made here accept TLS only."""
    for path, name, _ in _named(subject):
        if "." in name and ".." not in name and not _ADDRESS.fullmatch(name):
            yield Fault(path, name, "a name without dots", f"for instance {name.replace('.', '-')}")


@rule(
    "BKT005",
    WARNING,
    "a mounted bucket that somebody writes to",
    source=MOUNTPOINT,
    bad=_READ.replace("access: read}]", "access: write}], mount: true"),
    good=_READ.replace("access: read}]", "access: read}], mount: true"),
)
def mounted_for_writing(subject: Subject) -> Iterator[Fault]:
    """Checkpoints are written to a temporary file and renamed; Mountpoint cannot rename, append or write at random, so
    the save fails or, worse, leaves half a file.  Write checkpoints to Lustre or through the S3 API."""
    for name, item in subject.spec.storage.buckets.items():
        for index, grant in enumerate(item.grants):
            if item.mount and grant.access == "write":
                yield Fault(
                    ("storage", "buckets", name, "grants", index, "access"),
                    f"write for {grant.namespace}/{grant.service_account} on a mounted bucket",
                    "read, or a bucket that is not mounted",
                    "set `mount: false` if writes go through the S3 API, else `access: read`",
                    related=(Related(("storage", "buckets", name, "mount"), "the mount"),),
                )


@rule(
    "BKT006",
    WARNING,
    "a bucket that CloudFormation cannot delete",
    source="AWS CloudFormation Template Reference, AWS::S3::Bucket: a bucket must be empty before it is deleted",
    bad=_GOOD.replace("example-runs", "example-runs, removal: delete"),
    good=_GOOD,
)
def delete_of_full_bucket(subject: Subject) -> Iterator[Fault]:
    """Buckets made here keep versions, so one with any history is not empty and the stack deletion stops there."""
    for name, item in subject.spec.storage.buckets.items():
        if item.create and (item.create.removal or subject.spec.storage.removal) == "delete":
            yield Fault(
                ("storage", "buckets", name, "create", "removal"),
                "delete for a versioned bucket",
                "retain, or a bucket that you empty first, all versions included",
                "set `removal: retain` on the bucket and delete it by hand",
            )


@rule(
    "BKT007",
    WARNING,
    "a service account twice in the grants of a bucket",
    source="this project's plan: the access of all grants of an account is added up",
    bad=_READ.replace("grants: [", "grants: [{namespace: training, service_account: trainer, access: write}, "),
    good=_READ,
)
def granted_twice(subject: Subject) -> Iterator[Fault]:
    """The grants add up, so a `read` beside a `write` takes nothing away, although it looks as if it did."""
    for name, item in subject.spec.storage.buckets.items():
        first: dict[tuple[str, str], int] = {}
        for index, grant in enumerate(item.grants):
            before = first.setdefault((grant.namespace, grant.service_account), index)
            if before != index:
                at: Path = ("storage", "buckets", name, "grants")
                yield Fault(
                    (*at, index),
                    f"{grant.namespace}/{grant.service_account} again, with {grant.access}",
                    "one grant for each service account",
                    "keep the one with `write` if it is needed, and remove the other",
                    related=(Related((*at, before), f"the first, with {item.grants[before].access}"),),
                )


@rule(
    "BKT008",
    ERROR,
    "the same bucket under two names",
    source=f"{NAMES}: names are unique in all of AWS",
    bad=_GOOD.replace("buckets: {", "buckets: {again: {existing: {bucket_name: example-runs}}, "),
    good=_GOOD,
)
def named_twice(subject: Subject) -> Iterator[Fault]:
    """Two entries for one bucket: the second creation is refused, and grants and links end up in two places."""
    first: dict[str, Path] = {}
    for path, name, _ in _named(subject):
        if name in first:
            yield Fault(
                path,
                f"{name} again",
                "one entry for each bucket",
                "use the first entry's name",
                related=(Related(first[name], "the first entry"),),
            )
        first.setdefault(name, path)


@rule(
    "BKT009",
    WARNING,
    "a bucket in another Region",
    source="Amazon S3 pricing, data transfer between Regions",
    bad="storage: {buckets: {runs: {existing: {bucket_name: example-runs, region: af-south-1}, mount: true}}}",
    good="storage: {buckets: {runs: {existing: {bucket_name: example-runs, region: us-east-2}, mount: true}}}",
)
def another_region(subject: Subject) -> Iterator[Fault]:
    """Every read crosses Regions: slower, charged by the gigabyte, and outside of any gateway endpoint."""
    by_link = {link.bucket for _, link, _ in linked(subject)}
    for name, item in subject.spec.storage.buckets.items():
        region = bucket_region(subject, item)
        used = item.mount or bool(item.grants)
        if item.existing and used and region != subject.spec.region and name not in by_link:
            yield Fault(
                ("storage", "buckets", name, "existing", "region"),
                region,
                subject.spec.region,
                "replicate the bucket into the cluster's Region",
                related=(Related(("region",), "the cluster's Region"),),
            )


@rule(
    "BKT010",
    ERROR,
    "a key in another Region than its bucket",
    source="Amazon S3 User Guide, Using server-side encryption with AWS KMS keys: the key must be in the same Region",
    bad="storage: {buckets: {runs: {existing: {bucket_name: example-runs, "
    "kms_key_arn: 'arn:aws:kms:af-south-1:111122223333:key/1a2b'}}}}",
    good="storage: {buckets: {runs: {existing: {bucket_name: example-runs, "
    "kms_key_arn: 'arn:aws:kms:us-east-2:111122223333:key/1a2b'}}}}",
)
def key_in_another_region(subject: Subject) -> Iterator[Fault]:
    """S3 uses keys of the bucket's own Region only, so one of the two values is wrong and access would be granted to
    the wrong key."""
    for name, item in subject.spec.storage.buckets.items():
        parts = (item.existing.kms_key_arn or "").split(":") if item.existing else []
        region = bucket_region(subject, item)
        if len(parts) > 3 and parts[2] == "kms" and parts[3] != region:
            yield Fault(
                ("storage", "buckets", name, "existing", "kms_key_arn"),
                f"a key in {parts[3]}",
                f"a key in {region}, where the bucket is",
                "correct the key, or state the bucket's `region`",
            )


def _accounts_with_roles(subject: Subject) -> dict[str, str]:
    """Service accounts of kube-system that get a role of their own, with what they belong to."""
    from eks_training.plan.cluster import plan_cluster
    from eks_training.plan.karpenter import SERVICE_ACCOUNT

    plan = plan_cluster(subject.spec, subject.facts)
    found = {role.service_account: addon.name for addon in (*plan.addons, *plan.storage_addons) for role in addon.roles}
    if any(pool.provisioner == "karpenter" for pool in subject.spec.pools.values()):
        found[SERVICE_ACCOUNT] = "Karpenter"
    return found


@rule(
    "BKT011",
    ERROR,
    "a grant to a service account that has a role already",
    source="EKS API Reference, CreatePodIdentityAssociation (one role for a service account of a namespace)",
    bad=_READ.replace(
        "namespace: training, service_account: trainer", "namespace: kube-system, service_account: aws-node"
    ),
    good=_READ,
)
def account_has_a_role(subject: Subject) -> Iterator[Fault]:
    """EKS gives one role to a service account, and those of the add-ons and of Karpenter get theirs from this project.
    The second association is refused and the deployment fails in the middle."""
    asked = [
        (("storage", "buckets", name, "grants", index, "service_account"), grant.service_account)
        for name, item in subject.spec.storage.buckets.items()
        for index, grant in enumerate(item.grants)
        if grant.namespace == ADDON_NAMESPACE
    ]
    owners = _accounts_with_roles(subject) if asked else {}
    for at, account in asked:
        if account in owners:
            yield Fault(
                at,
                f"{ADDON_NAMESPACE}/{account}, which has the role of {owners[account]}",
                "a service account of your own",
                "make one in the namespace of the pods that use the bucket",
            )
