"""Times gorl's humanoid with skrl's PPO, which learns to track a clip as in DeepMimic.

    python benchmarks/skrl_humanoid.py --clip FILE [--envs N] [--updates N] [--threads N] [--stepping-threads N] [--device D]

The character (envs/mujoco/humanoid.xml), its task and the agent's settings are those of gorl's humanoid. FILE holds the
clip's states, which benchmarks/humanoid.go writes. MuJoCo is stepped in C on threads of its own
(benchmarks/peers/stepper.c); the rest of the environment is vectorised NumPy. Prints one JSON line a measure: plain mj_step
alone, control steps a second and thread; the environment alone, environment steps a second; one rollout step (act and
record) and one update, milliseconds; training end to end. Run it with the Python of `make peers`.
"""

import argparse
import ctypes
import json
import pathlib
import sys
import time
import xml.etree.ElementTree

import gymnasium
import numpy as np
import torch

from skrl.agents.torch.ppo import PPO
from skrl.memories.torch import RandomMemory
from skrl.resources.preprocessors.torch import RunningStandardScaler
from skrl_agent import Policy, Scalar, box, time_rounds, time_training

HERE = pathlib.Path(__file__).resolve().parent
SUBSTEPS = 4  # of the simulation in a control step
ROWS = 8  # of the clip's table in a control step
KEYS = ["right_hand", "left_hand", "right_foot", "left_foot"]
FEET = KEYS[2:]
EPISODE = 300  # control steps
ROLLOUT = 32


def heading(q):
    """The angle about the vertical at which x axes point; q is [n, 4], w first."""
    return np.arctan2(2 * (q[:, 1] * q[:, 2] + q[:, 0] * q[:, 3]), 1 - 2 * (q[:, 2] ** 2 + q[:, 3] ** 2))


def turned(vectors, angle):
    """Vectors [n, k, 3] as they are seen by those who face an angle [n]."""
    sin, cos = np.sin(angle)[:, None], np.cos(angle)[:, None]
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([cos * x + sin * y, cos * y - sin * x, vectors[..., 2]], axis=-1)


def rotate(q, vectors):
    """Vectors [n, 3], or one for all, turned by unit quaternions [n, 4]."""
    vectors = np.broadcast_to(vectors, (len(q), 3))
    t = 2 * np.cross(q[:, 1:], vectors)
    return vectors + q[:, :1] * t + np.cross(q[:, 1:], t)


def term(weight, sharpness, error):
    return weight * np.exp(-sharpness * error)


def squares(difference):
    return np.einsum("ij,ij->i", difference, difference)


class Humanoid:
    """envs humanoids that track a clip. starts(i) says at which row of the clip's table environment i begins."""

    def __init__(self, clip, envs, threads, stepper, model, starts=None):
        table = json.loads(pathlib.Path(clip).read_text())
        self.period = table["period"]  # rows
        self.clip = np.array(table["positions"]), np.array(table["velocities"])
        self.library = ctypes.CDLL(str(stepper))
        message = ctypes.create_string_buffer(1000)
        if self.library.stepper_open(str(model).encode(), envs, threads, SUBSTEPS, message, len(message)):
            sys.exit(f"skrl_humanoid: {model}: {message.value.decode()}")
        # MuJoCo numbers bodies as the file has them, behind the world.
        names = ["world"] + [b.get("name") for b in xml.etree.ElementTree.parse(model).iter("body")]
        self.keys = [names.index(name) for name in KEYS]
        self.others = [i for i, name in enumerate(names) if i > 0 and name not in FEET]
        self.random = np.random.default_rng(0)
        self.starts = starts or (lambda i: self.random.integers(self.period) + ROWS)
        self.position, self.velocity = (np.zeros((envs, t.shape[1])) for t in self.clip)
        self.bodies = np.zeros((envs, len(names), 3))
        self.touch = np.zeros((envs, len(names)), dtype=np.uint8)
        hinges = self.clip[0][:, 7:]
        self.scale = 0.4 * ((hinges.max(axis=0) - hinges.min(axis=0)) / 2 + 0.2)
        self.library.stepper_observe(self.pointer(self.bodies), self.touch.ctypes.data_as(ctypes.c_void_p))
        self.clip_keys = self.tabulate_keys()
        self.steps, self.row = np.zeros(envs, dtype=int), np.zeros(envs, dtype=int)
        self.origin = np.zeros((envs, 2))
        for i in range(envs):
            self.reset(i)
        self.observation = self.observe(slice(None))

    @staticmethod
    def pointer(array):
        return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def set(self, i, position, velocity):
        self.position[i], self.velocity[i] = position, velocity
        self.library.stepper_set(int(i), self.pointer(self.position[i]), self.pointer(self.velocity[i]))

    def tabulate_keys(self):
        """Where the key bodies are in every row, seen from the root."""
        out = []
        for position, velocity in zip(*self.clip):
            self.set(0, position, velocity)
            seen = self.bodies[:1, self.keys] - position[:3]
            out.append(turned(seen, heading(position[None, 3:7]))[0])
        return np.array(out)

    def reset(self, i):
        row = self.starts(i)
        self.steps[i], self.row[i], self.origin[i] = 0, row, self.clip[0][row, :2]
        position = self.clip[0][row].copy()
        position[:2] = 0
        position[2] += 0.005
        self.set(i, position, self.clip[1][row])

    def reference(self, which):
        """Where the clip is at this moment, in the environments' places."""
        position = self.clip[0][self.row[which]]
        position[:, :2] -= self.origin[which]
        return position

    def observe(self, which):
        position, velocity, now = self.position[which], self.velocity[which], self.reference(which)
        quaternion, ahead = position[:, 3:7], heading(position[:, 3:7])
        vectors = [
            rotate(quaternion, [1, 0, 0]), rotate(quaternion, [0, 0, 1]),
            velocity[:, :3], rotate(quaternion, velocity[:, 3:6]),
        ]  # fmt: skip
        root = turned(np.stack(vectors, axis=1), ahead)
        keys = turned(self.bodies[which][:, self.keys] - position[:, None, :3], ahead)
        place = turned((now[:, :3] - position[:, :3])[:, None], ahead)[:, 0]
        phase = 2 * np.pi * self.row[which] / self.period
        turn = heading(now[:, 3:7]) - ahead
        angles = np.stack([np.sin(phase), np.cos(phase)], axis=1), np.stack([np.sin(turn), np.cos(turn)], axis=1)
        count = len(position)
        parts = [
            position[:, 2:3], root.reshape(count, 12), position[:, 7:], velocity[:, 6:], keys.reshape(count, -1),
            angles[0], place, angles[1],
        ]  # fmt: skip
        return np.concatenate(parts, axis=1).astype(np.float32)

    def reward(self):
        """DeepMimic's reward, and which characters are too far from the clip."""
        now, velocity = self.reference(slice(None)), self.clip[1][self.row]
        place = squares(self.position[:, :3] - now[:, :3])
        speeds = squares(self.velocity[:, :3] - velocity[:, :3]) + 0.1 * squares(self.velocity[:, 3:6] - velocity[:, 3:6])
        same = np.abs(np.einsum("ij,ij->i", self.position[:, 3:7], now[:, 3:7]))
        turn = 2 * np.arccos(np.minimum(1, same))
        seen = turned(self.bodies[:, self.keys] - self.position[:, None, :3], heading(self.position[:, 3:7]))
        keys = np.square(seen - self.clip_keys[self.row]).sum(axis=2)
        reward = (
            term(0.5, 2, squares(self.position[:, 7:] - now[:, 7:]))
            + term(0.1, 0.005, squares(self.velocity[:, 6:] - velocity[:, 6:]))
            + term(0.15, 10, place + 0.1 * turn**2)
            + term(0.1, 1, speeds)
            + term(0.15, 10, keys.sum(axis=1))
        )
        return reward.astype(np.float32), (place > 0.25) | (keys > 0.25).any(axis=1)

    def step(self, actions):
        self.row += ROWS
        control = self.clip[0][self.row, 7:] + self.scale * np.clip(actions, -5, 5).astype(np.float64)
        self.library.stepper_step(self.pointer(control), self.pointer(self.position), self.pointer(self.velocity))
        self.steps += 1
        reward, lost = self.reward()
        upright = 1 - 2 * (self.position[:, 4] ** 2 + self.position[:, 5] ** 2)
        fallen = (self.position[:, 2] < 0.6) | (upright < np.cos(1)) | self.touch[:, self.others].any(axis=1)
        terminated = fallen | lost | ~np.isfinite(self.position).all(axis=1)
        truncated = (self.steps >= EPISODE) & ~terminated
        self.final = observation = self.observe(slice(None))  # before resets
        ended = np.nonzero(terminated | truncated)[0]
        lengths = self.steps[ended].copy()
        for i in ended:
            self.reset(i)
        if len(ended):
            observation = observation.copy()
            observation[ended] = self.observe(ended)
        self.observation = observation
        return observation, reward, terminated, truncated, {}, lengths

    def time_physics(self, threads, repeats=10):
        """Times plain mj_step on targets about the clip's poses, in rollouts that begin in step with the clip."""
        self.library.stepper_observe(None, None)
        envs, hinges = len(self.position), self.position.shape[1] - 7
        begins = np.arange(envs) * self.period // envs
        seconds = 0.0
        for _ in range(repeats):
            for i, row in enumerate(begins):
                self.set(i, self.clip[0][row], self.clip[1][row])
            for step in range(ROLLOUT):
                noise = 0.1 * self.random.standard_normal((envs, hinges))
                control = self.clip[0][begins + (step + 1) * ROWS, 7:] + noise
                begin = time.perf_counter()
                self.library.stepper_step(self.pointer(control), self.pointer(self.position), self.pointer(self.velocity))
                seconds += time.perf_counter() - begin
        report("physics_per_thread", envs * ROLLOUT * repeats / seconds / threads)

    def time_steps(self, repeats):
        """Times steps under random actions."""
        actions = np.zeros((len(self.position), len(self.scale)))
        begin = time.perf_counter()
        for _ in range(repeats):
            self.random.standard_normal(out=actions)
            actions *= 0.3
            self.step(actions)
        report("simulated_per_second", len(actions) * repeats / (time.perf_counter() - begin))


def report(measure, value):
    print(json.dumps({"library": "skrl", "size": "humanoid", "measure": measure, "value": value}), flush=True)


def ppo_agent(envs, observations, actions, device):
    space, action_space, hidden = box(observations), gymnasium.spaces.Box(-5.0, 5.0, (actions,)), [256, 128]
    agent = PPO(
        models={
            "policy": Policy(space, action_space, hidden, torch.nn.ELU, 0.0, 0.01, device),
            "value": Scalar(space, action_space, hidden, torch.nn.ELU, device),
        },
        memory=RandomMemory(memory_size=ROLLOUT, num_envs=envs, device=device),
        observation_space=space, action_space=action_space, device=device,
        cfg={
            "rollouts": ROLLOUT, "learning_epochs": 4, "mini_batches": 4, "discount_factor": 0.97, "gae_lambda": 0.95,
            "learning_rate": 3e-4, "grad_norm_clip": 1.0, "ratio_clip": 0.2, "value_clip": 0.2, "value_loss_scale": 2.5,
            "entropy_loss_scale": 0.0, "time_limit_bootstrap": True,
            "observation_preprocessor": RunningStandardScaler,
            "observation_preprocessor_kwargs": {"size": space, "device": device},
            "value_preprocessor": RunningStandardScaler, "value_preprocessor_kwargs": {"size": 1, "device": device},
            "experiment": {"write_interval": 0, "checkpoint_interval": 0},
        },
    )  # fmt: skip
    agent.init()
    for model in agent.models.values():
        model.to(device)
    agent.enable_training_mode(True)
    return agent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clip", type=pathlib.Path, required=True)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1, help="libtorch's compute threads")
    parser.add_argument("--stepping-threads", type=int, default=1, help="threads that step MuJoCo")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", type=pathlib.Path, default=HERE.parent / "envs" / "mujoco" / "humanoid.xml")
    parser.add_argument("--stepper", type=pathlib.Path, default=pathlib.Path(sys.prefix) / "libstepper.so")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)

    envs, updates, device = arguments.envs, arguments.updates, arguments.device
    humanoid = Humanoid(arguments.clip, envs, arguments.stepping_threads, arguments.stepper, arguments.model)
    width, actions = humanoid.observation.shape[1], len(humanoid.scale)
    never = torch.zeros(ROLLOUT, envs, 1, dtype=torch.bool)
    time_rounds(ppo_agent(envs, width, actions, device), "humanoid", torch.randn(envs, width), torch.randn(envs, 1), never, {}, 10)
    time_training(ppo_agent(envs, width, actions, device), humanoid, "humanoid", ROLLOUT, updates)
    humanoid.time_steps(ROLLOUT * updates)
    humanoid.time_physics(arguments.stepping_threads)


if __name__ == "__main__":
    main()
