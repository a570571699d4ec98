"""The Dask engine: the same sweep on the workers of a Dask scheduler. They must see the store's folder.

Dask decides where a job runs and gives it to another worker if that one dies. It is not believed: a run is done when
its record is in the store. What Dask leaves silent (no worker, none with the resource, a dead scheduler) ends the
sweep with a sentence.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from loadstone.experiments.engines.job import run_job
from loadstone.experiments.plan import cost
from loadstone.experiments.record import Record
from loadstone.experiments.spec import Spec
from loadstone.experiments.store import Store
from loadstone.experiments.sweep import Progress, SweepError, recorded

try:
    from distributed import Client, Future
    from distributed.security import Security
except ImportError as error:
    raise ValueError(f"engine is 'dask', which needs the extra: pip install 'loadstone[cluster]' ({error}).") from error

_CONNECT_SECONDS = 10.0
_LOOK_SECONDS = 0.2
#: A job is given again as long as it made progress; this often in a row without any, its runs count as failed.
_ATTEMPTS = 5
#: Runs of one shape that go to one worker together at most: it compiles their program once.
_JOB_RUNS, _JOB_SECONDS = 16, 60.0
_RECONNECT_SECONDS = 10.0
_NETWORK_LOOKS = 10


@dataclass(frozen=True)
class Connection:
    """How to reach a scheduler: by the file that it wrote, or by its address; with TLS if all three files are given."""

    scheduler_file: str | None = None
    address: str | None = None
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    trust_network: bool = False

    def __post_init__(self) -> None:
        if (self.scheduler_file is None) == (self.address is None):
            raise ValueError("engine is 'dask', which needs either --scheduler-file or --address, and not both.")
        files = {"tls_ca": self.tls_ca, "tls_cert": self.tls_cert, "tls_key": self.tls_key}
        if any(files.values()) and not all(files.values()):
            raise ValueError("TLS needs all of --tls-ca, --tls-cert and --tls-key.")
        for name, path in files.items():
            if path and not Path(path).is_file():
                raise ValueError(f"{name} is {path!r}, but must be the name of a .pem file.")
        address = self.resolved
        if not re.fullmatch(r"tcp://.+|tls://.+", address) or _port(address) is None:
            raise ValueError(f"address is {address!r}, but must be tcp://HOST:PORT or tls://HOST:PORT.")
        if address.startswith("tcp://") and self.tls_ca:
            raise ValueError(
                f"address is {address!r}, which has no TLS: leave the certificates out, or start it with TLS."
            )
        if address.startswith("tls://") and not self.tls_ca:
            raise ValueError(f"address is {address!r}, which needs --tls-ca, --tls-cert and --tls-key.")
        if address.startswith("tcp://") and not self.trust_network and not _is_loopback(address):
            raise ValueError(
                f"address is {address!r}, where anyone on the network could run code: use TLS (docs/cluster.md), or "
                "say --trust-network if nobody else is on it."
            )

    @cached_property
    def resolved(self) -> str:
        """Read once: a scheduler that ends may take its file along."""
        if self.address is not None:
            return self.address
        path = Path(self.scheduler_file)
        try:
            return str(json.loads(path.read_bytes()[:1_000_000])["address"])
        except OSError as error:
            raise ValueError(f"scheduler_file is {str(path)!r}, which cannot be read: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"scheduler_file is {str(path)!r}, which no Dask scheduler wrote.") from error

    def connect(self) -> Client:
        security = None
        if self.tls_ca:
            security = Security(
                tls_ca_file=self.tls_ca, tls_client_cert=self.tls_cert, tls_client_key=self.tls_key,
                require_encryption=True,
            )  # fmt: skip
        try:
            return Client(self.resolved, timeout=_CONNECT_SECONDS, security=security, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise SweepError(f"no scheduler answers at {self.resolved} ({' '.join(str(error).split())}).") from error


@dataclass
class DaskEngine:
    """Run specs on the workers of a scheduler, each run taking one of `resource` (such as 'GPU') if given."""

    connection: Connection
    resource: str | None = None
    patience: float = 60.0
    budget: int | None = None

    def __call__(self, specs: Sequence[Spec], store: Store, progress: Progress) -> None:
        client = self.connection.connect()
        try:
            _Sweep(self, client, store, progress).run(specs)
        finally:
            # A client that lost its scheduler would wait for it; nothing of it is needed any more.
            client.close(timeout=2)


class _Sweep:
    def __init__(self, engine: DaskEngine, client: Client, store: Store, progress: Progress) -> None:
        self.engine, self.client, self.store, self.progress = engine, client, store, progress
        self.running: dict[Future, list[Spec]] = {}
        self.attempts: dict[str, int] = {}
        self.last_usable = time.monotonic()
        self.known: set[str] = set()
        self.watcher = _Watcher(client)

    def run(self, specs: Sequence[Spec]) -> None:
        self.watcher.start()
        self._wait_for_workers()
        for job in jobs(specs, self.progress.workers):
            self._give(job)
        while self.running:
            time.sleep(_LOOK_SECONDS)
            self._wait_for_workers()
            # After a scheduler is lost all futures seem done: they are looked at only while it answers.
            for future in [future for future in self.running if future.done()]:
                self._settle(future, self.running.pop(future))

    def _give(self, specs: list[Spec]) -> None:
        identities = [spec.identity() for spec in specs]
        needs = {self.engine.resource: 1} if self.engine.resource else None
        # The longest first: Dask takes higher priorities first.
        future = self.client.submit(
            run_job, identities, str(self.store.folder.absolute()), self.engine.budget,
            resources=needs, pure=False, priority=_seconds(specs),
        )  # fmt: skip
        self.running[future] = specs

    def _settle(self, future: Future, specs: list[Spec]) -> None:
        reports = _reports(future)
        error = "" if reports else _sentence(future)
        left = []
        for spec in specs:
            report = reports.get(spec.key, {})
            record = recorded(spec, self.store) or (self._look_longer(spec) if report.get("done") else None)
            if record is not None:
                self.progress.finished(spec, str(record.result.get("status")))
            elif report.get("done") is False:
                self.progress.fail(spec, str(report["why"]))
            elif report:
                raise SweepError(
                    f"a worker says that it recorded {spec}, but its record is not in {self.store.folder.absolute()}: "
                    "the workers must see the same folder."
                )
            else:
                left.append(spec)
        if len(left) < len(specs):
            self.attempts.pop(left[0].key if left else "", None)
        if not left:
            return
        if _is_of_writing(future):
            raise SweepError(f"the store {self.store.folder} cannot be written by a worker: {error}.")
        tries = self.attempts[left[0].key] = self.attempts.get(left[0].key, 0) + 1
        if tries < _ATTEMPTS:
            self._give(left)
        elif len(left) > 1:
            # One of them brings its workers down: find out which.
            for spec in left:
                self._give([spec])
        else:
            self.progress.fail(left[0], error)

    def _wait_for_workers(self) -> None:
        """Return when there is a usable worker; give up when there was none for long, or the scheduler is gone."""
        while not self._usable():
            now = time.monotonic()
            if now - self.watcher.answered > _RECONNECT_SECONDS:
                raise SweepError(f"the scheduler at {self.engine.connection.resolved} is gone.")
            if now - self.last_usable > self.engine.patience:
                what = f"no worker with the resource {self.engine.resource}" if self.engine.resource else "no worker"
                raise SweepError(f"{what} was there for {self.engine.patience:.0f} seconds: start one, then run again.")
            time.sleep(_LOOK_SECONDS)

    def _usable(self) -> bool:
        workers = self.watcher.workers
        if self.client.status != "running" or time.monotonic() - self.watcher.answered > _RECONNECT_SECONDS:
            return False
        self.progress.lost_workers += len(self.known - workers.keys())
        self.known = set(workers)
        resource = self.engine.resource
        fit = [one for one in workers.values() if resource is None or one.get("resources", {}).get(resource, 0) >= 1]
        self.progress.workers = max(1, len(fit))
        self.progress.watch(self.progress)
        if fit:
            self.last_usable = time.monotonic()
        return bool(fit)

    def _look_longer(self, spec: Spec) -> Record | None:
        """Network file systems remember for a while that a file was not there; listing its folder helps."""
        for _ in range(_NETWORK_LOOKS):
            time.sleep(1)
            self.store.missing([spec.key])
            if found := recorded(spec, self.store):
                return found
        return None


class _Watcher(threading.Thread):
    """Asks the scheduler again and again who is there: one that hangs must not make the driver hang."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self.client, self.workers = client, {}
        self.answered = time.monotonic()

    def run(self) -> None:
        while self.client.status in ("running", "connecting"):
            with contextlib.suppress(OSError, TimeoutError, RuntimeError):  # gone for now, or for good: time will tell
                self.workers = self.client.scheduler_info(n_workers=-1).get("workers", {})
                self.answered = time.monotonic()
            time.sleep(5 * _LOOK_SECONDS)


def jobs(specs: Sequence[Spec], workers: int) -> list[list[Spec]]:
    """Runs of one shape together, not too many and not too long; the longest job first."""
    shapes: dict[Spec, list[Spec]] = {}
    for spec in specs:
        shapes.setdefault(spec.shape, []).append(spec)
    found = []
    for shape, alike in shapes.items():
        # At least two jobs for each worker, where there are few shapes.
        runs = max(1, min(_JOB_RUNS, len(specs) // (2 * workers), int(_JOB_SECONDS / _seconds([shape]))))
        found += [alike[first : first + runs] for first in range(0, len(alike), runs)]
    return sorted(found, key=lambda job: -_seconds(job))


def _seconds(specs: Sequence[Spec]) -> float:
    """What runs will take on a processor: of a cluster's workers nobody says beforehand what they have."""
    return sum(cost(spec, "cpu") for spec in specs)


def _reports(future: Future) -> dict[str, Mapping[str, object]]:
    """What the job said, if that can still be had: a worker may die, or the scheduler, before it is fetched."""
    if future.status != "finished":
        return {}
    try:
        return {str(report["key"]): report for report in future.result(timeout=_CONNECT_SECONDS)}
    except (OSError, TimeoutError, CancelledError):
        return {}


def _port(address: str) -> int | None:
    try:
        return urlsplit(address).port
    except ValueError:
        return None


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_of_writing(future: Future) -> bool:
    return future.status == "error" and isinstance(future.exception(), OSError)


def _sentence(future: Future) -> str:
    if future.status == "error":
        return " ".join(f"{type(future.exception()).__name__}: {future.exception()}".split())[:300]
    return f"its job was {future.status}"
