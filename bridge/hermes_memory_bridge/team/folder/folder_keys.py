"""Keys of the themes that travel through a folder: the code that carries one to another machine, and where they are kept.

A key is kept as all secrets of this program are: in the keyring, or in the file that a person allowed. Where there is
neither, it is kept behind a passphrase.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.dsn import VAULT_THEME
from hermes_memory_bridge.team.folder.folder_states import LOCKED
from hermes_memory_bridge.team.folder.segment import ThemeKey, make_cipher
from hermes_memory_bridge.trust import open_store_vault
from hermes_memory_bridge.trust.system_keyring import VaultError
from hermes_memory_bridge.trust.vault import replace_private_file
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import ArgumentError

PASSPHRASE = "HERMES_MEMORY_FOLDER_PASSPHRASE"  # noqa: S105 - its name
"""The variable that may hold the passphrase."""

CODE = "hmf1"
"""Begins a code."""

KEY_BYTES, CHECK_BYTES = 32, 3
"""A code holds both: 35 bytes are 56 letters."""

SCRYPT = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 64 << 20}
"""A tenth of a second and 32 MiB for each guess of a passphrase."""

FILE = "folder-keys.json"

ALIKE = str.maketrans({"0": "O", "1": "I", "8": "B"})
"""Digits that a code has not, and the letters that they were read for."""


def new_theme_key() -> ThemeKey:
    """Return a key for a theme that is shared for the first time."""
    return ThemeKey(os.urandom(KEY_BYTES))


def to_key_code(key: ThemeKey) -> str:
    """Return the code by which another machine gets a key: groups of four letters."""
    letters = base64.b32encode(key.secret + key_check(key.secret)).decode()
    return "-".join([CODE, *(letters[at : at + 4] for at in range(0, len(letters), 4))])


def parse_key_code(text: str) -> ThemeKey:
    """Return the key of a code, as a person types it.

    :raises ArgumentError: it is none, or mistyped; it is not repeated, since it is a key
    """
    code = "".join(text.split()).replace("-", "").upper()
    wrong = ArgumentError("this is no code of a shared theme: it begins with hmf1 and has 14 groups of four", None)
    if not code.startswith(CODE.upper()):
        raise wrong
    letters = code[len(CODE) :].translate(ALIKE)
    try:
        data = base64.b32decode(letters)
    except (binascii.Error, ValueError):
        raise wrong from None
    if len(data) != KEY_BYTES + CHECK_BYTES:
        raise wrong
    if data[KEY_BYTES:] != key_check(data[:KEY_BYTES]):
        raise ArgumentError("the code has a typing mistake somewhere: compare it group by group", None)
    return ThemeKey(data[:KEY_BYTES])


def key_check(secret: bytes) -> bytes:
    """Return what tells a mistyped code."""
    return hashlib.sha256(b"hermes-memory code " + secret).digest()[:CHECK_BYTES]


class FolderKeys:
    """The keys of one store's themes."""

    def __init__(self, paths: BridgePaths) -> None:
        self._paths = paths
        self._file = Path(paths.folder) / FILE
        self._passphrase: str | None = None
        self._known: dict[str, ThemeKey] = {}

    def find(self, theme: str) -> ThemeKey | None:
        """Return the key of a theme; None when there is none.

        :raises TeamError: it is behind a passphrase that is not known
        :raises VaultError: the keyring cannot be asked
        """
        key = self._known.get(theme)
        if key is None:
            sealed = self._read_sealed().get(theme)
            if sealed is not None:
                key = self._unseal(theme, sealed)
            else:
                secret = open_store_vault(self._paths.store).reveal(VAULT_THEME, to_key_name(theme))
                key = None if secret is None else ThemeKey(bytes.fromhex(secret))
            if key is not None:
                self._known[theme] = key
        return key

    def keep(self, theme: str, key: ThemeKey) -> None:
        """Keep the key of a theme, behind the passphrase where nothing else may keep it.

        :raises VaultError: nothing may keep it, and no passphrase is given
        """
        try:
            open_store_vault(self._paths.store).replace(VAULT_THEME, to_key_name(theme), key.secret.hex())
        except VaultError as error:
            passphrase = self._find_passphrase()
            if not passphrase:
                raise VaultError(f"{error.message}; or give a passphrase, in ${PASSPHRASE} or when asked") from error
            sealed_keys = self._read_sealed()
            sealed_keys[theme] = seal_key(theme, key, passphrase)
            replace_private_file(self._file, json.dumps(sealed_keys, indent=1))
        self._known[theme] = key

    def hold(self, theme: str, key: ThemeKey) -> None:
        """Hold the key of a theme in this process alone."""
        self._known[theme] = key

    def forget(self, theme: str) -> bool:
        """Forget the key of a theme; return whether there was one."""
        self._known.pop(theme, None)
        sealed_keys = self._read_sealed()
        if sealed_keys.pop(theme, None) is not None:
            replace_private_file(self._file, json.dumps(sealed_keys, indent=1))
            return True
        vault = open_store_vault(self._paths.store)
        if vault.reveal(VAULT_THEME, to_key_name(theme)) is None:
            return False
        vault.forget(VAULT_THEME, to_key_name(theme))
        return True

    def unlock(self, passphrase: str) -> int:
        """Take the passphrase of the keys behind one; return how many it opens. :raises ArgumentError: it is wrong"""
        self._passphrase = passphrase
        sealed = self._read_sealed()
        try:
            self._known.update({theme: self._unseal(theme, sealed_key) for theme, sealed_key in sealed.items()})
        except TeamError:
            self._passphrase = None
            raise ArgumentError("the passphrase does not open the keys of this memory", None) from None
        return len(sealed)

    def _find_passphrase(self) -> str | None:
        return self._passphrase or os.environ.get(PASSPHRASE) or None

    def _read_sealed(self) -> dict[str, Any]:
        """Return the keys behind a passphrase. :raises VaultError: their file is damaged"""
        try:
            return dict(json.loads(self._file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError) as error:
            raise VaultError(f"{self._file} cannot be read ({error}); mend it or move it away", self._file) from error

    def _unseal(self, theme: str, sealed: Any) -> ThemeKey:
        passphrase = self._find_passphrase()
        if not passphrase:
            raise TeamError(LOCKED)
        wrapping = derive_wrapping_key(passphrase, bytes.fromhex(sealed["salt"]))
        cipher = make_cipher(wrapping)
        from cryptography.exceptions import InvalidTag

        try:
            content = bytes.fromhex(sealed["sealed"])
            return ThemeKey(cipher.decrypt(bytes.fromhex(sealed["nonce"]), content, theme.encode()))
        except InvalidTag:
            raise TeamError(LOCKED, "the one that is given is wrong") from None


def seal_key(theme: str, key: ThemeKey, passphrase: str) -> dict[str, str]:
    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = make_cipher(derive_wrapping_key(passphrase, salt)).encrypt(nonce, key.secret, theme.encode())
    return {"salt": salt.hex(), "nonce": nonce.hex(), "sealed": sealed.hex()}


def derive_wrapping_key(passphrase: str, salt: bytes) -> ThemeKey:
    return ThemeKey(hashlib.scrypt(passphrase.encode(), salt=salt, dklen=KEY_BYTES, **SCRYPT))


def to_key_name(theme: str) -> str:
    return f"folder-key:{theme}"
