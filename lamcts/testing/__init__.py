"""Contract suites for samplers, spaces, splitters, objectives and pruners of your own.

    import lamcts.testing
    lamcts.testing.check_sampler(MySampler())
    lamcts.testing.check_columns(MySampler())  # under constraints, and with several objectives

Each check raises ContractError, an AssertionError whose message says what was expected and what it got. The checks use
public names only and need no test runner.
"""

from lamcts.testing.objectives import check_objective, check_pruner
from lamcts.testing.samplers import check_columns, check_sampler
from lamcts.testing.search import ContractError
from lamcts.testing.spaces import check_space
from lamcts.testing.splitters import check_splitter

__all__ = ["ContractError", "check_columns", "check_objective", "check_pruner", "check_sampler", "check_space"]
__all__ += ["check_splitter"]
