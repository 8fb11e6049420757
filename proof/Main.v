(** The shipped network in floating point: every evaluation of its weights, in any order of
    summation, decides by the rules; hence the theorems hold for runs that evaluate it. *)
From Coq Require Import ZArith List Lia Bool Reals.
From Flocq Require Import Core BinarySingleNaN.
From Augury Require Import Rules Rounding Evaluation Cells Shipped Table Margins.
Import ListNotations.
Open Scope nat_scope.

(** ** Tables that evaluations fill in *)

(** The network as float32 numbers. *)
Record floats := Floats {
  flood_floats : gathering float; nearest_floats : choosing float;
  least_floats : gathering float; subtract_floats : point float
}.

(** They are the shipped weights. *)
Record shipped (N : floats) : Prop := {
  flood_shipped : gathers (flood_floats N) flood_weights;
  nearest_shipped : chooses (nearest_floats N) nearest_weights;
  least_shipped : gathers (least_floats N) least_weights;
  subtract_shipped : points (subtract_floats N) subtract_weights
}.

(** Each entry is decided by some evaluation of its case, each in an order of its own; the scores
    of all kinds of link are evaluated, and ordered as their values are. *)
Record evaluated (N : floats) (t : table) : Prop := {
  flood_evaluated : forall own heard output, own < 2 -> heard < 16 ->
    flood_occurs own heard = true -> output < 2 -> exists z,
    gathered (flood_floats N) (bits_of 1 own) (map (bits_of 2) (kinds_in heard)) output z /\
    (said (flood t) own heard output = true <-> (0 < B2R z)%R);
  least_evaluated : forall own heard, own < 4 -> heard < 16 ->
    least_occurs own heard = true -> exists z,
    gathered (least_floats N) (bits_of 2 own) (map (bits_of 2) (kinds_in heard)) 0 z /\
    (said (least t) own heard 0 = true <-> (0 < B2R z)%R);
  subtract_evaluated : forall own output, own < 8 -> output < 2 -> exists z,
    pointed (subtract_floats N) (bits_of 3 own) output z /\
    (said (subtract t) own 0 output = true <-> (0 < B2R z)%R);
  nearest_evaluated : exists zs : nat -> float,
    (forall k, k < 64 -> scored (nearest_floats N) (bits_of 6 k) (zs k)) /\
    forall a b, a < 64 -> b < 64 -> (B2R (zs b) < B2R (zs a))%R ->
      (score (nearest t) b < score (nearest t) a)%Z
}.

Lemma decided_as z expected b : decides z expected -> (b = true <-> (0 < B2R z)%R) ->
  b = expected.
Proof.
  intros [_ D] H. apply eq_iff_eq_true. rewrite H. exact D.
Qed.

Lemma all_bools f : (forall b, f b = true) -> forallb f bools = true.
Proof. intros H. apply forallb_forall. auto. Qed.

Lemma all_below f n : (forall k, k < n -> f k = true) -> forallb f (seq 0 n) = true.
Proof. intros H. apply forallb_forall. intros k K. apply in_seq in K. apply H. lia. Qed.

Theorem evaluated_equals_rules N t : shipped N -> evaluated N t -> equals_rules t = true.
Proof.
  intros S V. unfold equals_rules. rewrite !andb_true_iff. repeat split.
  - apply all_bools. intros own. apply all_below. intros heard Hh.
    destruct (Nat.testbit heard (pair_kind own false)) eqn:O; [|reflexivity]. cbn [implb].
    assert (Oc : flood_occurs (Nat.b2n own) heard = true).
    { unfold flood_occurs. rewrite <- O. f_equal. unfold pair_kind. simpl. lia. }
    assert (Ow : Nat.b2n own < 2) by (destruct own; simpl; lia).
    assert (H : forall output, output < 2 -> said (flood t) (Nat.b2n own) heard output
      = flood_expected (Nat.b2n own) heard output).
    { intros output Ho. destruct (flood_evaluated N t V _ _ _ Ow Hh Oc Ho) as [z [G D]].
      apply decided_as with z; [|assumption].
      exact (gathering_checked _ _ _ _ _ _ (flood_shipped N S) flood_checks _ _ _ _ Ow Hh Oc Ho G). }
    rewrite !H by lia. unfold flood_expected.
    replace (Nat.testbit (Nat.b2n own) 0) with own by (destruct own; reflexivity).
    cbv zeta. now rewrite !eqb_reflx.
  - unfold nearest_equals. apply (all_below _ 64). intros better Hb. apply (all_below _ 64). intros worse Hw.
    fold (nearest_wins better worse). destruct (nearest_wins better worse) eqn:Wi; [|reflexivity].
    cbn [implb]. apply Z.ltb_lt. destruct (nearest_evaluated N t V) as [zs [Z Or]].
    apply Or; auto.
    apply (choosing_checked _ _ _ _ (nearest_shipped N S) nearest_checks better worse); auto.
  - apply all_bools. intros candidate. apply all_bools. intros digit. apply all_below.
    intros heard Hh.
    destruct (Nat.testbit heard (pair_kind candidate digit)) eqn:O; [|reflexivity]. cbn [implb].
    pose proof (pair_kind_below candidate digit) as Ow.
    destruct (least_evaluated N t V _ _ Ow Hh O) as [z [G D]].
    assert (H : said (least t) (pair_kind candidate digit) heard 0
      = least_expected (pair_kind candidate digit) heard 0).
    { apply decided_as with z; [|assumption].
      exact (gathering_checked _ _ _ _ _ _ (least_shipped N S) least_checks _ _ _ _ Ow Hh O
        (Nat.lt_0_succ 0) G). }
    rewrite H. unfold least_expected.
    replace (Nat.testbit (pair_kind candidate digit) 1) with candidate
      by (destruct candidate, digit; reflexivity).
    replace (Nat.testbit (pair_kind candidate digit) 0) with digit
      by (destruct candidate, digit; reflexivity).
    apply eqb_reflx.
  - apply all_bools. intros digit. apply all_bools. intros amount. apply all_bools. intros borrow.
    assert (Ow : subtract_own digit amount borrow < 8)
      by (destruct digit, amount, borrow; cbv; lia).
    assert (H : forall output, output < 2 -> said (subtract t) (subtract_own digit amount borrow) 0 output
      = subtract_expected (subtract_own digit amount borrow) output).
    { intros output Ho. destruct (subtract_evaluated N t V _ _ Ow Ho) as [z [G D]].
      apply decided_as with z; [|assumption].
      exact (point_checked _ _ _ _ _ (subtract_shipped N S) subtract_checks _ _ _ Ow Ho G). }
    rewrite !H by lia. unfold subtract_expected.
    replace (Nat.testbit (subtract_own digit amount borrow) 2) with digit
      by (destruct digit, amount, borrow; reflexivity).
    replace (Nat.testbit (subtract_own digit amount borrow) 1) with amount
      by (destruct digit, amount, borrow; reflexivity).
    replace (Nat.testbit (subtract_own digit amount borrow) 0) with borrow
      by (destruct digit, amount, borrow; reflexivity).
    cbv zeta. now rewrite !eqb_reflx.
Qed.

(** The main theorem.  Every round may be decided by looking up the shipped table, or by evaluating
    the shipped weights in floating point, in any order of summation: on every flow network the
    runs end with a maximum flow, and with costs with one of least cost. *)
Theorem shipped_network_is_exact N : shipped N ->
  exact_on_flows (fun t => t = shipped_table \/ evaluated N t) /\
  exact_on_costs (fun t => t = shipped_table \/ evaluated N t).
Proof.
  intros S. apply exact_if_equal_to_rules with shipped_table; [|now left].
  intros t [->|V]; [apply shipped_equals_rules|now apply evaluated_equals_rules with N].
Qed.
