(** Bottleneck and subtraction, digit by digit, exact at any width.

    [LEAST] compares numbers from the top digit down: whoever is still a candidate after the last
    digit has the smallest number.  [SUBTRACT] works from the lowest digit up, with a borrow. *)
From Coq Require Import ZArith List Lia Bool Arith.
From Augury Require Import Rules.
Import ListNotations.
Open Scope Z_scope.

(** Digits: dropping one more of them. *)
Lemma next_digit v (place : nat) :
  Z.shiftr v (Z.of_nat place)
  = 2 * Z.shiftr v (Z.of_nat (S place)) + Z.b2z (Z.testbit v (Z.of_nat place)).
Proof.
  replace (Z.of_nat (S place)) with (Z.of_nat place + 1) by lia.
  rewrite <- Z.shiftr_shiftr, <- Z.div2_spec by lia.
  replace (Z.testbit v (Z.of_nat place)) with (Z.odd (Z.shiftr v (Z.of_nat place))).
  - pose proof (Z.div2_odd (Z.shiftr v (Z.of_nat place))) as H.
    unfold Z.b2z. exact H.
  - rewrite <- Z.bit0_odd, Z.shiftr_spec by lia. f_equal.
Qed.

Lemma shiftr_monotone a b (k : nat) : a <= b -> Z.shiftr a (Z.of_nat k) <= Z.shiftr b (Z.of_nat k).
Proof.
  intros H. rewrite !Z.shiftr_div_pow2 by lia. apply Z.div_le_mono; [|assumption].
  apply Z.pow_pos_nonneg; lia.
Qed.

Lemma shiftr_small v (w : nat) : 0 <= v < 2 ^ Z.of_nat w -> Z.shiftr v (Z.of_nat w) = 0.
Proof. intros H. rewrite Z.shiftr_div_pow2 by lia. now apply Z.div_small. Qed.

Section Digits.
Variable t : table.
Hypothesis E : equals_rules t = true.

(** ** The least of some numbers *)

Definition digit_kind (place : nat) (x : Z * bool) : nat :=
  pair_kind (snd x) (Z.testbit (fst x) (Z.of_nat place)).

(** One digit: everyone hears everyone, itself included. *)
Definition compare (place : nat) (xs : list (Z * bool)) : list (Z * bool) :=
  let heard := set_of (map (digit_kind place) xs) in
  map (fun x => (fst x, said (least t) (digit_kind place x) heard 0)) xs.

Fixpoint narrowed (width : nat) (xs : list (Z * bool)) : list (Z * bool) :=
  match width with O => xs | S place => narrowed place (compare place xs) end.

(** The number of the first candidate that is left; the first one's, if none is. *)
Definition least_of (width : nat) (values : list Z) : Z :=
  match find snd (narrowed width (map (fun v => (v, true)) values)) with
  | Some x => fst x
  | None => hd 0 values
  end.

(** After the digits from the top down to place k, the candidates are those whose digits so far
    are the ones of the smallest number. *)
Definition narrowed_to (m : Z) (k : nat) (xs : list (Z * bool)) : Prop :=
  forall x, In x xs ->
    m <= fst x /\ snd x = (Z.shiftr (fst x) (Z.of_nat k) =? Z.shiftr m (Z.of_nat k)).

Lemma zero_heard place xs :
  existsb (Nat.eqb (pair_kind true false)) (map (digit_kind place) xs) = true <->
  exists x, In x xs /\ snd x = true /\ Z.testbit (fst x) (Z.of_nat place) = false.
Proof.
  rewrite existsb_exists. split.
  - intros [k [I K]]. apply Nat.eqb_eq in K. apply in_map_iff in I. destruct I as [x [D I]].
    exists x. split; [assumption|]. unfold digit_kind in D.
    destruct (snd x), (Z.testbit (fst x) (Z.of_nat place)); subst; try discriminate; auto.
  - intros [x [I [C D]]]. exists (pair_kind true false). split; [|reflexivity].
    apply in_map_iff. exists x. unfold digit_kind. rewrite C, D. auto.
Qed.

Lemma compare_narrows m place xs : In m (map fst xs) ->
  narrowed_to m (S place) xs -> narrowed_to m place (compare place xs).
Proof.
  intros M H x' I'. unfold compare in I'. apply in_map_iff in I'. destruct I' as [x [<- I]].
  cbn [fst snd]. destruct (H x I) as [Le Cx]. split; [assumption|].
  unfold digit_kind at 1. rewrite (least_decides t E); cycle 1.
  { intros k K. apply in_map_iff in K. destruct K as [y [<- _]]. apply pair_kind_below. }
  { apply in_map_iff. now exists x. }
  apply in_map_iff in M. destruct M as [y [Ey Iy]]. destruct (H y Iy) as [_ Cy].
  rewrite Ey, Z.eqb_refl in Cy. rewrite Cx.
  assert (Mono : forall z, In z xs -> Z.shiftr m (Z.of_nat place) <= Z.shiftr (fst z) (Z.of_nat place)).
  { intros z Iz. apply shiftr_monotone. now apply H. }
  pose proof (Mono x I) as Mx. pose proof (next_digit (fst x) place) as Dx.
  pose proof (next_digit m place) as Dm.
  destruct (existsb (Nat.eqb (pair_kind true false)) (map (digit_kind place) xs)) eqn:Z0.
  - apply zero_heard in Z0. destruct Z0 as [z [Iz [Cz Dz]]]. pose proof (Mono z Iz) as Mz.
    destruct (H z Iz) as [_ Cz']. rewrite Cz in Cz'. symmetry in Cz'. apply Z.eqb_eq in Cz'.
    pose proof (next_digit (fst z) place) as Ez. rewrite Dz in Ez.
    rewrite andb_true_r.
    destruct (Z.eqb_spec (Z.shiftr (fst x) (Z.of_nat (S place))) (Z.shiftr m (Z.of_nat (S place))));
    destruct (Z.eqb_spec (Z.shiftr (fst x) (Z.of_nat place)) (Z.shiftr m (Z.of_nat place)));
    destruct (Z.testbit (fst x) (Z.of_nat place)), (Z.testbit m (Z.of_nat place));
    cbn [Z.b2z] in *; cbn; try reflexivity; exfalso; lia.
  - rewrite andb_false_r. cbn [negb]. rewrite andb_true_r.
    assert (All : forall z, In z xs -> snd z = true -> Z.testbit (fst z) (Z.of_nat place) = true).
    { intros z Iz Cz. destruct (Z.testbit (fst z) (Z.of_nat place)) eqn:Dz; [reflexivity|].
      enough (existsb (Nat.eqb (pair_kind true false)) (map (digit_kind place) xs) = true)
        by congruence. apply zero_heard. now exists z. }
    pose proof (All y Iy Cy) as Dy. rewrite Ey in Dy. rewrite Dy in Dm.
    pose proof (All x I) as Ax. rewrite Cx in Ax.
    destruct (Z.eqb_spec (Z.shiftr (fst x) (Z.of_nat (S place))) (Z.shiftr m (Z.of_nat (S place)))).
    + rewrite Ax in Dx by reflexivity. symmetry. apply Z.eqb_eq. lia.
    + symmetry. apply Z.eqb_neq. destruct (Z.testbit (fst x) (Z.of_nat place));
        cbn [Z.b2z] in *; lia.
Qed.

Lemma compare_values place xs : map fst (compare place xs) = map fst xs.
Proof. unfold compare. rewrite map_map. reflexivity. Qed.

Lemma narrowed_values width : forall xs, map fst (narrowed width xs) = map fst xs.
Proof.
  induction width; intros; simpl; [reflexivity|]. now rewrite IHwidth, compare_values.
Qed.

Lemma narrowed_narrows m width : forall xs, In m (map fst xs) -> narrowed_to m width xs ->
  narrowed_to m 0 (narrowed width xs).
Proof.
  induction width as [|place IH]; intros xs M H; [assumption|]. simpl. apply IH.
  - now rewrite compare_values.
  - now apply compare_narrows.
Qed.

(** The smallest of the numbers is found, whatever the width. *)
Theorem least_exact width values m : In m values -> (forall v, In v values -> m <= v) ->
  (forall v, In v values -> 0 <= v < 2 ^ Z.of_nat width) -> least_of width values = m.
Proof.
  intros I L B. set (xs := map (fun v => (v, true)) values).
  assert (V : map fst xs = values) by (unfold xs; rewrite map_map; apply map_id).
  assert (M : In m (map fst xs)) by now rewrite V.
  assert (N : narrowed_to m 0 (narrowed width xs)).
  { apply narrowed_narrows; [assumption|]. intros x X. unfold xs in X. apply in_map_iff in X.
    destruct X as [v [<- X]]. cbn [fst snd]. split; [now apply L|].
    rewrite !shiftr_small by auto. reflexivity. }
  unfold least_of. fold xs. destruct (find snd (narrowed width xs)) as [x|] eqn:F.
  - apply find_some in F. destruct F as [X C]. destruct (N x X) as [_ Cx]. rewrite C in Cx.
    symmetry in Cx. apply Z.eqb_eq in Cx. now rewrite !Z.shiftr_0_r in Cx.
  - exfalso. rewrite <- (narrowed_values width) in M. apply in_map_iff in M.
    destruct M as [y [Ey Iy]]. pose proof (find_none _ _ F y Iy) as C.
    destruct (N y Iy) as [_ Cy]. rewrite Ey, Z.eqb_refl in Cy. congruence.
Qed.

(** ** Subtraction *)

Fixpoint difference (width place : nat) (borrow : bool) (value amount : Z) : Z :=
  match width with
  | O => 0
  | S rest =>
      let own := subtract_own (Z.testbit value (Z.of_nat place))
                              (Z.testbit amount (Z.of_nat place)) borrow in
      Z.b2z (said (subtract t) own 0 0) * 2 ^ Z.of_nat place
      + difference rest (S place) (said (subtract t) own 0 1) value amount
  end.

Lemma digit_and_borrow d a b : subtract_rule d a b = (fst (subtract_rule d a b), snd (subtract_rule d a b)) /\
  Z.b2z d - Z.b2z a - Z.b2z b
  = Z.b2z (fst (subtract_rule d a b)) - 2 * Z.b2z (snd (subtract_rule d a b)).
Proof. destruct d, a, b; split; reflexivity. Qed.

Lemma difference_from width : forall place borrow value amount,
  Z.shiftr amount (Z.of_nat place) + Z.b2z borrow <= Z.shiftr value (Z.of_nat place) ->
  0 <= Z.shiftr value (Z.of_nat place) < 2 ^ Z.of_nat width ->
  0 <= Z.shiftr amount (Z.of_nat place) ->
  difference width place borrow value amount
  = 2 ^ Z.of_nat place *
    (Z.shiftr value (Z.of_nat place) - Z.shiftr amount (Z.of_nat place) - Z.b2z borrow).
Proof.
  induction width as [|rest IH]; intros place borrow value amount Le [V0 V1] A0.
  - simpl in V1. assert (Z.b2z borrow = 0) by (destruct borrow; cbn [Z.b2z] in *; lia).
    cbn [difference]. nia.
  - cbn [difference].
    destruct (subtract_decides t E (Z.testbit value (Z.of_nat place))
      (Z.testbit amount (Z.of_nat place)) borrow) as [-> ->].
    pose proof (next_digit value place) as Dv. pose proof (next_digit amount place) as Da.
    destruct (digit_and_borrow (Z.testbit value (Z.of_nat place))
      (Z.testbit amount (Z.of_nat place)) borrow) as [_ Db].
    set (digit := fst (subtract_rule _ _ _)) in *. set (next := snd (subtract_rule _ _ _)) in *.
    replace (2 ^ Z.of_nat (S rest)) with (2 * 2 ^ Z.of_nat rest) in V1.
    2: { rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. reflexivity. }
    rewrite IH.
    + replace (2 ^ Z.of_nat (S place)) with (2 * 2 ^ Z.of_nat place).
      2: { rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. reflexivity. }
      nia.
    + destruct (Z.testbit value (Z.of_nat place)), (Z.testbit amount (Z.of_nat place)), borrow,
        digit, next; cbn [Z.b2z] in *; lia.
    + destruct (Z.testbit value (Z.of_nat place)); cbn [Z.b2z] in *; lia.
    + destruct (Z.testbit amount (Z.of_nat place)); cbn [Z.b2z] in *; lia.
Qed.

(** The difference is exact, whatever the width. *)
Theorem subtract_exact width value amount : 0 <= amount <= value -> value < 2 ^ Z.of_nat width ->
  difference width 0 false value amount = value - amount.
Proof.
  intros [A0 A1] V. rewrite difference_from; cbn [Z.b2z Z.of_nat]; rewrite ?Z.shiftr_0_r; try lia.
Qed.

End Digits.

(** ** The true minimum, as the judge computes it *)

Definition smallest (values : list Z) : Z :=
  match values with [] => 0 | v :: rest => fold_right Z.min v rest end.

Lemma smallest_least values : values <> [] ->
  In (smallest values) values /\ forall v, In v values -> smallest values <= v.
Proof.
  destruct values as [|v rest]; [contradiction|]. intros _. unfold smallest.
  induction rest as [|x rest [I L]]; cbn [fold_right].
  - split; [now left|]. intros u [<-|[]]. lia.
  - split.
    + destruct (Z.min_spec x (fold_right Z.min v rest)) as [[_ ->]|[_ ->]].
      * right. now left.
      * destruct I as [I|I]; [left; assumption|right; now right].
    + intros u [<-|[<-|U]].
      * assert (fold_right Z.min v rest <= v) by (apply L; now left). lia.
      * lia.
      * assert (fold_right Z.min v rest <= u) by (apply L; now right). lia.
Qed.
