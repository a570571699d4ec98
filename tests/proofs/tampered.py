"""Proof files with some contents changed."""

import numpy as np

from loadstone.proofs.certificate import _checksum


def changed(proof, tmp_path, sign=True, **changes):
    """A copy of a proof with some contents changed (values, or functions of what was there) or dropped (None), its
    checksum made to fit or not."""
    with np.load(proof) as file:
        contents = {name: file[name].copy() for name in file.files}
    for name, change in changes.items():
        if change is None:
            del contents[name]
        else:
            contents[name] = np.asarray(change(contents.get(name)) if callable(change) else change)
    if sign and "checksum" in contents:
        del contents["checksum"]
        contents["checksum"] = np.asarray(_checksum(contents))
    path = tmp_path / "changed.npz"
    np.savez(path, **contents)
    return path
