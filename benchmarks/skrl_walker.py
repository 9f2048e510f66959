"""Trains skrl's AMP on gorl's walker and prints its environment steps a second, end to end.

    python benchmarks/skrl_walker.py [--envs N] [--updates N] [--threads N] [--stepping-threads N] [--device D]

The character (envs/mujoco/walker.xml), its task and the agent's settings are those of gorl's
walker. MuJoCo is stepped in C on threads of its own (benchmarks/peers/stepper.c); the rest of the
environment is vectorised NumPy. Prints one JSON line. Run it with the Python of `make peers`.
"""

import argparse
import ctypes
import pathlib
import sys

import numpy as np
import torch

from skrl_agent import amp_agent, time_training

HERE = pathlib.Path(__file__).resolve().parent
CONTROL_STEP = 0.02  # seconds, five steps of the simulation
THIGH = SHIN = 0.42  # metres
HIP_HEIGHT = 0.92
HEEL, TOE, SOLE = -0.05, 0.17, 0.045 + 0.035  # of the foot, from the ankle
EPISODE = 300  # control steps

# Joint angles over a walking cycle, in degrees, heel strike at 0: (phase, angle).
KNEE = [(0, 5), (0.06, 10), (0.12, 16), (0.2, 16), (0.3, 11), (0.4, 6), (0.5, 9), (0.6, 35),
        (0.66, 52), (0.72, 61), (0.8, 50), (0.9, 18), (0.96, 5), (1, 5)]  # fmt: skip
ANKLE = [(0, 0), (0.07, -5), (0.15, 0), (0.3, 6), (0.4, 9), (0.45, 9), (0.5, 4), (0.6, -14),
         (0.63, -17), (0.7, -8), (0.8, 0), (0.9, 1), (1, 0)]  # fmt: skip
CYCLE = 1.1  # seconds


def keep_harmonics(values, count):
    spectrum = np.fft.rfft(values)
    spectrum[count + 1 :] = 0
    return np.fft.irfft(spectrum, len(values))


def cycle(points):
    """A smooth periodic function through points (phase, degrees)."""
    phases = np.arange(200) / 200
    values = keep_harmonics(np.interp(phases, *zip(*points)), 8)
    return lambda phase: np.interp(phase, phases, values, period=1)


def walking_gait():
    """Positions and velocities, [frames, 9] each, of two cycles of human walking."""
    frames = round(CYCLE / CONTROL_STEP)
    phase = np.arange(4 * frames) / frames
    knee, ankle = cycle(KNEE), cycle(ANKLE)
    position = np.zeros((len(phase), 9))
    points = []  # of the soles, relative to the hip: x and z
    for leg, offset in ((3, 0.0), (6, 0.5)):
        p = phase + offset
        hip = 9 + 19 * np.cos(2 * np.pi * p) + 2.5 * np.sin(4 * np.pi * p + 0.6)
        position[:, leg : leg + 3] = np.deg2rad(np.stack([hip, knee(p), ankle(p)], axis=1))
        thigh = position[:, leg]
        shin = thigh - position[:, leg + 1]
        foot = shin + position[:, leg + 2]
        x = THIGH * np.sin(thigh) + SHIN * np.sin(shin)
        z = -THIGH * np.cos(thigh) - SHIN * np.cos(shin)
        for along in (HEEL, TOE):
            points.append((x + along * np.cos(foot) + SOLE * np.sin(foot), z + along * np.sin(foot) - SOLE * np.cos(foot)))
    points = np.array(points)  # [4, 2, frames]
    lowest = points[:, 1].argmin(axis=0)
    frame = np.arange(len(phase))
    # The stance foot does not slip: the body moves as fast as it moves back.
    slip = points[lowest[1:], 0, frame[:-1]] - points[lowest[1:], 0, frame[1:]]
    position[:, 0] = frame * np.median(slip)
    position[:, 1] = keep_harmonics(-points[:, 1].min(axis=0) - HIP_HEIGHT, 29)
    velocity = np.gradient(position, CONTROL_STEP, axis=0)
    middle = slice(frames, 3 * frames)
    return position[middle], velocity[middle]


class Walker:
    def __init__(self, envs, threads, stepper, model):
        self.library = ctypes.CDLL(str(stepper))
        message = ctypes.create_string_buffer(1000)
        if self.library.stepper_open(str(model).encode(), envs, threads, 5, message, len(message)):
            sys.exit(f"skrl_walker: {model}: {message.value.decode()}")
        self.random = np.random.default_rng(0)
        self.clip = walking_gait()
        self.position, self.velocity = np.zeros((envs, 9)), np.zeros((envs, 9))
        self.steps = self.random.integers(0, EPISODE // 6, envs)
        self.middle = np.array([0.2, 0.5, -0.05] * 2)
        self.range = np.array([0.6, 0.7, 0.4] * 2)
        for i in range(envs):
            self.reset(i)
        self.observation = self.observe(self.position, self.velocity)

    @staticmethod
    def observe(position, velocity):
        scale = np.array([1, 1, 0.5] + [0.2] * 6)
        return np.concatenate([position[:, 1:], velocity * scale], axis=1).astype(np.float32)

    @staticmethod
    def pointer(array):
        return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def reset(self, i):
        frame = self.random.integers(len(self.clip[0]) - 1)
        self.position[i], self.velocity[i] = self.clip[0][frame], self.clip[1][frame]
        self.position[i, 0] = 0
        self.position[i, 1] += 0.005
        self.library.stepper_set(int(i), self.pointer(self.position[i]), self.pointer(self.velocity[i]))

    def reference(self, count):
        frame = self.random.integers(0, len(self.clip[0]) - 1, count)
        pairs = [self.observe(self.clip[0][frame + k], self.clip[1][frame + k]) for k in (0, 1)]
        return torch.from_numpy(np.concatenate(pairs, axis=1))

    def step(self, actions):
        control = self.middle + self.range * np.clip(actions, -1.5, 1.5).astype(np.float64)
        self.library.stepper_step(self.pointer(control), self.pointer(self.position), self.pointer(self.velocity))
        observation = self.observe(self.position, self.velocity)
        pairs = np.concatenate([self.observation, observation], axis=1)
        self.steps += 1
        height, pitch = self.position[:, 1], self.position[:, 2]
        terminated = (height < -0.25) | (np.abs(pitch) > 1) | ~np.isfinite(self.position).all(axis=1)
        truncated = (self.steps >= EPISODE) & ~terminated
        reward = np.exp(-2 * (self.velocity[:, 0] - 1.3) ** 2).astype(np.float32)
        ended = np.nonzero(terminated | truncated)[0]
        lengths = self.steps[ended].copy()
        for i in ended:
            self.reset(i)
        self.steps[ended] = 0
        if len(ended):
            observation = observation.copy()
            observation[ended] = self.observe(self.position[ended], self.velocity[ended])
        self.observation = observation
        return observation, reward, terminated, truncated, {"amp_obs": pairs}, lengths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=64)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--threads", type=int, default=1, help="libtorch's compute threads")
    parser.add_argument("--stepping-threads", type=int, default=1, help="threads that step MuJoCo")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", type=pathlib.Path, default=HERE.parent / "envs" / "mujoco" / "walker.xml")
    parser.add_argument("--stepper", type=pathlib.Path, default=pathlib.Path(sys.prefix) / "libstepper.so")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    device = arguments.device
    torch.manual_seed(0)

    envs, rollouts = arguments.envs, 32
    walker = Walker(envs, arguments.stepping_threads, arguments.stepper, arguments.model)
    agent = amp_agent(
        envs=envs, observations=17, actions=6, amp_observations=34, hidden=[128, 64], activation=torch.nn.ELU,
        log_std=-1.0, last_layer_scale=0.1, motions=4_000, replay=50_000, device=device,
        reference=lambda n: walker.reference(n).to(device),
        settings={
            "rollouts": rollouts, "learning_epochs": 4, "mini_batches": 4, "learning_rate": 3e-4,
            "discount_factor": 0.97, "gae_lambda": 0.95, "grad_norm_clip": 1.0, "value_clip": 0.2,
            "value_loss_scale": 1.0, "entropy_loss_scale": 0.0, "discriminator_loss_scale": 2.0,
            "discriminator_batch_size": 512, "amp_batch_size": 512, "discriminator_gradient_penalty_scale": 5.0,
            "discriminator_logit_regularization_scale": 0.05, "discriminator_weight_decay_scale": 1e-4,
            "task_reward_scale": 0.5, "style_reward_scale": 1.0, "time_limit_bootstrap": True,
        },
    )  # fmt: skip
    time_training(agent, walker, "walker", rollouts, arguments.updates)


if __name__ == "__main__":
    main()
