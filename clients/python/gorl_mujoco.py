#!/usr/bin/env python3
"""Lets a policy of gorl act in MuJoCo's own Python package, from the files that a robot gets.

    gorl export RUN policy.onnx
    gorl eval RUN --episodes 64 --json > gorl.json
    python gorl_mujoco.py RUN/model.xml policy.onnx --compare gorl.json

Observations, targets, gains and rates are computed here, by numpy, from what the ONNX model says of its robot. The table
says how many episodes survive here and, with --compare, in gorl. With a port instead of a policy the program is a robot
in real time, which snippets/robot drives over UDP:

    python gorl_mujoco.py RUN/model.xml RUN/robot.json --robot 127.0.0.1:9871 --controller 127.0.0.1:9870

Needs numpy, mujoco 3 or later and, for policies, onnxruntime.
"""

import argparse
import json
import math
import socket
import struct
import sys
import time

import mujoco
import numpy as np


class Simulation:
    """A robot in MuJoCo, described by a dictionary (robot.json)."""

    def __init__(self, model, robot):
        self.robot = robot
        self.model = m = mujoco.MjModel.from_xml_path(model)
        self.data = mujoco.MjData(m)
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
        self.root = m.jnt_bodyid[0]
        self.keys = [m.body(name).id for name in robot.get("keys", [])]
        feet = {m.body(name).id for name in robot.get("feet", [])}
        self.falls = np.array([bool(feet) and m.geom_bodyid[g] not in feet for g in range(m.ngeom)])
        self.reference = robot.get("reference")
        self.rows = np.array((self.reference or {}).get("positions") or [])

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

    def reset(self, phase=0.0):
        """Puts the robot into the default pose, or that of a moment of the clip, at rest."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:3] = 0, 0, self.robot.get("height") or self.data.qpos[2]
        self.data.qpos[3:7] = 1, 0, 0, 0
        self.data.qpos[self.qpos] = self.clip(phase)
        self.data.ctrl[self.ctrl] = self.data.qpos[self.qpos]
        mujoco.mj_forward(self.model, self.data)
        self.time, self.action = phase, np.zeros(len(self.names))

    def rotation(self):
        """The rotation from the body's frame to the world's."""
        out = np.zeros(9)
        mujoco.mju_quat2Mat(out, self.data.qpos[3:7])
        return out.reshape(3, 3)

    def heading(self):
        """The rotation about the vertical from the heading frame to the world's."""
        x = self.rotation()[:, 0]
        yaw = math.atan2(x[1], x[0])
        c, s = math.cos(yaw), math.sin(yaw)
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])

    def keys_in_heading(self):
        """The key bodies' positions relative to the root, in the heading frame."""
        return ((self.data.xpos[self.keys] - self.data.qpos[:3]) @ self.heading()).ravel()

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
            "features": lambda: np.concatenate(
                [
                    d.qpos[2:3], h.T @ r[:, 0], h.T @ r[:, 2], h.T @ d.qvel[:3], h.T @ r @ d.qvel[3:6],
                    d.qpos[self.qpos], d.qvel[self.qvel], self.keys_in_heading(),
                ]
            ),
        }  # fmt: skip
        row = []
        for term in self.robot["observation"]:
            name, size = term["name"], term["size"]
            if name != "zeros" and name not in terms:
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
        lead = (self.reference or {}).get("lead", 0.0)
        self.data.ctrl[self.ctrl] = self.clip(self.time + lead) + self.scale * self.action
        mujoco.mj_step(self.model, self.data, self.substeps)
        mujoco.mj_kinematics(self.model, self.data)  # positions of bodies are those before the last step

    def fallen(self):
        """Whether an episode of training would have ended."""
        d = self.data
        geoms = d.contact.geom[: d.ncon]
        floor = self.model.geom_bodyid[geoms] == 0
        touching = geoms[:, ::-1][floor]
        return (
            bool(self.falls[touching].any())
            or d.qpos[2] < self.robot.get("min_height", 0)
            or self.rotation()[2, 2] < math.cos(self.robot.get("max_tilt") or math.pi)
            or not np.isfinite(d.qpos).all()
        )


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


def evaluate(sim, path, o):
    """Plays episodes and returns their figures."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    hidden = next((i.shape[1] for i in session.get_inputs() if i.name == "hidden_in"), 0)
    rng, figures = np.random.default_rng(o.seed), {"success": [], "length": []}
    frequency = sim.robot["frequency"]
    for _ in range(o.episodes):
        sim.reset(rng.uniform(0, (sim.reference or {}).get("duration", 0.0)))
        commands, state, sums = Commands(sim.robot, rng, o.turn), np.zeros((1, hidden), np.float32), {}
        for k in range(round(o.seconds * frequency)):
            if k and k % round(o.every * frequency) == 0:
                commands.draw()
            command, velocity, turning = commands.now(sim)
            inputs = {"observations": sim.observe(command)[None]}
            if hidden:
                inputs["hidden_in"] = state
                action, state = session.run(["actions", "hidden_out"], inputs)
            else:
                (action,) = session.run(["actions"], inputs)
            sim.act(action[0].astype(float))
            d = sim.data
            step = {"speed": (sim.heading().T @ d.qvel[:3])[0]}
            if velocity is not None:
                step["velocity_error"] = np.linalg.norm(d.qvel[:2] - velocity)
            if turning is not None:
                step["turn_error"] = abs((sim.rotation() @ d.qvel[3:6])[2] - turning)
            if len(sim.rows):
                step["joint_error"] = np.abs(d.qpos[sim.qpos] - sim.clip(sim.time)).mean()
            for name, value in step.items():
                sums[name] = sums.get(name, 0) + value
            fell = sim.fallen()
            if fell:
                break
        for name, value in {**{n: v / (k + 1) for n, v in sums.items()}, "success": not fell, "length": k + 1}.items():
            figures.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in figures.items()}


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


def state_packet(sim, sequence, command):
    """What a robot sends, with perfect estimates (infer/robot describes the format)."""
    d, estimates = sim.data, []
    for term in sim.robot["observation"]:
        name = term["name"]
        if name == "features":
            estimates += [d.qpos[2], *(sim.rotation().T @ d.qvel[:3]), *sim.keys_in_heading()]
        elif name == "height":
            estimates.append(d.qpos[2])
        elif name == "base_lin_vel":
            estimates += list(sim.rotation().T @ d.qvel[:3])
    head = struct.pack("<4sIqHHHH", b"GRS1", sequence & 0xFFFFFFFF, time.perf_counter_ns(), len(sim.names), len(command),
                       len(estimates), 0)  # fmt: skip
    values = [*d.qpos[sim.qpos], *d.qvel[sim.qvel], *d.qpos[3:7], *d.qvel[3:6], *command, *estimates]
    return head + np.array(values, "<f4").tobytes()


def read_targets(packet, joints):
    """Sequence number and time of the state that targets answer, whether they damp; positions, stiffness, damping."""
    mark, sequence, sent, n, mode, _ = struct.unpack_from("<4sIqHHI", packet)
    if mark != b"GRT1" or n != joints or len(packet) != 24 + 12 * n:
        raise ValueError(f"{len(packet)} bytes are no targets for {joints} joints")
    return sequence, sent, mode == 1, np.frombuffer(packet, "<f4", 3 * n, 24).reshape(3, n)


def serve(sim, o):
    """Is a robot for some seconds: sends its state at every time step of the simulation, obeys the newest targets."""
    host, port = o.robot.rsplit(":", 1)
    controller = o.controller.rsplit(":", 1)
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind((host, int(port)))
    link.connect((controller[0], int(controller[1])))
    link.setblocking(False)
    rng, heard, delays, damped, first = np.random.default_rng(o.seed), None, [], 0, False
    commands = Commands(sim.robot, rng, o.turn)
    sim.reset()
    steps = round(o.seconds / sim.model.opt.timestep)
    begun, distance, fell = time.perf_counter(), 0.0, None
    for k in range(steps):
        if k and k % round(o.every / sim.model.opt.timestep) == 0:
            commands.draw()
        try:
            link.send(state_packet(sim, k, commands.now(sim)[0]))
        except ConnectionRefusedError:
            pass
        late = begun + (k + 1) * sim.model.opt.timestep - time.perf_counter()
        if late > 0:
            time.sleep(late)
        while True:
            try:
                packet = link.recv(65536)
            except (BlockingIOError, ConnectionRefusedError):
                break
            _, sent, damping, (position, stiffness, gain) = read_targets(packet, len(sim.names))
            if heard is None and damping:
                continue  # the controller has not begun
            heard = time.perf_counter()
            delays.append((time.perf_counter_ns() - sent) / 1e6)
            damped += damping
            sim.gains(stiffness, gain)
            sim.data.ctrl[sim.ctrl] = position
        if heard is None:
            continue  # the robot's own program holds it
        if time.perf_counter() - heard > 0.1:  # the controller is dead
            sim.gains(np.zeros(len(sim.names)), sim.damping)
        mujoco.mj_step(sim.model, sim.data)
        distance += sim.model.opt.timestep * float(np.linalg.norm(sim.data.qvel[:2]))
        if fell is None and sim.fallen():
            fell = k * sim.model.opt.timestep
    delays = np.sort(delays) if delays else np.array([math.nan])
    print(f"{steps} states, {len(delays)} targets, {damped} of them damping; {distance:.1f} m; "
          f"{'did not fall' if fell is None else f'fell after {fell:.1f} s'}; from state to targets "
          f"{np.median(delays):.1f} ms, 99 % within {delays[len(delays) * 99 // 100]:.1f} ms, at most {delays[-1]:.1f} ms")  # fmt: skip


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("model", help="model.xml of the run's folder")
    p.add_argument("policy", help="the exported .onnx, or robot.json of the run's folder")
    p.add_argument("--episodes", type=int, default=64)
    p.add_argument("--seconds", type=float, default=20, help="of an episode, or of a robot's life")
    p.add_argument("--every", type=float, default=4, help="seconds between new commands")
    p.add_argument("--turn", type=float, default=0.3, help="largest change of a commanded direction in rad")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--compare", metavar="JSON", help="what gorl eval RUN --json has printed")
    p.add_argument("--robot", metavar="ADDRESS:PORT", help="be a robot there, in real time")
    p.add_argument("--controller", metavar="ADDRESS:PORT", default="127.0.0.1:9870", help="who drives that robot")
    o = p.parse_args()
    if o.policy.endswith(".onnx"):
        import onnxruntime

        described = onnxruntime.InferenceSession(o.policy).get_modelmeta().custom_metadata_map
        if "gorl.robot" not in described:
            sys.exit(f"{o.policy} does not describe its robot; export it from a run whose folder has robot.json")
        robot = json.loads(described["gorl.robot"])
    else:
        with open(o.policy) as f:
            robot = json.load(f)
    sim = Simulation(o.model, robot)
    if o.robot:
        serve(sim, o)
    else:
        table(evaluate(sim, o.policy, o), o.compare)


if __name__ == "__main__":
    main()
