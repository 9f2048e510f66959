"""Asks a policy that a Go program serves (gymnasium.Serve of gorl) what to do, through memory that both map.

    policy = Policy("/dev/shm/my-policy")
    observation, info = env.reset()
    policy.reset()  # where an episode begins
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
        until = time.monotonic() + wait
        while not self._attach(path, _open(path, until)):
            if time.monotonic() > until:
                raise PolicyError(f"{path}: the program that served the policy has ended")
            time.sleep(0.02)

    def _attach(self, path, file):
        """Takes the policy in a file that is open, alone. False where nobody answers there any more."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise PolicyError(f"{path}: another program is asking this policy, or this one has not closed it") from None
        try:
            if os.fstat(file.fileno()).st_size < 16:
                raise PolicyError(f"{path} is no policy")
            self._map = mmap.mmap(file.fileno(), 0)
            layout = _layout(self._map, path)
            offset = layout["control"]["offset"]
            self._words = memoryview(self._map)[offset : offset + layout["control"]["stride"]].cast("I")
            if not _alive(self._words[_SERVER]):
                _release(file)
                return False
            self._prepare(layout, offset)
            self._wait(self._words[_SEQUENCE])  # for what a program before this one asked last
            self.reset()
        except BaseException:
            _release(file)
            raise
        self._file = file
        return True

    def _prepare(self, layout, offset):
        self._policy = layout["policy"]
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
        self._masks = array("action_masks")  # of a policy that was trained with masks: 1 where a choice is allowed
        self._actions, self._message = array("actions"), array("message")
        self._begins = array("begins")  # of a policy with memory: 1 where an episode begins
        self.name, self.action_kind = self._policy["name"], self._policy["action"]["kind"]
        self.rows, self.observation_width = self._observations.shape

    def act(self, observation, state=None, action_mask=None):
        """The actions for a batch of observations, or the action for one.

        Observations of Dict and Tuple spaces are flattened as gorl does: sorted by key, in order. Of a batch (a first
        dimension more than one observation has, in every part of a Dict or Tuple) there may be up to `rows`. Box actions
        come as float32 arrays in the shape of the space, Discrete ones as integers, MultiDiscrete ones as int64 arrays.
        A policy that was trained with action masks needs action_mask: for each observation True or 1 for every choice that is
        allowed, index after index.
        Discrete values begin at 0 here: of a space Discrete(n, start=s) subtract s from observations, and add it to actions.
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
        if (self._masks is None) != (action_mask is None):
            raise ValueError("the policy was trained " + ("without action masks; leave out action_mask" if self._masks is None else "with action masks; pass them as action_mask"))
        if self._masks is not None:
            masks = np.asarray(action_mask, dtype=np.float32)
            if masks.size != self._masks[:n].size:
                raise ValueError(f"the action masks have the shape {masks.shape}; the policy takes {self._masks[:n].shape}")
            self._masks[:n] = masks.reshape(n, -1)
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

    def reset(self, *rows):
        """Says that an episode begins with the next observation: of the given rows of the batch, without any of all.

        A policy with memory remembers what it saw in each row until then. For others this does nothing.
        """
        if self._begins is not None:
            self._begins[list(rows) or slice(None)] = 1

    def _shaped(self, actions):
        space = self._policy["action"]
        if space["kind"] == "Discrete":
            return actions[:, 0].astype(np.int64)
        if space["kind"] == "MultiDiscrete":
            return actions.astype(np.int64)
        return actions.reshape([len(actions)] + space["shape"]).copy()

    def _wait(self, sequence):
        """Returns when the server has answered up to sequence."""
        words, until, slept = self._words, time.monotonic() + self.timeout, False
        while True:
            done = words[_DONE]
            if done == sequence:
                return
            if not _alive(words[_SERVER], slept):
                raise PolicyError("the program that served the policy has ended")
            if time.monotonic() > until:
                raise PolicyError(f"no answer within {self.timeout} s")
            self._syscall(self._futex, self._address + 4 * _DONE, 0, done, ctypes.addressof(self._second), None, 0)
            slept = True

    def close(self):
        """Lets another program ask. The policy goes on being served."""
        if self._file is not None:
            _release(self._file)
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _open(path, until):
    while True:
        try:
            return open(path, "r+b")
        except FileNotFoundError:
            if time.monotonic() > until:
                raise PolicyError(f"{path}: no policy is served there") from None
            time.sleep(0.02)


def _release(file):
    fcntl.flock(file, fcntl.LOCK_UN)  # the mapping would hold on to the lock
    file.close()


def _layout(memory, path):
    magic, version, size = struct.unpack_from("<8sII", memory, 0)
    if magic != _MAGIC or version != _VERSION:
        raise PolicyError(f"{path} begins with {magic!r}, version {version}; it must be {_MAGIC!r}, version {_VERSION}")
    layout = json.loads(memory[16 : 16 + size])
    if layout.get("role") != "policy":
        raise PolicyError(f"{path} is the memory of {layout.get('role')}; it must be that of a policy")
    return layout


def _alive(pid, thoroughly=True):
    """Whether there is a process of that number; thoroughly: one that has not ended, either."""
    if pid == 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    if thoroughly:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                return stat.read().rsplit(b")", 1)[-1].split()[:1] != [b"Z"]  # ended, and its parent has not asked how
        except OSError:
            pass
    return True


_WHOLE = ("Dict", "Tuple")  # kinds of spaces that have parts


def _rows(value, space, width):
    """value as rows of width numbers, and whether there were several."""
    if space["kind"] in _WHOLE and isinstance(value, (dict, tuple)):
        return _dict_rows(value, space)
    if isinstance(value, dict):
        raise ValueError(f"the observation is a dict; the policy takes a {space['kind']}")
    array, one = np.asarray(value, dtype=np.float32), (width,) if space["kind"] in _WHOLE else _shape(space)
    flat = (width,) if one else one  # a row of indices is a batch where one index is an observation
    if array.shape in (one, flat) or width == 1 and array.ndim == 0:
        return array.reshape(1, width), False
    if array.ndim and array.size == array.shape[0] * width and array.shape[1:] in (one, (width,)):
        return array.reshape(-1, width), True
    raise ValueError(f"the observations have the shape {array.shape}; the policy takes {one}, or a batch of them")


def _dict_rows(value, space):
    parts = list(_parts(value, space, ""))
    if all(array.shape == one for _, array, one in parts):
        return np.concatenate([array.reshape(-1) for _, array, _ in parts]).reshape(1, -1), False
    n = parts[0][1].shape[:1]
    if n and all(array.shape == n + one for _, array, one in parts):
        return np.concatenate([array.reshape(n + (-1,)) for _, array, _ in parts], axis=1), True
    for name, array, one in parts:
        if array.size != int(np.prod(one)):
            raise ValueError(f"the part {name} has the shape {array.shape}; the policy takes {one}, or a batch of them in every part")
    return np.concatenate([array.reshape(-1) for _, array, _ in parts]).reshape(1, -1), False


def _parts(value, space, name):
    """The parts of a Dict or Tuple in order: the name, an array, and the shape of one."""
    if space["kind"] not in _WHOLE:
        yield name, np.asarray(value, dtype=np.float32), _shape(space)
        return
    keys = space["keys"]
    if isinstance(value, dict):
        given = {str(key): part for key, part in value.items()}
        if set(given) != set(keys):
            raise ValueError(f"{name or 'the observation'} has the keys {sorted(given)}; the policy takes {keys}")
    elif isinstance(value, tuple) and len(value) == len(keys) and all(key.isdigit() and int(key) == i for i, key in enumerate(keys)):
        given = dict(zip(keys, value))
    else:
        raise ValueError(f"{name or 'the observation'} is a {type(value).__name__}; the policy takes a dict with the keys {keys}")
    for key, part in zip(keys, space["spaces"]):
        yield from _parts(given[key], part, f"{name}.{key}" if name else key)


def _shape(space):
    """The shape of one value of a space that has no parts."""
    if space["kind"] == "Discrete":
        return ()
    return (len(space["nvec"]),) if space["kind"] == "MultiDiscrete" else tuple(space["shape"])
