/* MiniGrid: steps and observations of every environment that keeps its rules, and the layouts of DoorKey, KeyCorridor and
   ObstructedMaze (srm.domains.minigrid.grid says what the arrays are).

   The rules and the layouts are those of the `minigrid` package; random numbers are drawn from a sequence of each environment's own. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { UNSEEN, EMPTY, WALL, FLOOR, DOOR, KEY, BALL, BOX, GOAL, LAVA };
enum { OPEN, CLOSED, LOCKED };
enum { RED, GREEN, BLUE, PURPLE, YELLOW, GREY, COLOURS };
enum { LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE };
enum { DOORKEY, KEYCORRIDOR, MAZE_ONE_DOOR, MAZE, MAZE_KEYS_LAST, DRAWN_BEFORE };
enum { NOTHING, SOLVED, LOST };                             /* what an action leads to */
enum { CONTENTS = 0x3F, HOLDS_TARGET = 0x40, TARGET = 0x80 }; /* bits of `inside` */
enum { VIEW = 7, MOST_ROOMS = 3 };

static const int DX[4] = {1, 0, -1, 0}, DY[4] = {0, 1, 0, -1}; /* right, down, left, up */

/* As srm.domains.minigrid.grid.Layout has them */
typedef struct {
    int64_t kind, width, height, most_steps, limit, sees_through, solved_by;
    int64_t room, rows, columns, agent_column, agent_row, in_box, blocked, quarters;
} Layout;

typedef struct {
    const Layout *layout;
    uint8_t *cells, *inside, *carried;
    int16_t *agent;
    uint64_t *rng;
} World;

typedef int Doors[MOST_ROOMS][MOST_ROOMS][4][2]; /* [column][row][side]: x, y */

static uint8_t *cell(World *world, int x, int y) { return world->cells + 3 * (x * world->layout->height + y); }

static uint8_t *inside(World *world, int x, int y) { return world->inside + x * world->layout->height + y; }

static void put(uint8_t *at, int kind, int colour, int state) {
    at[0] = (uint8_t)kind;
    at[1] = (uint8_t)colour;
    at[2] = (uint8_t)state;
}

/* A number below `count`, by SplitMix64; that 2^64 is no multiple of so small a count cannot be noticed. */
static int below(World *world, int count) {
    uint64_t z = *world->rng += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (int)((z ^ (z >> 31)) % (uint64_t)count);
}

/* New episodes */

static void wall_around(World *world, int left, int top, int width, int height) {
    for (int x = left; x < left + width; x++)
        for (int y = top; y < top + height; y++)
            if (x == left || y == top || x == left + width - 1 || y == top + height - 1) put(cell(world, x, y), WALL, GREY, 0);
}

/* A random empty cell of a rectangle, at least so many steps from the agent. */
static uint8_t *free_cell(World *world, int left, int top, int width, int height, int apart, int *x, int *y) {
    while (1) {
        *x = left + below(world, width);
        *y = top + below(world, height);
        uint8_t *at = cell(world, *x, *y);
        if (at[0] == EMPTY && abs(world->agent[0] - *x) + abs(world->agent[1] - *y) >= apart) return at;
    }
}

/* Puts the agent on an empty cell of a rectangle; with `aside` not right in front of an object. */
static void enter(World *world, int left, int top, int width, int height, int aside) {
    int16_t *agent = world->agent;
    int ahead, x, y;
    do {
        free_cell(world, left, top, width, height, 0, &x, &y);
        agent[0] = (int16_t)x;
        agent[1] = (int16_t)y;
        agent[2] = (int16_t)below(world, 4);
        ahead = cell(world, x + DX[agent[2]], y + DY[agent[2]])[0];
    } while (aside && ahead != EMPTY && ahead != WALL);
}

static void door_key(World *world) {
    int width = (int)world->layout->width, height = (int)world->layout->height, x, y;
    wall_around(world, 0, 0, width, height);
    put(cell(world, width - 2, height - 2), GOAL, GREEN, 0);
    int split = 2 + below(world, width - 4);
    for (y = 0; y < height; y++) put(cell(world, split, y), WALL, GREY, 0);
    enter(world, 0, 0, split, height, 0);
    put(cell(world, split, 1 + below(world, height - 3)), DOOR, YELLOW, LOCKED);
    put(free_cell(world, 0, 0, split, height, 1, &x, &y), KEY, YELLOW, 0);
}

/* An object on a random cell of a room. */
static void place(World *world, int column, int row, int kind, int colour, int holds) {
    int room = (int)world->layout->room, span = room - 1, x, y;
    put(free_cell(world, column * span, row * span, room, room, 2, &x, &y), kind, colour, 0);
    *inside(world, x, y) = (uint8_t)holds;
}

/* The walls of all rooms, and where a door may be between two of them. */
static void rooms(World *world, Doors doors) {
    int room = (int)world->layout->room, span = room - 1;
    int rows = (int)world->layout->rows, columns = (int)world->layout->columns;
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            wall_around(world, column * span, row * span, room, room);
            if (column < columns - 1) {
                int *door = doors[column][row][0];
                door[0] = (column + 1) * span;
                door[1] = row * span + 1 + below(world, room - 2);
                memcpy(doors[column + 1][row][2], door, 2 * sizeof(int));
            }
            if (row < rows - 1) {
                int *door = doors[column][row][1];
                door[0] = column * span + 1 + below(world, room - 2);
                door[1] = (row + 1) * span;
                memcpy(doors[column][row + 1][3], door, 2 * sizeof(int));
            }
        }
    world->agent[0] = (int16_t)(columns / 2 * span + room / 2); /* objects keep away from there, wherever it enters later */
    world->agent[1] = (int16_t)(rows / 2 * span + room / 2);
}

/* Marks every room that can be reached from one; returns how many. */
static int reach(int joined[MOST_ROOMS][MOST_ROOMS][4], int reached[MOST_ROOMS][MOST_ROOMS], int column, int row) {
    if (reached[column][row]) return 0;
    reached[column][row] = 1;
    int count = 1;
    for (int side = 0; side < 4; side++)
        if (joined[column][row][side]) count += reach(joined, reached, column + DX[side], row + DY[side]);
    return count;
}

static void key_corridor(World *world, Doors doors) {
    int room = (int)world->layout->room, span = room - 1;
    int rows = (int)world->layout->rows, columns = (int)world->layout->columns;
    int joined[MOST_ROOMS][MOST_ROOMS][4] = {0};
    for (int row = 1; row < rows; row++) { /* the middle rooms become a hallway */
        for (int x = span + 1; x < 2 * span; x++) put(cell(world, x, row * span), EMPTY, 0, 0);
        joined[1][row][3] = joined[1][row - 1][1] = 1;
    }
    int last = below(world, rows), colour = below(world, COLOURS); /* the room behind the locked door */
    put(cell(world, doors[2][last][2][0], doors[2][last][2][1]), DOOR, colour, LOCKED);
    joined[2][last][2] = joined[1][last][0] = 1;
    place(world, 2, last, BALL, below(world, COLOURS), TARGET);
    place(world, 0, below(world, rows), KEY, colour, 0);
    enter(world, span, rows / 2 * span, room, room, 1);
    while (1) {
        int reached[MOST_ROOMS][MOST_ROOMS] = {0};
        if (reach(joined, reached, 1, rows / 2) == rows * columns) return;
        int column = below(world, columns), row = below(world, rows), side = below(world, 4);
        int next_column = column + DX[side], next_row = row + DY[side];
        if (next_column < 0 || next_row < 0 || next_column >= columns || next_row >= rows) continue;
        if (joined[column][row][side]) continue;
        if ((column == 2 && row == last) || (next_column == 2 && next_row == last)) continue;
        const int *door = doors[column][row][side];
        put(cell(world, door[0], door[1]), DOOR, below(world, COLOURS), CLOSED);
        joined[column][row][side] = joined[next_column][next_row][(side + 2) % 4] = 1;
    }
}

/* A locked door of a room, with a ball in front of it if doors are blocked, whatever stood there. */
static void lock(World *world, Doors doors, int column, int row, int side, int colour) {
    const int *door = doors[column][row][side];
    put(cell(world, door[0], door[1]), DOOR, colour, LOCKED);
    if (!world->layout->blocked) return;
    put(cell(world, door[0] - DX[side], door[1] - DY[side]), BALL, GREEN, 0);
    *inside(world, door[0] - DX[side], door[1] - DY[side]) = 0;
}

/* The key of a door, in a box if keys are hidden. */
static void hide(World *world, int column, int row, int colour) {
    if (world->layout->in_box)
        place(world, column, row, BOX, GREY, 1 + colour);
    else
        place(world, column, row, KEY, colour, 0);
}

static void maze(World *world, Doors doors) {
    const Layout *layout = world->layout;
    int span = (int)layout->room - 1, colours[COLOURS] = {RED, GREEN, BLUE, PURPLE, YELLOW, GREY};
    for (int left = COLOURS; left > 1; left--) {
        int other = below(world, left), colour = colours[other];
        colours[other] = colours[left - 1];
        colours[left - 1] = colour;
    }
    if (layout->kind == MAZE_ONE_DOOR) {
        lock(world, doors, 0, 0, 0, colours[0]);
        hide(world, 0, 0, colours[0]);
        place(world, 1, 0, BALL, BLUE, TARGET);
    } else {
        for (int quarter = 0; quarter < layout->quarters; quarter++) {
            int column = 1 + DX[quarter], row = 1 + DY[quarter]; /* the room beside the middle one */
            int sides[2] = {(quarter + 3) % 4, (quarter + 1) % 4};
            int of[2] = {colours[(quarter + COLOURS - 1) % COLOURS], colours[quarter + 1]};
            const int *door = doors[1][1][quarter];
            put(cell(world, door[0], door[1]), DOOR, colours[quarter], CLOSED);
            for (int k = 0; k < 2; k++) {
                lock(world, doors, column, row, sides[k], of[k]);
                if (layout->kind == MAZE) hide(world, column, row, of[k]);
            }
            for (int k = 0; k < 2 && layout->kind == MAZE_KEYS_LAST; k++) hide(world, column, row, of[k]);
        }
        static const int corners[4][2] = {{2, 0}, {2, 2}, {0, 2}, {0, 0}};
        const int *corner = corners[below(world, (int)layout->quarters)];
        place(world, corner[0], corner[1], BALL, BLUE, TARGET);
    }
    int room = (int)layout->room;
    enter(world, (int)layout->agent_column * span, (int)layout->agent_row * span, room, room, 1);
}

static void begin(World *world) {
    memset(world->carried, 0, 4);
    if (world->layout->kind == DRAWN_BEFORE) return; /* the caller has laid it out */
    Doors doors;
    int size = (int)(world->layout->width * world->layout->height);
    for (int at = 0; at < size; at++) put(world->cells + 3 * at, EMPTY, 0, 0);
    memset(world->inside, 0, (size_t)size);
    world->agent[0] = world->agent[1] = -1;
    if (world->layout->kind == DOORKEY) {
        door_key(world);
        return;
    }
    rooms(world, doors);
    if (world->layout->kind == KEYCORRIDOR)
        key_corridor(world, doors);
    else
        maze(world, doors);
}

/* Steps */

/* Does what an action does; returns whether the task is solved by it, or lost. */
static int act(World *world, int64_t action) {
    int16_t *agent = world->agent;
    uint8_t *carried = world->carried;
    int x = agent[0] + DX[agent[2]], y = agent[1] + DY[agent[2]];
    if (action == LEFT || action == RIGHT) {
        agent[2] = (int16_t)((agent[2] + (action == LEFT ? 3 : 1)) % 4);
        return NOTHING;
    }
    /* An agent in a doorway of the outermost wall may look out of the grid, where MiniGrid fails; here nothing is there to act on. */
    if (x < 0 || y < 0 || x >= world->layout->width || y >= world->layout->height) return NOTHING;
    uint8_t *ahead = cell(world, x, y), *holds = inside(world, x, y), kind = ahead[0];
    switch (action) {
    case FORWARD:
        if (kind == EMPTY || kind == FLOOR || kind == GOAL || kind == LAVA || (kind == DOOR && ahead[2] == OPEN)) {
            agent[0] = (int16_t)x;
            agent[1] = (int16_t)y;
        }
        return kind == GOAL ? SOLVED : kind == LAVA ? LOST : NOTHING;
    case PICK_UP:
        if (carried[0] || (kind != KEY && kind != BALL && kind != BOX)) return NOTHING;
        memcpy(carried, ahead, 3);
        carried[3] = *holds;
        put(ahead, EMPTY, 0, 0);
        *holds = 0;
        return carried[3] & TARGET && world->layout->solved_by == PICK_UP ? SOLVED : NOTHING;
    case DROP:
        if (kind != EMPTY || !carried[0]) return NOTHING;
        memcpy(ahead, carried, 3);
        *holds = carried[3];
        memset(carried, 0, 4);
        return NOTHING;
    case TOGGLE:
        if (kind == BOX) {
            int held = *holds & CONTENTS;
            if (held)
                put(ahead, KEY + (held - 1) / COLOURS, (held - 1) % COLOURS, 0);
            else
                put(ahead, EMPTY, 0, 0);
            *holds = *holds & HOLDS_TARGET ? TARGET : 0;
            return NOTHING;
        }
        if (kind != DOOR) return NOTHING;
        if (ahead[2] != LOCKED)
            ahead[2] = ahead[2] == OPEN ? CLOSED : OPEN;
        else if (carried[0] == KEY && carried[1] == ahead[1])
            ahead[2] = OPEN;
        return ahead[2] == OPEN && *holds & TARGET && world->layout->solved_by == TOGGLE ? SOLVED : NOTHING;
    default: return NOTHING; /* done, which does nothing */
    }
}

/* What the agent sees, [7][7][3]: itself at (3, 6), facing up, and nothing of what is hidden (unless it sees through walls). */
static void see(World *world, uint8_t *view) {
    int dx = DX[world->agent[2]], dy = DY[world->agent[2]];
    uint8_t shown[VIEW][VIEW] = {0}, hides[VIEW][VIEW];
    for (int i = 0; i < VIEW; i++)
        for (int j = 0; j < VIEW; j++) {
            int forward = VIEW - 1 - j, aside = i - VIEW / 2;
            int x = world->agent[0] + dx * forward - dy * aside, y = world->agent[1] + dy * forward + dx * aside;
            uint8_t *at = view + 3 * (i * VIEW + j);
            if (x < 0 || y < 0 || x >= world->layout->width || y >= world->layout->height)
                put(at, WALL, GREY, 0);
            else
                memcpy(at, cell(world, x, y), 3);
            hides[i][j] = at[0] == WALL || (at[0] == DOOR && at[2] != OPEN);
        }
    if (world->layout->sees_through) memset(shown, 1, sizeof(shown));
    shown[VIEW / 2][VIEW - 1] = 1;
    for (int j = VIEW - 1; j >= 0 && !world->layout->sees_through; j--) { /* from the agent's row on, first to the right, then to the left, each time upwards too */
        for (int i = 0; i < VIEW - 1; i++)
            if (shown[i][j] && !hides[i][j]) {
                shown[i + 1][j] = 1;
                if (j > 0) shown[i + 1][j - 1] = shown[i][j - 1] = 1;
            }
        for (int i = VIEW - 1; i > 0; i--)
            if (shown[i][j] && !hides[i][j]) {
                shown[i - 1][j] = 1;
                if (j > 0) shown[i - 1][j - 1] = shown[i][j - 1] = 1;
            }
    }
    for (int at = 0; at < VIEW * VIEW; at++)
        if (!((uint8_t *)shown)[at]) put(view + 3 * at, UNSEEN, 0, 0);
    uint8_t *own = view + 3 * (VIEW / 2 * VIEW + VIEW - 1);
    if (world->carried[0])
        memcpy(own, world->carried, 3);
    else
        put(own, EMPTY, 0, 0);
}

enum { CELLS, INSIDE, AGENT, CARRIED, STEPS, RNG, OVER, ACTIONS, LAYOUT, REWARD, ENDED, CUT, VIEWS, ARRAYS };

/* step(arrays in this order): one step of all worlds; one that is over begins anew instead. */
static PyObject *step(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    Py_buffer arrays[ARRAYS];
    if (count != ARRAYS) return PyErr_Format(PyExc_TypeError, "step takes %d arrays", ARRAYS);
    for (int index = 0; index < ARRAYS; index++)
        if (PyObject_GetBuffer(arguments[index], &arrays[index], PyBUF_C_CONTIGUOUS) < 0) {
            while (index--) PyBuffer_Release(&arrays[index]);
            return NULL;
        }
    const Layout *layout = arrays[LAYOUT].buf;
    Py_ssize_t size = layout->width * layout->height, worlds = arrays[OVER].len;
    for (Py_ssize_t b = 0; b < worlds; b++) {
        int32_t *steps = (int32_t *)arrays[STEPS].buf + b;
        World world = {
            .layout = layout,
            .cells = (uint8_t *)arrays[CELLS].buf + 3 * size * b,
            .inside = (uint8_t *)arrays[INSIDE].buf + size * b,
            .carried = (uint8_t *)arrays[CARRIED].buf + 4 * b,
            .agent = (int16_t *)arrays[AGENT].buf + 3 * b,
            .rng = (uint64_t *)arrays[RNG].buf + b,
        };
        int outcome = NOTHING, over = ((uint8_t *)arrays[OVER].buf)[b];
        if (over) {
            begin(&world);
            *steps = 0;
        } else {
            *steps += 1;
            outcome = act(&world, ((int64_t *)arrays[ACTIONS].buf)[b]);
        }
        ((float *)arrays[REWARD].buf)[b] = outcome == SOLVED ? (float)(1 - 0.9 * ((double)*steps / (double)layout->most_steps)) : 0.0f;
        ((uint8_t *)arrays[ENDED].buf)[b] = outcome != NOTHING;
        ((uint8_t *)arrays[CUT].buf)[b] = (uint8_t)(!over && outcome == NOTHING && *steps >= layout->limit);
        see(&world, (uint8_t *)arrays[VIEWS].buf + 3 * VIEW * VIEW * b);
    }
    for (int index = 0; index < ARRAYS; index++) PyBuffer_Release(&arrays[index]);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"step", (PyCFunction)(void (*)(void))step, METH_FASTCALL, "One step of all worlds; one that is over begins anew instead."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_grid", .m_size = 0, .m_methods = functions};

PyMODINIT_FUNC PyInit__grid(void) { return PyModule_Create(&definition); }
