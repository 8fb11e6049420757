(** The checkers as OCaml: [make -C proof checkers] builds a program of them. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Augury Require Import Network Checkers.

Extraction "checkers.ml" Network.network
  is_matching check_matching is_legal check_cut check_prices check_assignment.
