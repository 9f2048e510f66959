"""A fish that swims at the speed it is asked for, an environment of Gymnasium with AMP observations; needs numpy only.

The task says nothing about how to swim: the quickest way is straight. The reference motion undulates, and only that it shows.

    python fish.py                 writes the reference motion: reference.npy and undulation.json
"""

import json
import math

import gymnasium
import numpy as np
from gymnasium import spaces

DT = 0.1  # s between two actions
STEPS = 60  # of an episode, 6 s
THRUST, KICK = 3.0, 10.0  # m/s² of an action of 1, along and across
AMPLITUDE, FREQUENCY = 0.3, 0.8  # m and Hz of the reference motion
OMEGA = 2 * math.pi * FREQUENCY


def undulation(times):
    """The reference motion: how far the fish is from its course, and how fast it goes there, at each of the times."""
    return AMPLITUDE * np.sin(OMEGA * times), AMPLITUDE * OMEGA * np.cos(OMEGA * times)


def reference(begin):
    """Rows as `Fish.step` shows them, of motion that begins at the given times: (place, velocity) before and after a step."""
    return np.stack([*undulation(begin), *undulation(begin + DT)], axis=1)


class Fish(gymnasium.Env):
    """Observations: place and velocity across the course, speed along it, and the speed asked for. Actions: forces along and across."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    amp_observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.y, self.vy, self.speed = self.np_random.uniform(-0.5, 0.5, 3).tolist()
        self.asked = float(self.np_random.uniform(0.5, 1.5))
        self.x, self.steps = 0.0, 0
        self.cycles = self.off_orbit = self.off_speed = 0.0
        self.trail = [(self.x, self.y)]
        return self.observe(), {}

    def observe(self):
        return np.array([self.y, self.vy, self.speed, self.asked], np.float32)

    def step(self, action):
        along, across = (min(max(float(a), -1.0), 1.0) for a in action)
        before = self.y, self.vy
        force = KICK * across - 4.0 * self.y - self.vy  # left alone, the fish comes to rest on its course
        self.y += self.vy * DT + 0.5 * force * DT * DT
        self.vy += force * DT
        self.speed += (THRUST * along - self.speed) * DT
        self.x += self.speed * DT
        self.steps += 1
        self.trail = self.trail[-59:] + [(self.x, self.y)]
        self.measure(*before)
        # What the discriminator sees is of this transition. It stands in the infos of every step, of an episode's last too.
        info = {"amp_obs": np.array([*before, self.y, self.vy], np.float32)}
        over = self.steps == STEPS
        if over:
            half = STEPS / 2
            info.update(frequency=self.cycles / (half * DT), orbit_error=self.off_orbit / half, speed_error=self.off_speed / half)
        return self.observe(), math.exp(-4.0 * (self.speed - self.asked) ** 2), False, over, info

    def measure(self, y, vy):
        """Adds to the figures of the episode's second half: turns in the plane of place and velocity, and distances from the reference's orbit there."""
        if self.steps <= STEPS // 2:
            return
        turn = math.atan2(vy / OMEGA, y) - math.atan2(self.vy / OMEGA, self.y)
        self.cycles += math.remainder(turn, 2 * math.pi) / (2 * math.pi)
        self.off_orbit += abs(math.hypot(self.y, self.vy / OMEGA) / AMPLITUDE - 1.0)
        self.off_speed += abs(self.speed - self.asked)

    def render(self):
        """The fish, its course and the water it went through, seen from above: 80 pixels are a metre."""
        picture = np.full((120, 320, 3), (20, 60, 100), np.uint8)
        picture[60, ::8] = (70, 120, 160)
        for stone in range(int(self.x) - 4, int(self.x) + 3):  # they show the speed
            left = int(230 + 80 * (stone - self.x))
            picture[4:8, max(left, 0) : max(left + 4, 0)] = picture[112:116, max(left, 0) : max(left + 4, 0)] = (150, 140, 120)
        rows, columns = np.mgrid[0:120, 0:320]
        for age, (x, y) in enumerate(reversed(self.trail)):
            radius = max(6.0 - 0.4 * age, 1.0)
            there = (rows - 60 + 80 * y) ** 2 + (columns - 230 - 80 * (x - self.x)) ** 2 <= radius**2
            picture[there] = (240, 130, 40) if age < 12 else (90, 150, 190)
        return picture


def main():
    begin = np.arange(500) / 500 / FREQUENCY  # everywhere within a cycle
    np.save("reference.npy", reference(begin).astype(np.float32))
    # The same motion as a clip, in DeepMimic's form: frames of a duration and a place, a hundred a cycle.
    places, _ = undulation(np.arange(101) / 100 / FREQUENCY)
    frames = [[0.01 / FREQUENCY, round(float(y), 6)] for y in places]
    with open("undulation.json", "w") as file:
        json.dump({"Loop": "wrap", "Frames": frames}, file)


if __name__ == "__main__":
    main()
