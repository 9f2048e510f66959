"""The Python side of gorl's bridge to Gymnasium: one process that steps some of the environments of a batch.

It reads actions from memory that it shares with the Go program that started it, and writes observations, rewards and
flags there. Two pipes carry what is rare: how the environments are made, pictures, infos, errors. A simulator that is a
batch by itself is stepped by batch.py, games of PettingZoo by games.py. Both take from here what they share with single
environments.
"""

import atexit
import ctypes
import importlib
import json
import mmap
import os
import platform
import select
import signal
import struct
import sys
import time
import traceback
import types

STEP, RESET, CALL, CLOSE = 1, 2, 3, 4  # commands
MESSAGE, FAILED = 1, 2  # bits of the status
SEQUENCE, COMMAND, SEED, DONE, STATUS = 0, 1, 2, 16, 17  # words of a control block; the seed is the second of its int64s
IGNORE, INFO_MASK = "ignore", "action_mask"  # of the setting action_masks, and Gymnasium's own key of masks
MAGIC, VERSION = b"GORLSHM\0", 1

requests = globals()["requests"]
os.set_blocking(5, True)
replies = os.fdopen(5, "wb")


def frame():
    """Returns the bytes that the Go side sent next."""
    (size,) = struct.unpack("<I", requests.read(4))
    return requests.read(size)


def receive():
    """Returns the next message of the Go side."""
    return json.loads(frame())


def reply(head, payload=b""):
    """Sends a message, with bytes behind it."""
    head = json.dumps(head, allow_nan=False).encode()
    replies.write(struct.pack("<II", len(head), len(payload)))
    replies.write(head)
    replies.write(payload)
    replies.flush()


class Refused(Exception):
    """Something that needs words and no traceback."""


class Missing(Refused):
    """This Python lacks what the bridge needs."""


def start_guard():
    """Starts a guard process, which waits for the end of this process and then kills all processes that it started.

    The Go program does the same unless it is killed itself: the system then ends this process, but not its children.
    The guard has this process's group and environment, by which the Go program finds and ends the guard, too.
    """
    mark = f"GORL_CHILD={os.environ.get('GORL_CHILD')}".encode()
    try:
        ended = os.pidfd_open(os.getpid())
    except (AttributeError, OSError):  # Python 3.8, a system other than Linux, or an old one
        return
    between = os.fork()
    if between:
        os.waitpid(between, 0)  # the guard must not be a child of this process: environments may wait for their children
        os.close(ended)
        return
    try:
        if os.fork():
            return
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.closerange(0, ended)  # otherwise the pipes would stay open after this process has ended
        os.closerange(ended + 1, 256)
        wait = select.poll()
        wait.register(ended, select.POLLIN)
        wait.poll()
        for _ in range(20):  # again, for processes that these start meanwhile
            if not any([kill_marked(int(pid), mark) for pid in os.listdir("/proc") if pid.isdigit()]):
                break
        os.killpg(0, signal.SIGKILL)
    finally:
        os._exit(0)


def kill_marked(pid, mark):
    """Kills another process if its environment has the setting mark; returns whether it did."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            if pid == os.getpid() or mark not in f.read().split(b"\0"):
                return False
        os.kill(pid, signal.SIGKILL)
        return True
    except OSError:  # it has ended, or is another user's
        return False


start_guard()
try:
    import numpy as np
except ImportError:
    np = None
try:
    import gymnasium
except ImportError:
    gymnasium = None


# SIMULATORS are the packages that batches of simulators import.
SIMULATORS = {"isaaclab", "isaaclab_tasks", "mjlab", "envpool", "mani_skill", "mujoco_playground", "brax"}


def version(text):
    """The first two numbers of a version."""
    numbers = [int("".join(c for c in part if c.isdigit()) or 0) for part in text.split(".")[:2]]
    return tuple(numbers + [0] * (2 - len(numbers)))


def check_versions():
    python = sys.executable
    if sys.version_info < (3, 8):
        raise Missing(f"{python} is Python {platform.python_version()}; the bridge needs 3.8 or later")
    for name, module, oldest in (("numpy", np, (1, 21)), ("gymnasium", gymnasium, (1, 0))):
        wanted = ".".join(map(str, oldest))
        if module is None:
            raise Missing(f"{python} has no {name}; install it with: {python} -m pip install '{name}>={wanted}', or set environment.python to a Python that has it")
        if version(module.__version__) < oldest:
            raise Missing(f"{python} has {name} {module.__version__}; the bridge needs {wanted} or later: {python} -m pip install '{name}>={wanted}'")


def choose_drawing(setup):
    """Makes MuJoCo draw with EGL, or with OSMesa if EGL is missing. A display or a MUJOCO_GL that is set has precedence."""
    chosen = any(os.environ.get(name) for name in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY"))
    if setup["render_mode"] != "rgb_array" or chosen or not sys.platform.startswith("linux"):
        return
    for name, library in (("egl", "libEGL.so.1"), ("osmesa", "libOSMesa.so.8"), ("osmesa", "libOSMesa.so")):
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        os.environ["MUJOCO_GL"] = name
        return


# Modules that fail if MuJoCo cannot draw.
DRAWING = ("OpenGL", "glfw", "mujoco.egl", "mujoco.glfw", "mujoco.osmesa", "mujoco.gl_context", "mujoco.rendering", "gymnasium.envs.mujoco.mujoco_rendering")


def explain(error):
    """The message about an exception: a traceback, or a line if a package is missing or MuJoCo cannot draw."""
    if gymnasium and isinstance(error, gymnasium.error.DependencyNotInstalled):
        return str(error)
    module, trace = "", error.__traceback__
    while trace:
        module, trace = trace.tb_frame.f_globals.get("__name__", ""), trace.tb_next
    if not any(module == name or module.startswith(name + ".") for name in DRAWING):
        return traceback.format_exc().strip()
    gl = os.environ.get("MUJOCO_GL")
    given = f"MUJOCO_GL={gl}" if gl else "MUJOCO_GL is not set"
    return f"MuJoCo cannot draw ({given}): {type(error).__name__}: {error}; set MUJOCO_GL to egl or osmesa and install its library (on Debian libegl1 or libosmesa6)".replace("\n", " ")


def attribute(env, name):
    """What the environment or a wrapper around it has by that name, else None."""
    if isinstance(env, gymnasium.Env):
        try:
            return env.get_wrapper_attr(name)
        except AttributeError:
            return None
    found = getattr(env, name, None)
    return getattr(getattr(env, "unwrapped", None), name, None) if found is None else found


def frame_rate(env):
    """The pictures a second of real time that the environment's metadata names, one a step; 0 if they name none."""
    metadata = attribute(env, "metadata")
    rate = metadata.get("render_fps") if isinstance(metadata, dict) else None
    return float(rate) if isinstance(rate, (int, float)) and 0 < rate < 1e9 else 0


def function(name):
    """The Python function that a factory, module:function, names."""
    module, _, name = name.partition(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def make(setup):
    """Makes the environments from setup["from"] up to setup["to"]."""
    kwargs = dict(setup["kwargs"] or {})
    if setup["render_mode"]:
        kwargs["render_mode"] = setup["render_mode"]
    if setup["factory"]:
        create = function(setup["factory"])
    else:

        def create(**kwargs):
            try:
                return gymnasium.make(setup["id"], **{"disable_env_checker": True, **kwargs})
            except gymnasium.error.UnregisteredEnv as e:
                raise Refused(f"gymnasium {gymnasium.__version__} has no environment {setup['id']!r}: {e}") from e

    made = []
    for _ in range(setup["from"], setup["to"]):
        env = create(**kwargs)
        if isinstance(env, gymnasium.vector.VectorEnv):
            raise Refused(f"{setup['factory']} returned a vector environment ({type(env).__name__}); the bridge makes batches itself, of single environments: set the simulator to vector where the batch is to be kept")
        if not isinstance(env, gymnasium.Env):
            raise Refused(f"{setup['factory']} returned a {type(env).__name__}; it must be a gymnasium.Env")
        made.append(env)
    return made


# Spaces.


def limits(bounds):
    """Limits as JSON: one number where all are equal, None where there is none."""
    flat = np.asarray(bounds, dtype=np.float64).reshape(-1)
    if flat.size and (flat == flat[0]).all():
        flat = flat[:1]
    return [float(x) if np.isfinite(x) else None for x in flat]


def keys_of(space):
    return sorted(space.spaces, key=str)


def describe(space, name):
    """A space as JSON."""
    s = gymnasium.spaces
    if isinstance(space, s.Box):
        return {"kind": "Box", "shape": list(space.shape), "low": limits(space.low), "high": limits(space.high), "dtype": str(space.dtype)}
    if isinstance(space, s.Discrete):
        return {"kind": "Discrete", "nvec": [int(space.n)]}
    if isinstance(space, s.MultiDiscrete):
        return {"kind": "MultiDiscrete", "shape": list(space.nvec.shape), "nvec": [int(n) for n in space.nvec.reshape(-1)]}
    if isinstance(space, s.MultiBinary):
        return {"kind": "MultiBinary", "shape": list(space.shape), "nvec": [2] * int(np.prod(space.shape))}
    if isinstance(space, s.Dict):
        keys = keys_of(space)
        return {"kind": "Dict", "keys": [str(k) for k in keys], "spaces": [describe(space.spaces[k], f"{name}.{k}") for k in keys]}
    if isinstance(space, s.Tuple):
        return {"kind": "Tuple", "spaces": [describe(part, f"{name}.{i}") for i, part in enumerate(space.spaces)]}
    raise Refused(f"the {name} space is {space}; the bridge knows Box, Discrete, MultiDiscrete, MultiBinary, Dict and Tuple")


def is_small(space):
    """Whether the numbers of a space without parts are bytes in a row."""
    return isinstance(space, gymnasium.spaces.Box) and space.dtype == np.uint8


def width(space, small=False):
    """How many float32 numbers one element takes in a row, or with small how many bytes beside them."""
    s = gymnasium.spaces
    if isinstance(space, s.Dict):
        return sum(width(part, small) for part in space.spaces.values())
    if isinstance(space, s.Tuple):
        return sum(width(part, small) for part in space.spaces)
    if is_small(space) != small:
        return 0
    return int(np.prod(space.shape)) if space.shape else 1


def putter(space, row, small):
    """Returns the function that writes a value of the space into its row, and what is uint8 into its bytes."""
    s, ndarray, asarray = gymnasium.spaces, np.ndarray, np.asarray
    if isinstance(space, s.Discrete):
        start = int(space.start)

        def put(value):
            row[0] = value - start

        return put
    if isinstance(space, (s.Dict, s.Tuple)):
        parts = putters_of_parts(space, row, small)

        def put(value):
            if len(value) != len(parts):
                raise ValueError(f"a value has {len(value)} parts; its space has {len(parts)}")
            for key, part in parts:
                part(value[key])

        return put
    if is_small(space):
        shape, view = space.shape, small.reshape(space.shape)

        def put(value):
            value = asarray(value)
            if value.shape != shape:
                raise ValueError(f"a value has the shape {value.shape}; its space says {shape}")
            view[...] = value
            if value.dtype != np.uint8 and not (view == value).all():
                raise ValueError("a value of a uint8 space is no whole number from 0 to 255")

        return put
    shape, view = space.shape, row.reshape(space.shape)
    start = getattr(space, "start", None)
    if start is not None and np.any(start):

        def put(value):
            value = asarray(value)
            if value.shape != shape:
                raise ValueError(f"a value has the shape {value.shape}; its space says {shape}")
            view[...] = value - start

        return put

    def put(value):
        if type(value) is not ndarray:
            value = asarray(value)
        if value.shape != shape:
            raise ValueError(f"a value has the shape {value.shape}; its space says {shape}")
        view[...] = value

    return put


def putters_of_parts(space, row, small):
    """The keys of a Dict, or the indices of a Tuple, each with the function that writes a value of that part into its place in the row."""
    parts, at, small_at = [], 0, 0
    for key in keys_of(space) if isinstance(space, gymnasium.spaces.Dict) else range(len(space.spaces)):
        part = space.spaces[key]
        to, small_to = at + width(part), small_at + width(part, True)
        parts.append((key, putter(part, row[at:to] if row is not None else None, small[small_at:small_to] if small is not None else None)))
        at, small_at = to, small_to
    return parts


def taker(space, rows):
    """Returns the function that reads all rows as an array of the space's actions, which shares no memory with the rows."""
    s = gymnasium.spaces
    if isinstance(space, s.Discrete):
        column, start = rows[:, 0], int(space.start)
        return lambda: column.astype(np.int64) + start
    if isinstance(space, (s.Box, s.MultiDiscrete, s.MultiBinary)):
        shape, start = (len(rows),) + space.shape, getattr(space, "start", None)
        if start is not None and np.any(start):
            return lambda: (rows.reshape(shape) + start).astype(space.dtype)
        return lambda: rows.reshape(shape).astype(space.dtype)
    raise Refused(f"the action space is {space}; the bridge knows Box, Discrete, MultiDiscrete and MultiBinary actions")


def from_info(env, key, attributes, size, what):
    """The space of what the infos hold under a key: an attribute of the environment, else a size that is given or seen."""
    if not key:
        return None
    for name in attributes:
        found = attribute(env, name)
        if isinstance(found, gymnasium.Space):
            return found
        if isinstance(found, (int, np.integer)) and not isinstance(found, bool):
            size = int(found)
    if not size:
        _, info = env.reset()
        if key not in info:
            raise Refused(f"how many {what} are there? The infos of reset have no {key!r}, and the environment has no attribute {attributes[0]}: set it, or the size in the options")
        size = int(np.asarray(info[key]).size)
    return gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)


def mask_space(env, action, setup):
    """The space of action masks, None without: they are in the infos under a key, or what the method action_masks returns."""
    if setup["masks"] == IGNORE or not (setup["masks"] or callable(attribute(env, "action_masks"))):
        return None
    s = gymnasium.spaces
    if not isinstance(action, (s.Discrete, s.MultiDiscrete, s.MultiBinary)):
        raise Refused(f"action masks need Discrete, MultiDiscrete or MultiBinary actions; the action space is {action}: set action_masks to {IGNORE}")
    return s.Box(0, 1, (sum(describe(action, "action")["nvec"]),), np.uint8)


def refuse_unused(infos, setup, masks):
    """Refuses masks in the infos of a reset that would be ignored without a word."""
    if masks is None and not setup["masks"] and INFO_MASK in infos:
        raise Refused(f"the infos of reset have {INFO_MASK!r}: set action_masks to {INFO_MASK} so that policies obey the masks, or to {IGNORE} to ignore them")


def mask_putter(env, small, key):
    """Returns the function that writes an environment's action mask, as it stands, into its bytes."""
    method = None if key else attribute(env, "action_masks")

    def put(info, of):
        if key and key not in info:
            raise Refused(f"the infos of {of} have no {key!r}, where the action mask should be")
        put_mask(info[key] if key else method(), small, of)

    return put


def put_mask(value, small, of):
    """Writes an action mask into its bytes."""
    if isinstance(value, (tuple, list)):  # Gymnasium's form for a MultiDiscrete: a mask for each index
        value = np.concatenate([np.ravel(part) for part in value])
    value = np.asarray(value).reshape(-1)
    if value.shape != small.shape or not ((value == 0) | (value == 1)).all():
        raise Refused(f"the action mask of {of} is {value}; it must be {small.size} values of 0 and 1, one for every choice")
    small[:] = value


# Infos.


def number(value):
    """value as a float, or None where it is no number."""
    kind = type(value)
    if kind is float or kind is bool:
        return float(value)
    if kind is int:
        return float(value) if value.bit_length() < 1024 else None
    if isinstance(value, (np.generic, np.ndarray)) and value.size == 1 and value.dtype.kind in "fiub":
        return float(value.item())
    return None


def no_reward(reward, env):
    """The error for a reward that is no number."""
    text = repr(reward)
    text = text if len(text) <= 80 else text[:77] + "..."
    return Refused(f"step of {type(env.unwrapped).__name__} returned the reward {text} of type {type(reward).__name__}; it must be a finite number")


def plain(value):
    """value as what JSON can hold."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if value - value == 0 else None
    if value is None or isinstance(value, (str, int)):
        return value
    return repr(value)


class Infos:
    """Writes the numbers of infos into columns, one row an environment, and collects the rest."""

    def __init__(self, setup, rows):
        self.rows = rows
        self.columns = {key: i for i, key in enumerate(setup["columns"] or [])}
        self.discover, self.keep = setup["discover"], setup["infos"]
        self.skip = {key for key in (setup["amp"], setup["states"], setup["masks"]) if key}
        self.first = setup["from"]
        self.news, self.rest = False, {}

    def note(self, k, info):
        if self.rows is not None:
            row = self.rows[k]
            row.fill(np.nan)
            self.fill(row, info, "")
        if self.keep:
            rest = {key: value for key, value in info.items() if key not in self.skip and number(value) is None}
            if rest:
                self.rest[str(self.first + k)] = plain(rest)

    def fill(self, row, info, prefix):
        for key, value in info.items():
            name = prefix + str(key)
            if name in self.skip:
                continue
            if isinstance(value, dict):
                self.fill(row, value, name + ".")
                continue
            x = number(value)
            column = self.column(name) if x is not None else None
            if column is not None:
                row[column] = x

    def column(self, name):
        """The column of a number, None where it was not asked for or there is no room."""
        column = self.columns.get(name)
        if column is None and self.discover and len(self.columns) < self.rows.shape[1]:
            column = self.columns[name] = len(self.columns)
            self.news = True
        return column

    def message(self):
        """What there is to say beyond the numbers, else None."""
        if not self.news and not self.rest:
            return None
        said = {"columns": list(self.columns), "infos": self.rest}
        self.news, self.rest = False, {}
        return said


def info_putter(space, row, small, key, what):
    """Returns the function that writes what an info holds under a key into its row."""
    put = putter(space, row, small)

    def fill(info, method):
        try:
            value = info[key]
        except KeyError:
            there = ", ".join(repr(k) for k in sorted(info, key=str)) or "nothing"
            raise Refused(f"the infos of {method} have no {key!r}, where the {what} should be; they have {there}") from None
        try:
            put(value)
        except ValueError as e:
            raise Refused(f"the {what} in the infos of {method}, {key!r}: {e}") from None

    return fill


# The shared memory.


class Memory:
    """The mapped file: a header that says in JSON what lies where, control blocks, and arrays."""

    def __init__(self, descriptor):
        self.map = mmap.mmap(descriptor, 0)
        magic, number, size = struct.unpack_from("<8sII", self.map, 0)
        if magic != MAGIC or number != VERSION:
            raise Refused(f"the shared memory begins with {magic!r}, version {number}; it must be {MAGIC!r}, version {VERSION}")
        self.layout = json.loads(self.map[16 : 16 + size])

    def array(self, name):
        """The array of that name, None where the layout has none."""
        place = self.layout["arrays"].get(name)
        if place is None:
            return None
        return np.ndarray(place["shape"], np.dtype(place["dtype"]), self.map, place["offset"])


class Control:
    """The words by which the Go side starts a command and learns that it is done."""

    def __init__(self, memory, index, parent):
        place = memory.layout["control"]
        offset = place["offset"] + index * place["stride"]
        block = memoryview(memory.map)[offset : offset + place["stride"]]
        self.words, self.longs = block.cast("I"), block.cast("q")
        self.anchor = (ctypes.c_uint32 * 32).from_buffer(memory.map, offset)
        address = ctypes.addressof(self.anchor)
        self.sequence, self.done = address + 4 * SEQUENCE, address + 4 * DONE
        self.parent = parent
        self.seen = self.words[DONE]
        self.futex = memory.layout["futex"]
        self.syscall = ctypes.CDLL(None, use_errno=True).syscall
        self.syscall.restype = ctypes.c_long
        self.syscall.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32]
        self.second = ctypes.addressof(self.timespec)

    timespec = (ctypes.c_long * 2)(1, 0)

    def wait(self):
        """Returns the next command."""
        words, seen = self.words, self.seen
        while words[SEQUENCE] == seen:
            # FUTEX_WAIT for a second; then see whether the parent still lives.
            if self.syscall(self.futex, self.sequence, 0, seen, self.second, None, 0) != 0 and os.getppid() != self.parent:
                os._exit(0)
        self.seen = words[SEQUENCE]
        return words[COMMAND]

    def finish(self, status):
        """Says that the command is done."""
        self.words[STATUS] = status
        # FUTEX_WAKE_OP: the kernel adds one to the word, with the barriers that an atomic operation has, and wakes who waits for it.
        if self.syscall(self.futex, self.done, 5, 1, None, self.done, 0x10001000) < 0:
            self.words[DONE] = self.seen
            self.syscall(self.futex, self.done, 1, 1, None, None, 0)


class Bridge:
    """The environments of this process and their places in the shared memory."""

    def __init__(self, setup):
        self.setup = setup
        self.envs = make(setup)
        first = self.envs[0]
        self.observation, self.action = first.observation_space, first.action_space
        self.state = from_info(first, setup["states"], ["state_space"], setup["state_size"], "states")
        self.amp = from_info(first, setup["amp"], ["amp_observation_space", "amp_observation_size"], setup["amp_size"], "AMP observations")
        taker(self.action, np.zeros((1, width(self.action) + width(self.action, True)), np.float32))  # refuses what cannot be
        self.masks = mask_space(first, self.action, setup)
        self.current = 0  # the environment being worked on

    def description(self):
        first = self.envs[0]
        return {
            "observation": describe(self.observation, "observation"),
            "action": describe(self.action, "action"),
            "state": describe(self.state, "state") if self.state is not None else None,
            "amp": describe(self.amp, "AMP observation") if self.amp is not None else None,
            "masks": self.masks is not None,
            "reward_shaping": callable(attribute(first, "set_reward_shaping")),
            "curriculum": callable(attribute(first, "set_curriculum_state")),
            "motions": callable(attribute(first, "collect_reference_motions")),
            "render_fps": frame_rate(first),
        }

    def attach(self, memory):
        """Finds the places of the environments in the shared memory."""
        a, b = self.setup["from"], self.setup["to"]

        def rows(name):
            array = memory.array(name)
            return array if array is None else array[a:b]

        def each(name):
            """The row and the bytes of every environment, None for what the space has none of; nothing without the space."""
            array, small = rows(name), rows(name + "_bytes")
            if array is None and small is None:
                return []
            return [(None if array is None else array[k], None if small is None else small[k]) for k in range(b - a)]

        def putters(name, space):
            return [putter(space, *row) for row in each(name)]

        def info_putters(name, space, option):
            what = "AMP observation" if option == "amp" else "state"
            return [info_putter(space, *row, self.setup[option], what) for row in each(name)]

        take = taker(self.action, rows("actions"))
        self.take = (lambda: take().tolist()) if isinstance(self.action, gymnasium.spaces.Discrete) else take
        self.put, self.put_final = putters("observations", self.observation), putters("final_observations", self.observation)
        self.put_state, self.put_final_state = info_putters("states", self.state, "states"), info_putters("final_states", self.state, "states")
        self.put_amp = info_putters("amp_observations", self.amp, "amp")
        self.put_mask = [mask_putter(env, small, self.setup["masks"]) for env, (_, small) in zip(self.envs, each("action_masks"))]
        self.rewards, self.flags = memoryview(rows("rewards")), memoryview(rows("flags"))
        self.infos = Infos(self.setup, rows("infos"))
        self.steps, self.resets = [env.step for env in self.envs], [env.reset for env in self.envs]

    def reset(self, seed):
        for k, reset in enumerate(self.resets):
            self.current = k
            obs, info = reset(seed=seed + self.setup["from"] + k) if seed >= 0 else reset()
            self.put[k](obs)
            if self.put_state:
                self.put_state[k](info, "reset")
            if self.put_mask:
                self.put_mask[k](info, "reset")
            refuse_unused(info, self.setup, self.masks)
            if self.setup["infos"]:
                self.infos.note(k, info)

    def step(self):
        steps, put, rewards, flags = self.steps, self.put, self.rewards, self.flags
        amp, states, masks, every = self.put_amp, self.put_state, self.put_mask, self.setup["every"]
        for k, action in enumerate(self.take()):
            self.current = k
            obs, reward, terminated, truncated, info = steps[k](action)
            try:
                rewards[k] = reward
            except (TypeError, ValueError):
                raise no_reward(reward, self.envs[k]) from None
            if amp:
                amp[k](info, "step")
            if every:
                self.infos.note(k, info)
            if terminated or truncated:
                for name, flag in (("terminated", terminated), ("truncated", truncated)):
                    if flag not in (0, 1):
                        raise Refused(f"the flag {name} of step is {flag!r}; it must be True or False")
                flags[k] = (1 if terminated else 0) | (2 if truncated else 0)
                self.put_final[k](obs)
                if states:
                    self.put_final_state[k](info, "step")
                if not every:
                    self.infos.note(k, info)
                obs, info = self.resets[k]()
            else:
                flags[k] = 0
            put[k](obs)
            if states:
                states[k](info, "reset" if flags[k] else "step")
            if masks:
                masks[k](info, "reset" if flags[k] else "step")

    # What is rare.

    def close(self):
        for env in self.envs:
            env.close()

    def render(self, index):
        self.current = index
        return self.picture(self.envs[index].render())

    def picture(self, picture):
        if not isinstance(picture, np.ndarray) or picture.ndim != 3 or picture.shape[2] not in (3, 4) or picture.dtype != np.uint8:
            what = f"{picture.dtype} of shape {picture.shape}" if isinstance(picture, np.ndarray) else type(picture).__name__
            raise Refused(f"render returned {what}; it must be uint8 of shape (height, width, 3)")
        return {"shape": list(picture.shape)}, np.ascontiguousarray(picture).tobytes()

    def shaping(self):
        get = attribute(self.envs[0], "reward_shaping")
        return {"values": plain(get() if callable(get) else get or {})}, b""

    def set_shaping(self, indices, values):
        for k in indices:
            self.current = k
            attribute(self.envs[k], "set_reward_shaping")(values)
        return {}, b""

    def curriculum(self):
        return {"states": [plain(attribute(env, "curriculum_state")()) for env in self.envs]}, b""

    def set_curriculum(self, states):
        for k, state in enumerate(states):
            self.current = k
            attribute(self.envs[k], "set_curriculum_state")(state)
        return {}, b""

    def motions(self, n, seed):
        collect = attribute(self.envs[0], "collect_reference_motions")
        np.random.seed(seed % 2**32)
        rows = collect(n)
        if hasattr(rows, "detach"):  # a tensor of PyTorch
            rows = rows.detach().cpu().numpy()
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        return {"shape": list(rows.shape)}, rows.tobytes()


CALLS = ("render", "shaping", "set_shaping", "curriculum", "set_curriculum", "motions")


def attempt(bridge, function, *arguments):
    """Runs function; returns the bits of the status, and the message that says what went wrong."""
    try:
        function(*arguments)
        return 0, None
    except Refused as e:
        return FAILED | MESSAGE, {"error": str(e), "env": bridge.setup["from"] + bridge.current}
    except Exception as e:
        return FAILED | MESSAGE, {"error": explain(e), "env": bridge.setup["from"] + bridge.current}


def extended(source, setup):
    """The bridge of another program: batch.py for a simulator that is a batch by itself, or games.py for PettingZoo."""
    sys.modules["gorl_child"] = child = types.ModuleType("gorl_child")
    child.__dict__.update(globals())
    program = types.ModuleType("gorl_program")
    exec(compile(source, f"gorl/{setup['program']}", "exec"), program.__dict__)
    return program.bridge(setup)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to handle
    for descriptor in (3, 4, 5):
        os.set_inheritable(descriptor, False)
    setup = receive()
    program = frame() if setup["program"] else None
    try:
        check_versions()
        choose_drawing(setup)
        bridge = Bridge(setup) if program is None else extended(program, setup)
        reply(bridge.description())
        receive()  # the memory has its size now
        memory = Memory(3)
        bridge.attach(memory)
        control = Control(memory, setup["index"], setup["parent"])
        reply({})
    except Refused as e:
        reply({"error": str(e), "missing": isinstance(e, Missing)})
        return
    except ModuleNotFoundError as e:
        if (e.name or "").split(".")[0] not in SIMULATORS:
            reply({"error": explain(e)})
            return
        problem = f"{sys.executable} has no {e.name}; set environment.python to the Python of the simulator"
        reply({"error": problem, "missing": True})
        return
    except Exception as e:
        reply({"error": explain(e)})
        return
    while True:
        command = control.wait()
        message, payload = None, b""
        if command == STEP:
            status, message = attempt(bridge, bridge.step)
        elif command == RESET:
            status, message = attempt(bridge, bridge.reset, control.longs[SEED])
        elif command == CALL:
            call, answer = receive(), []
            name = call.pop("call")
            if name not in CALLS:
                status, message = FAILED | MESSAGE, {"error": f"there is no call {name!r}", "env": 0}
            else:
                status, message = attempt(bridge, lambda: answer.extend(getattr(bridge, name)(**call)))
            if answer:
                status, (message, payload) = MESSAGE, answer
        elif command == CLOSE:
            bridge.close()
            return
        else:
            print(f"gorl: there is no command {command}", file=sys.stderr)
            os._exit(3)
        if status == 0 and (message := bridge.infos.message()):
            status = MESSAGE
        control.finish(status)
        if status & MESSAGE:
            reply(message, payload)


try:
    main()
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(3)
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
