"""A MiniGrid environment that is not in the table of tasks: rooms in a row, closed doors between them, the goal in the last.

    srm learn examples.rooms:TASK --machine examples/rooms.srm --demos rooms.npz --frames 400000

The words of MiniGrid, its events and its planner serve any environment whose target is the goal (None), a ball ("ball", "blue ball") or a box
("box", "red box").
"""

from dataclasses import replace

from srm.domains.minigrid.tasks import minigrid_task

TASK = minigrid_task(
    None,
    name="rooms",
    meaning="through the doors to the goal",
    env_id="MiniGrid-MultiRoom-N2-S4-v0",
    frames=400_000,
)
LARGER = replace(TASK, env_id="MiniGrid-MultiRoom-N4-S5-v0")  # where the learnt machine may pay next
