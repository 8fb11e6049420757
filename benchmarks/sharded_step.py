"""One step over the arcs of a large graph, by four ways to spread it: which one carries `sharded`?

    python benchmarks/sharded_step.py --engine actors --arcs 10_000_000 --out step.json

A step is what the engine does most: every left node asks its right nodes, and each of these keeps
the lowest that asks. As a query: the least left node of each right one. All read the same Parquet
file of random arcs, of which each right node has ten, and use two cores. Seconds are CPU time,
summed over all processes, and wall time, the least of `--times` steps after one not counted.
"actors" are the shards' own loops on Ray's actors, whose arcs were put in rows before; the others
are asked to keep the arcs in memory where they can, and get a query that they are good at.
Neither Spark nor Dask is needed for anything else here: install what is to be timed.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet

CORES = 2
Step = Callable[[], int]
"""Makes a step; returns how many right nodes were asked."""


def generate(folder: Path, arcs: int) -> int:
    """Write the arcs, in one file for each core; return the number of nodes a side."""
    rng, nodes = np.random.default_rng(1), arcs // 10
    for part in range(CORES):
        sides = rng.integers(0, nodes, (2, arcs // CORES), np.int32)
        sides[0] -= (sides[0] - part) % CORES  # a shard's left nodes
        table = pa.table({"left": np.maximum(sides[0], part), "right": sides[1]})
        parquet.write_table(table, folder / f"part-{part}.parquet", row_group_size=2**20)
    return nodes


@contextmanager
def actors(folder: Path) -> Generator[Step]:
    """The loops of `sharded_part`, each shard an actor."""
    from augury.clusters import joined_ray
    from augury.engines.sharded_files import read_pairs
    from augury.engines.sharded_part import Shard
    from augury.engines.sharded_run import make_shards
    from augury.engines.sharded_team import OnRay

    own = folder / "shards"
    chunks = (pairs for path in sorted(folder.glob("*.parquet")) for pairs in read_pairs(path))
    with joined_ray("local"):
        make_shards(chunks, own, CORES, hire=OnRay)
        team = OnRay(Shard, own, CORES)

        def step() -> int:
            team.tell("begin", 0)
            return sum(fresh for fresh, _ in team.tell("hear", post=team.send("start")))

        yield step
        team.close()


@contextmanager
def ray_data(folder: Path) -> Generator[Step]:
    """Ray Data: minimum of each block, then of all, as its `groupby` alone takes far longer."""
    import ray

    ray.init(num_cpus=CORES, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    data = ray.data.read_parquet(str(folder)).materialize()

    def least(batch: pa.Table) -> pa.Table:
        found = batch.group_by("right").aggregate([("left", "min")])
        return found.rename_columns(["right", "left"])

    def step() -> int:
        some = data.map_batches(least, batch_format="pyarrow", batch_size=None)
        return some.groupby("right").min("left").count()

    yield step
    ray.shutdown()


@contextmanager
def spark(folder: Path) -> Generator[Step]:
    """Spark: a grouped minimum, which it computes by blocks first of its own accord."""
    sql: Any = import_module("pyspark.sql")
    f: Any = import_module("pyspark.sql.functions")
    session = (
        sql.SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.shuffle.partitions", str(CORES))
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    data = session.read.parquet(str(folder)).cache()
    data.count()

    def step() -> int:
        return data.groupBy("right").agg(f.min("left").alias("left")).where("left >= 0").count()

    yield step
    session.stop()


@contextmanager
def dask(folder: Path) -> Generator[Step]:
    """Dask: a grouped minimum on two processes."""
    dd: Any = import_module("dask.dataframe")
    import_module("dask").config.set(scheduler="processes", num_workers=CORES)
    data = dd.read_parquet(str(folder))

    def step() -> int:
        return len(data.groupby("right").left.min(split_out=CORES).compute())

    yield step


ENGINES = {"actors": actors, "ray-data": ray_data, "spark": spark, "dask": dask}


def cpu_seconds() -> float:
    """Return what this process and all that it started have used."""
    own = psutil.Process()
    total = sum(own.cpu_times()[:4])
    for child in own.children(recursive=True):
        try:
            total += sum(child.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return total


def main() -> None:
    """Time one engine."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--engine", choices=ENGINES, required=True)
    parser.add_argument("--arcs", type=int, default=10**7)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a record to which this engine is added")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        generate(Path(name), options.arcs)
        with ENGINES[options.engine](Path(name)) as step:
            asked, times = step(), list[tuple[float, float]]()
            for _ in range(options.times):
                before, began = cpu_seconds(), time.perf_counter()
                assert step() == asked
                times.append((cpu_seconds() - before, time.perf_counter() - began))
            peak = sum(
                child.memory_info().rss for child in psutil.Process().children(recursive=True)
            )
    cpu, wall = (round(min(own), 3) for own in zip(*times, strict=True))
    found: dict[str, Any] = {"arcs": options.arcs, "asked": asked, "cores": os.cpu_count()}
    found |= {"cpu_seconds": cpu, "wall_seconds": wall, "resident_bytes": peak}
    print(json.dumps({options.engine: found}))
    if options.out:
        record = json.loads(options.out.read_text()) if options.out.exists() else {}
        options.out.write_text(json.dumps(record | {options.engine: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
