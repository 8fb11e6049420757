(** Every case of the shipped weights, with its margin: computed, in exact integers. *)
From Coq Require Import ZArith List Lia Bool.
From Augury Require Import Rules Cells Shipped.
Open Scope nat_scope.

Definition flood_occurs (own heard : nat) : bool := Nat.testbit heard (2 * own).
Definition flood_expected (own heard output : nat) : bool :=
  let both := flood_rule (Nat.testbit own 0) heard in
  match output with O => fst both | _ => snd both end.

Definition least_occurs (own heard : nat) : bool := Nat.testbit heard own.
Definition least_expected (own heard output : nat) : bool :=
  least_rule (Nat.testbit own 1) (Nat.testbit own 0) heard.

Definition subtract_expected (own output : nat) : bool :=
  let both := subtract_rule (Nat.testbit own 2) (Nat.testbit own 1) (Nat.testbit own 0) in
  match output with O => fst both | _ => snd both end.

Definition nearest_wins (better worse : nat) : bool :=
  link_occurs better && link_occurs worse && (link_rank worse <? link_rank better)%nat.

Lemma flood_checks : gathering_check flood_weights 1 2 flood_occurs flood_expected = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Lemma least_checks : gathering_check least_weights 2 1 least_occurs least_expected = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Lemma subtract_checks : point_check subtract_weights 3 2 subtract_expected = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Lemma nearest_checks : choosing_check nearest_weights 6 nearest_wins = true.
Proof. vm_cast_no_check (eq_refl true). Qed.
