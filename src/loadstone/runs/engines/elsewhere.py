"""A Dask scheduler that somebody else started, with workers that see the store's folder."""

from __future__ import annotations

import ipaddress
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from distributed import Client
from distributed.security import Security

from loadstone.arguments import refuse
from loadstone.runs.engines.machine import deaf_to_interrupts
from loadstone.runs.sweep import SweepError

_CONNECT_SECONDS = 10.0


@dataclass(frozen=True)
class Elsewhere:
    """How to reach a scheduler: by the file that it wrote, or by its address; with TLS if all three files are given.

    scheduler_file: the file that `dask scheduler --scheduler-file` wrote.
    address: instead of the file, such as 'tcp://127.0.0.1:8786'.
    tls_ca, tls_cert, tls_key: certificate authority, our certificate and our key (.pem).
    trust_network: allow tcp:// without TLS to another machine.
    """

    scheduler_file: str | None = None
    address: str | None = None
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    trust_network: bool = False

    def __post_init__(self) -> None:
        if (self.scheduler_file is None) == (self.address is None):
            raise ValueError("a scheduler elsewhere is reached by either --scheduler-file or --address, and not both.")
        files = {"tls_ca": self.tls_ca, "tls_cert": self.tls_cert, "tls_key": self.tls_key}
        if any(files.values()) and not all(files.values()):
            raise ValueError("TLS needs all of --tls-ca, --tls-cert and --tls-key.")
        for name, path in files.items():
            if path and not Path(path).is_file():
                raise refuse(name, path, "the name of a .pem file")
        what = f"address is {self.resolved!r}"
        if not re.fullmatch(r"(tcp|tls)://(.+):\d{1,5}", self.resolved):
            raise ValueError(f"{what}, but must be tcp://HOST:PORT or tls://HOST:PORT.")
        encrypted = self.resolved.startswith("tls")
        if encrypted and not self.tls_ca:
            raise ValueError(f"{what}, which needs --tls-ca, --tls-cert and --tls-key.")
        if self.tls_ca and not encrypted:
            raise ValueError(f"{what}, which has no TLS: leave the certificates out, or start it with TLS.")
        if not (encrypted or self.trust_network or _is_loopback(self.resolved)):
            raise ValueError(
                f"{what}, where anyone on the network could run code: use TLS (docs/cluster.md), or say "
                "--trust-network if nobody else is on it."
            )

    @cached_property
    def resolved(self) -> str:
        """The address of the scheduler. Its file is read only once, because the scheduler removes it when it ends."""
        if self.address is not None:
            return self.address
        assert self.scheduler_file is not None
        path = Path(self.scheduler_file)
        try:
            return str(json.loads(path.read_bytes()[:1_000_000])["address"])
        except OSError as error:
            raise ValueError(f"scheduler_file is {str(path)!r}, which cannot be read: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"scheduler_file is {str(path)!r}, which no Dask scheduler wrote.") from error

    def connect(self, most: int) -> Client:
        files = {"tls_ca_file": self.tls_ca, "tls_client_cert": self.tls_cert, "tls_client_key": self.tls_key}
        security = Security(require_encryption=True, **files) if self.tls_ca else None
        try:
            with deaf_to_interrupts():
                return Client(self.resolved, timeout=_CONNECT_SECONDS, security=security, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise SweepError(f"no scheduler answers at {self.resolved} ({' '.join(str(error).split())}).") from error

    def look_after(self, anyone_there: bool) -> None:
        """Nothing to do: whoever started these workers restarts them."""

    def close(self, client: Client) -> None:
        # A client that lost its scheduler would wait for it, and we need nothing more from it.
        with suppress(Exception):
            client.close(timeout=2)


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
