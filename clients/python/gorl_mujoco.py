#!/usr/bin/env python3
"""Lets a policy of gorl act in MuJoCo's own Python package, from the files that a robot gets.

    gorl export RUN model.xml
    gorl export RUN policy.onnx
    gorl eval RUN --episodes 64 --json > gorl.json
    python gorl_mujoco.py model.xml policy.onnx --compare gorl.json

Observations, targets, gains and rates are computed here, by numpy, from what the ONNX model says of its robot. The table
says how many episodes survive here and, with --compare, in gorl. --push disturbs the robot as training's
randomize.push. A policy that tracks a clip begins anywhere in it, and loses an episode where training ends it.

Needs numpy, mujoco 3 or later and onnxruntime.
"""

import argparse
import json
import math
import sys

import mujoco
import numpy as np


def heading(q):
    """The angle of a rotation's x axis about the vertical."""
    w, x, y, z = q
    return math.atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))


def vertical(angle):
    """The matrix of a rotation about the vertical."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


class Simulation:
    """A robot in MuJoCo, described by a dictionary (robot.json)."""

    def __init__(self, model, robot):
        self.robot = robot
        self.model = m = mujoco.MjModel.from_xml_path(model)
        self.data, self.now = mujoco.MjData(m), mujoco.MjData(m)
        joints = [m.joint(j["name"]) for j in robot["joints"]]
        self.names = [j["name"] for j in robot["joints"]]
        self.qpos = np.array([j.qposadr[0] for j in joints])
        self.qvel = np.array([j.dofadr[0] for j in joints])
        drives = {m.actuator_trnid[i, 0]: i for i in range(m.nu)}
        self.ctrl = np.array([drives[j.id] for j in joints])
        get = lambda key: np.array([j.get(key, 0.0) for j in robot["joints"]])  # noqa: E731
        self.default, self.scale, self.zero = get("default"), get("scale"), get("zero")
        self.stiffness, self.damping = get("stiffness"), get("damping")
        effort = get("effort")
        m.actuator_forcelimited[self.ctrl] = effort > 0
        m.actuator_forcerange[self.ctrl] = np.stack([-effort, effort], axis=1)
        m.actuator_biasprm[self.ctrl, 2] = 0
        m.actuator_ctrllimited[self.ctrl] = 0
        for i in range(1, m.nbody):  # as gorl does: feet that were split off a body are as soft as that body
            if m.body_dofnum[i] == 0 and m.body_mass[i] == 0 and m.body_parentid[i] > 0:
                m.body_invweight0[i] = m.body_invweight0[m.body_parentid[i]]
        self.gains(self.stiffness, self.damping)
        self.substeps = round(1 / robot["frequency"] / m.opt.timestep)
        self.keys = [m.body(name).id for name in robot.get("keys", [])]
        feet = {m.body(name).id for name in robot.get("feet", [])}
        self.falls = np.array([bool(feet) and m.geom_bodyid[g] not in feet for g in range(m.ngeom)])
        self.reference = robot.get("reference") or {}
        self.rows = np.array(self.reference.get("positions") or [])
        self.roots = np.array(self.reference.get("root") or [])

    def gains(self, stiffness, damping):
        """Sets the gains of position control. Damping acts on the joint, where Euler's integrator keeps it stable."""
        self.model.actuator_gainprm[self.ctrl, 0] = stiffness
        self.model.actuator_biasprm[self.ctrl, 1] = -np.asarray(stiffness)
        self.model.dof_damping[self.qvel] = damping

    def clip(self, t):
        """The clip's joint positions at a time, or the default pose."""
        if not len(self.rows):
            return self.default
        at = t / self.reference["duration"] % 1 * len(self.rows)
        first = int(at)
        a, b = self.rows[first % len(self.rows)], self.rows[(first + 1) % len(self.rows)]
        return a + (at - first) * (b - a)

    def state(self, t):
        """The state (qpos) of a clip with a root at a time. A repetition begins where the one before ended."""
        out, roots = np.zeros(self.model.nq), self.roots
        repetition, at = divmod(t / self.reference["duration"], 1)
        first = min(int(at * len(self.rows)), len(self.rows) - 1)
        a, b, part = roots[first], roots[first + 1], at * len(self.rows) - first
        place, q, way = a[:3] + part * (b[:3] - a[:3]), a[3:].copy(), np.zeros(3)
        mujoco.mju_subQuat(way, b[3:], a[3:])
        mujoco.mju_quatIntegrate(q, way, part)
        turn = heading(roots[-1, 3:]) - heading(roots[0, 3:])
        for _ in range(int(repetition)):
            place = vertical(turn) @ (place - roots[0, :3]) + roots[-1, :3]
            mujoco.mju_mulQuat(q, np.array([math.cos(turn / 2), 0, 0, math.sin(turn / 2)]), q.copy())
        out[:3], out[3:7], out[self.qpos] = place, q, self.clip(t)
        return out

    def reset(self, phase=0.0):
        """Puts the robot into the state of a moment of the clip or, if the clip has no root, into its pose at rest."""
        m, d = self.model, self.data
        mujoco.mj_resetData(m, d)
        self.time, self.action, self.origin = phase, np.zeros(len(self.names)), np.zeros(3)
        if len(self.roots):
            d.qpos[:] = self.state(phase)
            mujoco.mj_differentiatePos(m, d.qvel, 0.01, d.qpos, self.state(phase + 0.01))
            self.origin[:2] = d.qpos[:2]
            d.qpos[:3] = 0, 0, d.qpos[2] + 0.005  # no foot begins in the floor
            self.follow()
        else:
            d.qpos[:7] = 0, 0, self.robot.get("height") or d.qpos[2], 1, 0, 0, 0
            d.qpos[self.qpos] = self.clip(phase)
        d.ctrl[self.ctrl] = d.qpos[self.qpos]
        mujoco.mj_forward(m, d)

    def follow(self):
        """Puts the clip's state at this moment into self.now."""
        self.now.qpos[:] = self.state(self.time)
        self.now.qpos[:3] -= self.origin
        mujoco.mj_kinematics(self.model, self.now)

    def rotation(self):
        """The rotation from the body's frame to the world's."""
        out = np.zeros(9)
        mujoco.mju_quat2Mat(out, self.data.qpos[3:7])
        return out.reshape(3, 3)

    def heading(self):
        """The rotation about the vertical from the heading frame to the world's."""
        return vertical(heading(self.data.qpos[3:7]))

    def keys_in_heading(self, d):
        """The key bodies' positions relative to the root, in the heading frame, of the robot (data) or clip (now)."""
        return (d.xpos[self.keys] - d.qpos[:3]) @ vertical(heading(d.qpos[3:7]))

    def observe(self, command):
        """The row of observations that the policy expects."""
        d, r, h = self.data, self.rotation(), self.heading()
        terms = {
            "base_lin_vel": lambda: r.T @ d.qvel[:3],
            "base_ang_vel": lambda: d.qvel[3:6],
            "projected_gravity": lambda: -r[2],
            "joint_pos": lambda: d.qpos[self.qpos] - self.zero,
            "joint_vel": lambda: d.qvel[self.qvel],
            "actions": lambda: self.action,
            "command": lambda: command,
            "height": lambda: d.qpos[2:3],
            "phase": lambda: (
                math.sin(2 * math.pi * self.time / self.reference["duration"]),
                math.cos(2 * math.pi * self.time / self.reference["duration"]),
            ),
            "reference": lambda: (
                *(h.T @ (self.now.qpos[:3] - d.qpos[:3])),
                math.sin(heading(self.now.qpos[3:7]) - heading(d.qpos[3:7])),
                math.cos(heading(self.now.qpos[3:7]) - heading(d.qpos[3:7])),
            ),
            "features": lambda: np.concatenate(
                [
                    d.qpos[2:3], h.T @ r[:, 0], h.T @ r[:, 2], h.T @ d.qvel[:3], h.T @ r @ d.qvel[3:6],
                    d.qpos[self.qpos], d.qvel[self.qvel], self.keys_in_heading(d).ravel(),
                ]
            ),
        }  # fmt: skip
        row = []
        for term in self.robot["observation"]:
            name, size = term["name"], term["size"]
            if name != "zeros" and name not in terms or name == "reference" and not len(self.roots):
                sys.exit(f"the policy observes {name}, which this program cannot compute")
            values = np.zeros(size) if name == "zeros" else np.asarray(terms[name]())
            if len(values) != size:
                sys.exit(f"the term {name} has {size} values in training, and {len(values)} here")
            row.append(values)
        return np.concatenate(row).astype(np.float32)

    def act(self, action):
        """Takes a control step with an action of the policy."""
        limit = self.robot.get("action_clip") or math.inf
        self.action = np.clip(action, -limit, limit)
        self.time += 1 / self.robot["frequency"]
        follows = len(self.rows) and not self.reference.get("compared")
        middle = self.clip(self.time + self.reference.get("lead", 0.0)) if follows else self.default
        self.data.ctrl[self.ctrl] = middle + self.scale * self.action
        mujoco.mj_step(self.model, self.data, self.substeps)
        mujoco.mj_kinematics(self.model, self.data)  # positions of bodies are those before the last step
        if len(self.roots):
            self.follow()

    def lost(self):
        """Whether the root, or a key body relative to the root, is too far from the clip's."""
        limit = self.reference.get("deviation")
        if not limit or not len(self.roots):
            return False
        apart = self.keys_in_heading(self.data) - self.keys_in_heading(self.now)
        apart = np.vstack([apart, self.data.qpos[:3] - self.now.qpos[:3]])
        return bool((np.linalg.norm(apart, axis=1) > limit).any())

    def fallen(self):
        """Whether an episode of training would have ended."""
        d = self.data
        geoms = d.contact.geom[: d.ncon]
        floor = self.model.geom_bodyid[geoms] == 0
        touching = geoms[:, ::-1][floor]
        return (
            bool(self.falls[touching].any())
            or self.lost()
            or d.qpos[2] < self.robot.get("min_height", 0)
            or self.rotation()[2, 2] < math.cos(self.robot.get("max_tilt") or math.pi)
            or not np.isfinite(d.qpos).all()
        )


def pose_error(robot, clip):
    """gorl's metric of that name: the mean distance of bodies, relative to their root, on the path of dynamic time
    warping. Both are (steps, bodies, 3), the root first. The table of sums is filled along its anti-diagonals."""
    n, robot, clip = len(robot), robot - robot[:, :1], clip - clip[:, :1]
    cost = np.stack([np.linalg.norm(clip[i] - robot, axis=2).mean(axis=1) for i in range(n)])
    sums, lengths = np.full((n + 1, n + 1), math.inf), np.zeros((n + 1, n + 1))
    sums[0, 0] = 0
    for k in range(2, 2 * n + 1):
        i = np.arange(max(1, k - n), min(n, k - 1) + 1)
        before = (i - 1, k - i - 1), (i - 1, k - i), (i, k - i - 1)
        options = np.stack([sums[at] for at in before])
        best = options.argmin(axis=0), np.arange(len(i))
        sums[i, k - i] = options[best] + cost[i - 1, k - i - 1]
        lengths[i, k - i] = np.stack([lengths[at] for at in before])[best] + 1
    return sums[n, n] / lengths[n, n]


class Commands:
    """What an operator would want: new values every few seconds, drawn from the ranges of training."""

    def __init__(self, robot, rng, turn):
        self.ranges = [(c["low"], c["high"]) for c in robot.get("commands", [])]
        self.heads = any(c["name"] == "direction_x" for c in robot.get("commands", []))
        self.rng, self.turn, self.direction = rng, turn, 0.0
        self.draw()

    def draw(self):
        self.values = np.array([self.rng.uniform(*r) for r in self.ranges])
        self.direction += self.rng.uniform(-self.turn, self.turn)

    def now(self, sim):
        """The values to observe, the wanted horizontal velocity in the world, and the wanted turning in rad/s."""
        if not self.ranges:
            return self.values, None, None
        if self.heads:
            way = np.array([math.cos(self.direction), math.sin(self.direction), 0])
            seen = sim.heading().T @ way
            return np.array([seen[0], seen[1], self.values[2]]), self.values[2] * way[:2], None
        velocity = sim.heading() @ np.array([self.values[0], self.values[1], 0])
        return self.values, velocity[:2], self.values[2]


class Policy:
    """An exported policy, and the robot that it describes."""

    def __init__(self, path):
        import onnxruntime

        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        described = self.session.get_modelmeta().custom_metadata_map
        if "gorl.robot" not in described:
            sys.exit(f"{path} does not describe its robot; export it from a run whose folder has robot.json")
        self.robot = json.loads(described["gorl.robot"])
        self.size = next((i.shape[1] for i in self.session.get_inputs() if i.name == "hidden_in"), 0)

    def reset(self):
        self.hidden = np.zeros((1, self.size), np.float32)

    def act(self, observation):
        """The actions for an observation. A policy with memory remembers it."""
        if not self.size:
            return self.session.run(["actions"], {"observations": observation[None]})[0][0].astype(float)
        inputs = {"observations": observation[None], "hidden_in": self.hidden}
        action, self.hidden = self.session.run(["actions", "hidden_out"], inputs)
        return action[0].astype(float)


def play(sim, policy, rng, o):
    """Plays an episode and returns its figures, which have gorl's names."""
    d, frequency = sim.data, sim.robot["frequency"]
    sim.reset(rng.uniform(0, sim.reference.get("duration", 0.0)))
    policy.reset()
    commands, sums, bodies = Commands(sim.robot, rng, o.turn), {}, []
    speed, period = (o.push[0], max(1, round(o.push[1] * frequency))) if o.push else (0, 0)
    push = rng.integers(period) if o.push else -1
    for k in range(round(o.seconds * frequency)):
        if k and k % round(o.every * frequency) == 0:
            commands.draw()
        command, velocity, turning = commands.now(sim)
        action = policy.act(sim.observe(command))
        if k == push:
            d.qvel[:2] += rng.uniform(-speed, speed, 2)
            push += period
        sim.act(action)
        step = {"speed": (sim.heading().T @ d.qvel[:3])[0]}
        if velocity is not None:
            step["velocity_error"] = np.linalg.norm(d.qvel[:2] - velocity)
        if turning is not None:
            step["turn_error"] = abs((sim.rotation() @ d.qvel[3:6])[2] - turning)
        if len(sim.rows):
            step["joint_error"] = np.abs(d.qpos[sim.qpos] - sim.clip(sim.time)).mean()
        if len(sim.roots):
            bodies.append(np.stack([d.xpos[1:], sim.now.xpos[1:]]))
        for name, value in step.items():
            sums[name] = sums.get(name, 0) + value
        fell = sim.fallen()
        if fell:
            break
    figures = {"success": not fell, "length": k + 1, **{name: value / (k + 1) for name, value in sums.items()}}
    if bodies:
        robot, clip = np.moveaxis(np.array(bodies), 1, 0)
        near = np.linalg.norm(robot - clip, axis=2).mean(axis=1).max() <= 0.5
        figures |= {"survived": not fell, "success": near and not fell, "pose_error": pose_error(robot, clip)}
    return figures


def table(figures, compare):
    """Prints the figures of both simulators."""
    other = {}
    if compare:
        with open(compare) as f:
            other = {name: s["mean"] for name, s in json.load(f)["figures"].items()}
    print(f"{'':16}{'MuJoCo ' + mujoco.__version__:>16}{'gorl' if compare else '':>12}")
    for name, value in figures.items():
        there = other.get(name)
        print(f"{name:16}{value:16.4g}{'' if there is None else format(there, '.4g'):>12}")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("model", help="model.xml of the run's folder")
    p.add_argument("policy", help="the exported .onnx")
    p.add_argument("--episodes", type=int, default=64)
    p.add_argument("--seconds", type=float, default=20, help="of an episode")
    p.add_argument("--every", type=float, default=4, help="seconds between new commands")
    p.add_argument("--turn", type=float, default=0.3, help="largest change of a commanded direction in rad")
    p.add_argument("--push", type=float, nargs=2, metavar=("VELOCITY", "SECONDS"),
                   help="change the root's velocity by at most this (m/s) in x and in y, so often")  # fmt: skip
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--compare", metavar="JSON", help="what gorl eval RUN --json has printed")
    o = p.parse_args()
    policy, rng = Policy(o.policy), np.random.default_rng(o.seed)
    sim = Simulation(o.model, policy.robot)
    episodes = [play(sim, policy, rng, o) for _ in range(o.episodes)]
    table({name: float(np.mean([e[name] for e in episodes])) for name in episodes[0]}, o.compare)


if __name__ == "__main__":
    main()
