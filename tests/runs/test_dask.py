"""Sweeps through Dask, on this machine or with a scheduler elsewhere: real processes, killed for real."""

import datetime
import ipaddress
import json
import os
import random
import resource
import signal
import threading
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from distributed import Client

from loadstone.runs.engines import dask as engine
from loadstone.runs.engines import elsewhere
from loadstone.runs.engines.dask import DaskEngine
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.sweep import Progress, SweepError
from tests.runs.faults import (
    GRID,
    Cluster,
    finish,
    grid_file,
    past_its_start,
    results,
    run,
    serial,
    start,
    wait_until,
    workers_of,
)

KILLS = int(os.environ.get("LOADSTONE_WORKER_KILLS", "2"))
#: The long version: here workers of a scheduler elsewhere are tested like our own in test_one_machine.py.
LONG = "LOADSTONE_WORKER_KILLS" in os.environ
long_form = pytest.mark.skipif(not LONG, reason="for make soak: workers on this machine show the same in make test")


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    # Enough work for all the kills: about a second of it for each.
    return grid_file(tmp_path_factory.mktemp("grid"), 6 * KILLS, GRID.replace("steps = 200", "steps = 5000"))


@pytest.fixture(scope="module")
def expected(grid):
    return serial(grid)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    cluster.worker("--resources", "GPU=1")
    cluster.worker()
    yield cluster
    cluster.close()


def dask(grid, store, cluster, *options):
    return "run", grid, "--store", store.folder, "--scheduler-file", cluster.file, *options


@pytest.mark.parametrize("where", ["elsewhere", "on this machine"] if LONG else ["elsewhere"])
def test_killed_workers_lose_nothing_and_change_no_bit(where, grid, expected, request, tmp_path):
    store = Store(tmp_path / "store")
    if where == "elsewhere":
        cluster = request.getfixturevalue("cluster")
        arguments, workers = dask(grid, store, cluster), cluster.worker_processes
    else:
        arguments, workers = ("run", grid, "--store", store.folder, "--workers", 2), lambda: workers_of(driver)
    driver = start(*arguments, "--json")
    wait_until(lambda: store.keys() or driver.poll() is not None, 120)
    chance, kills, interrupted = random.Random(1), 0, 0
    while kills < KILLS and driver.poll() is None:
        # Kill at a random moment, but only after the sweep has made progress since the last kill.
        there = len(store.keys())
        wait_until(lambda: len(store.keys()) > there or driver.poll() is not None, 120)  # noqa: B023
        time.sleep(0.3 * chance.random())
        if found := [one for one in workers() if past_its_start(one, 2)]:
            chance.choice(found).kill()
            kills += 1
            interrupted += driver.poll() is None
    code, out, err = finish(driver, 400)
    outcome = json.loads(out)
    # Chance may hit one run three times, which then counts as the one to blame.
    assert all("3 workers died on it" in why for why in outcome["failed"]), err
    assert code == (1 if outcome["failed"] else 0) and len(outcome["failed"]) <= max(1, KILLS // 10), err
    assert interrupted == KILLS and 1 <= outcome["lost_workers"] <= KILLS
    if outcome["failed"]:
        assert run("run", grid, "--store", store.folder, "--workers", 2)[0] == 0
    assert results(store) == expected and not store.quarantined()
    print(f"{kills} workers killed {where}, {outcome['total']} runs: complete, every record the serial one")


@long_form
def test_a_run_that_brings_down_its_workers_fails_and_the_others_do_not(tmp_path):
    """One run is far too long; the worker that does it is killed, three times. The scheduler has Dask's defaults."""
    text = '[[grid]]\nproblem = "original"\nd = 12\np = 30\nseeds = 2\nsteps = 50\n'
    text += '[[grid]]\nproblem = "original"\nd = 200\np = 4000\nsteps = 100000\nstop = "none"\n'
    cluster, grid, store = Cluster(tmp_path), grid_file(tmp_path, text=text), Store(tmp_path / "store")
    try:
        cluster.worker()
        cluster.worker()
        driver = start(*dask(grid, store, cluster, "--json"))
        wait_until(lambda: len(store.keys()) == 2)
        for _ in range(3):
            (worker,) = wait_until(lambda: [one for one in cluster.worker_processes() if past_its_start(one, 6)])
            worker.kill()
            wait_until(lambda: not worker.is_running())  # noqa: B023
        code, out, err = finish(driver)
        outcome = json.loads(out)
        assert code == 1 and outcome["missing"] == 1 and outcome["lost_workers"] == 3 and len(store.keys()) == 2
        assert "d = 200, p = 4000, paper, seed 0: 3 workers died on it" in err
    finally:
        cluster.close()


@pytest.mark.soak
def test_runs_go_to_workers_with_the_resource(cluster, tmp_path):
    store, grid = Store(tmp_path / "store"), grid_file(tmp_path, seeds=1)
    code, _, err = run(*dask(grid, store, cluster, "--resource", "TPU", "--patience", "2"))
    assert code == 1 and "no worker with the resource TPU was there for 2 seconds" in err and "2 missing" in err
    assert run(*dask(grid, store, cluster, "--resource", "GPU"))[0] == 0 and len(store.keys()) == 2


def test_a_full_disk_at_the_workers_ends_the_sweep(cluster, tmp_path):
    """A limit on the size of files is what a full disk looks like to a writer: a write that fails halfway."""
    store, grid = Store(tmp_path / "store"), grid_file(tmp_path, seeds=1)
    workers = wait_until(lambda: len(found := cluster.worker_processes()) == 2 and found)
    for worker in workers:
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    code, _, err = run(*dask(grid, store, cluster))
    for worker in workers:
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert code == 1 and "cannot be written by a worker: OSError: [Errno 27] File too large" in err
    assert "Traceback" not in err and not store.keys() and not list(store.folder.rglob("*.part"))


def test_an_interrupt_leaves_the_cluster_free(grid, cluster, tmp_path):
    store = Store(tmp_path / "store")
    driver = start(*dask(grid, store, cluster))
    wait_until(lambda: store.keys())
    driver.send_signal(signal.SIGINT)
    code, _, err = finish(driver, 60)
    assert code == 130 and "runs are recorded; start again" in err and "Traceback" not in err
    # What was given but not begun is taken back. Each worker ends its job, however long that takes, and serves others.
    with Client(scheduler_file=str(cluster.file)) as client:
        client.wait_for_workers(2, timeout=60)
        workers = client.scheduler_info(n_workers=-1)["workers"]
        others = [client.submit(os.getpid, workers=[one], pure=False) for one in workers]
        assert len(set(client.gather(others))) == len(workers)
    there = len(store.keys())
    time.sleep(1)
    assert len(store.keys()) == there < 12 * KILLS


#: It takes a while to notice a frozen scheduler: only tested together with many kills (`make soak`).
ENDS = [signal.SIGKILL, signal.SIGSTOP] if LONG else [signal.SIGKILL]


@pytest.mark.parametrize("how", ENDS)
def test_a_killed_or_frozen_scheduler_ends_the_sweep_and_a_second_start_completes_it(how, tmp_path, told):
    cluster, grid, store = Cluster(tmp_path), grid_file(tmp_path, seeds=12), Store(tmp_path / "store")
    try:
        cluster.worker()
        driver = start(*dask(grid, store, cluster))
        wait_until(lambda: len(store.keys()) >= 2)
        cluster.scheduler.send_signal(how)
        code, _, err = finish(driver, 90)
        assert code == 1 and "the scheduler at tcp://127.0.0.1:" in err and "is gone" in err
        assert 2 <= len(store.keys()) < 24
        code, out, _ = told("run", grid, "--store", store.folder, "--workers", 1, "--json")
        assert code == 0 and json.loads(out)["before"] >= 2
        assert how == signal.SIGSTOP or results(store) == serial(grid)
    finally:
        cluster.close()


SPECS = [Spec("original", 12, 30, parameters={"steps": 8, "warmup": 2})]


@pytest.mark.soak
def test_a_client_that_gives_up_before_us_ends_the_sweep_in_the_same_words(monkeypatch, tmp_path):
    monkeypatch.setattr(elsewhere, "_CONNECT_SECONDS", 1.0)
    monkeypatch.setattr(engine, "_GONE_SECONDS", 4.0)
    cluster = Cluster(tmp_path)
    kill = threading.Timer(1.0, cluster.scheduler.kill)
    try:
        there = elsewhere.Elsewhere(scheduler_file=str(cluster.file))
        kill.start()
        with pytest.raises(SweepError, match="the scheduler at tcp://127.0.0.1:.* is gone"):
            DaskEngine(there)(SPECS, Store(tmp_path / "store"), Progress(len(SPECS), 0, SPECS))
    finally:
        kill.join()
        cluster.close()


@pytest.fixture
def soon(monkeypatch, told):
    """A command in this process that gives up soon where no scheduler answers."""
    monkeypatch.setattr(elsewhere, "_CONNECT_SECONDS", 3.0)
    return told


def test_no_worker_and_no_scheduler(tmp_path, soon):
    cluster, grid, store = Cluster(tmp_path), grid_file(tmp_path, seeds=1), Store(tmp_path / "store")
    try:
        code, _, err = run(*dask(grid, store, cluster, "--patience", "1"))
        assert code == 1 and "no worker was there for 1 seconds: start one, then run again" in err
    finally:
        cluster.close()
    code, _, err = soon(*dask(grid, store, cluster))
    assert code == 1 and "no scheduler answers at tcp://127.0.0.1" in err and "Traceback" not in err


BAD = {
    "both": (["--scheduler-file", "f", "--address", "tcp://127.0.0.1:1"], "and not both"),
    "no file": (["--scheduler-file", "none.json"], "scheduler_file is 'none.json', which cannot be read"),
    "not its file": (["--scheduler-file", "grid.toml"], "which no Dask scheduler wrote"),
    "open network": (["--address", "tcp://10.0.0.7:8786"], "where anyone on the network could run code: use TLS"),
    "odd address": (["--address", "ucx://127.0.0.1:1"], "must be tcp://HOST:PORT or tls://HOST:PORT"),
    "no certificates": (["--address", "tls://127.0.0.1:1"], "needs --tls-ca, --tls-cert and --tls-key"),
    "no port": (["--address", "tcp://127.0.0.1"], "must be tcp://HOST:PORT"),
    "odd port": (["--address", "tcp://127.0.0.1:abc"], "must be tcp://HOST:PORT"),
    "no patience": (["--address", "tcp://127.0.0.1:1", "--patience", "nan"], "patience is nan"),
    "one certificate": (["--address", "tls://127.0.0.1:1", "--tls-ca", "grid.toml"], "TLS needs all of"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_connections_get_one_sentence(name, command, tmp_path):
    arguments, sentence = BAD[name]
    grid_file(tmp_path, seeds=1)
    done = command("run", "grid.toml", "--store", "s", *arguments, cwd=tmp_path)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "s").exists()


def certificates(folder):
    """An authority and one certificate that it signed, for a host of this test only."""
    files = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
    names = {name: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("ca", "loadstone")}
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in names}
    now = datetime.datetime.now(datetime.UTC)
    for name, key in keys.items():
        made = x509.CertificateBuilder().subject_name(names[name]).issuer_name(names["ca"])
        made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
        made = made.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        made = made.add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
        host = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = made.add_extension(x509.SubjectAlternativeName([host]), critical=False)
        signed = made.sign(keys["ca"], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        files["ca" if name == "ca" else "cert"].write_bytes(signed)
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    files["key"].write_bytes(keys["loadstone"].private_bytes(pem, form, serialization.NoEncryption()))
    return files


def test_tls_works_and_lets_nobody_else_in(tmp_path, soon):
    files = certificates(tmp_path)
    theirs = ("--protocol", "tls", "--tls-ca-file", files["ca"], "--tls-cert", files["cert"], "--tls-key", files["key"])
    cluster, grid, store = Cluster(tmp_path, theirs), grid_file(tmp_path, seeds=1), Store(tmp_path / "store")
    try:
        cluster.worker()
        assert json.loads(cluster.file.read_text())["address"].startswith("tls://")
        ours = ("--tls-ca", files["ca"], "--tls-cert", files["cert"], "--tls-key", files["key"])
        code, _, err = run(*dask(grid, store, cluster, *ours))
        assert code == 0 and len(store.keys()) == 2, err
        (tmp_path / "other").mkdir()
        foreign = certificates(tmp_path / "other")
        ours = ("--tls-ca", foreign["ca"], "--tls-cert", foreign["cert"], "--tls-key", foreign["key"])
        code, _, err = soon(*dask(grid_file(tmp_path, seeds=2), store, cluster, *ours))
        assert code == 1 and "no scheduler answers" in err
    finally:
        cluster.close()
