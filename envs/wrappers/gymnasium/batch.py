"""The Python side of gorl's bridge to simulators that are a batch by themselves: one process holds the whole batch.

child.py runs this where the options name a simulator. A class for each says how it is made, stepped and reset; Batch
copies what they return, arrays of numpy, torch or jax, into the shared memory, whole arrays at a time. All is copied
before the Go side is told, because simulators write over what they have returned.
"""

import importlib
import inspect
import sys

import gorl_child as child
import numpy as np
from gorl_child import Refused, attribute, gymnasium, keys_of

SAME_STEP, NEXT_STEP, DISABLED = "same_step", "next_step", "disabled"  # Gymnasium's autoreset modes
TERMINATED, TRUNCATED, UNKNOWN, INVALID = 1, 2, 4, 8  # bits of a row's flags
ACTIVE = 4  # the third bit of a seat's flags, after TERMINATED and TRUNCATED
AMP_GROUP = "amp"  # the group of observations that is the AMP observation
FINAL_OBSERVATIONS, FINAL_INFOS = ("final_obs", "final_observation"), ("final_info",)  # their keys in infos


# Simulators.


def imported(name):
    """The name of a task without the module before its colon, which is imported, because it registers the task."""
    module, _, name = name.rpartition(":")
    if module:
        importlib.import_module(module)
    return name


def member(config, name, path):
    """What a configuration, an object or a dictionary, has by a name."""
    if name in (config if isinstance(config, dict) else dir(config)):
        return config[name] if isinstance(config, dict) else getattr(config, name)
    known = sorted(k for k in map(str, config if isinstance(config, dict) else dir(config)) if not k.startswith("_"))
    raise Refused(f"kwargs: the configuration has no {path}; {name!r} is not among {', '.join(known)}")


def configure(config, values, outer=""):
    """Sets values in a configuration, by names with dots or by dictionaries within dictionaries."""
    for name, value in values.items():
        *parents, last = name.split(".")
        holder = config
        for part in parents:
            holder = member(holder, part, outer + name)
        old = member(holder, last, outer + name)
        if isinstance(value, dict) and old is not None:
            configure(old, value, f"{outer}{name}.")
        elif isinstance(holder, dict):
            holder[last] = value
        else:
            setattr(holder, last, tuple(value) if isinstance(old, tuple) else value)


class Simulator:
    """A batch that a factory made, and what all simulators have in common."""

    autoreset = None  # what the simulator does when an episode ends, where it does not say so itself
    groups = ("policy", "actor"), ("critic",)  # of observations that are a dictionary of groups: what agents see, and states
    exact_infos = False  # whether the infos of a step that reset rows still tell of the episodes that ended

    def __init__(self, setup):
        self.setup, self.n = setup, setup["to"]
        self.lengths = np.random.default_rng(setup["seed"])
        self.env = self.build(setup["seed"])
        if not all(callable(getattr(self.env, name, None)) for name in ("reset", "step")):
            raise Refused(f"{self.name()} is a {type(self.env).__name__}; it must be a batch with num_envs, reset and step")
        n = attribute(self.env, "num_envs")
        if n != self.n:
            raise Refused(f"{self.name()} has {n} environments (num_envs); the options say {self.n}")
        self.mode = self.find_mode()
        # Tasks of Isaac Lab and mjlab whose time limit is part of the task.
        self.finite = getattr(attribute(self.env, "cfg"), "is_finite_horizon", False)

    def name(self):
        return self.setup["factory"] or self.setup["id"]

    def build(self, seed):
        """Makes the simulator, by its id or by the factory."""
        kwargs = dict(self.setup["kwargs"] or {})
        if not self.setup["factory"]:
            return self.make(kwargs, seed)
        create = child.function(self.setup["factory"])
        parameters = inspect.signature(create).parameters
        every = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        given = {"num_envs": self.n, "seed": seed, "render_mode": self.setup["render_mode"] or None}
        return create(**{k: v for k, v in given.items() if every or k in parameters}, **kwargs)

    def make(self, kwargs, seed):
        raise Refused("a batch has no id: set a factory, module:function, that returns it")

    def declared(self):
        """What the simulator says that it does when an episode ends, None where it does not say."""
        mode = (attribute(self.env, "metadata") or {}).get("autoreset_mode")
        return None if mode is None else getattr(mode, "name", str(mode)).lower()

    def find_mode(self):
        declared, chosen = self.declared(), self.setup["autoreset"]
        mode = declared or chosen or self.autoreset
        if mode not in (SAME_STEP, NEXT_STEP, DISABLED):
            said = "does not say" if mode is None else f"says {mode!r}, which is not"
            raise Refused(f'{self.name()} {said} what it does when an episode ends (metadata["autoreset_mode"]): set autoreset to same_step, next_step or disabled')
        if chosen and mode != chosen:
            raise Refused(f"{self.name()} says that its autoreset is {mode}; the options say {chosen}")
        return mode

    def spaces(self):
        """The spaces of a single environment's observations and actions."""
        found = [attribute(self.env, name) for name in ("single_observation_space", "single_action_space")]
        if None in found:
            raise Refused(f"{self.name()} has no single_observation_space and single_action_space, the spaces of one environment")
        return [adopt(space) for space in found]

    def reset(self, seed):
        takes = inspect.signature(self.env.reset).parameters
        seeded = seed is not None and ("seed" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values()))
        return self.env.reset(seed=seed) if seeded else self.env.reset()

    def stagger(self, seed):
        """Begins all episodes at random lengths, so that they do not time out together; without a seed it draws on."""
        holder = getattr(self.env, "unwrapped", self.env)
        lengths, limit = getattr(holder, "episode_length_buf", None), getattr(holder, "max_episode_length", 0)
        if lengths is None or limit < 1:
            raise Refused(f"random_episode_lengths needs a simulator with episode_length_buf and max_episode_length; {self.name()} has none")
        if seed is not None:
            self.lengths = np.random.default_rng(seed)
        drawn = self.lengths.integers(0, int(limit), self.n)
        if hasattr(lengths, "detach"):
            drawn = sys.modules["torch"].as_tensor(drawn, dtype=lengths.dtype, device=lengths.device)
        lengths[:] = drawn

    def step(self, actions):
        return self.env.step(actions)

    def reset_rows(self, done):
        """Resets the rows of a mask, where the simulator does not itself. Returns what reset returns."""
        return self.env.reset(options={"reset_mask": done})

    def reset_again(self, infos):
        """The mask of rows that the infos say were reset in this step, None where they do not say."""
        return None

    def render(self, index):
        picture = self.env.render()
        if isinstance(picture, (list, tuple)) or getattr(picture, "ndim", 3) == 4:
            picture = picture[index]
        return picture  # one of all environments, where there is but one camera

    def close(self):
        self.env.close()


class Vector(Simulator):
    """gymnasium.make_vec."""

    groups = (), ()

    def make(self, kwargs, seed):
        name, mode = imported(self.setup["id"]), kwargs.get("vectorization_mode")
        options = kwargs["vector_kwargs"] = dict(kwargs.get("vector_kwargs") or {})
        entry = mode == "vector_entry_point" or mode is None and gymnasium.spec(name).vector_entry_point is not None
        modes = getattr(gymnasium.vector, "AutoresetMode", None)  # of gymnasium 1.1 and later
        if modes is not None and not entry and (self.setup["autoreset"] or "autoreset_mode" not in options):
            options["autoreset_mode"] = modes[(self.setup["autoreset"] or SAME_STEP).upper()]
        if self.setup["render_mode"]:
            kwargs["render_mode"] = self.setup["render_mode"]
        return gymnasium.make_vec(name, num_envs=self.n, **kwargs)


class EnvPool(Simulator):
    """EnvPool, whose seed is that of its making: another one makes it anew."""

    autoreset = NEXT_STEP
    groups = (), ()

    def build(self, seed):
        self.seed, self.fresh = seed, True
        return super().build(seed)

    def make(self, kwargs, seed):
        import envpool

        if self.setup["render_mode"]:
            kwargs["render_mode"] = self.setup["render_mode"]
        return envpool.make(self.setup["id"], env_type="gymnasium", num_envs=self.n, seed=seed % 2**31, **kwargs)

    def reset(self, seed):
        if seed is not None and (seed != self.seed or not self.fresh):
            self.env.close()
            self.env = self.build(seed)
        self.fresh = False
        return self.env.reset()

    def step(self, actions):
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        self.elapsed = infos.get("elapsed_step")
        infos = {k: v for k, v in infos.items() if k not in ("env_id", "players")}
        return observations, rewards, terminated, truncated, infos

    def reset_again(self, infos):
        return None if self.elapsed is None else self.elapsed == 0


def rotate_back(rotation, vectors):
    """World vectors in the frame of a body, by its quaternions (w first)."""
    import torch

    w, axis = rotation[..., :1], -rotation[..., 1:].expand_as(vectors)
    twice = 2 * torch.linalg.cross(axis, vectors)
    return vectors + w * twice + torch.linalg.cross(axis, twice)


def base_height(env, asset_cfg):
    """The height of the root over the origin of its environment in metres, (N, 1)."""
    return (env.scene[asset_cfg.name].data.root_link_pos_w - env.scene.env_origins)[:, 2:]


def key_pos(env, asset_cfg):
    """The positions of bodies relative to the root, in the root's frame, in metres, (N, 3 a body)."""
    data = env.scene[asset_cfg.name].data
    offsets = data.body_link_pos_w[:, asset_cfg.body_ids] - data.root_link_pos_w[:, None]
    return rotate_back(data.root_link_quat_w[:, None], offsets).flatten(1)


class Managed(Simulator):
    """What mjlab and Isaac Lab have in common: tasks of managers, whose observations are groups of terms."""

    terms = {"joint_pos": "joint_pos_rel", "joint_vel": "joint_vel_rel"}  # gorl's names of functions of the module mdp
    terms.update({name: name for name in ("base_lin_vel", "base_ang_vel", "projected_gravity")})
    own = {"base_height": base_height, "key_pos": key_pos}

    def add_group(self, observations, mdp, managers):
        """Adds the group of AMP observations that the options ask for to the groups of a task's configuration."""
        wanted = self.setup["amp_group"]
        if not wanted["terms"]:
            return
        group = f"group {AMP_GROUP!r} of observations"
        if observations is None:
            raise Refused(f"amp_group: {self.name()} has no managers and no groups of observations; set amp_observations instead")
        keyed = isinstance(observations, dict)
        if (observations.get(AMP_GROUP) if keyed else getattr(observations, AMP_GROUP, None)) is not None:
            raise Refused(f"amp_group: {self.name()} has a {group} already; leave out amp_group")
        terms = {}
        for name in wanted["terms"]:
            if name not in self.terms and name not in self.own:
                raise Refused(f"amp_group: there is no term {name!r}; there are {listed([*self.terms, *self.own])}")
            asset = managers.SceneEntityCfg("robot")
            if name == "key_pos":
                asset = managers.SceneEntityCfg("robot", body_names=list(wanted["bodies"]), preserve_order=True)
            function = self.own.get(name) or getattr(mdp, self.terms[name])
            terms[name] = managers.ObservationTermCfg(func=function, params={"asset_cfg": asset})
        shape = {"concatenate_terms": True, "enable_corruption": False, "history_length": wanted["history"], "flatten_history_dim": False}
        if keyed:
            observations[AMP_GROUP] = managers.ObservationGroupCfg(terms=terms, **shape)
            return
        added = managers.ObservationGroupCfg(**shape)
        for name, term in terms.items():
            setattr(added, name, term)
        setattr(observations, AMP_GROUP, added)

    def describe_group(self):
        """The terms of the group of AMP observations, from which the Go side computes the same of reference motion."""
        env = getattr(self.env, "unwrapped", self.env)
        manager = getattr(env, "observation_manager", None)
        if AMP_GROUP not in getattr(manager, "active_terms", ()):
            return None
        widths, configs = manager.group_obs_term_dim[AMP_GROUP], manager._group_obs_term_cfgs[AMP_GROUP]
        terms = [self.describe_term(env, *term) for term in zip(manager.active_terms[AMP_GROUP], widths, configs)]
        return {"step": float(env.step_dt), "terms": terms}

    def describe_term(self, env, name, shape, config):
        function, params = config.func, dict(config.params)
        module, kind = getattr(function, "__module__", ""), getattr(function, "__name__", type(function).__name__)
        known = module.startswith(("mjlab.", "isaaclab.")) or function in self.own.values()
        history = getattr(config, "history_length", 0) or 0
        changes = [key for key in ("noise", "clip", "scale", "modifiers") if getattr(config, key, None) is not None]
        changes += ["delay"] if getattr(config, "delay_max_lag", 0) else []
        asset = params.pop("asset_cfg", None)
        said = {"name": name, "function": kind if known else f"{module}.{kind}", "width": int(shape[-1]), "history": history}
        said.update(flat=history > 1 and len(shape) == 1, changes=changes, asset=getattr(asset, "name", "robot"))
        if known and (kind in TERMS_OF_ROBOTS or kind in self.own):
            changes += [key for key, value in params.items() if value]
            robot = env.scene[said["asset"]]
            data = robot.data
            if kind.startswith("joint_"):
                joints = getattr(asset, "joint_ids", slice(None))
                said["joints"] = [str(n) for n in np.array(robot.joint_names)[joints]]
                if kind.endswith("_rel"):
                    said["subtracted"] = array(getattr(data, "default_" + kind.removesuffix("_rel"))[0, joints]).tolist()
            elif kind == "key_pos":
                said["bodies"] = [str(n) for n in np.array(robot.body_names)[asset.body_ids]]
            elif kind == "base_lin_vel" and module.startswith("isaaclab."):  # that of the centre of mass
                offset = rotate_back(data.root_link_quat_w, data.root_com_pos_w - data.root_link_pos_w)
                said["center"] = array(offset[0]).tolist()
        return said


TERMS_OF_ROBOTS = {*Managed.terms.values(), "joint_pos", "joint_vel", "base_pos_z"}  # functions of both modules mdp


class IsaacLab(Managed):
    """Isaac Lab: the app first, then what imports from it. The key app of the kwargs holds AppLauncher's arguments."""

    autoreset = SAME_STEP
    app = None

    def build(self, seed):
        if self.setup["id"]:
            kwargs = self.setup["kwargs"] or {}
            app = {"headless": True, "enable_cameras": bool(self.setup["render_mode"]), **(kwargs.get("app") or {})}
            self.device = app["device"] = kwargs.get("device", app.get("device", "cuda:0"))
            from isaaclab.app import AppLauncher

            self.app = AppLauncher(app).app
        env = super().build(seed)
        if not self.setup["amp"] and attribute(env, "amp_observation_space") is not None:
            self.setup["amp"] = "amp_obs"  # where its tasks have it
        return env

    def make(self, kwargs, seed):
        import isaaclab_tasks  # noqa: F401, registers the tasks
        from isaaclab_tasks.utils import parse_env_cfg

        name = imported(self.setup["id"])
        config = parse_env_cfg(name, device=self.device, num_envs=self.n)
        config.seed = seed
        configure(config, {k: v for k, v in kwargs.items() if k not in ("app", "device")})
        if self.setup["amp_group"]["terms"]:
            from isaaclab import managers
            from isaaclab.envs import mdp

            self.add_group(getattr(config, "observations", None), mdp, managers)
        return gymnasium.make(name, cfg=config, render_mode=self.setup["render_mode"] or None)

    def step(self, actions):
        if isinstance(actions, dict):  # by agent
            return self.env.step({agent: one.reshape(self.n, -1) for agent, one in actions.items()})
        return self.env.step(actions.reshape(self.n, -1))  # a discrete action has a column, too

    def close(self):
        self.env.close()
        if self.app is not None:
            self.app.close()


class MJLab(Managed):
    """mjlab, whose own reset is switched off unless the options say same_step, so that last observations are seen."""

    def make(self, kwargs, seed):
        import torch
        from mjlab import managers
        from mjlab.envs import ManagerBasedRlEnv, mdp
        from mjlab.tasks.registry import list_tasks, load_env_cfg

        import mjlab.tasks  # noqa: F401, registers the tasks

        name = imported(self.setup["id"])
        if name not in list_tasks():
            raise Refused(f"mjlab has no task {name!r}; it has {listed(list_tasks())}")
        device = kwargs.pop("device", "cuda:0" if torch.cuda.is_available() else "cpu")
        config = load_env_cfg(name)
        config.scene.num_envs, config.seed = self.n, seed
        config.auto_reset = self.setup["autoreset"] == SAME_STEP
        configure(config, kwargs)
        self.add_group(config.observations, mdp, managers)
        return ManagerBasedRlEnv(config, device=device, render_mode=self.setup["render_mode"] or None)

    def declared(self):
        return SAME_STEP if getattr(self.env.cfg, "auto_reset", True) else DISABLED

    def reset_rows(self, done):
        import torch

        return self.env.reset(env_ids=torch.as_tensor(np.flatnonzero(done), device=self.env.device))


class ManiSkill(Simulator):
    """ManiSkill 3, in its ManiSkillVectorEnv, which resets and keeps last observations."""

    groups = (), ()

    def make(self, kwargs, seed):
        import mani_skill.envs  # noqa: F401, registers the tasks
        from mani_skill.vector.wrappers.gymnasium import ManiSkillVectorEnv

        own = {k: kwargs.pop(k) for k in ("ignore_terminations", "record_metrics") if k in kwargs}
        env = gymnasium.make(self.setup["id"], num_envs=self.n, render_mode=self.setup["render_mode"] or None, **kwargs)
        return ManiSkillVectorEnv(env, auto_reset=True, **own)


class Functional(Simulator):
    """Brax, whose functions take and return a state; they are compiled, and the state is kept here."""

    autoreset = SAME_STEP
    groups = ("state",), ("privileged_state",)
    exact_infos = True

    def build(self, seed):
        import jax

        self.jax, self.num_envs, self.key = jax, self.n, jax.random.PRNGKey(seed)
        self.core = super().build(seed)
        self.functions = jax.jit(self.core.reset), jax.jit(self.core.step)
        self.reset(None)
        self.step(np.zeros((self.n, self.core.action_size), np.float32))  # so that no step waits for the compiler
        return self

    def make(self, kwargs, seed):
        from brax import envs

        return envs.create(self.setup["id"], batch_size=self.n, **kwargs)

    def spaces(self):
        def box(size):
            return gymnasium.spaces.Box(-np.inf, np.inf, tuple(np.atleast_1d(size)), np.float32)

        size = self.core.observation_size
        space = gymnasium.spaces.Dict({k: box(v) for k, v in size.items()}) if hasattr(size, "items") else box(size)
        return space, gymnasium.spaces.Box(-1, 1, (self.core.action_size,), np.float32)

    def keys(self, key):
        return key

    def reset(self, seed):
        self.key, key = self.jax.random.split(self.key if seed is None else self.jax.random.PRNGKey(seed))
        self.state = self.functions[0](self.keys(key))
        return self.state.obs, self.state.info

    def step(self, actions):
        self.state = state = self.functions[1](self.state, actions)
        done = truths("flags done", np.asarray(state.done))
        truncated = truths("flags truncation", np.asarray(state.info["truncation"]))
        return state.obs, state.reward, done & ~truncated, done & truncated, {**state.metrics, **state.info}

    def row(self, index):
        """The state of one environment."""
        return self.jax.tree_util.tree_map(lambda x: x[index], self.state)

    def render(self, index):
        return self.core.render([self.row(index).pipeline_state])[0]

    def close(self):
        pass


class Playground(Functional):
    """MuJoCo Playground. The kwargs are overrides of the task's configuration and arguments of its wrapper."""

    def make(self, kwargs, seed):
        from mujoco_playground import registry, wrapper

        config = registry.get_default_config(self.setup["id"])
        own = {k: kwargs.pop(k, config.get(k)) for k in ("episode_length", "action_repeat")}
        own.update({k: kwargs.pop(k) for k in ("full_reset",) if k in kwargs})
        env = registry.load(self.setup["id"], config=config, config_overrides=kwargs)
        return wrapper.wrap_for_brax_training(env, **own)

    def keys(self, key):
        return self.jax.random.split(key, self.n)

    def render(self, index):
        return self.core.render([self.row(index)])[0]


SIMULATORS = {
    "batch": Simulator,
    "vector": Vector,
    "envpool": EnvPool,
    "isaaclab": IsaacLab,
    "mjlab": MJLab,
    "maniskill": ManiSkill,
    "brax": Functional,
    "playground": Playground,
}


# Spaces and arrays.


def adopt(space):
    """A space as one of Gymnasium's: some simulators have classes of their own, with the same attributes."""
    s = gymnasium.spaces
    if isinstance(space, gymnasium.Space):
        return space
    if hasattr(space, "spaces"):
        return s.Dict({k: adopt(v) for k, v in space.spaces.items()})
    if hasattr(space, "shape"):
        low, high = (np.broadcast_to(getattr(space, k, v), space.shape) for k, v in (("low", -np.inf), ("high", np.inf)))
        dtype = np.dtype(getattr(space, "dtype", None) or np.float32)
        return s.Box(low.astype(dtype), high.astype(dtype), tuple(space.shape), dtype)
    raise Refused(f"the space {space!r} of type {type(space).__name__} is not known")


def is_cuda(value):
    return getattr(value, "is_cuda", False)


def array(value):
    """value as an array of numpy, without a copy where it lies in the processor's memory."""
    if type(value) is np.ndarray:
        return value
    if hasattr(value, "detach"):  # a tensor of PyTorch
        value = value.detach()
        return (value.float() if str(value.dtype) == "torch.bfloat16" else value).cpu().numpy()
    return np.asarray(value)


def listed(keys):
    return ", ".join(repr(k) for k in sorted(keys, key=str)) or "nothing"


def has_keys(value):
    return hasattr(value, "keys")


class Place:
    """A shared array of rows. Tensors on a card are packed there first, and come over in one copy."""

    def __init__(self, host):
        self.host, self.pack, self.waiting = host, None, False

    def columns(self, first, last, device):
        """Those columns on the card, for tensors to be written to."""
        if self.pack is None:
            torch = sys.modules["torch"]
            self.target = torch.from_numpy(self.host)
            self.pack = self.target.to(device, copy=True)
        self.waiting = True
        return self.pack[:, first:last]

    def send(self):
        """Begins the copy from the card."""
        self.target.copy_(self.pack, non_blocking=True)
        self.waiting = False


def writer(name, space, floats, small, at=(0, 0)):
    """Returns the function that writes a batch of the space's values into the shared rows.

    It takes whole arrays, one value a row. With rows, their numbers, only those are written, of whole arrays or of a list
    that has one value for each. at is the first column of the space among the floats and among the bytes.
    """
    if isinstance(space, (gymnasium.spaces.Dict, gymnasium.spaces.Tuple)):
        parts = []
        for key in keys_of(space) if isinstance(space, gymnasium.spaces.Dict) else range(len(space.spaces)):
            part = space.spaces[key]
            parts.append((key, writer(f"{name}.{key}", part, floats, small, at)))
            at = at[0] + child.width(part), at[1] + child.width(part, True)

        keyed = isinstance(space, gymnasium.spaces.Dict)

        def put(value, rows=None):
            for one in value if type(value) is list else (value,):
                if has_keys(one) != keyed or len(one) != len(parts) or keyed and any(key not in one.keys() for key, _ in parts):
                    found = listed(one.keys()) if has_keys(one) else f"{len(one)} parts"
                    raise Refused(f"the {name} has {found}; its space has {listed(key for key, _ in parts)}")
            for key, part in parts:
                part([one[key] for one in value] if type(value) is list else value[key], rows)

        return put
    is_small = child.is_small(space)
    place, first = (small, at[1]) if is_small else (floats, at[0])
    last = first + child.width(space, is_small)
    view = place.host[:, first:last].reshape((len(place.host),) + tuple(space.shape))
    start = getattr(space, "start", 0)
    start = start if np.any(start) else None
    known = None  # the type of the values: a change from fractions to whole numbers is a change of meaning

    def put(value, rows=None):
        nonlocal known
        if type(value) is list:
            value = np.stack([array(v) for v in value])
        elif rows is not None:
            if len(value) != len(view):
                raise Refused(f"the {name} has {len(value)} rows; there must be {len(view)}")
            value = array(value[rows])
        elif not is_cuda(value):
            value = array(value)
        shape = (len(view) if rows is None else len(rows),) + view.shape[1:]
        if tuple(value.shape) not in (shape, shape + (1,)):
            raise Refused(f"the {name} has the shape {tuple(value.shape)}; it must be {shape}")
        if known is None or value.dtype != known:  # to numpy None is float64
            if kind_of(value.dtype) is None or known is not None and kind_of(value.dtype) != kind_of(known):
                raise Refused(f"the {name} has the type {value.dtype}; it must be {'one of numbers' if known is None else known}")
            known = value.dtype
        if start is not None:
            value = value - start
        if is_cuda(value):
            place.columns(first, last, value.device).copy_(value.reshape(shape[0], -1))
            return
        if rows is None and place.pack is not None:  # other columns are on a card
            place.columns(first, last, None).copy_(sys.modules["torch"].from_numpy(value.reshape(shape[0], -1)))
            return
        value, to = value.reshape(shape), slice(None) if rows is None else rows
        view[to] = value
        if is_small and value.dtype != np.uint8 and not (view[to] == value).all():
            raise Refused(f"a value of the {name}, of a uint8 space, is no whole number from 0 to 255")

    return put


def kind_of(dtype):
    """Whether numbers of a type are fractions or whole; None where they are no numbers."""
    name = str(dtype).replace("torch.", "")
    return "fractions" if "float" in name else "whole" if name.startswith(("int", "uint", "bool")) else None


def column(value, n):
    """value as n numbers, None where it is anything else."""
    if tuple(getattr(value, "shape", ())) not in ((n,), (n, 1)):
        return None
    value = array(value).reshape(n)
    return value if value.dtype.kind in "fiub" else None


def truths(name, value):
    """Converts flags to booleans. A flag that is neither 0 nor 1, such as NaN, is an error."""
    if value.dtype.kind != "b":
        for k in np.flatnonzero((value != 0) & (value != 1))[:1]:
            raise Refused(f"the {name} of step are {value[k]:g} for environment {k}; they must be 0 or 1")
    return value != 0


def mask(infos, key, n):
    """Returns the mask of the rows for which infos hold a value under a key."""
    value = array(infos["_" + key])
    if value.shape not in ((n,), (n, 1)) or value.dtype.kind not in "fiub":
        found = f"the shape {value.shape} and the type {value.dtype}"
        raise Refused(f"the mask '_{key}' of the infos has {found}; it must be {(n,)} of bool")
    return truths(f"mask '_{key}'", value.reshape(n))


# The bridge.


class Batch(child.Bridge):
    """A simulator and its places in the shared memory."""

    def __init__(self, setup, simulator):
        self.setup, self.n, self.simulator, self.mode = setup, setup["to"], simulator, simulator.mode
        self.current = -1  # an error is of no environment alone
        if "torch" in sys.modules:
            sys.modules["torch"].set_grad_enabled(False)
        self.observation_groups = self.state_groups = None
        self.amp_group = False  # whether AMP observations are a group of the observations, not of the infos
        self.find_spaces()

    def find_spaces(self):
        setup = self.setup
        whole, self.action = self.simulator.spaces()
        self.observation = self.find_groups(whole)
        there = whole.spaces if isinstance(whole, gymnasium.spaces.Dict) and self.simulator.groups[0] else {}
        self.amp_group = not setup["amp"] and AMP_GROUP in there
        if self.amp_group:
            setup["amp"], self.amp = AMP_GROUP, there[AMP_GROUP]
        else:
            self.amp = self.from_infos("amp", ("amp_observation_space", "amp_observation_size"), setup["amp_size"], "AMP observations")
        if setup["states"]:
            self.state = self.from_infos("states", ("state_space",), setup["state_size"], "states")
        child.taker(self.action, np.zeros((1, child.width(self.action) + child.width(self.action, True)), np.float32))
        self.masks = child.mask_space(self.simulator.env, self.action, setup)

    def description(self):
        group = self.simulator.describe_group() if self.amp_group and isinstance(self.simulator, Managed) else None
        return {**super().description(), "amp_group": group}

    @property
    def envs(self):
        return [self.simulator.env]

    # Spaces.

    def find_groups(self, space):
        """Chooses the groups that are observations and states; returns the space of the former and keeps that of the latter."""
        self.state = None
        there = space.spaces if isinstance(space, gymnasium.spaces.Dict) else ()
        groups = {"observation_groups": self.setup["observation_groups"], "state_groups": self.setup["state_groups"]}
        for key, defaults in zip(groups, self.simulator.groups):
            groups[key] = groups[key] or [k for k in defaults if k in there][:1]
        if not there and any(groups.values()):
            raise Refused(f"groups of observations are asked for; the observation space of {self.simulator.name()} is {space}")

        def chosen(key):
            for group in groups[key]:
                if group not in there:
                    raise Refused(f"{key} has {group!r}; the observations of {self.simulator.name()} have the groups {listed(there)}")
            part = {k: there[k] for k in groups[key]}
            return groups[key], part[groups[key][0]] if len(part) == 1 else gymnasium.spaces.Dict(part)

        if groups["state_groups"] and self.setup["states"]:
            raise Refused(f"states are the infos' {self.setup['states']!r} and the observations' {listed(groups['state_groups'])}: set one of states and state_groups")
        if groups["state_groups"]:
            self.state_groups, self.state = chosen("state_groups")
        if not groups["observation_groups"]:
            return space
        self.observation_groups, observation = chosen("observation_groups")
        return observation

    def group(self, observations, groups):
        """The groups chosen of some observations, which may be a list of those of single rows."""
        if groups is None:
            return observations
        if type(observations) is list:
            return [self.group(o, groups) for o in observations]
        there = observations.keys() if has_keys(observations) else ()
        for key in groups:
            if key not in there:
                raise Refused(f"the observations have the groups {listed(there)}; there is no {key!r}")
        return observations[groups[0]] if len(groups) == 1 else {k: observations[k] for k in groups}

    def from_infos(self, key, attributes, size, what):
        """The space of what the infos hold under a key: an attribute of the simulator, else a size that is given or seen."""
        if not self.setup[key]:
            return None
        for name in attributes:
            found = attribute(self.envs[0], name)
            if isinstance(found, (int, np.integer)) and not isinstance(found, bool):
                size = int(found)
            elif found is not None:
                return adopt(found)
        if not size:
            _, infos = self.results(self.simulator.reset(None))
            if self.setup[key] not in infos:
                raise Refused(f"how many {what} are there? The infos of reset have no {self.setup[key]!r}, and the simulator has no attribute {attributes[0]}: set it, or the size in the options")
            size = int(np.prod(infos[self.setup[key]].shape[1:]))
        return gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    # Memory.

    def attach(self, memory):
        n, places = self.n, []

        def place(name):
            array = memory.array(name)
            if array is None:
                return None
            places.append(Place(array))
            return places[-1]

        def rows(name, space, what):
            return writer(what, space, place(name), place(name + "_bytes")) if space is not None else None

        self.take = self.taker(memory.array("actions"))
        self.put = rows("observations", self.observation, "observation")
        self.put_final = rows("final_observations", self.observation, "last observation")
        self.put_state, self.put_final_state = rows("states", self.state, "state"), rows("final_states", self.state, "last state")
        self.put_amp, self.amp_rows = rows("amp_observations", self.amp, "AMP observation"), memory.array("amp_observations")
        self.put_masks, self.mask_rows = rows("action_masks", self.masks, "action mask"), memory.array("action_masks_bytes")
        self.rewards, self.flags = memory.array("rewards"), memory.array("flags")
        self.infos = Infos(self.setup, memory.array("infos"), n)
        self.places, self.whole, self.locked = places, np.frombuffer(memory.map, np.uint8), False
        self.device = None  # that of the actions, where they are tensors
        self.over = np.zeros(n, bool)  # rows whose episode ended in the last step
        self.shown = np.zeros(n, bool)  # rows whose AMP observation of this episode is in the memory

    def taker(self, rows):
        return child.taker(self.action, rows)

    def flush(self):
        """Brings over what waits on a card, and waits until it is there."""
        waiting = [place for place in self.places if place.waiting]
        if not waiting:
            return
        cuda = sys.modules["torch"].cuda
        if not self.locked:  # so that the card writes to the memory itself; where it may not, the copy is only slower
            self.locked = True
            cuda.cudart().cudaHostRegister(self.whole.ctypes.data, self.whole.nbytes, 0)
        for place in waiting:
            place.send()
        cuda.current_stream(waiting[0].pack.device).synchronize()

    # Commands.

    def results(self, returned):
        """What reset returned, as observations and infos."""
        if isinstance(returned, tuple) and len(returned) == 2:
            return returned[0], returned[1] or {}
        return returned, {}

    def actions(self):
        """The actions as the simulator takes them: tensors where its observations are."""
        return self.placed(self.take())

    def placed(self, actions):
        if self.device is None:
            return actions
        return sys.modules["torch"].from_numpy(actions).to(self.device)

    def reset(self, seed):
        seed = seed if seed >= 0 else None
        observations, infos = self.results(self.simulator.reset(seed))
        if self.setup["random_lengths"]:
            self.simulator.stagger(seed)
        leaf = observations
        while has_keys(leaf) or isinstance(leaf, (list, tuple)):
            leaf = next(iter(leaf.values() if has_keys(leaf) else leaf))
        self.device = leaf.device if hasattr(leaf, "detach") else None
        self.over[:] = self.shown[:] = False
        self.put_observations(observations, infos, "reset")
        self.flush()

    def advance(self):
        """Steps the simulator and returns what it returned, five values."""
        returned = self.simulator.step(self.actions())
        if not isinstance(returned, tuple) or len(returned) != 5:
            what = f"{len(returned)} values" if isinstance(returned, tuple) else f"a {type(returned).__name__}"
            raise Refused(f"step of {self.simulator.name()} returned {what}; it must be observations, rewards, terminated, truncated, infos")
        return (*returned[:4], returned[4] or {})

    def step(self):
        observations, rewards, terminated, truncated, infos = self.advance()
        rewards, terminated, truncated = self.numbers(rewards, terminated, truncated)
        if self.simulator.finite:
            terminated, truncated = terminated | truncated, truncated & False
        again = self.over if self.mode == NEXT_STEP else np.zeros(self.n, bool)
        said = self.simulator.reset_again(infos)
        if said is not None and (said != again).any():
            raise Refused(f"the infos say that environments {np.flatnonzero(said)} were reset in this step; those that had ended are {np.flatnonzero(again)}")
        ended = (terminated | truncated) & ~again
        flags = TERMINATED * (terminated & ended) + TRUNCATED * (truncated & ended) + INVALID * again
        over = np.flatnonzero(ended)
        last, last_infos, known = self.finals(observations, infos, ended)
        flags[over[~known]] |= UNKNOWN
        rewards[again] = 0
        if self.setup["every"]:
            self.infos.note(infos, np.flatnonzero(~again))
        if len(over):
            self.infos.note(infos if last_infos is None else last_infos, over)
        if known.any():
            seen, some = over[known], [row for row, is_known in zip(last, known) if is_known] if type(last) is list else last
            self.put_final(self.group(some, self.observation_groups), seen)
            if self.put_final_state and self.state_groups:
                self.put_final_state(self.group(some, self.state_groups), seen)
            elif self.put_final_state:
                told = (last_infos or {}) if self.mode == SAME_STEP else infos
                self.put_final_state(self.info(told, "states", seen, "step"), seen)
        amp = (observations, None) if self.amp_group else (infos, last_infos)
        after = self.put_amp and self.put_amp_rows(*amp, ended, again)
        if self.mode == DISABLED and len(over):
            observations, infos = self.results(self.simulator.reset_rows(ended))
        if len(over):
            self.infos.log(infos)
        self.put_observations(observations, infos, "step")
        self.flush()
        if self.put_masks and self.mode == NEXT_STEP:
            self.mask_rows[over] = 1  # the next action of these rows is ignored
        if after:
            flags |= after()
        self.over = ended
        self.rewards[:], self.flags[:] = rewards, flags

    def numbers(self, rewards, terminated, truncated):
        """Rewards and flags as arrays of their own."""
        named = (("rewards", rewards), ("flags terminated", terminated), ("flags truncated", truncated))
        for name, value in named:
            if tuple(getattr(value, "shape", ())) not in ((self.n,), (self.n, 1)):
                what = tuple(value.shape) if hasattr(value, "shape") else f"of a {type(value).__name__}"
                raise Refused(f"the {name} of step have the shape {what}; it must be {(self.n,)}")
        if all(is_cuda(value) for _, value in named):  # in one copy
            torch = sys.modules["torch"]
            values = array(torch.stack([value.reshape(-1).to(torch.float32) for _, value in named]))
        else:
            values = [array(value).reshape(-1) for _, value in named]
        for (name, _), value in zip(named, values):
            if value.dtype.kind not in "fiub":
                raise Refused(f"the {name} of step have the type {value.dtype}; they must be numbers")
        return values[0].astype(np.float64), truths(named[1][0], values[1]), truths(named[2][0], values[2])

    def finals(self, observations, infos, ended):
        """The last observations of the rows that ended, their infos (None: those of the step), and which of the rows have any.

        The observations are those of the whole batch, or a list of the rows'.
        """
        over = np.flatnonzero(ended)
        if self.mode != SAME_STEP:
            return observations, None, np.ones(len(over), bool)
        key = next((k for k in FINAL_OBSERVATIONS if k in infos), None)
        last_infos = next((infos[k] for k in FINAL_INFOS if k in infos), None)
        if key is None or not len(over):
            return None, last_infos, np.zeros(len(over), bool)
        known = ended[over] if "_" + key not in infos else mask(infos, key, self.n)[over]
        last = infos[key]
        if isinstance(last, (list, tuple)) or getattr(last, "dtype", None) == object:
            if len(last) != self.n:
                raise Refused(f"the infos of step have {len(last)} rows of {key!r}; there must be {self.n}")
        if getattr(last, "dtype", None) == object:
            last = [last[k] for k in over]
        return last, last_infos, known

    def put_observations(self, observations, infos, method):
        self.put(self.group(observations, self.observation_groups))
        if self.put_state and self.state_groups:
            self.put_state(self.group(observations, self.state_groups))
        elif self.put_state:
            self.put_state(self.info(infos, "states", None, method))
        if self.put_masks and self.setup["masks"]:
            self.put_masks(self.info(infos, "masks", None, method))
        elif self.put_masks:
            self.put_masks(attribute(self.simulator.env, "action_masks")())
        elif method == "reset":
            child.refuse_unused(infos, self.setup, self.masks)

    def info(self, infos, option, rows, method):
        """What infos hold under the key that an option names, which must be there for some rows, all where rows is None."""
        key = self.setup[option]
        what = {"amp": "AMP observation", "masks": "action mask"}.get(option, "state")
        if key not in infos:
            raise Refused(f"the infos of {method} have no {key!r}, where the {what} should be; they have {listed(infos)}")
        if "_" + key in infos:
            there = mask(infos, key, self.n)
            if not there.all() and not there[np.arange(self.n) if rows is None else rows].all():
                raise Refused(f"the infos of {method} have no {key!r} of some environments, where the {what} should be")
        return infos[key]

    def put_amp_rows(self, infos, last_infos, ended, again):
        """Writes what the discriminator sees of this step, and returns what remains to be done after flush, which returns flags.

        Infos of a step that reset a row show the reset state, unless the simulator keeps the others. The row of the last step
        of the episode stands for it; where an episode had but one step, there is no transition to show.
        """
        own = ~again if self.mode == NEXT_STEP else np.ones(self.n, bool)
        kept = again
        if self.mode == SAME_STEP and not self.simulator.exact_infos:
            own = ~ended
            kept = again if last_infos is not None else ended
        rows = np.flatnonzero(kept)
        before, unknown = self.amp_rows[rows], ended & kept & ~self.shown
        if own.any():
            self.put_amp(self.info(infos, "amp", np.flatnonzero(own), "step"))

        def after():
            self.amp_rows[rows] = before
            over = np.flatnonzero(ended & ~own & ~kept)
            if len(over):
                self.put_amp(self.info(last_infos, "amp", over, "step"), over)
            self.shown |= own
            self.shown[ended] = False
            return INVALID * unknown

        return after

    # What is rare.

    def close(self):
        self.simulator.close()

    def render(self, index):
        return self.picture(array(self.simulator.render(index)))


class Seats(Batch):
    """A simulator in which several agents act, the seats: what it takes and returns is by agent (Isaac Lab's DirectMARLEnv).

    A game is reset, within the step, when all agents have terminated or all have been truncated in that step, or where
    the simulator's reset_buf says so. An agent that ends before is out until then.
    """

    def find_spaces(self):
        env, setup = self.simulator.env, self.setup
        if self.mode != SAME_STEP:
            raise Refused(f"{self.simulator.name()} has several agents (possible_agents) and the autoreset {self.mode}; it must be same_step")
        for option in ("amp", "states", "masks"):
            if setup[option]:
                raise Refused(f"{self.simulator.name()} has several agents (possible_agents): leave out amp_observations, states and action_masks")
        self.agents = list(attribute(env, "possible_agents"))
        spaces = [[adopt(self.by_agent(name, attribute(env, name), agent)) for agent in self.agents] for name in ("observation_spaces", "action_spaces")]
        self.observation, self.action = map(gymnasium.spaces.Tuple, spaces)
        state = attribute(env, "state_space")
        self.state, self.amp, self.masks = None if state is None else adopt(state), None, None
        self.taker(np.zeros((1, child.width(self.action) + child.width(self.action, True)), np.float32))  # refuses what cannot be

    def by_agent(self, name, values, agent):
        """What values by agent hold for one."""
        if not has_keys(values) or agent not in values.keys():
            found = listed(values.keys()) if has_keys(values) else f"a {type(values).__name__}"
            raise Refused(f"the {name} of {self.simulator.name()} are {found}; they must hold one for each of {listed(self.agents)}")
        return values[agent]

    def description(self):
        return {**super().description(), "seats": [{"name": str(agent), "masks": False} for agent in self.agents]}

    def attach(self, memory):
        super().attach(memory)
        self.seat_flags = memory.array("seats")
        self.out = np.zeros((self.n, len(self.agents)), bool)  # agents whose episode has ended before the game has

    def taker(self, rows):
        takers, at = [], 0
        for space in self.action.spaces:
            to = at + child.width(space) + child.width(space, True)
            takers.append(child.taker(space, rows[:, at:to]))
            at = to
        return lambda: {agent: self.placed(take()) for agent, take in zip(self.agents, takers)}

    def actions(self):
        return self.take()

    def put_observations(self, observations, infos, method):
        self.put(tuple(self.by_agent(f"observations of {method}", observations, agent) for agent in self.agents))
        if self.put_state:
            self.put_state(attribute(self.simulator.env, "state")())

    def reset(self, seed):
        super().reset(seed)
        self.out[:] = False
        self.seat_flags[:] = ACTIVE

    def step(self):
        observations, *by_agent, infos = self.advance()
        names = "rewards of step", "flags terminated of step", "flags truncated of step"
        of_seats = [self.numbers(*(self.by_agent(name, values, agent) for name, values in zip(names, by_agent))) for agent in self.agents]
        rewards, terminated, truncated = (np.stack(values, 1) for values in zip(*of_seats))
        over = terminated.all(1) | truncated.all(1)
        said = attribute(self.simulator.env, "reset_buf")
        if said is not None:
            over = truths("flags reset_buf", array(said).reshape(self.n))
        if self.simulator.finite:
            terminated, truncated = terminated | truncated, truncated & False
        rewards[self.out] = 0
        terminated &= ~self.out
        truncated &= ~self.out
        truncated |= over[:, None] & ~(self.out | terminated)  # agents that have not ended end with the game
        self.out |= terminated | truncated
        for k in np.flatnonzero(self.out.all(1) & ~over)[:1]:
            raise Refused(
                f"every agent of environment {k} has ended, and {self.simulator.name()} has not reset it: it does when all have ended in one step, so an agent that has ended must say so in every step until then"
            )
        cut = (truncated & ~terminated).any(1)
        self.out[over] = False
        rows = np.flatnonzero(over)
        if self.setup["every"]:
            self.infos.note(infos, np.arange(self.n))
        elif len(rows):
            self.infos.note(infos, rows)
        if len(rows):
            self.infos.log(infos)
        self.put_observations(observations, infos, "step")
        self.flush()
        self.rewards[:] = rewards
        self.flags[:] = over * np.where(cut, TRUNCATED | UNKNOWN, TERMINATED | UNKNOWN)
        self.seat_flags[:] = TERMINATED * terminated | TRUNCATED * truncated | ACTIVE * ~self.out


class Infos(child.Infos):
    """The numbers of a batch's infos: an array has a number for each row, and with its name after _ a mask of rows that have one."""

    def __init__(self, setup, rows, n):
        super().__init__(setup, rows)
        self.n, self.logged = n, {}
        self.skip |= {"log", *FINAL_OBSERVATIONS, *FINAL_INFOS}

    def note(self, infos, rows):
        """Writes the numbers of some rows into their columns."""
        if self.rows is not None:
            self.rows[rows] = np.nan
            self.write(infos, rows, "")

    def write(self, infos, rows, prefix):
        for key, value in infos.items():
            name = prefix + str(key)
            if name in self.skip or str(key).startswith("_"):
                continue
            if isinstance(value, dict):
                self.write(value, rows, name + ".")
                continue
            if name not in self.columns and not self.discover:
                continue
            value = column(value, self.n)
            place = self.column(name) if value is not None else None
            if place is not None:
                there = mask(infos, key, self.n)[rows] if f"_{key}" in infos else True
                self.rows[rows, place] = np.where(there, value[rows], np.nan)

    def log(self, infos):
        """Keeps the numbers of a dictionary log, of the whole batch, which simulators renew when rows are reset."""
        found = infos.get("log")
        for key, value in found.items() if isinstance(found, dict) else ():
            value = child.number(value if isinstance(value, (int, float)) else array(value))
            if value is not None and value - value == 0:
                self.logged[str(key)] = value

    def message(self):
        said = super().message()
        if self.logged:
            said = {**(said or {"columns": list(self.columns)}), "log": self.logged}
            self.logged = {}
        return said


def bridge(setup):
    """The bridge to a simulator, which has several agents where it has possible_agents."""
    simulator = SIMULATORS[setup["simulator"]](setup)
    kind = Seats if attribute(simulator.env, "possible_agents") else Batch
    return kind(setup, simulator)
