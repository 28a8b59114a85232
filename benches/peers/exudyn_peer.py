"""Exudyn on the problems of `bellcrank bench`: generalized-α, sparse, one thread, nothing written."""
import os
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
warnings.simplefilter("ignore")
import exudyn as exu
import exudyn.itemInterface as eii
from machine import Machine, serve


def build(mbs, m):
    """Bodies of the plane and point masses, with their joints and forces."""
    bodies, nodes = {"ground": mbs.AddObject(eii.ObjectGround())}, {}
    for name, b in m.bodies.items():
        at, mass = m.vector(b["at"]), m.get(b, "mass")
        if m.plane:
            nodes[name] = mbs.AddNode(eii.NodeRigidBody2D(referenceCoordinates=[*at[:2], m.get(b, "angle")]))
            body = eii.ObjectRigidBody2D(physicsMass=mass, physicsInertia=m.get(b, "inertia"), nodeNumber=nodes[name])
        else:
            nodes[name] = mbs.AddNode(eii.NodePoint(referenceCoordinates=at))
            body = eii.MassPoint(physicsMass=mass, nodeNumber=nodes[name])
        bodies[name] = mbs.AddObject(body)
        if any(m.gravity):
            marker = mbs.AddMarker(eii.MarkerBodyMass(bodyNumber=bodies[name]))
            mbs.AddLoad(eii.LoadMassProportional(markerNumber=marker, loadVector=m.gravity))

    def marker(name, at):
        return mbs.AddMarker(eii.MarkerBodyPosition(bodyNumber=bodies[name], localPosition=m.vector(at)))

    def ends(element):
        if "at" in element:  # a point of the world; no body is turned at the start
            origins = [m.vector(m.bodies[b]["at"]) if b in m.bodies else [0, 0, 0] for b in element["between"]]
            on = [[x - y for x, y in zip(m.vector(element["at"]), origin)] for origin in origins]
        else:
            on = element.get("on", [[0, 0, 0]] * 2)
        return [marker(b, at) for b, at in zip(element["between"], on)]

    for j in m.joints.values():
        if j["type"] == "revolute":
            mbs.AddObject(eii.ObjectJointRevolute2D(markerNumbers=ends(j)))
        elif j["type"] == "point-on-line":
            ends_of = zip(reversed(j["between"]), reversed(j["on"]))  # the normal sits on the second marker
            rigid = [eii.MarkerBodyRigid(bodyNumber=bodies[b], localPosition=m.vector(at)) for b, at in ends_of]
            x, y, _ = m.vector(j["axis"])
            slide = dict(axisMarker0=[1, 0, 0], normalMarker1=[-y, x, 0], constrainRotation=False)
            mbs.AddObject(eii.ObjectJointPrismatic2D(markerNumbers=[mbs.AddMarker(r) for r in rigid], **slide))
        elif j["type"] == "distance":
            mbs.AddObject(eii.DistanceConstraint(markerNumbers=ends(j), distance=m.get(j, "length")))
        else:
            raise ValueError(f"no joint {j['type']} here")
    for f in m.forces.values():
        if f["type"] == "spring-damper":
            law = dict(referenceLength=m.get(f, "length"), stiffness=m.get(f, "stiffness"), damping=m.get(f, "damping"))
            mbs.AddObject(eii.ObjectConnectorSpringDamper(markerNumbers=ends(f), **law))
        elif f["type"] == "bushing":
            (k, _, r), (c, _, d) = m.vector(f["stiffness"]), m.vector(f["damping"])
            pull = dict(stiffness=[k, k, 0], damping=[c, c, 0])
            mbs.AddObject(eii.ObjectConnectorCartesianSpringDamper(markerNumbers=ends(f), **pull))
            angles = [eii.MarkerNodeCoordinate(nodeNumber=nodes[b], coordinate=2) for b in f["between"]]
            turn = dict(stiffness=r, damping=d)
            mbs.AddObject(eii.CoordinateSpringDamper(markerNumbers=[mbs.AddMarker(a) for a in angles], **turn))
        elif f["type"] == "torque":
            rigid = mbs.AddMarker(eii.MarkerBodyRigid(bodyNumber=bodies[f["body"]], localPosition=[0, 0, 0]))
            mbs.AddLoad(eii.LoadTorqueVector(markerNumber=rigid, loadVector=[0, 0, m.get(f, "torque")]))
        else:
            raise ValueError(f"no force {f['type']} here")

    def watch(channel):
        name, part = channel.split(".")
        if part == "angle":
            coordinates = mbs.GetNodeOutput(nodes[name], exu.OutputVariableType.Coordinates)
            return coordinates[2] + m.get(m.bodies[name], "angle")
        probe = m.probes.get(name, {"body": name, "on": [0, 0, 0]})
        place = mbs.GetObjectOutputBody(bodies[probe["body"]], exu.OutputVariableType.Position, m.vector(probe["on"]))
        return place["xyz".index(part)]

    return watch


def solve(p):
    mbs = exu.SystemContainer().AddSystem()
    watch = build(mbs, Machine(p["model"]))
    mbs.Assemble()
    settings = exu.SimulationSettings()
    time_integration = settings.timeIntegration
    time_integration.numberOfSteps, time_integration.endTime = p["steps"], p["until"]
    time_integration.verboseMode = 0
    time_integration.newton.useModifiedNewton = True
    time_integration.generalizedAlpha.spectralRadius = 0.9
    settings.solutionSettings.writeSolutionToFile = False
    small = len(Machine(p["model"]).bodies) < 20
    settings.linearSolverType = exu.LinearSolverType.EXUdense if small else exu.LinearSolverType.EigenSparse
    settings.parallel.numberOfThreads = 1
    before = time.process_time()
    mbs.SolveDynamic(settings)
    return {"seconds": time.process_time() - before, "values": [watch(c) for c in p["watch"]]}


serve(solve)
