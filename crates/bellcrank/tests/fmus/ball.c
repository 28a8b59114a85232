/* An FMU for tests, of FMI 2.0 or 3.0 (model exchange): a ball that bounces, and is kicked upwards at t = 0.5 s.
 *
 *     h' = v        v' = -g        v -> -e v where h falls through zero        v -> v + kick at t = 0.5 s
 *
 * The event indicator is h; the time event is told by the event iteration. Compiled with -DTWO it has the functions of FMI 2.0. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double values[8]; /* 0 time, 1 height, 2 velocity, 5 gravity, 6 restitution, 7 kick */
    bool kicked, events;
} Ball;
enum { OK, WARNING, DISCARD, ERROR };

#ifdef TWO
#define F(name) fmi2##name
typedef int Flag;
void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources, const void *callbacks, int visible,
                      int logging) {
    if (kind != 0 || strcmp(guid, "{ball}") != 0) return NULL;
#else
#define F(name) fmi3##name
typedef bool Flag;
void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                   void *environment, void *log) {
    if (strcmp(token, "{ball}") != 0) return NULL;
#endif
    Ball *b = calloc(1, sizeof *b);
    b->values[1] = 1, b->values[5] = 9.81, b->values[6] = 0.8, b->values[7] = 3;
    return b;
}
void F(FreeInstance)(Ball *b) { free(b); }
int F(Terminate)(Ball *b) { return OK; }
int F(ExitInitializationMode)(Ball *b) { b->events = true; return OK; }
int F(EnterEventMode)(Ball *b) { b->events = true; return OK; }
int F(EnterContinuousTimeMode)(Ball *b) { b->events = false; return OK; }
int F(SetTime)(Ball *b, double t) { b->values[0] = t; return b->events ? ERROR : OK; }
int F(SetContinuousStates)(Ball *b, const double *x, size_t n) {
    if (n != 2 || b->events) return ERROR;
    memcpy(b->values + 1, x, 2 * sizeof *x);
    return OK;
}
int F(GetContinuousStates)(Ball *b, double *x, size_t n) { memcpy(x, b->values + 1, 2 * sizeof *x); return OK; }
int F(GetNominalsOfContinuousStates)(Ball *b, double *x, size_t n) { x[0] = 0.5, x[1] = 1; return OK; }
int F(GetEventIndicators)(Ball *b, double *z, size_t n) { z[0] = b->values[1]; return n == 1 ? OK : ERROR; }
static int derivatives(Ball *b, double *f) { f[0] = b->values[2], f[1] = -b->values[5]; return OK; }
static void happen(Ball *b) {
    double *v = b->values;
    if (v[1] <= 0 && v[2] < 0) v[1] = 0, v[2] *= -v[6];
    if (!b->kicked && v[0] >= 0.5) b->kicked = true, v[2] += v[7];
}
static int set(Ball *b, const uint32_t *r, size_t n, const double *x) {
    for (size_t i = 0; i < n; i++) b->values[r[i]] = x[i];
    return OK;
}
static int get(Ball *b, const uint32_t *r, size_t n, double *x) {
    for (size_t i = 0; i < n; i++) x[i] = b->values[r[i]];
    return OK;
}
#ifdef TWO
typedef struct {
    int more, ends, nominals, values, defined;
    double next;
} Info;
int fmi2SetupExperiment(Ball *b, int has, double tolerance, double start, int has_stop, double stop) { b->values[0] = start; return OK; }
int fmi2EnterInitializationMode(Ball *b) { return OK; }
int fmi2SetReal(Ball *b, const uint32_t *r, size_t n, const double *x) { return set(b, r, n, x); }
int fmi2GetReal(Ball *b, const uint32_t *r, size_t n, double *x) { return get(b, r, n, x); }
int fmi2GetDerivatives(Ball *b, double *f, size_t n) { return derivatives(b, f); }
int fmi2NewDiscreteStates(Ball *b, Info *info) {
    if (!b->events) return ERROR;
    happen(b);
    *info = (Info){0, 0, 0, 1, !b->kicked, 0.5};
    return OK;
}
int fmi2CompletedIntegratorStep(Ball *b, int no_set, int *enter, int *ends) { *enter = *ends = 0; return OK; }
#else
int fmi3EnterInitializationMode(Ball *b, bool has, double tolerance, double start, bool has_stop, double stop) {
    b->values[0] = start;
    return OK;
}
int fmi3SetFloat64(Ball *b, const uint32_t *r, size_t n, const double *x, size_t values) { return set(b, r, n, x); }
int fmi3GetFloat64(Ball *b, const uint32_t *r, size_t n, double *x, size_t values) { return get(b, r, n, x); }
int fmi3GetContinuousStateDerivatives(Ball *b, double *f, size_t n) { return derivatives(b, f); }
int fmi3UpdateDiscreteStates(Ball *b, bool *more, bool *ends, bool *nominals, bool *values, bool *defined, double *next) {
    if (!b->events) return ERROR;
    happen(b);
    *more = *ends = *nominals = false, *values = true, *defined = !b->kicked, *next = 0.5;
    return OK;
}
int fmi3CompletedIntegratorStep(Ball *b, bool no_set, bool *enter, bool *ends) { *enter = *ends = false; return OK; }
#endif
