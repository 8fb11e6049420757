(** Floating point: a sum of products in any order, with an error that is bounded.

    [rounded x z] is what one operation with the exact result x may return: a relative error of at
    most 2^-24, and an absolute one of at most 2^-100 for what is lost near 0.  IEEE 754 binary32
    to nearest does so, as Flocq proves, with or without fused multiply-add; so does an arithmetic
    that flushes subnormal results to 0.  [dot] is every way to add up products. *)
From Coq Require Import ZArith List Lia Bool Reals Psatz Permutation.
From Flocq Require Import Core BinarySingleNaN Relative.
Import ListNotations.
Open Scope R_scope.

Notation pow2 := (bpow radix2).

Definition float := binary_float 24 128.

Definition unit_roundoff : R := pow2 (-24).
Definition lost : R := pow2 (-100).

(** Beyond 2^127 a result may overflow, and nothing is known about it. *)
Definition rounded (x : R) (z : float) : Prop :=
  Rabs x <= pow2 127 ->
  is_finite z = true /\ Rabs (B2R z - x) <= unit_roundoff * Rabs x + lost.

(** ** IEEE 754 binary32 *)

#[global] Instance prec_positive : Prec_gt_0 24 := eq_refl.
#[global] Instance prec_below : Prec_lt_emax 24 128 := eq_refl.

Definition nearest32 : R -> R := round radix2 (SpecFloat.fexp 24 128) (round_mode mode_NE).

Lemma pow2_sum a b : pow2 (a + b) = pow2 a * pow2 b.
Proof. apply bpow_plus. Qed.

Lemma nearest32_error x : Rabs (nearest32 x - x) <= unit_roundoff * Rabs x + pow2 (-150).
Proof.
  unfold nearest32. change (SpecFloat.fexp 24 128) with (FLT_exp (-149) 24).
  change (round_mode mode_NE) with ZnearestE.
  destruct (error_N_FLT radix2 (-149) 24 eq_refl (fun z => negb (Z.even z)) x)
    as [eps [e [He [Ha [_ ->]]]]].
  replace (x * (1 + eps) + e - x) with (x * eps + e) by ring.
  apply Rle_trans with (Rabs (x * eps) + Rabs e); [apply Rabs_triang|].
  rewrite Rabs_mult.
  assert (E : / 2 * pow2 (-24 + 1) = unit_roundoff).
  { rewrite pow2_sum. change (pow2 1) with 2. unfold unit_roundoff. lra. }
  assert (G : / 2 * pow2 (-149) = pow2 (-150)).
  { change (-149)%Z with (-150 + 1)%Z. rewrite pow2_sum. change (pow2 1) with 2. lra. }
  change (- (24) + 1)%Z with (-24 + 1)%Z in He. rewrite E in He. rewrite G in Ha.
  pose proof (Rabs_pos x). nra.
Qed.

Lemma nearest32_in_range x : Rabs x <= pow2 127 ->
  Rlt_bool (Rabs (nearest32 x)) (pow2 128) = true.
Proof.
  intros H. apply Rlt_bool_true. apply Rle_lt_trans with (pow2 127).
  - unfold nearest32. apply abs_round_le_generic; try typeclasses eauto; [|assumption].
    apply generic_format_bpow. vm_compute. discriminate.
  - apply bpow_lt. lia.
Qed.

Lemma nearest32_is_rounded x (z : float) :
  (Rabs x <= pow2 127 -> is_finite z = true /\ B2R z = nearest32 x) -> rounded x z.
Proof.
  intros H R. destruct (H R) as [F ->]. split; [assumption|].
  apply Rle_trans with (1 := nearest32_error x). unfold lost.
  assert (pow2 (-150) <= pow2 (-100)) by (apply bpow_le; lia). lra.
Qed.

Theorem plus_is_rounded (x y : float) : is_finite x = true -> is_finite y = true ->
  rounded (B2R x + B2R y) (Bplus mode_NE x y).
Proof.
  intros X Y. apply nearest32_is_rounded. intros R.
  pose proof (Bplus_correct 24 128 _ _ mode_NE x y X Y) as C.
  fold (nearest32 (B2R x + B2R y)) in C. rewrite (nearest32_in_range _ R) in C. tauto.
Qed.

Theorem mult_is_rounded (x y : float) : is_finite x = true -> is_finite y = true ->
  rounded (B2R x * B2R y) (Bmult mode_NE x y).
Proof.
  intros X Y. apply nearest32_is_rounded. intros R.
  pose proof (Bmult_correct 24 128 _ _ mode_NE x y) as C.
  fold (nearest32 (B2R x * B2R y)) in C. rewrite (nearest32_in_range _ R) in C.
  rewrite X, Y in C. tauto.
Qed.

Theorem fma_is_rounded (x y z : float) :
  is_finite x = true -> is_finite y = true -> is_finite z = true ->
  rounded (B2R x * B2R y + B2R z) (Bfma mode_NE x y z).
Proof.
  intros X Y Z. apply nearest32_is_rounded. intros R.
  pose proof (Bfma_correct 24 128 _ _ mode_NE x y z X Y Z) as C. cbv zeta in C.
  fold (nearest32 (B2R x * B2R y + B2R z)) in C. rewrite (nearest32_in_range _ R) in C. tauto.
Qed.

(** An arithmetic without subnormals: operands may count as 0, which changes the exact result by
    less than 2^-105 where the other operand is below 2^20, and the result may be flushed to 0. *)
Theorem flushed_is_rounded x x' (z : float) : Rabs (x' - x) <= pow2 (-105) ->
  (Rabs x <= pow2 127 -> is_finite z = true /\ Rabs (B2R z - nearest32 x') <= pow2 (-126)) ->
  rounded x z.
Proof.
  intros Close H R. destruct (H R) as [F N]. split; [assumption|].
  pose proof (nearest32_error x') as E.
  assert (U : 0 < unit_roundoff <= 1).
  { unfold unit_roundoff. split; [apply bpow_gt_0|]. apply (bpow_le radix2 (-24) 0). lia. }
  assert (A1 : pow2 (-150) <= pow2 (-105)) by (apply bpow_le; lia).
  assert (A2 : pow2 (-126) <= pow2 (-105)) by (apply bpow_le; lia).
  assert (A3 : 8 * pow2 (-105) <= lost).
  { change 8 with (pow2 3). rewrite <- pow2_sum. unfold lost. apply bpow_le. lia. }
  assert (X : Rabs x' <= Rabs x + pow2 (-105)).
  { replace x' with (x + (x' - x)) by ring. apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  assert (UX : unit_roundoff * Rabs x' <= unit_roundoff * Rabs x + pow2 (-105)).
  { apply Rle_trans with (unit_roundoff * (Rabs x + pow2 (-105))).
    - apply Rmult_le_compat_l; lra.
    - pose proof (bpow_gt_0 radix2 (-105)). nra. }
  replace (B2R z - x) with ((B2R z - nearest32 x') + ((nearest32 x' - x') + (x' - x))) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _).
  pose proof (Rabs_triang (nearest32 x' - x') (x' - x)). pose proof (bpow_gt_0 radix2 (-105)). lra.
Qed.

(** ** Sums of products, in any order *)

Inductive term := Prod (x y : float) | Plain (x : float).

Definition exact (t : term) : R := match t with Prod x y => B2R x * B2R y | Plain x => B2R x end.

Fixpoint exact_sum (l : list term) : R :=
  match l with [] => 0 | t :: rest => exact t + exact_sum rest end.

Fixpoint size_sum (l : list term) : R :=
  match l with [] => 0 | t :: rest => Rabs (exact t) + size_sum rest end.

(** Any bracketing, any order, products fused or not. *)
Inductive dot : list term -> float -> Prop :=
| dot_prod x y z : rounded (B2R x * B2R y) z -> dot [Prod x y] z
| dot_plain x : is_finite x = true -> dot [Plain x] x
| dot_add l1 l2 s1 s2 z : dot l1 s1 -> dot l2 s2 -> rounded (B2R s1 + B2R s2) z -> dot (l1 ++ l2) z
| dot_fma x y l s z : dot l s -> rounded (B2R x * B2R y + B2R s) z -> dot (Prod x y :: l) z
| dot_order l l' z : Permutation l l' -> dot l z -> dot l' z.

Lemma exact_sum_app a b : exact_sum (a ++ b) = exact_sum a + exact_sum b.
Proof. induction a; simpl; [ring|]. rewrite IHa. ring. Qed.

Lemma size_sum_app a b : size_sum (a ++ b) = size_sum a + size_sum b.
Proof. induction a; simpl; [ring|]. rewrite IHa. ring. Qed.

Lemma exact_sum_order a b : Permutation a b -> exact_sum a = exact_sum b.
Proof. induction 1; simpl; lra. Qed.

Lemma size_sum_order a b : Permutation a b -> size_sum a = size_sum b.
Proof. induction 1; simpl; lra. Qed.

Lemma size_sum_nonneg l : 0 <= size_sum l.
Proof. induction l as [|t l IH]; simpl; [lra|]. pose proof (Rabs_pos (exact t)). lra. Qed.

Lemma sum_below_size l : Rabs (exact_sum l) <= size_sum l.
Proof.
  induction l as [|t l IH]; simpl; [rewrite Rabs_R0; lra|].
  pose proof (Rabs_triang (exact t) (exact_sum l)). lra.
Qed.

(** The bound for n terms of total size M: it grows linearly in n. *)
Definition bound (n M : R) : R := 2 * n * unit_roundoff * M + (4 * n - 2) * lost.

Lemma constants : 0 < unit_roundoff <= / 16777216 /\ 0 < lost <= / 16777216.
Proof.
  assert (E : unit_roundoff = / 16777216) by (unfold unit_roundoff; simpl; lra).
  assert (lost <= unit_roundoff) by (unfold lost, unit_roundoff; apply bpow_le; lia).
  assert (0 < lost) by apply bpow_gt_0. rewrite E in *. split; split; lra.
Qed.

(** One addition of two parts. *)
Lemma bound_add n1 n2 M1 M2 S1 S2 s1 s2 z : 1 <= n1 -> 1 <= n2 ->
  (n1 + n2) * unit_roundoff <= / 4 -> Rabs S1 <= M1 -> Rabs S2 <= M2 ->
  Rabs (s1 - S1) <= bound n1 M1 -> Rabs (s2 - S2) <= bound n2 M2 ->
  Rabs (z - (s1 + s2)) <= unit_roundoff * Rabs (s1 + s2) + lost ->
  Rabs (z - (S1 + S2)) <= bound (n1 + n2) (M1 + M2).
Proof.
  intros N1 N2 Nu B1 B2 H1 H2 Hz. destruct constants as [[U0 U1] [L0 L1]].
  pose proof (Rabs_pos S1). pose proof (Rabs_pos S2).
  assert (Hs : Rabs (s1 + s2) <= M1 + M2 + bound n1 M1 + bound n2 M2).
  { replace (s1 + s2) with ((s1 - S1) + (s2 - S2) + (S1 + S2)) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _).
    pose proof (Rabs_triang (s1 - S1) (s2 - S2)). pose proof (Rabs_triang S1 S2). lra. }
  assert (Ht : Rabs (z - (S1 + S2)) <= Rabs (z - (s1 + s2)) + (bound n1 M1 + bound n2 M2)).
  { replace (z - (S1 + S2)) with ((z - (s1 + s2)) + ((s1 - S1) + (s2 - S2))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _).
    pose proof (Rabs_triang (s1 - S1) (s2 - S2)). lra. }
  apply Rle_trans with (1 := Ht).
  apply Rle_trans with (unit_roundoff * (M1 + M2 + bound n1 M1 + bound n2 M2) + lost
    + (bound n1 M1 + bound n2 M2)).
  { assert (unit_roundoff * Rabs (s1 + s2)
      <= unit_roundoff * (M1 + M2 + bound n1 M1 + bound n2 M2)) by (apply Rmult_le_compat_l; lra).
    lra. }
  unfold bound. set (u := unit_roundoff) in *. set (q := lost) in *.
  assert (A1 : 2 * n1 * u <= / 2) by nra. assert (A2 : 2 * n2 * u <= / 2) by nra.
  assert (P1 : u * (2 * n1 * u * M1) <= u * / 2 * M1).
  { replace (u * (2 * n1 * u * M1)) with (u * M1 * (2 * n1 * u)) by ring.
    replace (u * / 2 * M1) with (u * M1 * / 2) by ring. apply Rmult_le_compat_l; [nra|lra]. }
  assert (P2 : u * (2 * n2 * u * M2) <= u * / 2 * M2).
  { replace (u * (2 * n2 * u * M2)) with (u * M2 * (2 * n2 * u)) by ring.
    replace (u * / 2 * M2) with (u * M2 * / 2) by ring. apply Rmult_le_compat_l; [nra|lra]. }
  assert (P3 : u * ((4 * n1 - 2) * q + (4 * n2 - 2) * q) <= q).
  { replace (u * ((4 * n1 - 2) * q + (4 * n2 - 2) * q))
      with ((4 * ((n1 + n2) * u) - 4 * u) * q) by ring.
    rewrite <- (Rmult_1_l q) at 2. apply Rmult_le_compat_r; lra. }
  assert (P4 : 2 * u * M1 <= 2 * n2 * u * M1).
  { replace (2 * n2 * u * M1) with (2 * u * M1 * n2) by ring.
    rewrite <- (Rmult_1_r (2 * u * M1)) at 1. apply Rmult_le_compat_l; [nra|lra]. }
  assert (P5 : 2 * u * M2 <= 2 * n1 * u * M2).
  { replace (2 * n1 * u * M2) with (2 * u * M2 * n1) by ring.
    rewrite <- (Rmult_1_r (2 * u * M2)) at 1. apply Rmult_le_compat_l; [nra|lra]. }
  assert (0 <= u * M1) by nra. assert (0 <= u * M2) by nra.
  replace (u * (M1 + M2 + (2 * n1 * u * M1 + (4 * n1 - 2) * q) + (2 * n2 * u * M2 + (4 * n2 - 2) * q)))
    with (u * M1 + u * M2 + u * (2 * n1 * u * M1) + u * (2 * n2 * u * M2)
          + u * ((4 * n1 - 2) * q + (4 * n2 - 2) * q)) by ring.
  lra.
Qed.

Lemma bound_small n M : 1 <= n -> n * unit_roundoff <= / 4 -> 0 <= M ->
  bound n M <= M + 1.
Proof.
  intros N Nu P. destruct constants as [[U0 U1] [L0 L1]]. unfold bound.
  assert (2 * n * unit_roundoff * M <= / 2 * M).
  { apply Rmult_le_compat_r; [assumption|]. lra. }
  assert (lost <= unit_roundoff) by (unfold lost, unit_roundoff; apply bpow_le; lia).
  assert ((4 * n - 2) * lost <= 1).
  { apply Rle_trans with (4 * n * unit_roundoff); nra. }
  lra.
Qed.

(** However a sum of products is evaluated, it is finite and within the bound. *)
Theorem dot_error l z : dot l z -> (1 <= length l)%nat /\
  (INR (length l) * unit_roundoff <= / 4 -> size_sum l <= pow2 100 ->
   is_finite z = true /\ Rabs (B2R z - exact_sum l) <= bound (INR (length l)) (size_sum l)).
Proof.
  destruct constants as [[U0 U1] [L0 L1]].
  assert (Large : 1 <= pow2 100 /\ 6 * pow2 100 <= pow2 127).
  { split; [apply (bpow_le radix2 0 100); lia|].
    change 127%Z with (27 + 100)%Z. rewrite pow2_sum. pose proof (bpow_gt_0 radix2 100).
    assert (pow2 27 = 134217728) by (simpl; lra). nra. }
  destruct Large as [Large1 Large2].
  induction 1 as [x y z R|x F|l1 l2 s1 s2 z D1 [N1 IH1] D2 [N2 IH2] R|x y l s z D [N IH] R
    |l l' z P D [N IH]].
  - split; [simpl; lia|]. intros Nu M. cbn [length exact_sum size_sum exact] in *.
    change (INR 1) with 1 in *. destruct R as [F E]; [pose proof (Rabs_pos (B2R x * B2R y)); lra|].
    split; [assumption|]. unfold bound. pose proof (Rabs_pos (B2R x * B2R y)).
    rewrite !Rplus_0_r. nra.
  - split; [simpl; lia|]. intros Nu M. split; [assumption|].
    cbn [length exact_sum size_sum exact] in *. change (INR 1) with 1 in *.
    replace (B2R x - (B2R x + 0)) with 0 by ring. rewrite Rabs_R0. unfold bound.
    pose proof (Rabs_pos (B2R x)). nra.
  - rewrite app_length, exact_sum_app, size_sum_app, plus_INR. split; [lia|]. intros Nu M.
    pose proof (size_sum_nonneg l1). pose proof (size_sum_nonneg l2).
    apply le_INR in N1, N2. simpl (INR 1) in N1, N2.
    assert (Nu1 : INR (length l1) * unit_roundoff <= / 4) by nra.
    assert (Nu2 : INR (length l2) * unit_roundoff <= / 4) by nra.
    destruct IH1 as [F1 E1]; [assumption|lra|]. destruct IH2 as [F2 E2]; [assumption|lra|].
    pose proof (sum_below_size l1) as B1. pose proof (sum_below_size l2) as B2.
    pose proof (bound_small _ _ N1 Nu1 (size_sum_nonneg l1)).
    pose proof (bound_small _ _ N2 Nu2 (size_sum_nonneg l2)).
    destruct R as [F E].
    { replace (B2R s1 + B2R s2) with ((B2R s1 - exact_sum l1) + (B2R s2 - exact_sum l2)
        + (exact_sum l1 + exact_sum l2)) by ring.
      apply Rle_trans with (1 := Rabs_triang _ _).
      pose proof (Rabs_triang (B2R s1 - exact_sum l1) (B2R s2 - exact_sum l2)).
      pose proof (Rabs_triang (exact_sum l1) (exact_sum l2)). lra. }
    split; [assumption|]. apply bound_add with (B2R s1) (B2R s2); auto.
  - cbn [length exact_sum size_sum exact]. rewrite S_INR. split; [lia|]. intros Nu M.
    pose proof (size_sum_nonneg l). pose proof (Rabs_pos (B2R x * B2R y)).
    apply le_INR in N. simpl (INR 1) in N.
    assert (Nu1 : INR (length l) * unit_roundoff <= / 4) by nra.
    destruct IH as [Fs Es]; [assumption|lra|].
    pose proof (sum_below_size l) as Bl.
    pose proof (bound_small _ _ N Nu1 (size_sum_nonneg l)).
    destruct R as [F E].
    { replace (B2R x * B2R y + B2R s) with ((B2R s - exact_sum l)
        + (B2R x * B2R y + exact_sum l)) by ring.
      apply Rle_trans with (1 := Rabs_triang _ _).
      pose proof (Rabs_triang (B2R x * B2R y) (exact_sum l)). lra. }
    split; [assumption|].
    rewrite (Rplus_comm (INR (length l)) 1).
    apply bound_add with (B2R x * B2R y) (B2R s); auto; try lra.
    replace (B2R x * B2R y - B2R x * B2R y) with 0 by ring. rewrite Rabs_R0. unfold bound. nra.
  - rewrite <- (Permutation_length P), <- (exact_sum_order _ _ P), <- (size_sum_order _ _ P). auto.
Qed.

(** ** IEEE evaluations are among them *)

Definition finite_term (t : term) : Prop :=
  match t with Prod x y => is_finite x = true /\ is_finite y = true | Plain x => is_finite x = true end.

Definition leaf (t : term) : float :=
  match t with Prod x y => Bmult mode_NE x y | Plain x => x end.

(** From left to right, as a plain loop adds up, with separate products or fused. *)
Fixpoint in_order (fused : bool) (sum : float) (l : list term) : float :=
  match l with
  | [] => sum
  | Prod x y :: rest =>
      in_order fused (if fused then Bfma mode_NE x y sum else Bplus mode_NE sum (Bmult mode_NE x y)) rest
  | t :: rest => in_order fused (Bplus mode_NE sum (leaf t)) rest
  end.

Lemma leaf_is_dot t : finite_term t -> dot [t] (leaf t).
Proof.
  destruct t as [x y|x]; simpl; intros F; [|now constructor].
  constructor. now apply mult_is_rounded.
Qed.

Theorem in_order_is_dot fused l : forall done sum, dot done sum ->
  (forall t, In t l -> finite_term t) ->
  INR (length (done ++ l)) * unit_roundoff <= / 4 -> size_sum (done ++ l) <= pow2 100 ->
  dot (done ++ l) (in_order fused sum l).
Proof.
  induction l as [|t l IH]; intros done sum D F N M; [now rewrite app_nil_r|].
  destruct constants as [[U0 _] _].
  assert (Ft : finite_term t) by (apply F; now left).
  assert (Part : forall a b, a ++ b = done ++ t :: l -> forall s, dot a s -> is_finite s = true).
  { intros a b Eq s Ds. destruct (dot_error _ _ Ds) as [_ H]. rewrite <- Eq in N, M.
    rewrite app_length, plus_INR in N. rewrite size_sum_app in M.
    pose proof (pos_INR (length b)). pose proof (size_sum_nonneg b).
    apply H; [|lra]. nra. }
  assert (Fs : is_finite sum = true) by (apply (Part done (t :: l)); auto).
  assert (Fl : is_finite (leaf t) = true).
  { destruct (dot_error _ _ (leaf_is_dot t Ft)) as [_ H]. rewrite app_length in N.
    rewrite size_sum_app in M. cbn [length size_sum] in *. rewrite plus_INR, S_INR in N.
    pose proof (pos_INR (length done)). pose proof (pos_INR (length l)).
    pose proof (size_sum_nonneg done). pose proof (size_sum_nonneg l).
    apply H; [change (INR 1) with 1; nra|lra]. }
  assert (Plus : dot (done ++ [t]) (Bplus mode_NE sum (leaf t))).
  { apply dot_add with sum (leaf t); auto using leaf_is_dot, plus_is_rounded. }
  assert (Next : forall s, dot (done ++ [t]) s -> dot (done ++ t :: l) (in_order fused s l)).
  { intros s Ds. replace (done ++ t :: l) with ((done ++ [t]) ++ l) in * by now rewrite <- app_assoc.
    apply IH; auto. intros t' T. apply F. now right. }
  destruct t as [x y|x]; cbn [in_order]; apply Next; auto. destruct fused; auto.
  apply dot_order with (Prod x y :: done); [apply Permutation_cons_append|].
  apply dot_fma with sum; [assumption|]. destruct Ft. now apply fma_is_rounded.
Qed.
