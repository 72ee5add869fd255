"""The stages of a first load on Spark (extra `spark`; spec 6, past one machine).

Owns: how messages travel there. A stage runs over its parts with `mapInArrow` or, where parts have been told something, `applyInArrow`
after a shuffle by part; what it says is kept in the load's folder as Parquet, so that no stage is carried out twice because two others
hear of it. The rules are those of every load: what runs in a task is `ingest.stages`. Each task writes the import files of its part.
Every machine has to see the input, the folder of the import files and this package under the same paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphrag_provenance.errors import MissingExtraError, StoreError
from graphrag_provenance.ingest.partitions import Job, Message, Stage, Told, rejects_of, told_by
from graphrag_provenance.ingest.stages import carry_out
from graphrag_provenance.store.counting import Reject

_SCHEMA = "stage string, part int, body binary"


class SparkStages:
    """The messages of one load, in a folder that every machine sees."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self._kept: list[str] = []
        self._refused: set[int] = set()

    def carry_out(self, stage: Stage, job: Job, done: Callable[[int], None]) -> Told:
        """Every part of a stage; returns what they come to."""
        if stage is Stage.READ:
            blocks = self._spark.range(0, len(job.blocks), 1, len(job.blocks))
            words = blocks.mapInArrow(_reading(job), _SCHEMA)
        else:
            words = self._to(stage).repartition(job.parts, "part").groupBy("part").applyInArrow(_working(stage, job), _SCHEMA)
        place = str(self._folder / stage)
        words.write.parquet(place)
        self._kept.append(place)
        total, kept = Told(), self._spark.read.parquet(place)
        self._refused.update(row["part"] for row in kept.where(f"stage = '{Stage.REJECTS}'").select("part").distinct().collect())
        for row in kept.where(f"stage = '{Stage.TOLD}'").toLocalIterator():
            total.add(told_by(bytes(row["body"])))
        for part in range(len(job.blocks) if stage is Stage.READ else job.parts):
            done(part)
        return total

    def rejects(self, block: int) -> list[Reject]:
        """What was refused of the lines of a block, in their order."""
        found = self._to(Stage.REJECTS).where(f"part = {block}").collect() if block in self._refused else []
        return rejects_of(bytes(row["body"]) for row in found)

    def _to(self, stage: Stage) -> Any:
        return self._spark.read.parquet(*self._kept).where(f"stage = '{stage}'")


@contextmanager
def spark_stages(folder: Path, workers: int) -> Iterator[SparkStages]:
    """The means for one load: the Spark session of this process, or a new one as Spark is set up (`spark-submit`, `spark-defaults`; else
    this machine with `workers` threads). Raises MissingExtraError without pyspark, StoreError for what Spark says."""
    try:
        import pyarrow  # noqa: F401, PLC0415 - an optional extra
        from pyspark.errors import PySparkException  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("Spark is not installed.", hint="Run: pip install 'graphrag-provenance[spark]'.") from None
    before = SparkSession.getActiveSession()
    try:
        spark = before or SparkSession.builder.appName("gprov ingest").config("spark.ui.enabled", "false").getOrCreate()
        try:
            yield SparkStages(spark, folder)
        finally:
            if before is None:
                spark.stop()
    except PySparkException as error:
        said = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        raise StoreError(f"Spark failed: {said.strip()}", hint="Nothing was loaded. Spark needs Java 17 or later (JAVA_HOME).") from None


def _reading(job: Job) -> Callable[[Any], Any]:
    def work(batches: Any) -> Any:
        for batch in batches:
            for block in batch.column(0).to_pylist():
                for one in carry_out(Stage.READ, job, block, ()):
                    yield from _table([one]).to_batches()

    return work


def _working(stage: Stage, job: Job) -> Callable[[Any, Any], Any]:
    def work(key: Any, table: Any) -> Any:
        bodies = (body.as_py() for body in table.column("body"))
        return _table([*carry_out(stage, job, key[0].as_py(), bodies)])

    return work


def _table(said: list[Message]) -> Any:
    import pyarrow  # noqa: PLC0415 - runs in a task

    return pyarrow.table({
        "stage": pyarrow.array([str(one.stage) for one in said], pyarrow.string()),
        "part": pyarrow.array([one.part for one in said], pyarrow.int32()),
        "body": pyarrow.array([one.body for one in said], pyarrow.binary())})
