"""EFS file systems and their access points (EFS001 to EFS009)."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.finding import Path, Related
from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules.lustre import one_of_two
from eks_training.spec.storage import AccessPoint, EfsCreate

POINTS_API = "Amazon EFS API Reference, CreateAccessPoint"
POINTS_GUIDE = "Amazon EFS User Guide, Working with access points"

_GOOD = (
    "storage: {efs: {shared: {create: {access_points: "
    '{home: {path: /home, uid: 1000, gid: 100, permissions: "0750"}}}}}}'
)
_TWO = _GOOD.replace("{home:", "{data: {path: /data, uid: 2000, gid: 2000}, home:")
_EXISTING = "storage: {efs: {shared: {existing: {id: fs-0aa11bb22cc33dd44}}}}"


def _created(subject: Subject) -> Iterator[tuple[Path, EfsCreate]]:
    for name, item in subject.spec.storage.efs.items():
        if item.create is not None:
            yield ("storage", "efs", name, "create"), item.create


def _points(subject: Subject) -> Iterator[tuple[Path, AccessPoint]]:
    for path, asked in _created(subject):
        for name, point in asked.access_points.items():
            yield (*path, "access_points", name), point


def _owner_bits(point: AccessPoint) -> int:
    return int(point.permissions[-3])


@rule(
    "EFS001",
    ERROR,
    "a file system is made or exists, not both",
    source="this project's plan (eks_training/plan/storage.py) takes one of the two",
    bad="storage: {efs: {shared: {}}}",
    good=_GOOD,
)
def create_or_existing(subject: Subject) -> Iterator[Fault]:
    """With both, it is unclear which one the pods mount; with neither, there is nothing to mount."""
    for name, item in subject.spec.storage.efs.items():
        yield from one_of_two(("storage", "efs", name), item.create, item.existing)


@rule(
    "EFS002",
    ERROR,
    "one directory, two identities",
    source=f"{POINTS_API}: the root directory is made once, with the CreationInfo of the first mount",
    bad=_TWO.replace("/data", "/home"),
    good=_TWO,
    fixed=False,  # with a common group and group permissions both identities can work there
)
def same_path_other_identity(subject: Subject) -> Iterator[Fault]:
    """The directory belongs to whichever access point is mounted first; the users of the other one are locked out,
    and which one it is changes from deployment to deployment."""
    for path, asked in _created(subject):
        first: dict[str, str] = {}
        for name, point in asked.access_points.items():
            before = first.setdefault(point.path, name)
            other = asked.access_points[before]
            if (point.uid, point.gid, point.permissions) != (other.uid, other.gid, other.permissions):
                yield Fault(
                    (*path, "access_points", name, "path"),
                    f"{point.path} for {point.uid}:{point.gid} mode {point.permissions}",
                    f"{other.uid}:{other.gid} mode {other.permissions} as in `{before}`, or another path",
                    "give each identity a directory of its own",
                    related=(Related((*path, "access_points", before), "the other access point"),),
                )


@rule(
    "EFS003",
    WARNING,
    "root over the whole file system",
    source=f"{POINTS_GUIDE}; kubernetes-sigs/aws-efs-csi-driver#726",
    bad=_GOOD.replace("/home, uid: 1000", "/, uid: 0"),
    good=_GOOD,
)
def root_of_everything(subject: Subject) -> Iterator[Fault]:
    """Every pod with this access point may change and delete every file of every user."""
    for path, point in _points(subject):
        if point.path == "/" and point.uid == 0:
            yield Fault(
                (*path, "path"),
                "/ with uid 0",
                "a directory and an identity that is not root",
                "write `path: /home` and the uid of the users, 1000 for notebooks",
            )


@rule(
    "EFS004",
    WARNING,
    "an identity that cannot write into the root directory",
    source=f"{POINTS_API}: CreationInfo applies only to a directory that does not exist",
    bad=_GOOD.replace("/home", "/"),
    good=_GOOD,
)
def root_directory_of_others(subject: Subject) -> Iterator[Fault]:
    """`/` exists from the start and belongs to root with mode 0755.  The owner and the permissions given here are
    ignored for it, so the first write of this identity fails."""
    for path, point in _points(subject):
        if point.path == "/" and point.uid != 0:
            yield Fault(
                (*path, "path"),
                f"/ with uid {point.uid}",
                "a directory of its own, such as /home",
                "write `path: /home`: EFS makes it with the owner and mode given here",
            )


@rule(
    "EFS005",
    ERROR,
    "permissions that lock the owner out",
    source=f"{POINTS_API}: CreationInfo.Permissions; POSIX directory permissions",
    bad=_GOOD.replace("0750", "0270"),
    good=_GOOD,
)
def owner_locked_out(subject: Subject) -> Iterator[Fault]:
    """Everyone who comes through the access point is its owner, so the owner's digit decides: without read and execute
    the directory can be neither listed nor entered, and EFS does not change it afterwards."""
    for path, point in _points(subject):
        if point.uid != 0 and _owner_bits(point) & 5 != 5:
            yield Fault(
                (*path, "permissions"),
                f"{point.permissions}: the owner's digit is {_owner_bits(point)}",
                "7 as the owner's digit, such as 0750",
                'write `permissions: "0750"`',
            )


@rule(
    "EFS006",
    WARNING,
    "permissions that keep the owner from writing",
    source=f"{POINTS_API}: CreationInfo.Permissions; POSIX directory permissions",
    bad=_GOOD.replace("0750", "0550"),
    good=_GOOD,
)
def owner_cannot_write(subject: Subject) -> Iterator[Fault]:
    """Nobody can put a first file into a directory that its owner may only read."""
    for path, point in _points(subject):
        if point.uid != 0 and _owner_bits(point) == 5:
            yield Fault(
                (*path, "permissions"),
                f"{point.permissions}: the owner's digit is 5",
                "7 as the owner's digit, such as 0750",
                'write `permissions: "0750"`',
            )


@rule(
    "EFS007",
    WARNING,
    "an access point that makes everyone root",
    source=f"{POINTS_GUIDE}; awslabs/kubeflow-manifests#267",
    bad=_GOOD.replace("uid: 1000", "uid: 0"),
    good=_GOOD,
)
def root_identity(subject: Subject) -> Iterator[Fault]:
    """The identity of the access point replaces the pod's: files belong to root (or its group) whoever the pod runs
    as, and tools such as git refuse directories of another owner."""
    for path, point in _points(subject):
        if point.path == "/" and point.uid == 0:
            continue
        for field in ("uid", "gid"):
            if getattr(point, field) == 0:
                yield Fault(
                    (*path, field),
                    f"{field} 0",
                    f"the {field} of the users",
                    f"set {field} to {1000 if field == 'uid' else 100}, as notebooks have it",
                )


@rule(
    "EFS008",
    ERROR,
    "the same file system under two names",
    source="Kubernetes CSI specification: a volume handle names one volume",
    bad=_EXISTING.replace("efs: {", "efs: {again: {existing: {id: fs-0aa11bb22cc33dd44}}, "),
    good=_EXISTING,
)
def same_id_twice(subject: Subject) -> Iterator[Fault]:
    """Access points of one file system belong under one entry; two entries give two volumes with one handle."""
    first: dict[str, Path] = {}
    for name, item in subject.spec.storage.efs.items():
        if item.existing is None:
            continue
        at: Path = ("storage", "efs", name, "existing", "id")
        if item.existing.id in first:
            yield Fault(
                at,
                f"{item.existing.id} again",
                "one entry for each file system",
                "move the access points to the first entry",
                related=(Related(first[item.existing.id], "the first entry"),),
            )
        first.setdefault(item.existing.id, at)


@rule(
    "EFS009",
    WARNING,
    "deleting the stack destroys data that has no copy",
    source="AWS CloudFormation, DeletionPolicy attribute; Amazon EFS User Guide, Backing up EFS file systems",
    bad=_GOOD.replace("{access_points", "{backups: false, removal: delete, access_points"),
    good=_GOOD.replace("{access_points", "{backups: true, removal: delete, access_points"),
)
def delete_without_copy(subject: Subject) -> Iterator[Fault]:
    """Home directories are what people miss most; with `removal: delete` and no backups a stack deletion ends them."""
    for path, asked in _created(subject):
        if (asked.removal or subject.spec.storage.removal) == "delete" and not asked.backups:
            yield Fault(
                (*path, "removal"),
                "delete, without backups",
                "`removal: retain`, or `backups: true`",
                "set `removal: retain` unless the data can be made again",
            )
