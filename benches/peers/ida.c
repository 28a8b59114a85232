/* Four problems on IDA of SUNDIALS, hand-coded, for the work-precision bench.
 *
 *     cc -O2 ida.c -o ida -lsundials_ida -lsundials_nvecserial -lm && ./ida
 *
 * prints one line per run: problem, form, rtol, steps, residuals, Jacobians, failed error tests, failed
 * iterations, error at the end, milliseconds of CPU. A problem gives M, f, g, G and g_t; the forms are
 *
 *     ggl      q' = v - G'mu,  M v' = f - G'lambda,  g = 0,  G v + g_t = 0
 *     index2   q' = v,         M v' = f - G'lambda,          G v + g_t = 0
 *
 * with dense difference-quotient Jacobians; the residuals of the differences are counted too: IDA does not see them for
 * free. Multipliers are left out of the error test. IDA does not leave them out of the test of its iteration; in the
 * forms with a star a tolerance of their own, LOOSE, does it. Without the star the seven bodies do not get beyond
 * their first step in ggl at rtol 1e-6: the rounding of lambda grows with 1/h, and every failure divides h by four. */

#include <ida/ida.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <time.h>

#define N 8 /* no problem has more coordinates or constraints */
#define LOOSE 1e6

typedef struct {
  const char *name;
  int n, m;
  double end;
  void (*mass)(const double *q, double M[N][N]);
  void (*force)(double t, const double *q, const double *v, double *f);
  void (*constraint)(double t, const double *q, double *g);
  void (*jacobian)(double t, const double *q, double G[N][N]);
  void (*constraint_t)(double t, const double *q, double *gt); /* may be 0 */
  void (*start)(double *q, double *v);
  double (*error)(const double *q);
  double k; /* stiffness, where there is a choice */
} Problem;

static double stiffness;

/* --- car axis [Mazzia & Magherini 2008] --- */

static const double car_mass = 10.0 * 1e-4 / 2.0;

static void car_M(const double *q, double M[N][N]) {
  (void)q;
  for (int i = 0; i < 4; i++) M[i][i] = car_mass;
}
static void car_road(double t, double *x, double *y) {
  *y = 0.1 * sin(10 * t);
  *x = sqrt(1 - *y * *y);
}
static void car_f(double t, const double *q, const double *v, double *f) {
  double xb, yb;
  (void)v;
  car_road(t, &xb, &yb);
  double l = hypot(q[0], q[1]), r = hypot(q[2] - xb, q[3] - yb);
  f[0] = (0.5 - l) * q[0] / l;
  f[1] = (0.5 - l) * q[1] / l - car_mass;
  f[2] = (0.5 - r) * (q[2] - xb) / r;
  f[3] = (0.5 - r) * (q[3] - yb) / r - car_mass;
}
static void car_g(double t, const double *q, double *g) {
  double xb, yb, x = q[0] - q[2], y = q[1] - q[3];
  car_road(t, &xb, &yb);
  g[0] = xb * q[0] + yb * q[1];
  g[1] = x * x + y * y - 1;
}
static void car_G(double t, const double *q, double G[N][N]) {
  double xb, yb, x = 2 * (q[0] - q[2]), y = 2 * (q[1] - q[3]);
  car_road(t, &xb, &yb);
  G[0][0] = xb, G[0][1] = yb;
  G[1][0] = x, G[1][1] = y, G[1][2] = -x, G[1][3] = -y;
}
static void car_gt(double t, const double *q, double *gt) {
  double xb, yb;
  car_road(t, &xb, &yb);
  double dy = cos(10 * t);
  gt[0] = -yb * dy / xb * q[0] + dy * q[1];
}
static void car_start(double *q, double *v) {
  double q0[] = {0, .5, 1, .5}, v0[] = {-.5, 0, -.5, 0};
  memcpy(q, q0, sizeof q0), memcpy(v, v0, sizeof v0);
}
static double car_error(const double *q) {
  double e = 0, end[] = {.04934557842755629, .4969894602303324, 1.041742524885400, .3739110272652214};
  for (int i = 0; i < 4; i++) e = fmax(e, fabs(q[i] - end[i]));
  return e;
}

/* --- slider-crank with a spring-damper between mid crank and mid rod; coordinates q, x, p --- */

static void crank_M(const double *q, double M[N][N]) {
  (void)q;
  M[0][0] = 1, M[1][1] = 1, M[2][2] = 2;
}
static void crank_f(double t, const double *q, const double *v, double *f) {
  (void)t;
  const double a = .5;
  double px = q[1] - .5 * cos(q[2]) - .5 * a * cos(q[0]), py = -.5 * sin(q[2]) - .5 * a * sin(q[0]);
  double vx = v[1] + .5 * sin(q[2]) * v[2] + .5 * a * sin(q[0]) * v[0];
  double vy = -.5 * cos(q[2]) * v[2] - .5 * a * cos(q[0]) * v[0];
  double l = hypot(px, py), s = (l - 1) + (px * vx + py * vy) / l, sx = s * px / l, sy = s * py / l;
  f[0] = -(sx * .5 * a * sin(q[0]) - sy * .5 * a * cos(q[0]));
  f[1] = -sx + 1;
  f[2] = -(sx * .5 * sin(q[2]) - sy * .5 * cos(q[2])) - sin(q[2]);
}
static void crank_g(double t, const double *q, double *g) {
  (void)t;
  g[0] = q[1] - cos(q[2]) - .5 * cos(q[0]);
  g[1] = -sin(q[2]) - .5 * sin(q[0]);
}
static void crank_G(double t, const double *q, double G[N][N]) {
  (void)t;
  G[0][0] = .5 * sin(q[0]), G[0][1] = 1, G[0][2] = sin(q[2]);
  G[1][0] = -.5 * cos(q[0]), G[1][2] = -cos(q[2]);
}
static void crank_start(double *q, double *v) {
  q[0] = M_PI / 2, q[2] = asin(-.5), q[1] = cos(q[2]);
  v[0] = v[1] = v[2] = 0;
}
static double crank_error(const double *q) {
  double e = 0, end[] = {1.275675848650, 1.023578558980, -.498813049182};
  for (int i = 0; i < 3; i++) e = fmax(e, fabs(q[i] - end[i]));
  return e;
}

/* --- stiff bushing: two bodies (x, y, angle), the first pinned at the origin --- */

static void bushing_M(const double *q, double M[N][N]) {
  (void)q;
  for (int b = 0; b < 2; b++) M[3 * b][3 * b] = M[3 * b + 1][3 * b + 1] = 1, M[3 * b + 2][3 * b + 2] = 1 / 12.;
}
static void bushing_f(double t, const double *q, const double *v, double *f) {
  (void)t;
  double k = stiffness, kr = .01 * k, c = .02 * sqrt(k), cr = .02 * sqrt(kr / 12);
  double c1 = cos(q[2]), s1 = sin(q[2]), c2 = cos(q[5]), s2 = sin(q[5]);
  double dx = q[3] - .5 * c2 - q[0] - .5 * c1, dy = q[4] - .5 * s2 - q[1] - .5 * s1;
  double vx = v[3] + .5 * s2 * v[5] - v[0] + .5 * s1 * v[2], vy = v[4] - .5 * c2 * v[5] - v[1] - .5 * c1 * v[2];
  /* stiffness and damping are isotropic; the rate is that seen from the first body */
  double fx = -k * dx - c * (vx + v[2] * dy), fy = -k * dy - c * (vy - v[2] * dx);
  double m = -kr * (q[5] - q[2]) - cr * (v[5] - v[2]);
  f[3] = fx, f[4] = fy - 9.81, f[5] = m + .5 * s2 * fx - .5 * c2 * fy;
  f[0] = -fx, f[1] = -fy - 9.81;
  /* the bushing's load acts on the first body at the second frame */
  f[2] = -m - ((.5 * c1 + dx) * fy - (.5 * s1 + dy) * fx);
}
static void bushing_g(double t, const double *q, double *g) {
  (void)t;
  g[0] = q[0] - .5 * cos(q[2]), g[1] = q[1] - .5 * sin(q[2]);
}
static void bushing_G(double t, const double *q, double G[N][N]) {
  (void)t;
  G[0][0] = 1, G[0][2] = .5 * sin(q[2]);
  G[1][1] = 1, G[1][2] = -.5 * cos(q[2]);
}
static void bushing_start(double *q, double *v) {
  memset(q, 0, 6 * sizeof *q), memset(v, 0, 6 * sizeof *v);
  q[0] = .5, q[3] = 1.5;
}
static double bushing_error(const double *q) {
  static const double end[][3] = {{1e5, -1.3221983551875, -.7086912728260},
                                  {1e6, -1.3223024148486, -.7082100540874},
                                  {1e7, -1.3223125385445, -.7081624574076},
                                  {1e8, -1.3223135534829, -.7081576927747}};
  for (int i = 0; i < 4; i++)
    if (end[i][0] == stiffness) return hypot(q[3] - end[i][1], q[4] - end[i][2]);
  return NAN;
}

/* --- seven-body mechanism (Andrews' squeezer) [Mazzia & Magherini 2008]; b th ga ph de om ep --- */

static const double d = .028, da = .0115, e_ = .02, ea = .01421, rr = .007, ra = .00092, ss = .035, sa = .01874,
                    sb = .01043, sc = .018, sd = .02, ta = .02308, tb = .00916, u_ = .04, ua = .01228, ub = .00449,
                    zf = .02, zt = .04, fa = .01421, xa = -.06934, ya = -.00227, xb_ = -.03635, yb_ = .03273;

static void seven_M(const double *q, double M[N][N]) {
  const double m1 = .04325, m2 = .00365, m3 = .02373, m4 = .00706, m5 = .07050, m6 = .00706, m7 = .05498;
  const double i1 = 2.194e-6, i2 = 4.410e-7, i3 = 5.255e-6, i4 = 5.667e-7, i5 = 1.169e-5, i6 = 5.667e-7, i7 = 1.912e-5;
  double ct = cos(q[1]), sp = sin(q[3]), so = sin(q[5]), r = e_ - ea, s = zf - fa;
  M[0][0] = m1 * ra * ra + m2 * (rr * rr - 2 * da * rr * ct + da * da) + i1 + i2;
  M[0][1] = M[1][0] = m2 * (da * da - da * rr * ct) + i2;
  M[1][1] = m2 * da * da + i2;
  M[2][2] = m3 * (sa * sa + sb * sb) + i3;
  M[3][3] = m4 * r * r + i4;
  M[3][4] = M[4][3] = m4 * (r * r + zt * r * sp) + i4;
  M[4][4] = m4 * (zt * zt + 2 * zt * r * sp + r * r) + m5 * (ta * ta + tb * tb) + i4 + i5;
  M[5][5] = m6 * s * s + i6;
  M[5][6] = M[6][5] = m6 * (s * s - u_ * s * so) + i6;
  M[6][6] = m6 * (s * s - 2 * u_ * s * so + u_ * u_) + m7 * (ua * ua + ub * ub) + i6 + i7;
}
static void seven_f(double t, const double *q, const double *v, double *f) {
  (void)t;
  const double m2 = .00365, m4 = .00706, m6 = .00706, c0 = 4530, l0 = .07785, mom = .033, xc = .014, yc = .072;
  double sg = sin(q[2]), cg = cos(q[2]), st = sin(q[1]), cp = cos(q[3]), co = cos(q[5]), r = e_ - ea, s = zf - fa;
  double xd = sd * cg + sc * sg + xb_, yd = sd * sg - sc * cg + yb_, l = hypot(xd - xc, yd - yc);
  double F = -c0 * (l - l0) / l, fx = F * (xd - xc), fy = F * (yd - yc);
  f[0] = mom - m2 * da * rr * v[1] * (v[1] + 2 * v[0]) * st;
  f[1] = m2 * da * rr * v[0] * v[0] * st;
  f[2] = fx * (sc * cg - sd * sg) + fy * (sd * cg + sc * sg);
  f[3] = m4 * zt * r * v[4] * v[4] * cp;
  f[4] = -m4 * zt * r * v[3] * (v[3] + 2 * v[4]) * cp;
  f[5] = -m6 * u_ * s * v[6] * v[6] * co;
  f[6] = m6 * u_ * s * v[5] * (v[5] + 2 * v[6]) * co;
}
static void seven_g(double t, const double *q, double *g) {
  (void)t;
  double x = rr * cos(q[0]) - d * cos(q[0] + q[1]), y = rr * sin(q[0]) - d * sin(q[0] + q[1]);
  g[0] = x - ss * sin(q[2]) - xb_;
  g[1] = y + ss * cos(q[2]) - yb_;
  g[2] = x - e_ * sin(q[3] + q[4]) - zt * cos(q[4]) - xa;
  g[3] = y + e_ * cos(q[3] + q[4]) - zt * sin(q[4]) - ya;
  g[4] = x - zf * cos(q[5] + q[6]) - u_ * sin(q[6]) - xa;
  g[5] = y - zf * sin(q[5] + q[6]) + u_ * cos(q[6]) - ya;
}
static void seven_G(double t, const double *q, double G[N][N]) {
  (void)t;
  double sbt = sin(q[0] + q[1]), cbt = cos(q[0] + q[1]);
  for (int i = 0; i < 6; i += 2) {
    G[i][0] = -rr * sin(q[0]) + d * sbt, G[i][1] = d * sbt;
    G[i + 1][0] = rr * cos(q[0]) - d * cbt, G[i + 1][1] = -d * cbt;
  }
  G[0][2] = -ss * cos(q[2]), G[1][2] = -ss * sin(q[2]);
  G[2][3] = -e_ * cos(q[3] + q[4]), G[2][4] = G[2][3] + zt * sin(q[4]);
  G[3][3] = -e_ * sin(q[3] + q[4]), G[3][4] = G[3][3] - zt * cos(q[4]);
  G[4][5] = zf * sin(q[5] + q[6]), G[4][6] = G[4][5] - u_ * cos(q[6]);
  G[5][5] = -zf * cos(q[5] + q[6]), G[5][6] = G[5][5] - u_ * sin(q[6]);
}
static void seven_start(double *q, double *v) {
  double q0[] = {-.0617138900142764496, 0, .4552798191630703803, .2226683901658858847, .4873649795438425502,
                 -.2226683901658858847, 1.2305474445498211925};
  memcpy(q, q0, sizeof q0), memset(v, 0, 7 * sizeof *v);
}
static double seven_error(const double *q) { return fabs(q[0] - 15.8107711951537); }

/* --- the rest is the same for all --- */

typedef struct {
  const Problem *p;
  int ggl;
  long residuals;
} Run;

static void pieces(const Problem *p, double t, const double *q, double M[N][N], double G[N][N], double *gt) {
  memset(M, 0, sizeof(double[N][N])), memset(G, 0, sizeof(double[N][N])), memset(gt, 0, sizeof(double[N]));
  p->mass(q, M), p->jacobian(t, q, G);
  if (p->constraint_t) p->constraint_t(t, q, gt);
}

static int residual(double t, N_Vector yy, N_Vector yp, N_Vector rr_, void *data) {
  Run *run = data;
  const Problem *p = run->p;
  int n = p->n, m = p->m;
  double *y = N_VGetArrayPointer(yy), *dy = N_VGetArrayPointer(yp), *r = N_VGetArrayPointer(rr_);
  double *q = y, *v = y + n, *lambda = y + 2 * n, *mu = lambda + m, M[N][N], G[N][N], gt[N], f[N];
  run->residuals++;
  pieces(p, t, q, M, G, gt), p->force(t, q, v, f);
  for (int i = 0; i < n; i++) {
    r[i] = dy[i] - v[i], r[n + i] = -f[i];
    for (int j = 0; j < n; j++) r[n + i] += M[i][j] * dy[n + j];
    for (int k = 0; k < m; k++) {
      r[n + i] += G[k][i] * lambda[k];
      if (run->ggl) r[i] += G[k][i] * mu[k];
    }
  }
  if (run->ggl) p->constraint(t, q, r + 2 * n + m);
  for (int k = 0; k < m; k++) {
    r[2 * n + k] = gt[k];
    for (int i = 0; i < n; i++) r[2 * n + k] += G[k][i] * v[i];
  }
  return 0;
}

/* x of A x = b, with row pivoting */
static void solve(int n, double A[2 * N][2 * N], double *b) {
  for (int k = 0; k < n; k++) {
    int p = k;
    for (int i = k; i < n; i++)
      if (fabs(A[i][k]) > fabs(A[p][k])) p = i;
    for (int j = 0; j < n; j++) { double x = A[k][j]; A[k][j] = A[p][j], A[p][j] = x; }
    double x = b[k]; b[k] = b[p], b[p] = x;
    for (int i = k + 1; i < n; i++) {
      double l = A[i][k] / A[k][k];
      for (int j = k; j < n; j++) A[i][j] -= l * A[k][j];
      b[i] -= l * b[k];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    for (int j = k + 1; j < n; j++) b[k] -= A[k][j] * b[j];
    b[k] /= A[k][k];
  }
}

/* G v + g_t at t + s and q + s v: its slope in s is what accelerations have to cancel */
static void velocity(const Problem *p, double s, const double *q, const double *v, double *out) {
  double at[N], M[N][N], G[N][N];
  for (int i = 0; i < p->n; i++) at[i] = q[i] + s * v[i];
  pieces(p, s, at, M, G, out);
  for (int k = 0; k < p->m; k++)
    for (int i = 0; i < p->n; i++) out[k] += G[k][i] * v[i];
}

static void run(const Problem *p, int ggl, int star, double rtol) {
  SUNContext context;
  SUNContext_Create(NULL, &context);
  Run state = {p, ggl, 0};
  int n = p->n, m = p->m, size = 2 * n + m * (1 + ggl);
  stiffness = p->k;
  N_Vector y = N_VNew_Serial(size, context), dy = N_VNew_Serial(size, context), id = N_VNew_Serial(size, context);
  N_VConst(0, y), N_VConst(0, dy), N_VConst(0, id);
  double *Y = N_VGetArrayPointer(y), *D = N_VGetArrayPointer(dy), *I = N_VGetArrayPointer(id);
  p->start(Y, Y + n);
  double M[N][N], G[N][N], gt[N], A[2 * N][2 * N] = {{0}}, b[2 * N], before[N], after[N];
  pieces(p, 0, Y, M, G, gt), p->force(0, Y, Y + n, b);
  velocity(p, -1e-5, Y, Y + n, before), velocity(p, 1e-5, Y, Y + n, after);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) A[i][j] = M[i][j];
    for (int k = 0; k < m; k++) A[i][n + k] = A[n + k][i] = G[k][i];
    D[i] = Y[n + i];
    I[i] = I[n + i] = 1;
  }
  for (int k = 0; k < m; k++) b[n + k] = -(after[k] - before[k]) / 2e-5;
  solve(n + m, A, b);
  for (int i = 0; i < n; i++) D[n + i] = b[i];
  for (int k = 0; k < m; k++) Y[2 * n + k] = b[n + k];

  clock_t begin = clock();
  void *ida = IDACreate(context);
  IDAInit(ida, residual, 0, y, dy);
  N_Vector atol = N_VNew_Serial(size, context);
  for (int i = 0; i < size; i++) N_VGetArrayPointer(atol)[i] = i < 2 * n || !star ? rtol : LOOSE;
  IDASVtolerances(ida, rtol, atol);
  IDASetUserData(ida, &state);
  IDASetId(ida, id), IDASetSuppressAlg(ida, 1);
  IDASetMaxNumSteps(ida, 1000000);
  IDASetErrFile(ida, NULL);
  SUNMatrix matrix = SUNDenseMatrix(size, size, context);
  SUNLinearSolver linear = SUNLinSol_Dense(y, matrix, context);
  IDASetLinearSolver(ida, linear, matrix);
  IDASetStopTime(ida, p->end);
  double t;
  int flag = IDASolve(ida, p->end, &t, y, dy, IDA_NORMAL);
  double ms = 1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC;
  long steps, etf, cfn, jacobians;
  IDAGetNumSteps(ida, &steps), IDAGetNumErrTestFails(ida, &etf);
  IDAGetNumNonlinSolvConvFails(ida, &cfn), IDAGetNumJacEvals(ida, &jacobians);
  printf("%s,%s%s,%g,%ld,%ld,%ld,%ld,%ld,%.2e,%.3f\n", p->name, ggl ? "ggl" : "index2", star ? "*" : "", rtol, steps, state.residuals, jacobians,
         etf, cfn, flag < 0 ? NAN : p->error(Y), ms);
  IDAFree(&ida), SUNLinSolFree(linear), SUNMatDestroy(matrix);
  N_VDestroy(y), N_VDestroy(dy), N_VDestroy(id), N_VDestroy(atol), SUNContext_Free(&context);
}

int main(void) {
  const Problem problems[] = {
      {"seven-body", 7, 6, .03, seven_M, seven_f, seven_g, seven_G, 0, seven_start, seven_error, 0},
      {"car-axis", 4, 2, 3, car_M, car_f, car_g, car_G, car_gt, car_start, car_error, 0},
      {"slider-crank", 3, 2, 10, crank_M, crank_f, crank_g, crank_G, 0, crank_start, crank_error, 0},
      {"bushing 1e5", 6, 2, 1, bushing_M, bushing_f, bushing_g, bushing_G, 0, bushing_start, bushing_error, 1e5},
      {"bushing 1e6", 6, 2, 1, bushing_M, bushing_f, bushing_g, bushing_G, 0, bushing_start, bushing_error, 1e6},
      {"bushing 1e7", 6, 2, 1, bushing_M, bushing_f, bushing_g, bushing_G, 0, bushing_start, bushing_error, 1e7},
      {"bushing 1e8", 6, 2, 1, bushing_M, bushing_f, bushing_g, bushing_G, 0, bushing_start, bushing_error, 1e8},
  };
  const double tolerances[] = {1e-4, 1e-6, 1e-8};
  for (size_t p = 0; p < sizeof problems / sizeof *problems; p++)
    for (int form = 0; form < 4; form++)
      for (size_t i = 0; i < 3; i++) run(&problems[p], form / 2, form % 2, tolerances[i]);
  return 0;
}
