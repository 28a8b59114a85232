/* An FMU for tests, of FMI 2.0 or 3.0 (co-simulation): a seat of 1 kg on a spring to the ground, pushed by a force that is held
 * over a step, for which the step is exact.
 *
 *     m x'' = force - stiffness x
 *
 * Compiled with -DTWO it has the functions of FMI 2.0. Its state is taken and set, and written in FMI 2.0 alone. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double values[8]; /* 0 time, 1 force, 2 position, 3 velocity, 4 acceleration, 5 mass, 6 stiffness */
} Seat;
enum { OK, WARNING, DISCARD, ERROR };

#ifdef TWO
#define F(name) fmi2##name
typedef int Flag;
void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources, const void *callbacks, int visible,
                      int logging) {
    if (strcmp(guid, "{seat}") != 0) return NULL;
#else
#define F(name) fmi3##name
typedef bool Flag;
void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging, bool events,
                                  bool early, const uint32_t *intermediate, size_t n, void *environment, void *log, void *update) {
    if (strcmp(token, "{seat}") != 0) return NULL;
#endif
    Seat *s = calloc(1, sizeof *s);
    s->values[5] = 1, s->values[6] = 100;
    return s;
}
void F(FreeInstance)(Seat *s) { free(s); }
int F(Terminate)(Seat *s) { return OK; }
int F(ExitInitializationMode)(Seat *s) { return OK; }

static int set(Seat *s, const uint32_t *r, size_t n, const double *x) {
    for (size_t i = 0; i < n; i++) {
        if (r[i] < 1 || r[i] > 6) return ERROR;
        s->values[r[i]] = x[i];
    }
    return OK;
}
static int get(Seat *s, const uint32_t *r, size_t n, double *x) {
    double *v = s->values;
    v[4] = (v[1] - v[6] * v[2]) / v[5];
    for (size_t i = 0; i < n; i++) x[i] = v[r[i]];
    return OK;
}
static int step(Seat *s, double t, double h) {
    double *v = s->values;
    if (fabs(t - v[0]) > 1e-9) return ERROR;
    double w = sqrt(v[6] / v[5]), rest = v[1] / v[6], x = v[2] - rest, c = cos(w * h), d = sin(w * h);
    v[2] = rest + x * c + v[3] / w * d;
    v[3] = v[3] * c - x * w * d;
    v[0] = t + h;
    return OK;
}
int F(FreeFMUState)(Seat *s, void **state) { free(*state); *state = NULL; return OK; }
#ifdef TWO
int fmi2SetupExperiment(Seat *s, int has, double tolerance, double start, int has_stop, double stop) { s->values[0] = start; return OK; }
int fmi2EnterInitializationMode(Seat *s) { return OK; }
int fmi2SetReal(Seat *s, const uint32_t *r, size_t n, const double *x) { return set(s, r, n, x); }
int fmi2GetReal(Seat *s, const uint32_t *r, size_t n, double *x) { return get(s, r, n, x); }
int fmi2DoStep(Seat *s, double t, double h, int no_return) { return step(s, t, h); }
int fmi2GetFMUstate(Seat *s, void **state) { *state = memcpy(malloc(sizeof *s), s, sizeof *s); return OK; }
int fmi2SetFMUstate(Seat *s, void *state) { memcpy(s, state, sizeof *s); return OK; }
int fmi2FreeFMUstate(Seat *s, void **state) { return fmi2FreeFMUState(s, state); }
int fmi2SerializedFMUstateSize(Seat *s, void *state, size_t *size) { *size = sizeof *s; return OK; }
int fmi2SerializeFMUstate(Seat *s, void *state, char *bytes, size_t size) { memcpy(bytes, state, size); return OK; }
int fmi2DeSerializeFMUstate(Seat *s, const char *bytes, size_t size, void **state) {
    *state = memcpy(malloc(size), bytes, size);
    return OK;
}
#else
int fmi3EnterInitializationMode(Seat *s, bool has, double tolerance, double start, bool has_stop, double stop) {
    s->values[0] = start;
    return OK;
}
int fmi3SetFloat64(Seat *s, const uint32_t *r, size_t n, const double *x, size_t values) { return set(s, r, n, x); }
int fmi3GetFloat64(Seat *s, const uint32_t *r, size_t n, double *x, size_t values) { return get(s, r, n, x); }
int fmi3DoStep(Seat *s, double t, double h, bool no_return, bool *event, bool *ends, bool *early, double *last) {
    *event = *ends = *early = false, *last = t + h;
    return step(s, t, h);
}
int fmi3GetFMUState(Seat *s, void **state) { *state = memcpy(malloc(sizeof *s), s, sizeof *s); return OK; }
int fmi3SetFMUState(Seat *s, void *state) { memcpy(s, state, sizeof *s); return OK; }
#endif
