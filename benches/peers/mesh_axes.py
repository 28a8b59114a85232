"""How exactly MuJoCo knows the principal axes of meshes: why some MJCF files differ from it by 1e-9 to 5e-8.

    pip install mujoco numpy   # and a folder of robosuite
    python benches/peers/mesh_axes.py robosuite/models/assets/grippers/inspire_left_hand.xml l_thumb_distal meshes/inspire_hands/lh_Link14.STL

The body's geoms all have this one mesh. Its tensor of inertia is summed here in long double, in MuJoCo's way (pyramids over all
faces); MuJoCo's own is R diag(moments) Rᵀ of `body_inertia` and `body_iquat`.
"""
import pathlib, sys
import mujoco, numpy as np


def tensor(path):
    """Inertia about the centre, for the mass 1, in the axes of the file."""
    data = np.fromfile(path, np.dtype([("n", "<3f4"), ("v", "<9f4"), ("a", "<u2")]), offset=84)
    t = data["v"].reshape(-1, 3, 3).astype(np.longdouble)
    area = np.sqrt((np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]) ** 2).sum(1)) / 2
    seen = t - (t.sum(1) * (area / 3)[:, None]).sum(0) / area.sum()
    volume = lambda x: np.abs((x[:, 0] * np.cross(x[:, 1], x[:, 2])).sum(1)) / 6
    v = volume(seen)
    seen = seen - (seen.sum(1) * (v / 4)[:, None]).sum(0) / v.sum()
    v, s = volume(seen), seen.sum(1)
    second = (np.einsum("tki,tkj,t->ij", seen, seen, v) + np.einsum("ti,tj,t->ij", s, s, v)) / 20
    return (np.eye(3) * np.trace(second) - second) / v.sum()


def main():
    path, body, mesh = sys.argv[1:4]
    m = mujoco.MjModel.from_xml_path(path)
    b = m.body(body).id
    exact = (tensor(pathlib.Path(path).parent / mesh) * m.body_mass[b]).astype(float)
    r = np.zeros(9)
    mujoco.mju_quat2Mat(r, m.body_iquat[b])
    r = r.reshape(3, 3)
    moments = np.sort(m.body_inertia[b])
    size = moments[-1]
    print(f"MuJoCo {mujoco.__version__}, body {body}")
    print(f"moments against those in long double: {np.abs(np.sort(np.linalg.eigvalsh(exact)) - moments).max() / size:.1e}")
    seen = r.T @ exact @ r
    print(f"products of inertia in MuJoCo's principal axes: {np.abs(seen - np.diag(np.diag(seen))).max() / size:.1e}")
    print(f"the tensor against that in long double: {np.abs(r @ np.diag(m.body_inertia[b]) @ r.T - exact).max() / size:.1e}")
    if len(sys.argv) > 4:
        import tomllib

        own = np.array(tomllib.load(open(sys.argv[4], "rb"))["body"][body]["inertia"])
        print(f"Bellcrank's tensor against it: {np.abs(own - exact).max() / size:.1e}")


main()
