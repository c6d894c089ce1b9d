"""All stacks of a Plan in one CDK app, wired in one direction: network, storage, cluster, access, pools, Karpenter."""

from __future__ import annotations

from aws_cdk import App, Environment, Tags

from eks_training import naming
from eks_training.plan import Plan
from stacks.cluster import ClusterStack
from stacks.karpenter import KarpenterStack
from stacks.network import NetworkStack
from stacks.pool import PoolStack
from stacks.storage import StorageStack
from stacks.storage_access import StorageAccessStack


def add_stacks(app: App, plan: Plan) -> None:
    """Add every stack of a Plan to an app.

    The environment is concrete in its Region, because zones are named; the account may stay open.
    """
    env = Environment(account=plan.account, region=plan.region)
    network = NetworkStack(app, plan.network.stack, plan=plan, env=env)
    storage: StorageStack | None = None
    if plan.storage.creates:
        storage = StorageStack(app, plan.storage.stack, plan=plan, network=network, env=env)
    cluster = ClusterStack(app, plan.cluster.stack, plan=plan, network=network, env=env)
    if plan.storage.needs_access:
        access = StorageAccessStack(
            app, plan.storage.access_stack, plan=plan, cluster_name=cluster.cluster_name, storage=storage, env=env
        )
        access.add_stack_dependency(cluster)
    for pool in plan.node_group_pools:
        PoolStack(app, pool.stack, plan=plan, pool=pool, network=network, cluster=cluster, env=env)
    if plan.karpenter:
        karpenter = KarpenterStack(
            app, plan.karpenter.stack, plan=plan, karpenter=plan.karpenter, cluster=cluster, env=env
        )
        karpenter.add_stack_dependency(cluster)
    for key, value in (*plan.tags, (naming.TAG_CLUSTER, plan.name)):
        Tags.of(app).add(key, value)
