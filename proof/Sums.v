(** Finite sums of integers: the bookkeeping that flows are made of. *)
From Coq Require Import ZArith List Lia Bool Arith.
Import ListNotations.
Open Scope Z_scope.

(** [sum n f] is f 0 + ... + f (n - 1). *)
Fixpoint sum (n : nat) (f : nat -> Z) : Z :=
  match n with O => 0 | S k => sum k f + f k end.

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof. induction n; simpl; intros H; [reflexivity|]. rewrite IHn, H; auto. Qed.

Lemma sum_add n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n; simpl; lia. Qed.

Lemma sum_scale n k f : sum n (fun i => k * f i) = k * sum n f.
Proof. induction n; simpl; lia. Qed.

Lemma sum_opp n f : sum n (fun i => - f i) = - sum n f.
Proof. induction n; simpl; lia. Qed.

Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n; simpl; intros H; [lia|].
  assert (sum n f <= sum n g) by auto. assert (f n <= g n) by auto. lia.
Qed.

Lemma sum_lt n f g k :
  (forall i, (i < n)%nat -> f i <= g i) -> (k < n)%nat -> f k < g k -> sum n f < sum n g.
Proof.
  induction n; simpl; intros H Hk Hlt; [lia|].
  assert (f n <= g n) by auto.
  destruct (Nat.eq_dec k n) as [->|Hne].
  - assert (sum n f <= sum n g) by (apply sum_le; auto). lia.
  - assert (sum n f < sum n g) by (apply IHn; auto; lia). lia.
Qed.

Lemma sum_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sum n f = 0.
Proof. induction n; simpl; intros H; [reflexivity|]. rewrite IHn, H; auto. Qed.

Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intros H. rewrite <- (sum_zero n (fun _ => 0)) by auto. now apply sum_le. Qed.

Lemma sum_single n k f :
  (k < n)%nat -> (forall i, (i < n)%nat -> i <> k -> f i = 0) -> sum n f = f k.
Proof.
  induction n; simpl; intros Hk H; [lia|].
  destruct (Nat.eq_dec k n) as [->|Hne].
  - rewrite sum_zero; [lia|]. intros i Hi. apply H; lia.
  - rewrite IHn; try lia; [|intros; apply H; lia]. rewrite (H n); lia.
Qed.

Lemma sum_swap n m f :
  sum n (fun i => sum m (fun j => f i j)) = sum m (fun j => sum n (fun i => f i j)).
Proof.
  induction n; simpl.
  - now rewrite sum_zero.
  - now rewrite IHn, sum_add.
Qed.

(** The arcs of a pair are 2 k and 2 k + 1, as in the code, where the other one is [a ^ 1]. *)
Definition reverse (a : nat) : nat := if Nat.even a then S a else pred a.

Lemma parity a : (exists k, a = 2 * k /\ reverse a = 2 * k + 1)%nat \/
                 (exists k, a = 2 * k + 1 /\ reverse a = 2 * k)%nat.
Proof.
  unfold reverse. destruct (Nat.even a) eqn:E.
  - left. apply Nat.even_spec in E. destruct E as [k ->]. exists k. lia.
  - right. assert (O : Nat.odd a = true) by (unfold Nat.odd; now rewrite E).
    apply Nat.odd_spec in O. destruct O as [k ->]. exists k. lia.
Qed.

Lemma reverse_double k : reverse (2 * k) = (2 * k + 1)%nat.
Proof. destruct (parity (2 * k)) as [[j [? ?]]|[j [? ?]]]; lia. Qed.

Lemma reverse_odd k : reverse (2 * k + 1) = (2 * k)%nat.
Proof. destruct (parity (2 * k + 1)) as [[j [? ?]]|[j [? ?]]]; lia. Qed.

Lemma reverse_twice a : reverse (reverse a) = a.
Proof.
  destruct (parity a) as [[k [E F]]|[k [E F]]]; rewrite F, E;
    [apply reverse_odd|apply reverse_double].
Qed.

Lemma reverse_differs a : reverse a <> a.
Proof. destruct (parity a) as [[k [E F]]|[k [E F]]]; lia. Qed.

Lemma reverse_below a m : (a < 2 * m -> reverse a < 2 * m)%nat.
Proof. destruct (parity a) as [[k [E F]]|[k [E F]]]; lia. Qed.

(** It is the exclusive or that the code writes. *)
Lemma reverse_is_xor a : reverse a = Nat.lxor a 1.
Proof.
  assert (H : forall k, Nat.lxor (2 * k) 1 = (2 * k + 1)%nat).
  { intros k. apply Nat.bits_inj. intros [|i]; rewrite Nat.lxor_spec.
    - rewrite Nat.testbit_odd_0, Nat.testbit_even_0. reflexivity.
    - rewrite Nat.testbit_odd_succ, Nat.testbit_even_succ by apply Nat.le_0_l.
      change (Nat.testbit 1 (S i)) with (Nat.testbit 0 i). rewrite Nat.bits_0.
      now destruct (Nat.testbit k i). }
  destruct (parity a) as [[k [E F]]|[k [E F]]]; rewrite F, E.
  - now rewrite H.
  - rewrite <- H, Nat.lxor_assoc, Nat.lxor_nilpotent, Nat.lxor_0_r. reflexivity.
Qed.

Lemma sum_reverse m g : sum (2 * m) (fun a => g (reverse a)) = sum (2 * m) g.
Proof.
  induction m; [reflexivity|].
  replace (2 * S m)%nat with (S (S (2 * m))) by lia. cbn [sum].
  rewrite IHm. pose proof (reverse_double m) as E. pose proof (reverse_odd m) as F.
  replace (S (2 * m)) with (2 * m + 1)%nat by lia. rewrite E, F. lia.
Qed.

(** What one arc of a pair gives, the other one takes: such a sum is 0. *)
Lemma sum_skew m g :
  (forall a, (a < 2 * m)%nat -> g (reverse a) = - g a) -> sum (2 * m) g = 0.
Proof.
  intros H. pose proof (sum_reverse m g) as E.
  rewrite (sum_ext _ _ (fun a => - g a)), sum_opp in E by auto. lia.
Qed.
