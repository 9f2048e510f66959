#!/usr/bin/env python3
"""Simulates a robot in real time, which snippets/robot or another program with package infer/robot drives over UDP.

    gorl export RUN model.xml
    python gorl_robot.py model.xml RUN/robot.json --address 127.0.0.1:9871 --controller 127.0.0.1:9870

Needs numpy and mujoco 3 or later.
"""

import argparse
import json
import math
import socket
import struct
import time

import mujoco
import numpy as np
from gorl_mujoco import Commands, Simulation


def state_packet(sim, sequence, command):
    """What a robot sends, with perfect estimates (infer/robot describes the format)."""
    d, estimates = sim.data, []
    for term in sim.robot["observation"]:
        name = term["name"]
        if name == "features":
            estimates += [d.qpos[2], *(sim.rotation().T @ d.qvel[:3]), *sim.keys_in_heading(d).ravel()]
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
    host, port = o.address.rsplit(":", 1)
    controller = o.controller.rsplit(":", 1)
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind((host, int(port)))
    link.connect((controller[0], int(controller[1])))
    link.setblocking(False)
    rng, heard, delays, damped = np.random.default_rng(o.seed), None, [], 0
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
    p.add_argument("model", help="the exported .xml")
    p.add_argument("robot", help="robot.json of the run's folder")
    p.add_argument("--address", metavar="HOST:PORT", default="127.0.0.1:9871", help="of this robot")
    p.add_argument("--controller", metavar="HOST:PORT", default="127.0.0.1:9870", help="who drives it")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--every", type=float, default=4, help="seconds between new commands")
    p.add_argument("--turn", type=float, default=0.3, help="largest change of a commanded direction in rad")
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    with open(o.robot) as f:
        serve(Simulation(o.model, json.load(f)), o)


if __name__ == "__main__":
    main()
