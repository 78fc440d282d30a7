"""Where results are kept: one SQLite file, which several processes of one machine may work on at once.

A fit is claimed before it is begun. A claim carries its process and a time that its process renews; when the process
is gone, or has not renewed it for a minute, anybody may take it over. So a killed run loses what it was fitting, and
nothing is fitted twice.
"""

import json
import os
import platform
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from time import time
from typing import Any, NamedTuple

from boostforest_paper.running.fits import Outcome
from boostforest_paper.running.jobs import Job
from boostforest_paper.running.problem import METRICS

LAYOUT = 1  # to be raised with every change of the tables below
APPLICATION = 0x42464253  # "BFBS": how SQLite files of ours are told from others
STALE_SECONDS = 60.0  # claims that were not renewed for so long are nobody's
BEAT_SECONDS = 10.0  # how often they are renewed

_KEY = ", ".join(Job._fields)
_METRICS = [metric for metrics in METRICS.values() for metric in metrics]
_TABLES = f"""
CREATE TABLE machines (id INTEGER PRIMARY KEY, description TEXT NOT NULL UNIQUE);
CREATE TABLE fits (
    dataset TEXT NOT NULL, repeat INTEGER NOT NULL, learner TEXT NOT NULL, setting TEXT NOT NULL, tuning TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('claimed', 'done', 'failed')),
    owner TEXT, host TEXT, pid INTEGER, beat REAL, -- whose claim it is, and when it was renewed
    finished REAL, -- seconds since 1970
    error TEXT,
    version TEXT, -- of the learner's package
    machine INTEGER REFERENCES machines (id),
    threads INTEGER,
    {", ".join(f"{metric} REAL" for metric in _METRICS)},
    tune_seconds REAL, fit_seconds REAL, predict_seconds REAL, cpu_seconds REAL, -- wall time, the last processor time
    model_bytes INTEGER, n_candidates INTEGER,
    params TEXT, -- JSON, what was chosen
    curve TEXT, -- JSON, metrics of every size of the setting
    PRIMARY KEY ({_KEY})
);
CREATE TABLE runs (
    experiment TEXT NOT NULL, tuning TEXT NOT NULL, started REAL NOT NULL, machine INTEGER,
    left_out TEXT NOT NULL, -- JSON, datasets and learners that could not be had, and why
    added TEXT NOT NULL -- JSON, datasets and learners that are not the experiment's own
);
"""
_COLUMNS = [*_METRICS, "tune_seconds", "fit_seconds", "predict_seconds", "cpu_seconds", "model_bytes", "n_candidates"]


class StoreError(Exception):
    """A file that cannot be used as a store, said in one sentence."""


class Claimant(NamedTuple):
    """A process that fits."""

    owner: str
    host: str
    pid: int

    @classmethod
    def myself(cls) -> "Claimant":
        """Return this process; process numbers mean something within one machine and one container only."""
        host = platform.node()
        with suppress(OSError):
            host += " " + os.readlink("/proc/self/ns/pid")
        return cls(uuid.uuid4().hex, host, os.getpid())

    def is_dead(self, host: str, pid: int, beat: float) -> bool:
        """Whether a claim is nobody's any more."""
        if time() - beat > STALE_SECONDS:
            return True
        if host != self.host or pid == self.pid or os.name == "nt":
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False


class Run(NamedTuple):
    """What was asked for last."""

    tuning: str
    left_out: dict[str, str]  # datasets and learners that could not be had, and why
    added: list[str]  # datasets and learners that are not the experiment's own, of all its runs


class Store:
    """A store; a new file is made where there is none, unless it must exist."""

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        self.path = path
        self.me = Claimant.myself()
        if must_exist and not path.is_file():
            raise StoreError(f"There is no store {path}; run an experiment first, or name another with --store FILE.")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._check_layout()
        self._db = sqlite3.connect(path, timeout=120, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.create_function("is_dead", 3, self.me.is_dead)
        self._create()
        self._db.execute("PRAGMA journal_mode = WAL")  # readers and a writer at once
        self._db.execute("PRAGMA synchronous = NORMAL")

    def _check_layout(self) -> None:
        """Refuse a file of another program or another layout before anything in it is touched."""
        if not self.path.is_file() or self.path.stat().st_size == 0:
            return
        try:
            with _reading(self.path) as db:
                (application,) = db.execute("PRAGMA application_id").fetchone()
                (layout,) = db.execute("PRAGMA user_version").fetchone()
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path} is not a store of these benchmarks ({error}).") from error
        if application != APPLICATION:
            raise StoreError(f"{self.path} is not a store of these benchmarks; name another file with --store FILE.")
        if layout != LAYOUT:
            raise StoreError(
                f"{self.path} has layout {layout}, and these benchmarks read layout {LAYOUT}; keep it for the version "
                "that wrote it and name another file with --store FILE."
            )

    def _create(self) -> None:
        with self._transaction():
            (layout,) = self._db.execute("PRAGMA user_version").fetchone()
            if layout == 0:
                for statement in _TABLES.split(";\n"):
                    if statement.strip():
                        self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {APPLICATION}")
                self._db.execute(f"PRAGMA user_version = {LAYOUT}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- Work ---

    def claim(self, job: Job, retry_before: float = 0.0) -> bool:
        """Take a fit that nobody does or has done; failed ones only if they failed before that time."""
        cursor = self._db.execute(
            f"""INSERT INTO fits ({_KEY}, state, owner, host, pid, beat) VALUES (?, ?, ?, ?, ?, 'claimed', ?, ?, ?, ?)
            ON CONFLICT ({_KEY}) DO UPDATE SET
                state = 'claimed', owner = excluded.owner, host = excluded.host, pid = excluded.pid,
                beat = excluded.beat, error = NULL
            WHERE (state = 'claimed' AND is_dead(host, pid, beat)) OR (state = 'failed' AND finished < ?)""",
            (*job, *self.me, time(), retry_before),
        )
        return cursor.rowcount == 1

    def beat(self) -> None:
        """Renew the claims of this process."""
        self._db.execute("UPDATE fits SET beat = ? WHERE state = 'claimed' AND owner = ?", (time(), self.me.owner))

    def release(self) -> None:
        """Give back the claims of this process."""
        self._db.execute("DELETE FROM fits WHERE state = 'claimed' AND owner = ?", (self.me.owner,))

    def finish(self, job: Job, outcome: Outcome, version: str, machine: int, threads: int) -> bool:
        """Write down a result; False if the claim was lost meanwhile."""
        values = {**asdict(outcome), **outcome.metrics, "version": version, "machine": machine, "threads": threads}
        fields = {name: values.get(name) for name in (*_COLUMNS, "version", "machine", "threads")}
        fields["params"] = json.dumps(outcome.params, default=str)
        fields["curve"] = None if outcome.curve is None else json.dumps(outcome.curve)
        return self._end(job, "done", fields)

    def fail(self, job: Job, error: str, version: str, machine: int, threads: int) -> bool:
        """Write down that a fit failed; False if the claim was lost meanwhile."""
        return self._end(job, "failed", {"error": error, "version": version, "machine": machine, "threads": threads})

    def _end(self, job: Job, state: str, fields: dict[str, Any]) -> bool:
        fields = {**fields, "state": state, "finished": time(), "owner": None}
        names = ", ".join(f"{name} = ?" for name in fields)
        where = " AND ".join(f"{name} = ?" for name in Job._fields)
        cursor = self._db.execute(
            f"UPDATE fits SET {names} WHERE {where} AND state = 'claimed' AND owner = ?",
            (*fields.values(), *job, self.me.owner),
        )
        return cursor.rowcount == 1

    def forget(self, jobs: Iterable[Job]) -> int:
        """Delete what is known about some fits; return how many there were."""
        where = " AND ".join(f"{name} = ?" for name in Job._fields)
        with self._transaction():
            return sum(
                self._db.execute(f"DELETE FROM fits WHERE {where} AND state != 'claimed'", job).rowcount for job in jobs
            )

    # --- Reading ---

    def rows(self) -> dict[Job, dict[str, Any]]:
        """Return everything, by job."""
        rows = (dict(row) for row in self._db.execute("SELECT * FROM fits"))
        return {Job(*(row[name] for name in Job._fields)): row for row in rows}

    def machine(self, description: dict[str, Any]) -> int:
        """Return the number of a machine, new or known."""
        text = json.dumps(description, sort_keys=True)
        self._db.execute("INSERT OR IGNORE INTO machines (description) VALUES (?)", (text,))
        (number,) = self._db.execute("SELECT id FROM machines WHERE description = ?", (text,)).fetchone()
        return number

    def machines(self) -> dict[int, dict[str, Any]]:
        """Return all machines by number."""
        return {row["id"]: json.loads(row["description"]) for row in self._db.execute("SELECT * FROM machines")}

    def note_run(
        self, experiment: str, tuning: str, machine: int, left_out: dict[str, str], added: Iterable[str] = ()
    ) -> None:
        """Write down that an experiment was asked for."""
        values = (experiment, tuning, time(), machine, json.dumps(left_out), json.dumps(list(added)))
        self._db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", values)

    def runs(self) -> dict[str, Run]:
        """Return the last run of every experiment that was asked for, in the order of the first ones."""
        runs: dict[str, Run] = {}
        for row in self._db.execute("SELECT * FROM runs ORDER BY started"):
            before = runs[row["experiment"]].added if row["experiment"] in runs else []
            added = list(dict.fromkeys([*before, *json.loads(row["added"])]))
            runs[row["experiment"]] = Run(row["tuning"], json.loads(row["left_out"]), added)
        return runs


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file such that nothing in it can be changed."""
    db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=120)
    try:
        yield db
    finally:
        db.close()
