/* Once over the events of a rollout with the holes left open: srm.evaluate.symbolic says what this computes. */

#include "machine.h"

#include <stdlib.h>
#include <string.h>

/* One growing array of the result. */
typedef struct {
    char *data;
    int64_t length, room;
} Grown;

/* The result, in the order of `Entries`. */
typedef struct {
    Grown step, env, first, candidate_from, rule, coefficient_from, sure, truth_from, truth, coefficients, repay_from,
        repay_entry, repay_change, repay_coefficient_from, effect_from, effect_counter, effect_kind;
} Memory;

typedef struct {
    int64_t steps, envs, occurrences, attributes, signals;
    Ints step, env, event, attribute; /* [N], [N], [N], [N, attributes] */
    Reals signal;                       /* [T, B, signals] */
    Flags over, valid;                   /* [T, B] */
} Happened;

typedef struct {
    const Tables *t;
    const Happened *h;
    Memory *memory;
    int32_t *counts;  /* of the env under way, static counters only */
    int32_t *now;     /* [events] the step's occurrence of each event, or NONE */
    int32_t *entry;   /* [T] the env's entry of each step, or NONE */
    uint8_t *known;   /* what is known of each operation of the guard under judgement */
    uint8_t *stack;
    Reals signals;    /* of the step */
    int32_t env, step, before; /* `before`: the first occurrence of this step */
    int32_t episode_from;        /* the first step of the rollout that belongs to this episode */
    int failed;                  /* out of memory */
} Walk;

static int enlarge(Walk *w, Grown *g, int64_t size, int64_t more) {
    int64_t room = g->room ? g->room * 2 : 256;
    while (room < g->length + more) room *= 2;
    char *data = realloc(g->data, (size_t)(room * size));
    if (!data) return w->failed = 1;
    g->data = data;
    g->room = room;
    return 0;
}

static inline void *grow(Walk *w, Grown *g, int64_t size, int64_t more) {
    if (g->length + more > g->room && enlarge(w, g, size, more)) return NULL;
    void *at = g->data + g->length * size;
    g->length += more;
    return at;
}

static void put(Walk *w, Grown *g, int32_t value) {
    int32_t *at = grow(w, g, sizeof *at, 1);
    if (at) *at = value;
}

static void flag(Walk *w, Grown *g, int value) {
    uint8_t *at = grow(w, g, sizeof *at, 1);
    if (at) *at = (uint8_t)value;
}

/* Whether occurrence `at` has the attributes asked for. */
static int passes(const Walk *w, int happen, int at) {
    const Tables *t = w->t;
    Ints have_all = w->h->attribute + (int64_t)at * w->h->attributes;
    for (int test = t->test_from[happen]; test < t->test_from[happen + 1]; test++) {
        int have = have_all[t->test_attribute[test]], want = t->test_value[test];
        if (t->test_event[test] != NONE) { /* the attribute of another event of the step that asks */
            int other = w->now[t->test_event[test]];
            want = other == NONE ? NOTHING : w->h->attribute[(int64_t)other * w->h->attributes + want];
        }
        if (t->test_relation[test] == NEXT_TO) {
            if (have == NOTHING || want == NOTHING) return 0;
            if (abs(have / STRIDE - want / STRIDE) + abs(have % STRIDE - want % STRIDE) != 1) return 0;
        } else if ((have == want) != (t->test_relation[test] == SAME)) {
            return 0;
        }
    }
    return 1;
}

static int occurs(const Walk *w, int happen) {
    int at = w->now[w->t->happen_event[happen]];
    return at != NONE && passes(w, happen, at);
}

/* A group's coefficient with static counters and signals in place. */
static double substitute(const Walk *w, int group) {
    const Tables *t = w->t;
    double total = 0;
    for (int mono = t->mono_from[group]; mono < t->mono_from[group + 1]; mono++) {
        double value = t->mono_coefficient[mono];
        for (int i = t->factor_from[mono]; i < t->factor_from[mono + 1]; i++) {
            int factor = t->factor[i];
            value *= factor >= 0 ? w->counts[factor] : w->signals[-1 - factor];
        }
        total += value;
    }
    return total;
}

static void put_form(Walk *w, int form) {
    const Tables *t = w->t;
    double *at = grow(w, &w->memory->coefficients, sizeof *at, t->form_from[form + 1] - t->form_from[form]);
    if (!at) return;
    for (int group = t->form_from[form]; group < t->form_from[form + 1]; group++) *at++ = substitute(w, group);
}

static int compare_static(const Walk *w, int comparison) {
    int form = w->t->compare_form[comparison];
    double value = 0;
    for (int group = w->t->form_from[form]; group < w->t->form_from[form + 1]; group++) value += substitute(w, group);
    return compare(value, w->t->compare_relation[comparison]);
}

/* FALSE_, TRUE_ or OPEN_; fills `known` for each operation of the guard. */
static int judge(const Walk *w, int rule) {
    const Tables *t = w->t;
    int top = 0, low = t->op_from[rule];
    for (int op = low; op < t->op_from[rule + 1]; op++) {
        int arg = t->op_arg[op], result = TRUE_;
        switch (t->op_code[op]) {
        case EVENT: result = occurs(w, arg) ? TRUE_ : FALSE_; break;
        case COMPARE: result = t->compare_open[arg] ? OPEN_ : compare_static(w, arg) ? TRUE_ : FALSE_; break;
        case NOT:
            top--;
            result = w->stack[top] == OPEN_ ? OPEN_ : TRUE_ - w->stack[top];
            break;
        case AND:
        case OR: {
            int decides = t->op_code[op] == AND ? FALSE_ : TRUE_;
            result = TRUE_ - decides;
            while (arg--) {
                top--;
                if (w->stack[top] == decides) result = decides;
                else if (w->stack[top] == OPEN_ && result != decides) result = OPEN_;
            }
        }
        }
        w->known[op - low] = w->stack[top++] = (uint8_t)result;
    }
    return w->stack[0];
}

/* The first step of hindsight's window. */
static int window_from(const Walk *w, int rule) {
    const Happened *h = w->h;
    if (w->t->rule_since[rule] == NONE) return w->episode_from;
    for (int past = w->before - 1; past >= 0 && h->env[past] == w->env && h->step[past] >= w->episode_from; past--)
        if (h->event[past] == w->t->rule_since[rule]) return h->step[past] + 1;
    return w->episode_from;
}

static int to_change(const Walk *w, int change, int past) {
    const Tables *t = w->t;
    int event = w->h->event[past];
    if (t->change_kind[change] == LAST)
        return event == t->happen_event[t->change_happen[change]] && passes(w, t->change_happen[change], past);
    for (int i = t->change_event_from[change]; i < t->change_event_from[change + 1]; i++)
        if (event == t->change_event[i]) return 1;
    return 0;
}

/* What the rule re-pays if it fires. */
static void put_repays(Walk *w, int rule) {
    const Tables *t = w->t;
    const Happened *h = w->h;
    int since = t->change_from[rule] < t->change_from[rule + 1] ? window_from(w, rule) : 0;
    for (int change = t->change_from[rule]; change < t->change_from[rule + 1]; change++) {
        int32_t value_at = (int32_t)w->memory->coefficients.length;
        put_form(w, t->change_form[change]);
        for (int past = w->before - 1; past >= 0 && h->env[past] == w->env && h->step[past] >= since; past--) {
            if (!to_change(w, change, past)) continue;
            put(w, &w->memory->repay_entry, w->entry[h->step[past]]);
            put(w, &w->memory->repay_change, change);
            put(w, &w->memory->repay_coefficient_from, value_at);
            if (t->change_kind[change] == LAST) break;
        }
    }
}

static void put_candidate(Walk *w, int rule, int verdict) {
    const Tables *t = w->t;
    Memory *m = w->memory;
    put(w, &m->rule, rule);
    flag(w, &m->sure, verdict == TRUE_);
    put(w, &m->repay_from, (int32_t)m->repay_entry.length);
    put(w, &m->coefficient_from, (int32_t)m->coefficients.length);
    put(w, &m->truth_from, (int32_t)m->truth.length);
    if (verdict == OPEN_) {
        int low = t->op_from[rule], ops = t->op_from[rule + 1] - low;
        uint8_t *truth = grow(w, &m->truth, 1, ops);
        if (!truth) return;
        memcpy(truth, w->known, (size_t)ops);
        for (int op = 0; op < ops; op++)
            if (t->op_code[low + op] == COMPARE && w->known[op] == OPEN_) put_form(w, t->compare_form[t->op_arg[low + op]]);
    }
    put_form(w, t->rule_pay[rule]);
    put_repays(w, rule);
}

/* The rules that may hold at this step. Returns the one that surely holds at the static node, or NONE; two that do clash, unless an
   assignment may give the step to a rule above both: then it is for `pay` to say. */
static int put_candidates(Walk *w, int node, int64_t clash[4]) {
    const Tables *t = w->t;
    int low = t->dynamic_node ? 0 : t->rule_from[node], high = t->dynamic_node ? t->rules : t->rule_from[node + 1];
    int sure = NONE, open_tier = INT32_MAX; /* the smallest tier of a rule that only an assignment decides */
    for (int rule = low; rule < high; rule++) {
        int same_node = sure != NONE && t->rule_source[sure] == t->rule_source[rule];
        if (same_node && t->rule_tier[rule] > t->rule_tier[sure]) continue;
        if (t->rule_needs[rule] != NONE && w->now[t->rule_needs[rule]] == NONE) continue;
        int verdict = judge(w, rule);
        if (verdict == FALSE_) continue;
        if (verdict == TRUE_) {
            if (same_node && !t->dynamic_node && open_tier >= t->rule_tier[rule] && clash[0] < 0) {
                clash[0] = w->step, clash[1] = w->env, clash[2] = sure, clash[3] = rule;
            }
            sure = rule;
        } else if (t->rule_tier[rule] < open_tier) {
            open_tier = t->rule_tier[rule];
        }
        put_candidate(w, rule, verdict);
    }
    return t->dynamic_node ? NONE : sure;
}

static int counts_firing(const Tables *t, int counter, int rule) {
    for (int i = t->fired_from[rule]; i < t->fired_from[rule + 1]; i++)
        if (t->fired_counter[i] == counter) return 1;
    return 0;
}

/* Moves the static counters, and notes what happens to the dynamic ones. */
static void count(Walk *w, int node, int fired) {
    const Tables *t = w->t;
    for (int counter = 0; counter < t->counters; counter++) {
        int reset = 0, asked = t->counter_happen[counter];
        for (int i = t->reset_from[counter]; i < t->reset_from[counter + 1]; i++) reset |= occurs(w, t->reset_happen[i]);
        int counted = asked != NONE ? occurs(w, asked) : fired != NONE && counts_firing(t, counter, fired);
        if (t->counter_dynamic[counter] != NONE) {
            if (reset || (asked != NONE && counted)) {
                put(w, &w->memory->effect_counter, counter);
                flag(w, &w->memory->effect_kind, reset ? RESET : COUNT);
            }
        } else if (reset) {
            w->counts[counter] = 0;
        } else if (counted && (t->dynamic_node || t->counter_at[counter * t->nodes + node])) {
            w->counts[counter]++;
        }
    }
}

/* One step at which something happened, or may be paid. Returns the node after it. */
static int visit(Walk *w, int node, int repayable, int *first, int64_t clash[4]) {
    Memory *m = w->memory;
    int32_t candidates = (int32_t)m->rule.length, effects = (int32_t)m->effect_counter.length;
    int fired = put_candidates(w, node, clash);
    count(w, node, fired);
    if (m->rule.length > candidates || m->effect_counter.length > effects || repayable) {
        w->entry[w->step] = (int32_t)m->step.length;
        put(w, &m->step, w->step);
        put(w, &m->env, w->env);
        flag(w, &m->first, *first && w->episode_from > 0);
        put(w, &m->candidate_from, candidates);
        put(w, &m->effect_from, effects);
        *first = 0;
    }
    return fired != NONE && !w->t->rule_open[fired] ? w->t->rule_target[fired] : node;
}

/* The step's events into `now`; what of them matters, and whether hindsight can re-pay the step. */
static int gather_events(Walk *w, int *at, int *repayable) {
    const Happened *h = w->h;
    int matters = 0;
    for (; *at < h->occurrences && h->env[*at] == w->env && h->step[*at] == w->step; ++*at) {
        int event = h->event[*at];
        w->now[event] = *at;
        matters |= w->t->relevant[event];
        *repayable |= w->t->repayable[event];
    }
    return matters;
}

static int walk_env(Walk *w, int node, int *at, int64_t clash[4]) {
    const Tables *t = w->t;
    const Happened *h = w->h;
    Flags over = h->over + w->env, valid = h->valid + w->env;
    int first = 1;
    w->episode_from = 0;
    for (int step = 0; step < h->steps; step++) {
        int64_t cell = step * h->envs;
        int happens = *at < h->occurrences && h->step[*at] == step && h->env[*at] == w->env;
        if (happens || t->every_step) {
            int repayable = 0, matters = t->every_step;
            w->step = step, w->before = *at;
            matters |= gather_events(w, at, &repayable);
            if (matters && valid[cell]) {
                w->signals = h->signal + (cell + w->env) * h->signals;
                node = visit(w, node, repayable, &first, clash);
            }
            for (int past = w->before; past < *at; past++) w->now[h->event[past]] = NONE;
        }
        if (over[cell]) {
            node = t->start, first = 1, w->episode_from = step + 1;
            memset(w->counts, 0, (size_t)t->counters * sizeof *w->counts);
        }
    }
    return node;
}

/* The result as whoever pays it reads it. Both records have the same fields in the same order. */
static void point_at(const Memory *memory, Entries *entries) {
    const Grown *arrays = (const Grown *)memory;
    const void **fields = (const void **)entries;
    _Static_assert(sizeof *memory / sizeof *arrays == sizeof *entries / sizeof *fields, "an entry's fields are listed twice");
    for (size_t i = 0; i < sizeof *memory / sizeof *arrays; i++) fields[i] = arrays[i].data;
}

/* Moves `nodes` [B] and `counts` [B, C] on in place and fills `begun` [B], the step at which the episode under way at the end began
   (0 if it had begun before). Returns 0, or 1 when out of memory. `clash` is step, env and two rules that surely hold
   together, or -1. `entries` points into `memory`, which is Python's to release. */
int srm_walk(const Tables *t, const Happened *h, int32_t *nodes, int32_t *counts, int32_t *begun, Memory *memory,
             Entries *entries, int64_t clash[4]) {
    Walk w = {.t = t, .h = h, .memory = memory};
    w.now = malloc(((size_t)t->events + 1) * sizeof *w.now);
    w.entry = malloc(((size_t)h->steps + 1) * sizeof *w.entry);
    w.known = malloc((size_t)t->longest_guard + 1);
    w.stack = malloc((size_t)t->longest_guard + 1);
    w.failed = !w.now || !w.entry || !w.known || !w.stack;
    memset(clash, -1, 4 * sizeof *clash);
    if (!w.failed) {
        int at = 0;
        for (int event = 0; event < t->events; event++) w.now[event] = NONE;
        for (w.env = 0; w.env < h->envs && !w.failed; w.env++) {
            w.counts = counts + (int64_t)w.env * t->counters;
            nodes[w.env] = walk_env(&w, nodes[w.env], &at, clash);
            begun[w.env] = w.episode_from;
        }
        put(&w, &memory->candidate_from, (int32_t)memory->rule.length);
        put(&w, &memory->effect_from, (int32_t)memory->effect_counter.length);
        put(&w, &memory->repay_from, (int32_t)memory->repay_entry.length);
    }
    free(w.now), free(w.entry), free(w.known), free(w.stack);
    point_at(memory, entries);
    return w.failed;
}

/* The rule that holds at the node, or NONE; two that do clash. Of a machine whose tables have values in place of holes. */
static int choose(Walk *w, int node, int64_t clash[4]) {
    const Tables *t = w->t;
    int chosen = NONE;
    for (int rule = t->rule_from[node]; rule < t->rule_from[node + 1]; rule++) {
        if (chosen != NONE && t->rule_tier[rule] > t->rule_tier[chosen]) break;
        if (t->rule_needs[rule] != NONE && w->now[t->rule_needs[rule]] == NONE) continue;
        if (judge(w, rule) == FALSE_) continue;
        if (chosen != NONE && clash[0] < 0) clash[0] = 0, clash[1] = w->env, clash[2] = chosen, clash[3] = rule;
        if (chosen == NONE) chosen = rule;
    }
    return chosen;
}

/* One step of B envs, each with a machine at S places at once: nodes [B, S] and counts [B, S, C] are moved on, and pay [B, S] and
   rule [B, S] (or NONE) filled. The tables have values in place of holes; hindsight is not looked at. Returns 0, or 1 when out of
   memory. `clash` is 0, the env and two rules that hold together, or -1. */
int srm_step(const Tables *t, const Happened *h, int64_t places, int32_t *nodes, int32_t *counts, double *pay, int32_t *rule,
             int64_t clash[4]) {
    Walk w = {.t = t, .h = h};
    w.now = malloc(((size_t)t->events + 1) * sizeof *w.now);
    w.known = malloc((size_t)t->longest_guard + 1);
    w.stack = malloc((size_t)t->longest_guard + 1);
    w.failed = !w.now || !w.known || !w.stack;
    memset(clash, -1, 4 * sizeof *clash);
    for (int event = 0; event < t->events && !w.failed; event++) w.now[event] = NONE;
    for (int at = 0; w.env < h->envs && !w.failed; w.env++) {
        int first = at;
        for (; at < h->occurrences && h->env[at] == w.env; at++) w.now[h->event[at]] = at;
        w.signals = h->signal + w.env * h->signals;
        for (int64_t place = w.env * places; place < (w.env + 1) * places; place++) {
            w.counts = counts + place * t->counters;
            int fired = h->valid[w.env] ? choose(&w, nodes[place], clash) : NONE;
            pay[place] = 0;
            rule[place] = fired;
            if (fired != NONE)
                for (int group = t->form_from[t->rule_pay[fired]]; group < t->form_from[t->rule_pay[fired] + 1]; group++)
                    pay[place] += substitute(&w, group);
            if (h->valid[w.env]) count(&w, nodes[place], fired);
            if (fired != NONE) nodes[place] = t->rule_target[fired];
        }
        for (; first < at; first++) w.now[h->event[first]] = NONE;
    }
    free(w.now), free(w.known), free(w.stack);
    return w.failed;
}

void srm_release(Memory *memory) {
    Grown *arrays = (Grown *)memory;
    for (size_t i = 0; i < sizeof *memory / sizeof *arrays; i++) free(arrays[i].data);
    memset(memory, 0, sizeof *memory);
}
