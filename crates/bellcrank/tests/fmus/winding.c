/* An FMU for tests, of FMI 2.0 or 3.0 (model exchange): the winding of a motor, with a switch that cuts the voltage at a current.
 *
 *     L i' = s V - R i - k w        torque = k i        s: on -> off where i reaches `most`, off -> on where it falls to `most`/2
 *
 * The event indicator is the distance to the next change of the switch. Derivatives along states and inputs are told, and counted.
 * Compiled with -DTWO it has the functions of FMI 2.0. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    /* 0 time, 1 speed, 2 voltage, 3 current, 4 its rate, 5 torque, 6 L, 7 R, 8 k, 9 most, 10 deed, 11 switch, 12 directions asked */
    double values[13];
    bool off, events;
} Winding;
enum { OK, WARNING, DISCARD, ERROR };

#ifdef TWO
#define F(name) fmi2##name
void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources, const void *callbacks, int visible,
                      int logging) {
    if (kind != 0 || strcmp(guid, "{winding}") != 0) return NULL;
#else
#define F(name) fmi3##name
void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                   void *environment, void *log) {
    if (strcmp(token, "{winding}") != 0) return NULL;
#endif
    Winding *w = calloc(1, sizeof *w);
    w->values[2] = 12, w->values[6] = 0.05, w->values[7] = 1, w->values[8] = 0.1, w->values[9] = 1e9;
    return w;
}
static int update(Winding *w) {
    double *v = w->values, late = v[0] > 0.1;
    v[11] = !w->off;
    v[4] = (v[11] * v[2] - v[7] * v[3] - v[8] * v[1]) / v[6];
    v[5] = v[8] * v[3];
    if (late && v[10] == 1) v[4] = NAN;
    if (late && v[10] == 3) abort();
    return late && v[10] == 2 ? ERROR : OK;
}
void F(FreeInstance)(Winding *w) { free(w); }
int F(Terminate)(Winding *w) { return OK; }
int F(ExitInitializationMode)(Winding *w) { w->events = true; return OK; }
int F(EnterEventMode)(Winding *w) { w->events = true; return OK; }
int F(EnterContinuousTimeMode)(Winding *w) { w->events = false; return OK; }
int F(SetTime)(Winding *w, double t) { w->values[0] = t; return w->events ? ERROR : OK; }
int F(SetContinuousStates)(Winding *w, const double *x, size_t n) {
    w->values[3] = x[0];
    return n != 1 || w->events ? ERROR : OK;
}
int F(GetContinuousStates)(Winding *w, double *x, size_t n) { x[0] = w->values[3]; return OK; }
int F(GetNominalsOfContinuousStates)(Winding *w, double *x, size_t n) { x[0] = 1; return OK; }
int F(GetEventIndicators)(Winding *w, double *z, size_t n) {
    z[0] = w->off ? w->values[3] - 0.5 * w->values[9] : w->values[9] - w->values[3];
    return n == 1 ? OK : ERROR;
}
static void happen(Winding *w) {
    if (!w->off && w->values[3] >= w->values[9]) w->off = true;
    else if (w->off && w->values[3] <= 0.5 * w->values[9]) w->off = false;
}
static int set(Winding *w, const uint32_t *r, size_t n, const double *x) {
    for (size_t i = 0; i < n; i++) w->values[r[i]] = x[i];
    return OK;
}
static int get(Winding *w, const uint32_t *r, size_t n, double *x) {
    int status = update(w);
    for (size_t i = 0; i < n; i++) x[i] = w->values[r[i]];
    return status;
}
static int rate(Winding *w, double *f) {
    int status = update(w);
    f[0] = w->values[4];
    return status;
}
/* of the rate and the torque, by the current, the speed or the voltage */
static int along(Winding *w, const uint32_t *unknown, size_t n, uint32_t known, double seed, double *out) {
    const double *v = w->values;
    double rate = known == 3 ? -v[7] / v[6] : known == 1 ? -v[8] / v[6] : known == 2 ? v[11] / v[6] : 0;
    for (size_t i = 0; i < n; i++) out[i] = seed * (unknown[i] == 4 ? rate : unknown[i] == 5 && known == 3 ? v[8] : unknown[i] == known);
    w->values[12]++;
    return OK;
}
#ifdef TWO
typedef struct {
    int more, ends, nominals, values, defined;
    double next;
} Info;
int fmi2SetupExperiment(Winding *w, int has, double tolerance, double start, int has_stop, double stop) {
    w->values[0] = start;
    return OK;
}
int fmi2EnterInitializationMode(Winding *w) { return OK; }
int fmi2SetReal(Winding *w, const uint32_t *r, size_t n, const double *x) { return set(w, r, n, x); }
int fmi2GetReal(Winding *w, const uint32_t *r, size_t n, double *x) { return get(w, r, n, x); }
int fmi2GetDerivatives(Winding *w, double *f, size_t n) { return rate(w, f); }
int fmi2NewDiscreteStates(Winding *w, Info *info) {
    happen(w);
    *info = (Info){0, 0, 0, 0, 0, 0};
    return w->events ? OK : ERROR;
}
int fmi2GetDirectionalDerivative(Winding *w, const uint32_t *u, size_t n, const uint32_t *k, size_t m, const double *seed, double *out) {
    return m == 1 ? along(w, u, n, k[0], seed[0], out) : ERROR;
}
#else
int fmi3EnterInitializationMode(Winding *w, bool has, double tolerance, double start, bool has_stop, double stop) {
    w->values[0] = start;
    return OK;
}
int fmi3SetFloat64(Winding *w, const uint32_t *r, size_t n, const double *x, size_t values) { return set(w, r, n, x); }
int fmi3GetFloat64(Winding *w, const uint32_t *r, size_t n, double *x, size_t values) { return get(w, r, n, x); }
int fmi3GetContinuousStateDerivatives(Winding *w, double *f, size_t n) { return rate(w, f); }
int fmi3UpdateDiscreteStates(Winding *w, bool *more, bool *ends, bool *nominals, bool *values, bool *defined, double *next) {
    happen(w);
    *more = *ends = *nominals = *values = *defined = false;
    return w->events ? OK : ERROR;
}
int fmi3GetDirectionalDerivative(Winding *w, const uint32_t *u, size_t n, const uint32_t *k, size_t m, const double *seed, size_t seeds,
                                 double *out, size_t outs) {
    return m == 1 ? along(w, u, n, k[0], seed[0], out) : ERROR;
}
#endif
