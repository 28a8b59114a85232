/* An FMU for tests, written against the tables of FMI 2.0 (co-simulation): a position servo without a memory.
 *
 *     force = stiffness (target - position) - damping speed,   zero while it is not `on`
 *
 * It can be taken back: its state is what it is given. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double values[6]; /* 1 position, 2 speed, 3 target, 4 stiffness, 5 damping */
    int on;
} Servo;
enum { OK, WARNING, DISCARD, ERROR };

void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources, const void *callbacks,
                      int visible, int logging) {
    if (kind != 1 || strcmp(guid, "{servo}") != 0 || strncmp(resources, "file:///", 8) != 0) return NULL;
    Servo *s = calloc(1, sizeof *s);
    s->values[4] = 100, s->on = 1;
    return s;
}
void fmi2FreeInstance(Servo *s) { free(s); }
int fmi2SetupExperiment(Servo *s, int has, double tolerance, double start, int has_stop, double stop) { return OK; }
int fmi2EnterInitializationMode(Servo *s) { return OK; }
int fmi2ExitInitializationMode(Servo *s) { return OK; }
int fmi2Terminate(Servo *s) { return OK; }
int fmi2SetReal(Servo *s, const unsigned *r, size_t n, const double *x) {
    for (size_t i = 0; i < n; i++) {
        if (r[i] < 1 || r[i] > 5) return ERROR;
        s->values[r[i]] = x[i];
    }
    return OK;
}
int fmi2SetBoolean(Servo *s, const unsigned *r, size_t n, const int *x) { s->on = x[0]; return OK; }
int fmi2GetBoolean(Servo *s, const unsigned *r, size_t n, int *x) { x[0] = s->on; return OK; }
int fmi2GetReal(Servo *s, const unsigned *r, size_t n, double *x) {
    const double *v = s->values;
    for (size_t i = 0; i < n; i++) x[i] = r[i] == 0 ? s->on * (v[4] * (v[3] - v[1]) - v[5] * v[2]) : v[r[i]];
    return OK;
}
int fmi2DoStep(Servo *s, double t, double h, int no_return) { return h > 0 ? OK : ERROR; }

int fmi2GetFMUstate(Servo *s, void **state) { *state = memcpy(malloc(sizeof *s), s, sizeof *s); return OK; }
int fmi2SetFMUstate(Servo *s, void *state) { memcpy(s, state, sizeof *s); return OK; }
int fmi2FreeFMUstate(Servo *s, void **state) { free(*state); *state = NULL; return OK; }
int fmi2SerializedFMUstateSize(Servo *s, void *state, size_t *size) { *size = sizeof *s; return OK; }
int fmi2SerializeFMUstate(Servo *s, void *state, char *bytes, size_t size) { memcpy(bytes, state, size); return OK; }
int fmi2DeSerializeFMUstate(Servo *s, const char *bytes, size_t size, void **state) {
    *state = memcpy(malloc(size), bytes, size);
    return OK;
}
