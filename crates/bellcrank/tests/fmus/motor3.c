/* An FMU for tests, written against the tables of FMI 3.0 (co-simulation): a direct-current motor.
 *
 *     L di/dt = V - R i - K w          torque = K i
 *
 * The speed w is held over a step, for which the current is exact. `deed` makes it misbehave in its third step, or before. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*Log)(void *, int, const char *, const char *);
typedef struct {
    double time, speed, current, voltage, resistance, inductance, constant;
    int32_t deed;
    int steps;
    Log log;
    void *environment;
} Motor;
enum { OK, WARNING, DISCARD, ERROR, FATAL };
enum { GOOD, CRASH, HANG, EAT, NOT_A_NUMBER, CHATTER, FAIL, LATE, ENDS, EXITS };

const char *fmi3GetVersion(void) { return "3.0"; }

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                  bool events, bool early, const uint32_t *intermediate, size_t n, void *environment,
                                  Log log, void *update) {
    if (strcmp(token, "{motor}") != 0 || resources[strlen(resources) - 1] != '/') return NULL;
    Motor *m = calloc(1, sizeof *m);
    m->voltage = 12, m->resistance = 1, m->inductance = 0.05, m->constant = 0.1;
    m->log = log, m->environment = environment;
    return m;
}
void fmi3FreeInstance(Motor *m) { free(m); }
int fmi3EnterInitializationMode(Motor *m, bool has_tolerance, double tolerance, double start, bool has_stop, double stop) {
    m->time = start;
    return OK;
}
int fmi3ExitInitializationMode(Motor *m) { return OK; }
int fmi3Terminate(Motor *m) { return OK; }

static double *place(Motor *m, uint32_t reference) {
    double *all[] = {&m->time, &m->speed, &m->current, &m->voltage, &m->resistance, &m->inductance, &m->constant};
    return reference < 7 ? all[reference] : NULL;
}
int fmi3SetFloat64(Motor *m, const uint32_t *r, size_t n, const double *x, size_t values) {
    for (size_t i = 0; i < n; i++) {
        if (!place(m, r[i])) return ERROR;
        *place(m, r[i]) = x[i];
    }
    return OK;
}
int fmi3GetFloat64(Motor *m, const uint32_t *r, size_t n, double *x, size_t values) {
    for (size_t i = 0; i < n; i++) {
        if (r[i] == 10) x[i] = m->deed == NOT_A_NUMBER && m->steps > 2 ? NAN : m->constant * m->current;
        else if (place(m, r[i])) x[i] = *place(m, r[i]);
        else return ERROR;
    }
    return OK;
}
int fmi3SetInt32(Motor *m, const uint32_t *r, size_t n, const int32_t *x, size_t values) {
    m->deed = x[0];
    return OK;
}
int fmi3DoStep(Motor *m, double t, double h, bool no_return, bool *event, bool *ends, bool *early, double *last) {
    *event = *ends = *early = false;
    *last = t + h;
    if (fabs(t - m->time) > 1e-9) return ERROR;
    double final = (m->voltage - m->constant * m->speed) / m->resistance;
    m->current = final + (m->current - final) * exp(-m->resistance * h / m->inductance);
    m->time = t + h;
    if (++m->steps < 3) return OK;
    switch (m->deed) {
    case CRASH: *(volatile int *)8 = 1; break;
    case HANG: for (;;) sleep(1);
    case EAT: for (;;) memset(malloc(1 << 20), 1, 1 << 20);
    case CHATTER: for (int i = 0; i < 1000; i++) printf("chatter\n"), fputs("more\n", stderr); fflush(stdout); break;
    case FAIL: m->log(m->environment, ERROR, "logStatusError", "the winding is broken"); return ERROR;
    case LATE: *last = t; break;
    case ENDS: *ends = true; break;
    case EXITS: exit(0);
    }
    return OK;
}
