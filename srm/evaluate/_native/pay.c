/* What a machine pays under K assignments at once: srm.evaluate.batched says what this computes. The innermost loops run over
   the assignments, which lie next to each other. */

#include "machine.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const Tables *t;
    const Entries *e;
    int64_t count; /* K */
    Reals holes;   /* [H, K] */
    int32_t *node; /* [K] of the env under way */
    double *moving; /* [D, K] dynamic counters of the env under way */
    double *value;  /* [K] */
    uint8_t *claimed; /* [K] the assignments under which the candidate fires */
    uint8_t *stack;   /* [deepest, K] */
    Ints rows;        /* [N, H] where the gradients of an entry along a hole are kept, or NONE */
    double *gradients;   /* [rows, K], or NULL */
    double *contribution;  /* [K] what the entry under way brings, or NULL */
} Run;

static void add_group(const Run *r, int group, double coefficient, double *out) {
    const Tables *t = r->t;
    int64_t count = r->count;
    int hole = t->group_hole[group], low = t->group_dynamic_from[group], high = t->group_dynamic_from[group + 1];
    Reals holes = r->holes + (hole == NONE ? 0 : hole * count);
    if (low == high && hole == NONE) {
        for (int64_t k = 0; k < count; k++) out[k] += coefficient;
    } else if (low == high) {
        for (int64_t k = 0; k < count; k++) out[k] += coefficient * holes[k];
    } else {
        for (int64_t k = 0; k < count; k++) {
            double value = hole == NONE ? coefficient : coefficient * holes[k];
            for (int i = low; i < high; i++) value *= r->moving[t->group_dynamic[i] * count + k];
            out[k] += value;
        }
    }
}

/* A form under each assignment, into `out`; returns where the next form's coefficients begin. */
static int evaluate(const Run *r, int form, int at, double *out) {
    memset(out, 0, (size_t)r->count * sizeof *out);
    for (int group = r->t->form_from[form]; group < r->t->form_from[form + 1]; group++, at++)
        if (r->e->coefficients[at] != 0) add_group(r, group, r->e->coefficients[at], out);
    return at;
}

/* Adds d form / d holes to the entry's gradients where the candidate fires. */
static void differentiate(const Run *r, int form, int at, int entry) {
    const Tables *t = r->t;
    for (int group = t->form_from[form]; group < t->form_from[form + 1]; group++, at++) {
        double coefficient = r->e->coefficients[at];
        int hole = t->group_hole[group], low = t->group_dynamic_from[group], high = t->group_dynamic_from[group + 1];
        if (hole == NONE || coefficient == 0) continue;
        double *gradient = r->gradients + r->rows[(int64_t)entry * t->holes + hole] * r->count;
        for (int64_t k = 0; low == high && k < r->count; k++) gradient[k] += r->claimed[k] ? coefficient : 0;
        for (int64_t k = 0; low < high && k < r->count; k++) {
            double value = coefficient;
            for (int i = low; i < high; i++) value *= r->moving[t->group_dynamic[i] * r->count + k];
            gradient[k] += r->claimed[k] ? value : 0;
        }
    }
}

/* Forgets the gradients of the entry's earlier pay where the candidate fires. */
static void forget_gradients(const Run *r, int entry) {
    Ints rows = r->rows + (int64_t)entry * r->t->holes;
    for (int hole = 0; hole < r->t->holes; hole++)
        for (int64_t k = 0; rows[hole] != NONE && k < r->count; k++)
            if (r->claimed[k]) r->gradients[rows[hole] * r->count + k] = 0;
}

/* One loop for each relation, so that each can work on several assignments at once. */
#define EACH(relation)                                                                                                         \
    case relation:                                                                                                             \
        for (int64_t k = 0; k < count; k++) out[k] = (uint8_t)compare(value[k], relation);                                     \
        break
static void compare_all(const double *value, int relation, int64_t count, uint8_t *out) {
    switch (relation) {
        EACH(LESS);
        EACH(LESS_EQUAL);
        EACH(GREATER);
        EACH(GREATER_EQUAL);
        EACH(EQUAL);
        EACH(UNEQUAL);
    }
}
#undef EACH

/* An open guard under each assignment, into the bottom of the stack; returns where the pay's coefficients begin. */
static int hold(const Run *r, int rule, int candidate) {
    const Tables *t = r->t;
    const Entries *e = r->e;
    int64_t count = r->count;
    int at = e->coefficient_from[candidate], known = e->truth_from[candidate];
    uint8_t *top = r->stack; /* the first free row */
    for (int op = t->op_from[rule]; op < t->op_from[rule + 1]; op++, known++) {
        int code = t->op_code[op], arg = t->op_arg[op];
        if (code == COMPARE && e->truth[known] == OPEN_) {
            at = evaluate(r, t->compare_form[arg], at, r->value);
            compare_all(r->value, t->compare_relation[arg], count, top);
            top += count;
        } else if (code == NOT) {
            for (int64_t k = 0; k < count; k++) top[k - count] = !top[k - count];
        } else if (code == AND || code == OR) {
            while (--arg > 0) {
                top -= count;
                for (int64_t k = 0; k < count; k++)
                    top[k - count] = code == AND ? top[k - count] & top[k] : top[k - count] | top[k];
            }
        } else { /* an event, a comparison without holes, or `always`: known already */
            memset(top, e->truth[known] != FALSE_, (size_t)count);
            top += count;
        }
    }
    return at;
}

/* Gives the step to the rule wherever it holds and no rule above it fired; returns an assignment that two rules claim. The first
   candidate of an entry, most often the only one, has nobody to yield to. */
static int64_t claim(const Run *r, int rule, int first, int32_t *fired) {
    const Tables *t = r->t;
    int64_t twice = NONE;
    if (t->dynamic_node)
        for (int64_t k = 0; k < r->count; k++) r->stack[k] &= r->node[k] == t->rule_source[rule];
    if (first) {
        for (int64_t k = 0; k < r->count; k++) fired[k] = r->stack[k] ? rule : NONE;
        memcpy(r->claimed, r->stack, (size_t)r->count);
        return NONE;
    }
    for (int64_t k = 0; k < r->count; k++) {
        if (r->stack[k] && fired[k] != NONE && t->rule_tier[fired[k]] == t->rule_tier[rule]) twice = k;
        r->claimed[k] = r->stack[k] && fired[k] == NONE;
        if (r->claimed[k]) fired[k] = rule;
    }
    return twice;
}

/* Dynamic counters and nodes after an entry: firings, then what the events counted or reset, then the node. */
static void move(const Run *r, int entry, const int32_t *fired) {
    const Tables *t = r->t;
    const Entries *e = r->e;
    for (int candidate = e->candidate_from[entry]; candidate < e->candidate_from[entry + 1]; candidate++) {
        int rule = e->rule[candidate];
        for (int i = t->fired_from[rule]; i < t->fired_from[rule + 1]; i++) {
            int counter = t->fired_counter[i];
            if (t->counter_dynamic[counter] == NONE || !t->counter_at[counter * t->nodes + t->rule_source[rule]]) continue;
            double *moving = r->moving + t->counter_dynamic[counter] * r->count;
            for (int64_t k = 0; k < r->count; k++) moving[k] += fired[k] == rule;
        }
    }
    for (int effect = e->effect_from[entry]; effect < e->effect_from[entry + 1]; effect++) {
        int counter = e->effect_counter[effect];
        double *moving = r->moving + t->counter_dynamic[counter] * r->count;
        for (int64_t k = 0; k < r->count; k++) {
            if (e->effect_kind[effect] == RESET) moving[k] = 0;
            else moving[k] += t->counter_at[counter * t->nodes + r->node[k]];
        }
    }
    if (t->dynamic_node)
        for (int64_t k = 0; k < r->count; k++)
            if (fired[k] != NONE) r->node[k] = t->rule_target[fired[k]];
}

/* Pays the entry by the form where the candidate fires. */
static void settle(const Run *r, int form, int at, int entry, double *paid) {
    evaluate(r, form, at, r->value);
    paid += entry * r->count;
    for (int64_t k = 0; r->contribution && k < r->count; k++) r->contribution[k] += r->claimed[k] ? r->value[k] - paid[k] : 0;
    for (int64_t k = 0; k < r->count; k++) paid[k] = r->claimed[k] ? r->value[k] : paid[k];
    if (r->gradients) differentiate(r, form, at, entry);
}

static void repay(const Run *r, int candidate, double *paid) {
    const Entries *e = r->e;
    for (int i = e->repay_from[candidate]; i < e->repay_from[candidate + 1]; i++) {
        if (r->gradients) forget_gradients(r, e->repay_entry[i]);
        settle(r, r->t->change_form[e->repay_change[i]], e->repay_coefficient_from[i], e->repay_entry[i], paid);
    }
}

/* A rule that fires under every assignment, and is the only one: most are. */
static void fire_surely(const Run *r, int entry, int candidate, int32_t *firing, double *paid) {
    int rule = r->e->rule[candidate], form = r->t->rule_pay[rule], at = r->e->coefficient_from[candidate];
    for (int64_t k = 0; k < r->count; k++) firing[k] = rule;
    if (!paid) return;
    evaluate(r, form, at, paid + entry * r->count);
    if (r->contribution) memcpy(r->contribution, paid + entry * r->count, (size_t)r->count * sizeof *paid);
    if (r->gradients || r->e->repay_from[candidate] < r->e->repay_from[candidate + 1])
        memset(r->claimed, 1, (size_t)r->count);
    if (r->gradients) differentiate(r, form, at, entry);
    repay(r, candidate, paid);
}

/* The candidates of an entry, in the order of the text; `clash` names two that hold together. */
static void fire(const Run *r, int entry, int32_t *firing, double *paid, int64_t clash[4]) {
    const Entries *e = r->e;
    int first = e->candidate_from[entry], end = e->candidate_from[entry + 1];
    if (end - first == 1 && e->sure[first] && !r->t->dynamic_node) {
        fire_surely(r, entry, first, firing, paid);
        return;
    }
    for (int64_t k = 0; first == end && k < r->count; k++) firing[k] = NONE;
    for (int candidate = first; candidate < end; candidate++) {
        int rule = e->rule[candidate], at = e->coefficient_from[candidate];
        if (e->sure[candidate]) memset(r->stack, 1, (size_t)r->count);
        else at = hold(r, rule, candidate);
        int64_t twice = claim(r, rule, candidate == first, firing);
        if (twice != NONE && clash[0] < 0) clash[0] = entry, clash[1] = firing[twice], clash[2] = rule, clash[3] = twice;
        if (!paid) continue;
        settle(r, r->t->rule_pay[rule], at, entry, paid);
        repay(r, candidate, paid);
    }
}

static void forget_episode(const Run *r) {
    for (int64_t k = 0; k < r->count; k++) r->node[k] = r->t->start;
    memset(r->moving, 0, (size_t)(r->t->dynamic * r->count) * sizeof *r->moving);
}

/* Fills paid [N, K], fired [N, K], and unless NULL gradients [rows, K] and contribution [N, K], for all entries; or (`chosen` given)
   only moves on along those entries, which have been paid before. What an entry contributes is what its rule pays at once and what
   hindsight adds to earlier entries of the rollout: both sum to the same. Moves nodes [B, K] and moving [B, D, K] on. Returns 0, or
   1 when out of memory. `clash` is entry, two rules and the assignment under which both hold, or -1. */
int srm_pay(const Tables *t, const Entries *e, Ints chosen, int64_t entries, int64_t count, Reals holes, int32_t *nodes,
            double *moving, double *paid, Ints rows, double *gradients, double *contribution, int32_t *fired, int64_t clash[4]) {
    Run r = {.t = t, .e = e, .count = count, .holes = holes, .rows = rows, .gradients = gradients};
    r.value = malloc(((size_t)count + 1) * sizeof *r.value);
    r.claimed = malloc((size_t)count + 1);
    r.stack = malloc(((size_t)t->longest_guard + 1) * (size_t)count + 1);
    int32_t *unkept = malloc(((size_t)count + 1) * sizeof *unkept);
    int failed = !r.value || !r.claimed || !r.stack || !unkept;
    memset(clash, -1, 4 * sizeof *clash);
    for (int64_t i = 0; i < entries && !failed; i++) {
        int entry = chosen ? chosen[i] : (int)i, env = e->env[entry];
        int32_t *firing = chosen ? unkept : fired + i * count;
        r.node = nodes + env * count;
        r.contribution = contribution ? contribution + i * count : NULL;
        r.moving = moving + (int64_t)env * t->dynamic * count;
        if (e->first[entry]) forget_episode(&r);
        fire(&r, entry, firing, paid, clash);
        if (t->dynamic || t->dynamic_node) move(&r, entry, firing);
    }
    free(r.value), free(r.claimed), free(r.stack), free(unkept);
    return failed;
}

static void mark(const Tables *t, const Entries *e, int form, int at, int entry, int32_t *rows) {
    for (int group = t->form_from[form]; group < t->form_from[form + 1]; group++, at++)
        if (t->group_hole[group] != NONE && e->coefficients[at] != 0) rows[(int64_t)entry * t->holes + t->group_hole[group]] = 0;
}

/* Where an open guard's pay begins: after the comparisons that are open. */
static int pay_at(const Tables *t, const Entries *e, int candidate) {
    int rule = e->rule[candidate], at = e->coefficient_from[candidate], known = e->truth_from[candidate];
    for (int op = t->op_from[rule]; !e->sure[candidate] && op < t->op_from[rule + 1]; op++, known++)
        if (t->op_code[op] == COMPARE && e->truth[known] == OPEN_) {
            int form = t->compare_form[t->op_arg[op]];
            at += t->form_from[form + 1] - t->form_from[form];
        }
    return at;
}

/* Numbers the pairs of an entry and a hole that the entry's pay can depend on, [N, H], the others being NONE; returns how many. */
int64_t srm_rows(const Tables *t, const Entries *e, int64_t entries, int32_t *rows) {
    int64_t pairs = entries * t->holes, count = 0;
    for (int64_t i = 0; i < pairs; i++) rows[i] = NONE;
    for (int entry = 0; entry < entries; entry++)
        for (int candidate = e->candidate_from[entry]; candidate < e->candidate_from[entry + 1]; candidate++) {
            mark(t, e, t->rule_pay[e->rule[candidate]], pay_at(t, e, candidate), entry, rows);
            for (int i = e->repay_from[candidate]; i < e->repay_from[candidate + 1]; i++)
                mark(t, e, t->change_form[e->repay_change[i]], e->repay_coefficient_from[i], e->repay_entry[i], rows);
        }
    for (int64_t i = 0; i < pairs; i++)
        if (rows[i] != NONE) rows[i] = (int32_t)count++;
    return count;
}
