"""What this package adds to the command line, to `lamcts.objectives` and to `lamcts.plot`."""

from lamcts.utils.wings import Command, Wing

WING = Wing(
    objectives=["lamcts.movement.kernels.lu_grid", "lamcts.movement.kernels.tiling"],
    commands={
        "bound": Command("lamcts.movement.cli.bound", "print the data movement of a loop nest that no schedule avoids"),
        "movement": Command(
            "lamcts.movement.cli.movement",
            "print the exact cache misses of a loop nest at each level of a memory, next to the lower bound",
        ),
    },
    figures={"misses": "lamcts.movement.plot"},
)
