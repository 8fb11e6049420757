(** The cells' networks in floating point: from exact weights, numbers with rigorous error bounds.

    A number of the network is followed as an [approx]: an integer multiple of 2^-36 and a bound on
    the distance from it of every float that the evaluation can come to.  The functions ending in
    [_of] compute approximations in integers; the lemmas ending in [_sound] say that they hold for
    every order of summation.  A decision is certain if its middle is farther from 0 than its
    error. *)
From Coq Require Import ZArith List Lia Bool Reals Psatz Permutation.
From Flocq Require Import Core BinarySingleNaN.
From Augury Require Import Rounding.
Import ListNotations.
Open Scope R_scope.

Record approx := Approx { middle : Z; error : Z; sure : bool }.

Definition near (x : float) (a : approx) : Prop :=
  sure a = true ->
  is_finite x = true /\ Rabs (B2R x * pow2 36 - IZR (middle a)) <= IZR (error a).

(** A weight is given exactly, as a multiple of 2^-41. *)
Definition is_weight (x : float) (w : Z) : Prop :=
  is_finite x = true /\ B2R x * pow2 41 = IZR w.

(** ** Constants *)

Lemma floor_bounds a d : (0 < d)%Z -> IZR (a / d) <= IZR a / IZR d < IZR (a / d) + 1.
Proof.
  intros D. assert (0 < IZR d) by now apply IZR_lt.
  pose proof (Z.mul_div_le a d D). pose proof (Z.mul_succ_div_gt a d D).
  apply IZR_le in H0. apply IZR_lt in H1. rewrite mult_IZR in H0, H1. rewrite succ_IZR in H1.
  split.
  - apply Rmult_le_reg_l with (IZR d); [assumption|]. unfold Rdiv. rewrite <- Rmult_assoc.
    rewrite Rinv_r_simpl_m by lra. lra.
  - apply Rmult_lt_reg_l with (IZR d); [assumption|]. unfold Rdiv. rewrite <- Rmult_assoc.
    rewrite Rinv_r_simpl_m by lra. lra.
Qed.

Lemma pow2_IZR e : (0 <= e)%Z -> pow2 e = IZR (2 ^ e).
Proof. intros H. rewrite <- (IZR_Zpower radix2) by assumption. reflexivity. Qed.

Lemma pow2_77 : pow2 77 = pow2 36 * pow2 41.
Proof. change 77%Z with (36 + 41)%Z. apply pow2_sum. Qed.

Lemma unit_inverse : unit_roundoff * pow2 24 = 1.
Proof. unfold unit_roundoff. rewrite <- pow2_sum. reflexivity. Qed.

Lemma lost_scaled : lost * pow2 36 = pow2 (-64).
Proof. unfold lost. rewrite <- pow2_sum. reflexivity. Qed.

Lemma tiny : 0 < pow2 (-64) <= / 16777216 / 16777216.
Proof. split; [apply bpow_gt_0|]. simpl. lra. Qed.

(** ** Linear layers *)

Definition products (ws xs : list float) : list term :=
  map (fun wx => Prod (fst wx) (snd wx)) (combine ws xs).

Record sums := Sums { total : Z; spread : Z; size : Z; all_sure : bool }.

(** At scale 2^-77: the sum, what the errors of the inputs can change, and the sum of sizes. *)
Fixpoint sums_of (ws : list Z) (xs : list approx) : sums :=
  match ws, xs with
  | w :: ws', x :: xs' =>
      let rest := sums_of ws' xs' in
      let p := (w * middle x)%Z in
      let q := (Z.abs w * error x)%Z in
      Sums (p + total rest) (q + spread rest) (Z.abs p + q + size rest) (sure x && all_sure rest)
  | [], [] => Sums 0 0 0 true
  | _, _ => Sums 0 0 0 false
  end.

Lemma sums_sound fs ws : Forall2 is_weight fs ws -> forall xs xas, Forall2 near xs xas ->
  all_sure (sums_of ws xas) = true ->
  length (products fs xs) = length ws /\
  Rabs (exact_sum (products fs xs) * pow2 77 - IZR (total (sums_of ws xas)))
    <= IZR (spread (sums_of ws xas)) /\
  size_sum (products fs xs) * pow2 77 <= IZR (size (sums_of ws xas)).
Proof.
  induction 1 as [|f w fs ws [Ff Fw] Hw IH]; intros xs xas Hx S.
  - destruct Hx; [|discriminate]. simpl. rewrite Rmult_0_l, Rminus_0_r, Rabs_R0. repeat split; lra.
  - destruct Hx as [|x a xs xas Hxa Hx]; [discriminate|]. cbn [sums_of all_sure] in S.
    apply andb_true_iff in S. destruct S as [Sa S]. destruct (Hxa Sa) as [Fx Ex].
    destruct (IH xs xas Hx S) as [L [T Z]].
    cbn [sums_of total spread size products combine map exact_sum size_sum exact fst snd length].
    fold (products fs xs). rewrite !plus_IZR.
    set (r := sums_of ws xas) in *.
    assert (E : B2R f * B2R x * pow2 77 = IZR w * (B2R x * pow2 36)).
    { rewrite pow2_77, <- Fw. ring. }
    assert (D : Rabs (B2R f * B2R x * pow2 77 - IZR (w * middle a)) <= IZR (Z.abs w * error a)).
    { rewrite E, !mult_IZR, abs_IZR, <- Rmult_minus_distr_l, Rabs_mult.
      apply Rmult_le_compat_l; [apply Rabs_pos|assumption]. }
    split; [now rewrite L|]. split.
    + replace ((B2R f * B2R x + exact_sum (products fs xs)) * pow2 77
        - (IZR (w * middle a) + IZR (total r)))
        with ((B2R f * B2R x * pow2 77 - IZR (w * middle a))
          + (exact_sum (products fs xs) * pow2 77 - IZR (total r))) by ring.
      apply Rle_trans with (1 := Rabs_triang _ _). lra.
    + rewrite Rmult_plus_distr_r.
      assert (Rabs (B2R f * B2R x) * pow2 77 <= IZR (Z.abs (w * middle a)) + IZR (Z.abs w * error a)).
      { rewrite <- (Rabs_pos_eq (pow2 77)) by apply bpow_ge_0. rewrite <- Rabs_mult, abs_IZR.
        replace (B2R f * B2R x * pow2 77) with ((B2R f * B2R x * pow2 77 - IZR (w * middle a))
          + IZR (w * middle a)) by ring.
        apply Rle_trans with (1 := Rabs_triang _ _). lra. }
      lra.
Qed.

(** One output: a row of weights, a bias, and the inputs. *)
Definition linear_of (row : list Z) (bias : Z) (xs : list approx) : approx :=
  let s := sums_of row xs in
  let n := (Z.of_nat (length row) + 1)%Z in
  let most := (size s + Z.abs bias * 2 ^ 36)%Z in
  Approx ((total s + bias * 2 ^ 36) / 2 ^ 41)
    (spread s / 2 ^ 41 + most * (2 * n) / 2 ^ 65 + 4)
    (all_sure s && (n <? 2 ^ 20)%Z && (most <? 2 ^ 150)%Z).

Lemma scaled_bound (A B u z T n s Sb D M mid eD eM : R) :
  0 < A -> 0 < B -> 0 <= u -> 0 <= n ->
  Rabs (T * (A * B) - Sb) <= D -> s * (A * B) <= M ->
  Rabs (z - T) <= 2 * n * u * s + (4 * n - 2) * lost -> (4 * n) * (lost * A) <= 1 ->
  mid <= Sb / B < mid + 1 -> D / B < eD + 1 -> M * (2 * n) * u / B < eM + 1 ->
  Rabs (z * A - mid) <= eD + eM + 4.
Proof.
  intros HA HB Hu Hn HT Hs Hz Hl Hm HD HM.
  assert (Hl0 : 0 < lost) by apply bpow_gt_0.
  replace (z * A - mid) with ((z - T) * A + ((T * A - Sb / B) + (Sb / B - mid))) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _).
  assert (P1 : Rabs ((z - T) * A) <= M * (2 * n) * u / B + 1).
  { rewrite Rabs_mult, (Rabs_pos_eq A) by lra.
    apply Rle_trans with ((2 * n * u * s + (4 * n - 2) * lost) * A).
    { apply Rmult_le_compat_r; lra. }
    assert (s * A <= M / B).
    { apply Rmult_le_reg_r with B; [assumption|]. unfold Rdiv. rewrite Rmult_assoc.
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. assumption. }
    replace ((2 * n * u * s + (4 * n - 2) * lost) * A)
      with (2 * n * u * (s * A) + (4 * n) * (lost * A) - 2 * (lost * A)) by ring.
    replace (M * (2 * n) * u / B) with (2 * n * u * (M / B)) by (unfold Rdiv; ring).
    assert (2 * n * u * (s * A) <= 2 * n * u * (M / B)).
    { apply Rmult_le_compat_l; [|assumption]. apply Rmult_le_pos; lra. }
    assert (0 <= lost * A) by (apply Rmult_le_pos; lra). lra. }
  assert (P2 : Rabs (T * A - Sb / B) <= D / B).
  { replace (T * A - Sb / B) with ((T * (A * B) - Sb) * / B) by (field; lra).
    rewrite Rabs_mult, (Rabs_pos_eq (/ B)).
    - unfold Rdiv. apply Rmult_le_compat_r; [|assumption]. apply Rlt_le, Rinv_0_lt_compat. assumption.
    - apply Rlt_le, Rinv_0_lt_compat. assumption. }
  assert (P3 : Rabs (Sb / B - mid) <= 1) by (apply Rabs_le; lra).
  pose proof (Rabs_triang (T * A - Sb / B) (Sb / B - mid)). lra.
Qed.

Lemma linear_sound fs ws bf b xs xas z : Forall2 is_weight fs ws -> is_weight bf b ->
  Forall2 near xs xas -> dot (Plain bf :: products fs xs) z -> near z (linear_of ws b xas).
Proof.
  intros Hw [Fb Eb] Hx Hd. unfold linear_of. set (s := sums_of ws xas).
  set (n := (Z.of_nat (length ws) + 1)%Z). set (most := (size s + Z.abs b * 2 ^ 36)%Z).
  intros S. cbn [sure middle error] in *.
  apply andb_true_iff in S. destruct S as [S Smost]. apply andb_true_iff in S. destruct S as [Ss Sn].
  apply Z.ltb_lt in Sn, Smost.
  destruct (sums_sound fs ws Hw xs xas Hx Ss) as [L [T Z]]. fold s in T, Z.
  destruct (dot_error _ _ Hd) as [_ E].
  cbn [length exact_sum size_sum exact] in E. rewrite L in E.
  assert (En : INR (Datatypes.S (length ws)) = IZR n).
  { rewrite INR_IZR_INZ. f_equal. unfold n. lia. }
  rewrite En in E.
  assert (N1 : 1 <= IZR n) by (apply (IZR_le 1); unfold n; lia).
  assert (N2 : IZR n <= 1048576) by (apply IZR_le; lia).
  assert (P36 : 0 < pow2 36) by apply bpow_gt_0. assert (P41 : 0 < pow2 41) by apply bpow_gt_0.
  assert (Bias : B2R bf * pow2 77 = IZR (b * 2 ^ 36)).
  { rewrite mult_IZR, <- Eb, <- pow2_IZR by lia. rewrite pow2_77. ring. }
  assert (Size : (Rabs (B2R bf) + size_sum (products fs xs)) * pow2 77 <= IZR most).
  { unfold most. rewrite plus_IZR, Rmult_plus_distr_r.
    assert (Rabs (B2R bf) * pow2 77 = IZR (Z.abs b * 2 ^ 36)).
    { rewrite <- (Rabs_pos_eq (pow2 77)) by apply bpow_ge_0. rewrite <- Rabs_mult, Bias.
      rewrite <- abs_IZR, Z.abs_mul. reflexivity. }
    lra. }
  destruct constants as [[U0 U1] _].
  destruct E as [Fz E].
  { apply Rle_trans with (1048576 * / 16777216); [|lra]. apply Rmult_le_compat; lra. }
  { apply Rmult_le_reg_r with (pow2 77); [apply bpow_gt_0|]. apply Rle_trans with (1 := Size).
    rewrite <- pow2_sum. apply Rle_trans with (IZR (2 ^ 150)); [apply IZR_le; lia|].
    rewrite <- pow2_IZR by lia. apply bpow_le. lia. }
  split; [assumption|]. rewrite !plus_IZR. unfold bound in E.
  assert (F41 : IZR (2 ^ 41) = pow2 41) by (now rewrite pow2_IZR).
  apply (scaled_bound (pow2 36) (pow2 41) unit_roundoff (B2R z)
    (B2R bf + exact_sum (products fs xs)) (IZR n)
    (Rabs (B2R bf) + size_sum (products fs xs)) (IZR (total s + b * 2 ^ 36)) (IZR (spread s))
    (IZR most)); auto; try lra.
  - rewrite <- pow2_77, plus_IZR, Rmult_plus_distr_r, Bias.
    replace (IZR (b * 2 ^ 36) + exact_sum (products fs xs) * pow2 77
      - (IZR (total s) + IZR (b * 2 ^ 36)))
      with (exact_sum (products fs xs) * pow2 77 - IZR (total s)) by ring. assumption.
  - now rewrite <- pow2_77.
  - rewrite lost_scaled. pose proof tiny as [T0 T1].
    apply Rle_trans with (4 * 1048576 * (/ 16777216 / 16777216)); [|lra].
    apply Rmult_le_compat; lra.
  - pose proof (floor_bounds (total s + b * 2 ^ 36) (2 ^ 41) ltac:(lia)). rewrite F41 in *. lra.
  - pose proof (floor_bounds (spread s) (2 ^ 41) ltac:(lia)). rewrite F41 in *. lra.
  - pose proof (floor_bounds (most * (2 * n)) (2 ^ 65) ltac:(lia)) as [_ F].
    assert (F65 : IZR (2 ^ 65) = pow2 41 * pow2 24).
    { rewrite <- pow2_sum. now rewrite <- pow2_IZR. }
    rewrite F65, !mult_IZR in F.
    replace (IZR most * (2 * IZR n) * unit_roundoff / pow2 41)
      with (IZR most * (2 * IZR n) / (pow2 41 * pow2 24)); [assumption|].
    pose proof unit_inverse as Ui. assert (P24 : 0 < pow2 24) by apply bpow_gt_0.
    replace unit_roundoff with (/ pow2 24); [field; lra|].
    apply Rmult_eq_reg_r with (pow2 24); [|lra]. rewrite Ui. now apply Rinv_l, Rgt_not_eq.
Qed.

(** ** Leaky ReLU *)

(** The float32 next to 0.01. *)
Definition slope : R := 10737418 * pow2 (-30).

Definition leaky (x z : float) : Prop :=
  is_finite x = true -> (0 < B2R x /\ z = x) \/ (B2R x <= 0 /\ rounded (slope * B2R x) z).

Definition leaky_of (a : approx) : approx :=
  let m := middle a in
  Approx (if (0 <? m)%Z then m else (m * 10737418) / 2 ^ 30)
    (error a + (Z.abs m + error a) / 2 ^ 24 + 4)
    (sure a && (Z.abs m + error a <? 2 ^ 150)%Z).

Definition exact_leaky (x : R) : R := if Rlt_dec 0 x then x else slope * x.

Lemma slope_between : 0 < slope < 1.
Proof. unfold slope. simpl. lra. Qed.

Lemma exact_leaky_moves x y : Rabs (exact_leaky x - exact_leaky y) <= Rabs (x - y).
Proof.
  pose proof slope_between. unfold exact_leaky.
  destruct (Rlt_dec 0 x), (Rlt_dec 0 y); apply Rabs_le; split_Rabs; nra.
Qed.

Lemma leaky_sound x z a : near x a -> leaky x z -> near z (leaky_of a).
Proof.
  intros Hx Hz. unfold leaky_of. intros S. cbn [sure middle error] in *.
  apply andb_true_iff in S. destruct S as [Sa Sm]. apply Z.ltb_lt in Sm.
  destruct (Hx Sa) as [Fx Ex]. set (m := middle a) in *. set (e := error a) in *.
  set (X := B2R x * pow2 36) in *. pose proof slope_between as Sl.
  assert (P36 : 0 < pow2 36) by apply bpow_gt_0.
  assert (Xm : Rabs X <= Rabs (IZR m) + IZR e).
  { replace X with ((X - IZR m) + IZR m) by ring. apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  assert (Big : Rabs (IZR m) + IZR e <= pow2 150).
  { rewrite <- abs_IZR, <- plus_IZR, pow2_IZR by lia. apply IZR_le. lia. }
  assert (e0 : 0 <= IZR e) by (apply Rle_trans with (2 := Ex); apply Rabs_pos).
  assert (Mid : Rabs (exact_leaky (IZR m)
    - IZR (if (0 <? m)%Z then m else (m * 10737418) / 2 ^ 30)) <= 1).
  { unfold exact_leaky. destruct (Z.ltb_spec 0 m) as [P|N].
    - apply IZR_lt in P. destruct (Rlt_dec 0 (IZR m)); [|lra].
      rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
    - apply IZR_le in N. destruct (Rlt_dec 0 (IZR m)); [lra|].
      pose proof (floor_bounds (m * 10737418) (2 ^ 30) ltac:(lia)) as F.
      rewrite mult_IZR in F. replace (IZR m * 10737418 / IZR (2 ^ 30)) with (slope * IZR m) in F.
      + apply Rabs_le. lra.
      + unfold slope. replace (pow2 (-30)) with (/ IZR (2 ^ 30)) by (simpl; lra). field.
        apply Rgt_not_eq. apply IZR_lt. lia. }
  assert (Fin : is_finite z = true /\
    Rabs (B2R z * pow2 36 - exact_leaky X) <= unit_roundoff * Rabs X + pow2 (-64)).
  { destruct constants as [[U0 _] _]. pose proof tiny as [T0 _]. pose proof (Rabs_pos X).
    destruct (Hz Fx) as [[Pos ->]|[Neg R]].
    - split; [assumption|]. unfold exact_leaky.
      assert (0 < X) by (unfold X; nra). destruct (Rlt_dec 0 X); [|lra]. fold X.
      rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. nra.
    - assert (Small : Rabs (slope * B2R x) * pow2 36 <= Rabs X).
      { rewrite Rabs_mult, (Rabs_pos_eq slope) by lra. unfold X. rewrite Rabs_mult.
        rewrite (Rabs_pos_eq (pow2 36)) by lra. apply Rmult_le_compat_r; [lra|].
        rewrite <- (Rmult_1_l (Rabs (B2R x))) at 2. apply Rmult_le_compat_r; [|lra].
        apply Rabs_pos. }
      destruct R as [Fz Ez].
      { apply Rmult_le_reg_r with (pow2 36); [assumption|]. apply Rle_trans with (1 := Small).
        apply Rle_trans with (pow2 150); [lra|]. rewrite <- pow2_sum. apply bpow_le. lia. }
      split; [assumption|].
      assert (~ 0 < X) by (unfold X; nra). unfold exact_leaky. destruct (Rlt_dec 0 X); [lra|].
      replace (B2R z * pow2 36 - slope * X) with ((B2R z - slope * B2R x) * pow2 36)
        by (unfold X; ring).
      rewrite Rabs_mult, (Rabs_pos_eq (pow2 36)) by lra.
      apply Rle_trans with ((unit_roundoff * Rabs (slope * B2R x) + lost) * pow2 36).
      { apply Rmult_le_compat_r; lra. }
      rewrite Rmult_plus_distr_r, lost_scaled, Rmult_assoc. apply Rplus_le_compat_r.
      apply Rmult_le_compat_l; lra. }
  destruct Fin as [Fz Ez]. split; [assumption|]. rewrite !plus_IZR.
  set (mid := if (0 <? m)%Z then m else _) in *.
  pose proof (exact_leaky_moves X (IZR m)) as Mv.
  pose proof (floor_bounds (Z.abs m + e) (2 ^ 24) ltac:(lia)) as [_ F].
  rewrite plus_IZR, abs_IZR in F.
  assert (U : unit_roundoff * Rabs X <= (Rabs (IZR m) + IZR e) / IZR (2 ^ 24)).
  { replace ((Rabs (IZR m) + IZR e) / IZR (2 ^ 24))
      with (unit_roundoff * (Rabs (IZR m) + IZR e)).
    - destruct constants as [[U0 _] _]. apply Rmult_le_compat_l; lra.
    - unfold unit_roundoff. replace (pow2 (-24)) with (/ IZR (2 ^ 24)) by (simpl; lra).
      unfold Rdiv. ring. }
  pose proof tiny as [_ T1].
  replace (B2R z * pow2 36 - IZR mid) with ((B2R z * pow2 36 - exact_leaky X)
    + ((exact_leaky X - exact_leaky (IZR m)) + (exact_leaky (IZR m) - IZR mid))) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _).
  pose proof (Rabs_triang (exact_leaky X - exact_leaky (IZR m)) (exact_leaky (IZR m) - IZR mid)).
  fold mid in Mid. lra.
Qed.

(** ** A rounded sum, and the largest of several numbers *)

Definition add_of (a b : approx) : approx :=
  let m := (middle a + middle b)%Z in
  let e := (error a + error b)%Z in
  Approx m (e + (Z.abs m + e) / 2 ^ 24 + 2)
    (sure a && sure b && (Z.abs m + e <? 2 ^ 150)%Z).

Lemma add_sound x y z a b : near x a -> near y b -> rounded (B2R x + B2R y) z ->
  near z (add_of a b).
Proof.
  intros Hx Hy Hz. unfold add_of. set (m := (middle a + middle b)%Z).
  set (e := (error a + error b)%Z). intros S. cbn [sure middle error] in *.
  apply andb_true_iff in S. destruct S as [S Sm]. apply andb_true_iff in S. destruct S as [Sa Sb].
  apply Z.ltb_lt in Sm. destruct (Hx Sa) as [_ Ex]. destruct (Hy Sb) as [_ Ey].
  set (X := (B2R x + B2R y) * pow2 36).
  assert (P36 : 0 < pow2 36) by apply bpow_gt_0.
  assert (E : Rabs (X - IZR m) <= IZR e).
  { unfold X, m, e. rewrite !plus_IZR.
    replace ((B2R x + B2R y) * pow2 36 - (IZR (middle a) + IZR (middle b)))
      with ((B2R x * pow2 36 - IZR (middle a)) + (B2R y * pow2 36 - IZR (middle b))) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  assert (Xm : Rabs X <= Rabs (IZR m) + IZR e).
  { replace X with ((X - IZR m) + IZR m) by ring. apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  assert (Big : Rabs (IZR m) + IZR e <= pow2 150).
  { rewrite <- abs_IZR, <- plus_IZR, pow2_IZR by lia. apply IZR_le. lia. }
  assert (Sx : Rabs (B2R x + B2R y) * pow2 36 = Rabs X).
  { unfold X. rewrite Rabs_mult, (Rabs_pos_eq (pow2 36)) by lra. reflexivity. }
  destruct Hz as [Fz Ez].
  { apply Rmult_le_reg_r with (pow2 36); [assumption|]. rewrite Sx.
    apply Rle_trans with (pow2 150); [lra|]. rewrite <- pow2_sum. apply bpow_le. lia. }
  split; [assumption|]. rewrite !plus_IZR.
  assert (Ez' : Rabs (B2R z * pow2 36 - X) <= unit_roundoff * Rabs X + pow2 (-64)).
  { replace (B2R z * pow2 36 - X) with ((B2R z - (B2R x + B2R y)) * pow2 36) by (unfold X; ring).
    rewrite Rabs_mult, (Rabs_pos_eq (pow2 36)) by lra.
    apply Rle_trans with ((unit_roundoff * Rabs (B2R x + B2R y) + lost) * pow2 36).
    { apply Rmult_le_compat_r; lra. }
    rewrite Rmult_plus_distr_r, lost_scaled, Rmult_assoc, Sx. lra. }
  pose proof (floor_bounds (Z.abs m + e) (2 ^ 24) ltac:(lia)) as [_ F].
  rewrite plus_IZR, abs_IZR in F.
  assert (U : unit_roundoff * Rabs X <= (Rabs (IZR m) + IZR e) / IZR (2 ^ 24)).
  { replace ((Rabs (IZR m) + IZR e) / IZR (2 ^ 24))
      with (unit_roundoff * (Rabs (IZR m) + IZR e)).
    - destruct constants as [[U0 _] _]. apply Rmult_le_compat_l; lra.
    - unfold unit_roundoff. replace (pow2 (-24)) with (/ IZR (2 ^ 24)) by (simpl; lra).
      unfold Rdiv. ring. }
  pose proof tiny as [_ T1].
  replace (B2R z * pow2 36 - IZR m) with ((B2R z * pow2 36 - X) + (X - IZR m)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). lra.
Qed.

Definition largest (xs : list float) (z : float) : Prop :=
  In z xs /\ forall x, In x xs -> is_finite x = true -> B2R x <= B2R z.

Fixpoint max_of (xs : list approx) : approx :=
  match xs with
  | [] => Approx 0 0 false
  | [a] => a
  | a :: rest =>
      let b := max_of rest in
      Approx (Z.max (middle a) (middle b)) (Z.max (error a) (error b)) (sure a && sure b)
  end.

Lemma max_bounds xas : sure (max_of xas) = true ->
  (forall a, In a xas -> sure a = true /\ (middle a <= middle (max_of xas))%Z /\
    (error a <= error (max_of xas))%Z) /\
  exists a, In a xas /\ middle a = middle (max_of xas).
Proof.
  induction xas as [|a rest IH]; intros S; [discriminate|]. destruct rest as [|b rest].
  - simpl in *. split; [|exists a; auto]. intros x [<-|[]]. repeat split; auto; lia.
  - set (more := b :: rest) in *.
    assert (E : max_of (a :: more) = Approx (Z.max (middle a) (middle (max_of more)))
      (Z.max (error a) (error (max_of more))) (sure a && sure (max_of more))) by reflexivity.
    rewrite E in *. cbn [sure middle error] in *. apply andb_true_iff in S. destruct S as [Sa Sm].
    destruct (IH Sm) as [All [x [Ix Ex]]]. split.
    + intros y [<-|Y]; [repeat split; auto; lia|]. destruct (All y Y) as [? [? ?]].
      repeat split; auto; lia.
    + destruct (Z.max_spec (middle a) (middle (max_of more))) as [[_ ->]|[_ ->]].
      * exists x. split; [now right|assumption].
      * exists a. split; [now left|reflexivity].
Qed.

Lemma Forall2_in_left {A B} (P : A -> B -> Prop) l l' x : Forall2 P l l' -> In x l ->
  exists y, In y l' /\ P x y.
Proof.
  induction 1; intros I; [contradiction|]. destruct I as [<-|I]; [exists y; simpl; auto|].
  destruct (IHForall2 I) as [y' [? ?]]. exists y'. simpl. auto.
Qed.

Lemma Forall2_in_right {A B} (P : A -> B -> Prop) l l' y : Forall2 P l l' -> In y l' ->
  exists x, In x l /\ P x y.
Proof.
  induction 1; intros I; [contradiction|]. destruct I as [<-|I]; [exists x; simpl; auto|].
  destruct (IHForall2 I) as [x' [? ?]]. exists x'. simpl. auto.
Qed.

Lemma max_sound xs xas z : Forall2 near xs xas -> largest xs z -> near z (max_of xas).
Proof.
  intros H [I M] S. destruct (max_bounds xas S) as [All [top [It Et]]].
  destruct (Forall2_in_left _ _ _ _ H I) as [a [Ia Na]]. destruct (All a Ia) as [Sa [Ma Ea]].
  destruct (Na Sa) as [Fz Ez]. split; [assumption|].
  destruct (Forall2_in_right _ _ _ _ H It) as [x [Ix Nx]]. destruct (All top It) as [St [_ Etop]].
  destruct (Nx St) as [Fx Ex]. specialize (M x Ix Fx).
  apply IZR_le in Ma, Ea, Etop. rewrite Et in Ex.
  assert (B2R x * pow2 36 <= B2R z * pow2 36) by (apply Rmult_le_compat_r; [apply bpow_ge_0|assumption]).
  apply Rabs_le. apply Rabs_le_inv in Ez, Ex. lra.
Qed.
