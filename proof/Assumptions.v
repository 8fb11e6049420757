(** What the theorems rest on: printed, and compared with assumptions.txt. *)
From Augury Require Import Judge FordFulkerson Phases Costs Checkers Table Main.

Goal True. idtac "A run that looks decisions up (shipped_table_is_exact):". Abort.
Print Assumptions shipped_table_is_exact.
Goal True. idtac "Every run can be brought to its end (run_ends, primal_dual_ends):". Abort.
Print Assumptions run_ends.
Print Assumptions primal_dual_ends.
Goal True. idtac "The judge and phases (judge_keeps_legal, phase_paths_are_shortest, search_levels):". Abort.
Print Assumptions judge_keeps_legal.
Print Assumptions phase_paths_are_shortest.
Print Assumptions search_levels.
Goal True. idtac "The checkers (matching, cut, its completeness, prices, assignment):". Abort.
Print Assumptions check_matching_sound.
Print Assumptions check_cut_sound.
Print Assumptions check_cut_complete.
Print Assumptions check_both_sound.
Print Assumptions check_assignment_sound.
Goal True. idtac "A run that evaluates the network in floating point (shipped_network_is_exact):". Abort.
Print Assumptions shipped_network_is_exact.
