"""The readable summary of a Plan: what will be made, what it costs from the first hour, what it does not prove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from eks_training.plan import Plan
from eks_training.plan.pool import PoolPlan
from eks_training.plan.storage import BucketPlan, EfsPlan, LustrePlan


def summary(plan: Plan) -> str:
    """The whole summary; the same bytes for the same Plan."""
    sections = [
        _head(plan),
        _section("Stacks, in the order of deployment", _stacks(plan)),
        _section("Pools", _table(_pool_rows(plan))),
        _section("Storage", _storage(plan)),
        _section("Billed from the first hour, with or without training", costs(plan)),
        _section("Good to know", notes(plan)),
        _section("Not proved by synthesis; only the account or a run can tell", unproved(plan)),
    ]
    return "\n".join(section for section in sections if section)


def _head(plan: Plan) -> str:
    network = plan.network
    return (
        f"{plan.name}: EKS {plan.cluster.kubernetes_version} in {plan.region}"
        f"{f', account {plan.account}' if plan.account else ''}\n"
        f"training in {network.training_zone.value}, control plane also in {network.second_zone.value}, "
        f"{'new VPC' if network.vpc_id is None else f'VPC {network.vpc_id}'} {network.cidr}, "
        f"API {'public for ' + ', '.join(plan.cluster.public_cidrs) if plan.cluster.public_cidrs else 'private'}\n"
    )


def _section(title: str, lines: Iterable[str]) -> str:
    body = [f"  {line}" for line in lines]
    return "\n".join([title, *body, ""]) if body else ""


def _stacks(plan: Plan) -> Iterator[str]:
    kept = {plan.storage.stack: "  holds data", plan.cluster.stack: "  holds the cluster's state"}
    return (f"{name}{kept.get(name, '')}" for name in plan.stacks)


def _pool_rows(plan: Plan) -> Iterator[Sequence[str]]:
    yield ("name", "type", "nodes", "bought as", "by", "placement", "devices/node", "EFA/node", "zone(s)")
    for pool in plan.pools:
        device = pool.accelerator
        yield (
            pool.name,
            pool.instance_type,
            str(pool.desired_nodes)
            if pool.min_nodes == pool.max_nodes
            else f"{pool.min_nodes}-{pool.max_nodes} ({pool.desired_nodes} at first)",
            pool.capacity.type,
            "Karpenter" if pool.karpenter else "node group",
            {"create": "cluster group", "existing": "existing group", "none": "none"}[pool.placement.kind],
            f"{device.count} {device.model}" if device else "-",
            str(pool.efa_interfaces) if pool.efa else "-",
            ", ".join(_zones(plan, pool)),
        )


def _zones(plan: Plan, pool: PoolPlan) -> Iterator[str]:
    seen: set[str] = set()
    for subnet in plan.network.subnets:
        if subnet.key in pool.subnets and subnet.zone.value not in seen:
            seen.add(subnet.zone.value)
            yield subnet.zone.value


def _table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    cells = list(rows)
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _storage(plan: Plan) -> Iterator[str]:
    yield from (_lustre(item) for item in plan.storage.lustre)
    yield from (_efs(item) for item in plan.storage.efs)
    yield from (_bucket(item) for item in plan.storage.buckets)


def _lustre(item: LustrePlan) -> str:
    new = item.create
    if new is None:
        return f"FSx for Lustre {item.name}: existing {item.id}"
    size = f"{new.capacity_gib} GiB" if new.capacity_gib else "elastic size"
    speed = (
        f", {new.throughput_mbps_per_tib} MB/s per TiB"
        if new.throughput_mbps_per_tib
        else f", {new.throughput_mbps} MB/s"
        if new.throughput_mbps
        else ""
    )
    links = "".join(f"; {link.path} linked to bucket {link.bucket}/{link.prefix}" for link in new.associations)
    return (
        f"FSx for Lustre {item.name}: {new.deployment} {new.storage_class}, {size}{speed}, Lustre {new.lustre_version}"
        f"{', EFA' if new.efa else ''}, {_fate(new.retain)}{links}"
    )


def _efs(item: EfsPlan) -> str:
    points = ", ".join(
        f"{point.name}" + (f" ({point.uid}:{point.gid})" if point.uid is not None else "")
        for point in item.access_points
    )
    made = f"{item.throughput} throughput, {_fate(item.retain)}" if item.create else f"existing {item.id}"
    return f"EFS {item.name}: {made}; access points {points}" if points else f"EFS {item.name}: {made}"


def _bucket(item: BucketPlan) -> str:
    made = f"versioned, {_fate(item.retain)}" if item.create else f"existing {item.bucket_name}"
    granted = "".join(
        f"; {'write' if grant.write else 'read'} for {grant.namespace}/{grant.service_account}" for grant in item.grants
    )
    return f"S3 {item.name}: {made}{granted}"


def _fate(retain: bool) -> str:
    return "kept when the stack goes" if retain else "DELETED with the stack"


def costs(plan: Plan) -> Iterator[str]:
    """What is billed as soon as the stacks stand."""
    yield "EKS control plane" + (f", {plan.cluster.scaling_tier}" if plan.cluster.scaling_tier else "")
    yield "one KMS key"
    if plan.network.egress == "nat" and plan.network.vpc_id is None:
        yield "one NAT gateway and its public address"
    if plan.network.interface_endpoints:
        zones = len({subnet.zone.value for subnet in plan.network.by_role("system")})
        yield f"{len(plan.network.interface_endpoints)} interface endpoints in {zones} zone(s)"
    for pool in plan.pools:
        nodes = pool.min_nodes if pool.karpenter else pool.desired_nodes
        if nodes and pool.capacity.type != "capacity-block":
            yield f"{nodes} x {pool.instance_type} ({pool.name}) and their {pool.image_volume.size_gib} GiB volumes"
    for item in plan.storage.lustre:
        if item.create:
            yield f"FSx for Lustre {item.name}"
    if any(pool.capacity.type in ("reservation", "capacity-block") for pool in plan.pools):
        yield "reserved capacity is billed by its own terms, used or not"


def notes(plan: Plan) -> Iterator[str]:
    """What the next engineer should know about the decisions."""
    for pool in plan.pools:
        if pool.capacity.type == "capacity-block" and pool.karpenter is None:
            yield (
                f"{pool.name}: before the Capacity Block starts EKS only reports scaling errors; EKS scales the group "
                "in 40 minutes before the block ends; set its nodes to 0 before an upgrade"
            )
        if pool.capacity.type == "capacity-block" and pool.karpenter is not None:
            yield f"{pool.name}: Karpenter drains the nodes 10 minutes before EC2 starts to end the block"
        if pool.placement.kind == "create" and pool.max_nodes > 1 and not pool.karpenter:
            yield f"{pool.name}: a cluster placement group fills best in one launch; later nodes can meet no capacity"
        if pool.karpenter and pool.placement.kind == "create":
            yield (
                f"{pool.name}: Karpenter launches node by node, so a cluster placement group can fill in part and then "
                "meet no capacity; a reservation made inside the group avoids that"
            )
    if not plan.cluster.public_cidrs:
        yield f"the Kubernetes API is private: it answers on TCP 443 to {', '.join(plan.cluster.private_cidrs)}"
    if any(addon.version is None for addon in (*plan.cluster.addons, *plan.cluster.storage_addons)):
        yield "EKS picks the version of add-ons without a pin at creation and never moves it by itself"


def unproved(plan: Plan) -> Iterator[str]:
    """What no template can show."""
    types = sorted({pool.instance_type for pool in plan.pools})
    yield f"that {', '.join(types)} are offered in the zones"
    for need in plan.quotas:
        yield f"that the quota {need.name} allows {need.vcpus} vCPUs ({need.sum}) beside what runs already"
    releases = sorted({pool.image.eks_release or pool.image.karpenter_alias for pool in plan.pools})
    yield f"that node images {', '.join(releases)} are still offered"
    yield f"that {', '.join(plan.cluster.administrators)} exist"
    if any(pool.capacity.type == "spot" for pool in plan.pools):
        yield "that the account has the service-linked role of spot.amazonaws.com"
    for bucket in plan.storage.buckets:
        if not bucket.create:
            yield f"that bucket {bucket.bucket_name} exists, in this Region where it is linked, and admits these roles"
    for pool in plan.pools:
        if pool.capacity.reservation_id or pool.capacity.resource_group:
            named = pool.capacity.reservation_id or pool.capacity.resource_group
            yield f"{pool.name}: that {named} exists, is active, and fits type, zone and size"
        if pool.placement.kind == "existing":
            yield f"{pool.name}: that placement group {pool.placement.group} exists and its strategy is cluster"
    if plan.network.vpc_id:
        yield f"that the subnets of {plan.network.vpc_id} have the zones, free addresses and routes stated"
    for item in plan.storage.lustre:
        if item.create is None:
            yield f"that {item.id} admits these nodes on TCP 988 and 1018 to 1023"
        elif item.create.efa:
            yield f"{item.name}: that the nodes' Lustre client uses EFA; without client set-up it falls back to TCP"
        for link in item.create.associations if item.create else ():
            if link.auto_export:
                yield f"{item.name}: when a file has arrived in bucket {link.bucket}; export is asynchronous"
    if any(pool.efa for pool in plan.pools):
        yield "that collectives use EFA: synthesis shows interfaces and rules, only a run shows the transport"
    yield "that a job trains, or recovers from a checkpoint"
