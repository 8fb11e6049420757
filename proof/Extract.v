(** The checkers, and the replay of rounds, as OCaml: [make proof] builds a program of them. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Augury Require Import Network Rules Search FordFulkerson Checkers Replay Shipped.

Extraction "checkers.ml" Network.network
  is_matching check_matching is_legal check_cut check_prices check_assignment
  shipped_table replayed push.
