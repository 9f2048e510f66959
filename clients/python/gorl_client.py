"""Asks a policy that a Go program serves (gymnasium.Serve of gorl) what to do, through memory that both map.

    policy = Policy("/dev/shm/my-policy")
    observation, info = env.reset()
    action = policy.act(observation)

Needs Linux and numpy; nothing else.
"""

import ctypes
import fcntl
import json
import mmap
import os
import struct
import time

import numpy as np

__all__ = ["Policy", "PolicyError"]

_MAGIC, _VERSION = b"GORLSHM\0", 1
_SEQUENCE, _COMMAND, _PID, _ROWS, _DONE, _STATUS, _SERVER = 0, 1, 2, 3, 16, 17, 18  # words of the control block
_FAILED = 2


class PolicyError(RuntimeError):
    """What keeps a policy from answering."""


class Policy:
    """A policy served at path. Waits up to wait seconds for it to be there; an answer may take timeout seconds.

    name, rows (how many observations it takes at once), observation_width and action_kind say what it is.
    One program may ask at a time. Use it with `with`, or call close().
    """

    def __init__(self, path, wait=10.0, timeout=10.0):
        self.timeout, self._file = timeout, None
        self._file = _open(path, wait)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise PolicyError(f"{path}: another program is asking this policy") from None
        self._map = mmap.mmap(self._file.fileno(), 0)
        layout = _layout(self._map, path)
        self._policy = layout["policy"]
        offset = layout["control"]["offset"]
        self._words = memoryview(self._map)[offset : offset + layout["control"]["stride"]].cast("I")
        self._anchor = (ctypes.c_uint32 * 32).from_buffer(self._map, offset)
        self._address, self._futex = ctypes.addressof(self._anchor), layout["futex"]
        self._second = (ctypes.c_long * 2)(1, 0)
        self._syscall = ctypes.CDLL(None, use_errno=True).syscall
        self._syscall.restype = ctypes.c_long
        self._syscall.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32]

        def array(name):
            place = layout["arrays"].get(name)
            return None if place is None else np.ndarray(place["shape"], np.dtype(place["dtype"]), self._map, place["offset"])

        self._observations, self._states = array("observations"), array("states")
        self._actions, self._message = array("actions"), array("message")
        self.name, self.action_kind = self._policy["name"], self._policy["action"]["kind"]
        self.rows, self.observation_width = self._observations.shape
        self._wait(self._words[_SEQUENCE])  # for what a program before this one asked last

    def act(self, observation, state=None):
        """The actions for a batch of observations, or the action for one.

        Observations of Dict and Tuple spaces are flattened as gorl does: sorted by key, in order. Of a batch (a first
        dimension more than one observation has) there may be up to `rows`. Box actions come as float32 arrays in the shape
        of the space, Discrete ones as integers, MultiDiscrete ones as int64 arrays.
        """
        if self._file is None:
            raise PolicyError("the policy has been closed")
        rows, batched = _rows(observation, self._policy["observation"], self.observation_width)
        n = len(rows)
        if not 1 <= n <= self.rows:
            raise ValueError(f"{n} observations; the policy takes from 1 to {self.rows} at once")
        if self._states is not None:
            if state is None:
                raise ValueError("the policy was trained with privileged states; pass them as state")
            states, _ = _rows(state, self._policy["state"], self._states.shape[1])
            if len(states) != n:
                raise ValueError(f"{len(states)} states for {n} observations")
            self._states[:n] = states
        self._observations[:n] = rows
        words = self._words
        words[_COMMAND], words[_PID], words[_ROWS] = 1, os.getpid(), n
        # FUTEX_WAKE_OP: the kernel adds one to the word, with the barriers that an atomic operation has, and wakes the server.
        if self._syscall(self._futex, self._address, 5, 1, None, self._address, 0x10001000) < 0:
            words[_SEQUENCE] = (words[_SEQUENCE] + 1) & 0xFFFFFFFF
            self._syscall(self._futex, self._address, 1, 1, None, None, 0)
        self._wait(words[_SEQUENCE])
        if words[_STATUS] & _FAILED:
            raise PolicyError(bytes(self._message).split(b"\0", 1)[0].decode(errors="replace"))
        actions = self._shaped(self._actions[:n])
        return actions if batched else actions[0]

    def _shaped(self, actions):
        space = self._policy["action"]
        if space["kind"] == "Discrete":
            return actions[:, 0].astype(np.int64)
        if space["kind"] == "MultiDiscrete":
            return actions.astype(np.int64)
        return actions.reshape([len(actions)] + space["shape"]).copy()

    def _wait(self, sequence):
        """Returns when the server has answered up to sequence."""
        words, until = self._words, time.monotonic() + self.timeout
        while True:
            done = words[_DONE]
            if done == sequence:
                return
            server = words[_SERVER]
            if server == 0 or not _alive(server):
                raise PolicyError("the program that served the policy has ended")
            if time.monotonic() > until:
                raise PolicyError(f"no answer within {self.timeout} s")
            self._syscall(self._futex, self._address + 4 * _DONE, 0, done, ctypes.addressof(self._second), None, 0)

    def close(self):
        """Lets another program ask. The policy goes on being served."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)  # the mapping would hold on to the lock
            self._file.close()
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _open(path, wait):
    until = time.monotonic() + wait
    while True:
        try:
            return open(path, "r+b")
        except FileNotFoundError:
            if time.monotonic() > until:
                raise PolicyError(f"{path}: no policy is served there") from None
            time.sleep(0.02)


def _layout(memory, path):
    magic, version, size = struct.unpack_from("<8sII", memory, 0)
    if magic != _MAGIC or version != _VERSION:
        raise PolicyError(f"{path} begins with {magic!r}, version {version}; it must be {_MAGIC!r}, version {_VERSION}")
    layout = json.loads(memory[16 : 16 + size])
    if layout["role"] != "policy":
        raise PolicyError(f"{path} is the memory of {layout['role']}; it must be that of a policy")
    return layout


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _rows(value, space, width):
    """value as rows of width numbers, and whether there were several."""
    if isinstance(value, (dict, tuple)):
        parts = [value[k] for k in sorted(value, key=str)] if isinstance(value, dict) else list(value)
        flat = np.concatenate([_flat(part) for part in parts])
        if flat.size != width:
            raise ValueError(f"the observation has {flat.size} numbers; the policy takes {width} (pass batches of Dict observations as arrays)")
        return flat.reshape(1, width), False
    array = np.asarray(value, dtype=np.float32)
    one = tuple(space.get("shape") or ())
    if space["kind"] == "Discrete":
        one = ()
    elif space["kind"] in ("Dict", "MultiDiscrete"):
        one = (width,)
    if array.shape in (one, (width,)):
        return array.reshape(1, width), False
    if array.ndim and array.size == array.shape[0] * width and array.shape[1:] in (one, (width,)):
        return array.reshape(-1, width), True
    raise ValueError(f"the observations have the shape {array.shape}; the policy takes {one}, or a batch of them")


def _flat(value):
    if isinstance(value, (dict, tuple)):
        parts = [value[k] for k in sorted(value, key=str)] if isinstance(value, dict) else list(value)
        return np.concatenate([_flat(part) for part in parts])
    return np.asarray(value, dtype=np.float32).reshape(-1)
