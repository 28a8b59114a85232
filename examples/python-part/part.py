"""A part in another language, from the published protocol alone.

It stands for a legacy solver behind a wrapper: `Wheel` knows nothing of networks, `Part` nothing of wheels.

    python3 -m venv venv && venv/bin/pip install grpcio grpcio-tools
    venv/bin/python -m grpc_tools.protoc -I ../../proto/bellcrank/part/v1 --python_out=. --grpc_python_out=. part.proto
    venv/bin/python part.py --listen 127.0.0.1:7071
    bellcrank glue assembly.toml

Only loopback addresses are served without keys; --tls DIR takes the folder that `bellcrank keys` makes.
"""

import argparse
import hashlib
import ipaddress
import json
import math
import os
import re
import sys
import threading
import time
from concurrent import futures

import grpc

import part_pb2 as wire
import part_pb2_grpc as service


class Wheel:
    """The solver: a wheel with a tyre on a bump, by the classical Runge-Kutta method with steps of its own."""

    MASS, INERTIA, GRAVITY, STEP = 25.0, 0.5 * 25.0 * 0.3**2, 9.81, 1e-4

    def __init__(self):
        self.t, self.state = 0.0, [0.0, 0.3, 0.0, 0.0, 0.0, 0.0]  # x, y, angle and their rates

    def accelerations(self, t, s, load):
        tyre = 3266.0 - 2e5 * (s[1] - 0.3) - 200.0 * s[4]
        bump = 2000.0 * math.exp(-(((t - 0.4) / 0.05) ** 2))
        return [
            load[0] / self.MASS,
            (load[1] + tyre + bump) / self.MASS - self.GRAVITY,
            load[5] / self.INERTIA,
        ]

    def advanced(self, to, load):
        """The state at the end of a window under a constant load."""
        t, s = self.t, list(self.state)
        n = max(1, math.ceil((to - t) / self.STEP - 1e-9))
        h = (to - t) / n

        def rate(t, s):
            return s[3:] + self.accelerations(t, s, load)

        for _ in range(n):
            k1 = rate(t, s)
            k2 = rate(t + h / 2, [x + h / 2 * k for x, k in zip(s, k1)])
            k3 = rate(t + h / 2, [x + h / 2 * k for x, k in zip(s, k2)])
            k4 = rate(t + h, [x + h * k for x, k in zip(s, k3)])
            s = [x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(s, k1, k2, k3, k4)]
            t += h
        return s

    def motion(self, t, s, load):
        """19 numbers: place, rotation, velocity, angular velocity, acceleration, angular acceleration."""
        ax, ay, turn = self.accelerations(t, s, load)
        rotation = [math.cos(s[2] / 2), 0.0, 0.0, math.sin(s[2] / 2)]
        return [s[0], s[1], 0.0] + rotation + [s[3], s[4], 0, 0, 0, s[5], ax, ay, 0, 0, 0, turn]


class Refused(Exception):
    def __init__(self, why, expected="", found=""):
        self.message = wire.Refusal(why=why, expected=str(expected), found=str(found))


def check(why, expected, found):
    if expected != found:
        raise Refused(why, expected, found)


class Run:
    """One run: each request is worked on once; repetitions get the same reply."""

    def __init__(self, keep, first):
        self.keep, self.last, self.reply, self.started = keep, first - 1, None, False
        self.wheel, self.windows, self.tried, self.memory = Wheel(), 0, None, None
        self.lock = threading.Lock()

    def handle(self, request):
        with self.lock:
            if request.sequence == self.last and self.reply is not None:
                return self.reply
            reply = wire.Reply(sequence=request.sequence)
            begun = time.monotonic_ns()
            try:
                check("sequence of a request that is out of turn", self.last + 1, request.sequence)
                self.last = request.sequence
                self.act(request, reply)
            except Refused as e:
                reply.refusal.CopyFrom(e.message)
            reply.nanoseconds = time.monotonic_ns() - begun
            if request.sequence == self.last:
                self.reply = reply
            return reply

    def act(self, request, reply):
        what = request.WhichOneof("what")
        if request.HasField("commit"):
            stamp = (request.commit.window, request.commit.iteration)
            check("what is to be committed", self.tried and self.tried[0], stamp)
            _, self.wheel.t, self.wheel.state = self.tried
            self.windows, self.tried = self.windows + 1, None
        if what == "start":
            if request.start.coupling not in ("windows", "explicit"):
                raise Refused("coupling of a part with its own solver", "windows or explicit", request.start.coupling)
            self.started = True
            reply.started.in_step = False
            for name, unit in [("centre.x", "m"), ("centre.y", "m")]:
                reply.started.channels.add(name=name, unit=unit)
            return
        if what in (None, "leave"):
            reply.done.SetInParent()
            return
        if not self.started:
            raise Refused("the run has no solver yet: it begins with Start")
        if what == "begin":
            load = self.loads(request.begin.loads)
            reply.motions.motions.extend(self.wheel.motion(self.wheel.t, self.wheel.state, load))
        elif what == "attempt":
            a = request.attempt
            load = self.loads(a.loads)
            check("number of the window", self.windows, a.window)
            check("start of the window", self.wheel.t, getattr(a, "from"))
            if not (math.isfinite(a.to) and a.to > self.wheel.t):
                raise Refused("end of the window", f"after {self.wheel.t} s", f"{a.to} s")
            state = self.wheel.advanced(a.to, load)
            self.tried = ((a.window, a.iteration), a.to, state)
            reply.motions.motions.extend(self.wheel.motion(a.to, state, load))
        elif what == "observe":
            reply.values.values.extend(self.wheel.state[:2])
        elif what == "save":
            kept = {"t": self.wheel.t, "state": self.wheel.state, "windows": self.windows}
            if request.save.id:
                path = self.file(request.save.id)
                with open(path + ".new", "w") as file:
                    json.dump(kept, file)
                os.replace(path + ".new", path)
            self.memory = kept
            reply.done.SetInParent()
        elif what == "restore":
            kept = self.memory
            if request.restore.id:
                try:
                    with open(self.file(request.restore.id)) as file:
                        kept = json.load(file)
                except OSError:
                    raise Refused("there is no such state") from None
            if kept is None:
                raise Refused("no state was kept in memory")
            self.wheel.t, self.wheel.state, self.windows = kept["t"], list(kept["state"]), kept["windows"]
            self.tried = None
            reply.done.SetInParent()
        else:
            raise Refused("the run was greeted already")

    def loads(self, loads):
        check("wrong number of loads", 6, len(loads))
        if not all(map(math.isfinite, loads)):
            raise Refused("loads are not finite", "finite numbers", list(loads))
        return list(loads)

    def file(self, name):
        if not re.fullmatch("[0-9A-Za-z-]{1,80}", name):
            raise Refused("name of a state", "at most 80 of a-z, A-Z, 0-9 and -", repr(name[:80]))
        return os.path.join(self.keep, name + ".json")


class Part(service.PartServicer):
    NAME, MOST = "wheel", 16

    def __init__(self, keep):
        self.runs, self.keep, self.lock = {}, keep, threading.Lock()
        with open(__file__, "rb") as file:
            self.model = hashlib.sha256(file.read()).digest()
        os.makedirs(keep, exist_ok=True)

    def Run(self, requests, context):
        first = next(requests, None)
        if first is None or first.WhichOneof("what") != "hello":
            yield wire.Reply(refusal=wire.Refusal(why="a stream begins with Hello"))
            return
        try:
            run = self.greet(first.hello)
        except Refused as e:
            yield wire.Reply(refusal=e.message)
            return
        port = wire.Port(name="centre", motion=Wheel().motion(0.0, Wheel().state, [0.0] * 6))
        yield wire.Reply(
            welcome=wire.Welcome(
                protocol=1, name=self.NAME, model=self.model, units="SI", space="plane", ports=[port],
                capabilities=["windows", "explicit", "checkpoints", "observe"], started=run.started,
            )
        )
        for request in requests:
            yield run.handle(request)
            if request.WhichOneof("what") == "leave":
                with self.lock:
                    self.runs.pop(first.hello.run, None)
                return

    def greet(self, hello):
        check("version of the protocol", 1, hello.protocol)
        check("units", "SI", hello.units)
        check("bytes of the name of a run", 16, len(hello.run))
        if hello.model:
            check("hash of the model", hello.model.hex(), self.model.hex())
        with self.lock:
            if hello.run not in self.runs:
                if len(self.runs) >= self.MOST:
                    raise Refused("too many runs", f"at most {self.MOST}", len(self.runs) + 1)
                self.runs[hello.run] = Run(self.keep, hello.next)
            return self.runs[hello.run]

    def Health(self, request, context):
        return wire.HealthReply(
            protocol=1, name=self.NAME, model=self.model, runs=len(self.runs), most_runs=self.MOST
        )


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--listen", default="127.0.0.1:7071")
    args.add_argument("--tls", help="folder with ca.pem, server.pem, server.key")
    args.add_argument("--keep", default="kept", help="folder for states of checkpoints")
    args = args.parse_args()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=Part.MOST + 2))
    service.add_PartServicer_to_server(Part(args.keep), server)
    host = args.listen.rsplit(":", 1)[0].strip("[]")
    if args.tls:
        ca, pem, key = (open(os.path.join(args.tls, n), "rb").read() for n in ("ca.pem", "server.pem", "server.key"))
        keys = grpc.ssl_server_credentials([(key, pem)], root_certificates=ca, require_client_auth=True)
        port = server.add_secure_port(args.listen, keys)
    elif ipaddress.ip_address(host).is_loopback:
        port = server.add_insecure_port(args.listen)
    else:
        sys.exit(f"error: {args.listen} can be reached from other machines: use --tls DIR, or listen on 127.0.0.1")
    server.start()
    print(f"{'https' if args.tls else 'http'}://{host}:{port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
