"""Intelligent-Tiering storage of FSx for Lustre (FSX020 to FSX030)."""

from __future__ import annotations

from collections.abc import Iterator

from eks_training.rulebook import ERROR, WARNING, Fault, Subject, rule
from eks_training.rules.lustre import API, CREATE_API, around, created, is_tiered, listed

CACHE_API = "Amazon FSx API Reference, LustreReadCacheConfiguration (model in botocore 1.44.8)"
SMALL_THROUGHPUTS = (1000, 2000)
"""MB/s below one step of 4000 that newer documentation names."""
MAX_THROUGHPUT = 2_000_000
CACHE_GIB_PER_GBPS = (8, 32768)
"""Least and most GiB of read cache for every 1000 MB/s."""

_GOOD = (
    "storage: {lustre: {work: {create: {deployment: PERSISTENT_2, storage_class: INTELLIGENT_TIERING, "
    "throughput_mbps: 4000, read_cache: {sizing: PROPORTIONAL_TO_THROUGHPUT_CAPACITY}}}}}"
)
_SSD = (
    "storage: {lustre: {work: {create: {deployment: PERSISTENT_2, capacity_gib: 1200, throughput_mbps_per_tib: 250}}}}"
)


@rule(
    "FSX020",
    ERROR,
    "Intelligent-Tiering needs PERSISTENT_2",
    source=CREATE_API,
    bad=_GOOD.replace("PERSISTENT_2", "SCRATCH_2"),
    good=_GOOD,
)
def tiering_on_scratch(subject: Subject) -> Iterator[Fault]:
    """The storage class exists for PERSISTENT_2 only."""
    for path, asked in created(subject):
        if is_tiered(asked) and asked.deployment != "PERSISTENT_2":
            yield Fault(
                (*path, "storage_class"),
                f"INTELLIGENT_TIERING with {asked.deployment}",
                "deployment PERSISTENT_2, or storage class SSD",
                "set `deployment: PERSISTENT_2`",
            )


@rule(
    "FSX021",
    ERROR,
    "Intelligent-Tiering has no capacity to set",
    source="FSx for Lustre User Guide, Getting started: storage capacity is for the SSD storage class only",
    bad=_GOOD.replace("throughput_mbps: 4000", "capacity_gib: 1200, throughput_mbps: 4000"),
    good=_GOOD,
)
def capacity_with_tiering(subject: Subject) -> Iterator[Fault]:
    """The file system grows and shrinks with its data; there is nothing to provision."""
    for path, asked in created(subject):
        if is_tiered(asked) and asked.capacity_gib is not None:
            yield Fault(
                (*path, "capacity_gib"),
                f"{asked.capacity_gib} with INTELLIGENT_TIERING",
                "no `capacity_gib`",
                "remove the key, or set `storage_class: SSD`",
            )


@rule(
    "FSX022",
    ERROR,
    "throughput per TiB with Intelligent-Tiering",
    source=f"{API}: PerUnitStorageThroughput is for SSD and HDD storage",
    bad=_GOOD.replace("throughput_mbps: 4000", "throughput_mbps_per_tib: 250, throughput_mbps: 4000"),
    good=_GOOD,
)
def throughput_per_tib_with_tiering(subject: Subject) -> Iterator[Fault]:
    """Without a capacity there is no throughput per TiB; the whole file system has one, `throughput_mbps`."""
    for path, asked in created(subject):
        if is_tiered(asked) and asked.throughput_mbps_per_tib is not None:
            yield Fault(
                (*path, "throughput_mbps_per_tib"),
                f"{asked.throughput_mbps_per_tib} with INTELLIGENT_TIERING",
                "no `throughput_mbps_per_tib`",
                "remove the key and set `throughput_mbps`",
            )


@rule(
    "FSX023",
    ERROR,
    "Intelligent-Tiering needs a throughput",
    source=f"{API}: ThroughputCapacity",
    bad=_GOOD.replace("throughput_mbps: 4000, ", ""),
    good=_GOOD,
)
def throughput_missing(subject: Subject) -> Iterator[Fault]:
    """The provisioned throughput is what an Intelligent-Tiering file system is made of; it has no default."""
    for path, asked in created(subject):
        if is_tiered(asked) and asked.throughput_mbps is None:
            yield Fault(
                (*path, "throughput_mbps"),
                "no `throughput_mbps`",
                "a multiple of 4000 MB/s",
                "add `throughput_mbps: 4000`",
            )


@rule(
    "FSX024",
    ERROR,
    "a throughput that Intelligent-Tiering does not have",
    source=f"{API}: 1000, 2000 and multiples of 4000 MBps, up to 2000000",
    proves="arithmetic",
    bad=_GOOD.replace("throughput_mbps: 4000", "throughput_mbps: 6000"),
    good=_GOOD.replace("throughput_mbps: 4000", "throughput_mbps: 8000"),
)
def throughput_on_grid(subject: Subject) -> Iterator[Fault]:
    """Throughput comes in whole file servers of 4000 MB/s."""
    for path, asked in created(subject):
        value = asked.throughput_mbps
        if not is_tiered(asked) or value is None or value in SMALL_THROUGHPUTS:
            continue
        if value < 4000 or value > MAX_THROUGHPUT or value % 4000:
            near = (4000,) if value < 4000 else around(min(value, MAX_THROUGHPUT - 1), 4000)
            yield Fault(
                (*path, "throughput_mbps"),
                f"{value}",
                f"a multiple of 4000 MB/s, at most {MAX_THROUGHPUT}; nearest: {listed(near)}",
                f"set throughput_mbps to {listed(near, 'or')}",
            )


@rule(
    "FSX025",
    WARNING,
    "a small Intelligent-Tiering throughput may be refused",
    source=f"{API}: the text names 1000 and 2000, the type in the same model still has a minimum of 4000",
    bad=_GOOD.replace("throughput_mbps: 4000", "throughput_mbps: 1000"),
    good=_GOOD,
)
def small_throughput(subject: Subject) -> Iterator[Fault]:
    """1000 and 2000 MB/s are documented, but the same model's type begins at 4000, so a tool may still refuse them."""
    for path, asked in created(subject):
        if is_tiered(asked) and asked.throughput_mbps in SMALL_THROUGHPUTS and not asked.efa:
            yield Fault(
                (*path, "throughput_mbps"),
                f"{asked.throughput_mbps}",
                "4000 or a multiple of it, to be sure",
                "try it with the FSx console first, or suppress this finding with what you saw",
            )


@rule(
    "FSX026",
    ERROR,
    "a whole-file-system throughput with SSD",
    source=f"{API}: ThroughputCapacity is for Intelligent-Tiering",
    bad=_SSD.replace("capacity_gib: 1200", "capacity_gib: 1200, throughput_mbps: 4000"),
    good=_SSD,
)
def throughput_with_ssd(subject: Subject) -> Iterator[Fault]:
    """The throughput of SSD storage follows from capacity times `throughput_mbps_per_tib`."""
    for path, asked in created(subject):
        if not is_tiered(asked) and asked.throughput_mbps is not None:
            yield Fault(
                (*path, "throughput_mbps"),
                f"{asked.throughput_mbps} with SSD",
                "no `throughput_mbps`",
                "remove the key; PERSISTENT_2 SSD takes `throughput_mbps_per_tib`",
            )


@rule(
    "FSX027",
    ERROR,
    "Intelligent-Tiering must say what read cache it has",
    source=f"{API}: DataReadCacheConfiguration is required with INTELLIGENT_TIERING",
    bad=_GOOD.replace(", read_cache: {sizing: PROPORTIONAL_TO_THROUGHPUT_CAPACITY}", ""),
    good=_GOOD,
)
def cache_missing(subject: Subject) -> Iterator[Fault]:
    """FSx wants a statement even for no cache; `NO_CACHE` makes every read come from the capacity tier."""
    for path, asked in created(subject):
        if is_tiered(asked) and asked.read_cache is None:
            yield Fault(
                (*path, "read_cache"),
                "no `read_cache`",
                "a sizing: PROPORTIONAL_TO_THROUGHPUT_CAPACITY, USER_PROVISIONED or NO_CACHE",
                "add `read_cache: {sizing: PROPORTIONAL_TO_THROUGHPUT_CAPACITY}`",
            )


@rule(
    "FSX028",
    ERROR,
    "a read cache with SSD",
    source=f"{API}: DataReadCacheConfiguration is for Intelligent-Tiering",
    bad=_SSD.replace("capacity_gib: 1200", "capacity_gib: 1200, read_cache: {sizing: NO_CACHE}"),
    good=_SSD,
)
def cache_with_ssd(subject: Subject) -> Iterator[Fault]:
    """SSD storage is the fast tier itself; there is no cache in front of it."""
    for path, asked in created(subject):
        if not is_tiered(asked) and asked.read_cache is not None:
            yield Fault(
                (*path, "read_cache"), "a read cache with SSD", "no `read_cache`", "remove the section", on_key=True
            )


@rule(
    "FSX029",
    ERROR,
    "the size of a read cache goes with USER_PROVISIONED",
    source=CACHE_API,
    bad=_GOOD.replace("PROPORTIONAL_TO_THROUGHPUT_CAPACITY", "USER_PROVISIONED"),
    good=_GOOD.replace("PROPORTIONAL_TO_THROUGHPUT_CAPACITY", "USER_PROVISIONED, size_gib: 20000"),
)
def cache_size_and_mode(subject: Subject) -> Iterator[Fault]:
    """USER_PROVISIONED needs a size; the other modes decide it themselves."""
    for path, asked in created(subject):
        cache = asked.read_cache
        if cache is None or (cache.sizing == "USER_PROVISIONED") == (cache.size_gib is not None):
            continue
        given = cache.size_gib is not None
        yield Fault(
            (*path, "read_cache", "size_gib"),
            f"{cache.size_gib} with {cache.sizing}" if given else "no size",
            "no `size_gib` in this mode" if given else "a size in GiB",
            "remove `size_gib`, or set `sizing: USER_PROVISIONED`" if given else "add `size_gib:`",
        )


@rule(
    "FSX030",
    ERROR,
    "a read cache of a size that the throughput does not carry",
    source=f"{CACHE_API}: 8 to 32768 GiB for every 1000 MBps",
    proves="arithmetic",
    bad=_GOOD.replace("PROPORTIONAL_TO_THROUGHPUT_CAPACITY", "USER_PROVISIONED, size_gib: 200000"),
    good=_GOOD.replace("PROPORTIONAL_TO_THROUGHPUT_CAPACITY", "USER_PROVISIONED, size_gib: 131072"),
)
def cache_size_and_throughput(subject: Subject) -> Iterator[Fault]:
    """The cache is spread over the file servers, and each takes a bounded amount."""
    for path, asked in created(subject):
        cache, value = asked.read_cache, asked.throughput_mbps
        if not is_tiered(asked) or cache is None or cache.size_gib is None or value is None or value < 1000:
            continue
        least, most = (bound * value // 1000 for bound in CACHE_GIB_PER_GBPS)
        if not least <= cache.size_gib <= most:
            bound = least if cache.size_gib < least else most
            yield Fault(
                (*path, "read_cache", "size_gib"),
                f"{cache.size_gib} GiB",
                f"{least} to {most} GiB at {value} MB/s (8 to 32768 GiB for every 1000 MB/s)",
                f"set size_gib to {bound}",
            )
