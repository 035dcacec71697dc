/* A machine and what is left of a rollout, as Python hands them over: `Tables` mirrors srm.evaluate._native.tables.Tables field by
   field, `Entries` mirrors srm.evaluate._native.compiled.Entries. Lists of lists are one array and the offsets where each begins. */

#ifndef SRM_MACHINE_H
#define SRM_MACHINE_H

#include <math.h>
#include <stdint.h>

enum { EVENT, COMPARE, AND, OR, NOT, TRUE_OP };
enum { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL };
enum { SAME, OTHER, NEXT_TO };
enum { EVERY, LAST };
enum { FALSE_, TRUE_, OPEN_ }; /* what is known of a guard before the holes are */
enum { COUNT, RESET };         /* what an entry does to a dynamic counter */
#define NONE (-1)
#define NOTHING (-1)  /* an attribute that an occurrence does not have */
#define STRIDE 32768  /* a cell is x * STRIDE + y */
#define ROUNDING 1e-9 /* smaller differences are rounding and count as none, as in srm.evaluate.reference */

typedef const int32_t *Ints;
typedef const uint8_t *Flags;
typedef const double *Reals;

typedef struct {
    int32_t start, every_step, dynamic_node, dynamic, holes, nodes, rules, counters, events, longest_guard;
    Flags relevant, repayable;
    Ints rule_from, rule_source, rule_target, rule_tier;
    Flags rule_open;
    Ints rule_pay, rule_since, rule_needs;
    Ints op_from, op_code, op_arg;
    Ints change_from, change_kind, change_form, change_happen, change_event_from, change_event;
    Ints fired_from, fired_counter;
    Ints compare_form, compare_relation;
    Flags compare_open;
    Ints happen_event, test_from, test_attribute, test_relation, test_value, test_event;
    Ints form_from, group_hole, group_dynamic_from, group_dynamic, mono_from;
    Reals mono_coefficient;
    Ints factor_from, factor;
    Ints counter_dynamic, counter_happen;
    Flags counter_at;
    Ints reset_from, reset_happen;
} Tables;

typedef struct {
    Ints step, env;
    Flags first;
    Ints candidate_from, rule, coefficient_from;
    Flags sure;
    Ints truth_from;
    Flags truth;
    Reals coefficients;
    Ints repay_from, repay_entry, repay_change, repay_coefficient_from;
    Ints effect_from, effect_counter;
    Flags effect_kind;
} Entries;

static inline int compare(double value, int relation) {
    switch (relation) {
    case LESS: return value < -ROUNDING;
    case LESS_EQUAL: return value <= ROUNDING;
    case GREATER: return value > ROUNDING;
    case GREATER_EQUAL: return value >= -ROUNDING;
    case EQUAL: return fabs(value) <= ROUNDING;
    default: return fabs(value) > ROUNDING;
    }
}

#endif
