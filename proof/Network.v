(** Flow networks with paired arcs, legal flows, cuts, and what a path does to a flow.

    An arc is a number below [arcs]; its reverse is [reverse a].  Like the code, we keep the
    residual of each arc; the flow is the capacity less the residual. *)
From Coq Require Import ZArith List Lia Bool Arith.
From Augury Require Import Sums.
Import ListNotations.
Open Scope Z_scope.

Record network := Network {
  nodes : nat;
  pairs : nat;
  sender : nat -> nat;
  receiver : nat -> nat;
  source : nat;
  sink : nat;
  capacity : nat -> Z
}.

Definition arcs (net : network) : nat := (2 * pairs net)%nat.

Record well_formed (net : network) : Prop := {
  source_in : (source net < nodes net)%nat;
  sink_in : (sink net < nodes net)%nat;
  ends_differ : source net <> sink net;
  sender_in : forall a, (a < arcs net)%nat -> (sender net a < nodes net)%nat;
  receiver_is : forall a, (a < arcs net)%nat -> receiver net a = sender net (reverse a)
}.

(** A lower bound on an edge's flow is a negative capacity of its reverse arc; the algorithms start
    from networks without any. *)
Definition nonnegative (net : network) : Prop :=
  forall a, (a < arcs net)%nat -> 0 <= capacity net a.

Lemma reverse_in net a : (a < arcs net)%nat -> (reverse a < arcs net)%nat.
Proof. apply reverse_below. Qed.

Lemma receiver_in net : well_formed net ->
  forall a, (a < arcs net)%nat -> (receiver net a < nodes net)%nat.
Proof.
  intros W a H. rewrite (receiver_is _ W) by auto. apply (sender_in _ W). now apply reverse_in.
Qed.

Lemma receiver_reverse net : well_formed net ->
  forall a, (a < arcs net)%nat -> receiver net (reverse a) = sender net a.
Proof.
  intros W a H. rewrite (receiver_is _ W) by now apply reverse_in. now rewrite reverse_twice.
Qed.

(** ** Flows *)

(** What leaves a node on balance. *)
Definition out (net : network) (f : nat -> Z) (v : nat) : Z :=
  sum (arcs net) (fun a => Z.b2z (sender net a =? v)%nat * f a).

(** A net flow, as [certify_flow] takes it: an arc and its reverse carry opposite amounts. *)
Record legal (net : network) (f : nat -> Z) : Prop := {
  within : forall a, (a < arcs net)%nat -> f a <= capacity net a;
  skew : forall a, (a < arcs net)%nat -> f (reverse a) = - f a;
  conserved : forall v, (v < nodes net)%nat -> v <> source net -> v <> sink net -> out net f v = 0
}.

Definition value (net : network) (f : nat -> Z) : Z := out net f (source net).

Definition maximum (net : network) (f : nat -> Z) : Prop :=
  legal net f /\ forall g, legal net g -> value net g <= value net f.

Definition flow_of (net : network) (r : nat -> Z) : nat -> Z := fun a => capacity net a - r a.

Lemma residual_nonneg net r : legal net (flow_of net r) ->
  forall a, (a < arcs net)%nat -> 0 <= r a.
Proof. intros L a H. pose proof (within _ _ L a H). unfold flow_of in *. lia. Qed.

Lemma pair_sum net r : legal net (flow_of net r) -> forall a, (a < arcs net)%nat ->
  r a + r (reverse a) = capacity net a + capacity net (reverse a).
Proof. intros L a H. pose proof (skew _ _ L a H). unfold flow_of in *. lia. Qed.

(** Before the first round the residuals are the capacities, and nothing flows. *)
Lemma start_legal net : nonnegative net -> legal net (flow_of net (capacity net)).
Proof.
  intros N. unfold flow_of. split; intros.
  - specialize (N a H). lia.
  - lia.
  - unfold out. apply sum_zero. intros. lia.
Qed.

Lemma start_value net : value net (flow_of net (capacity net)) = 0.
Proof. unfold value, out, flow_of. apply sum_zero. intros. lia. Qed.

(** ** Cuts *)

Definition leaves (net : network) (side : nat -> bool) (a : nat) : bool :=
  side (sender net a) && negb (side (receiver net a)).

Definition cut_capacity (net : network) (side : nat -> bool) : Z :=
  sum (arcs net) (fun a => Z.b2z (leaves net side a) * capacity net a).

Definition is_cut (net : network) (side : nat -> bool) : Prop :=
  side (source net) = true /\ side (sink net) = false.

Lemma b2z_nonneg b : 0 <= Z.b2z b.
Proof. destruct b; simpl; lia. Qed.

Lemma out_over_side net f side : well_formed net ->
  sum (nodes net) (fun v => Z.b2z (side v) * out net f v)
  = sum (arcs net) (fun a => Z.b2z (side (sender net a)) * f a).
Proof.
  intros W. unfold out.
  rewrite (sum_ext _ _ (fun v => sum (arcs net) (fun a =>
    Z.b2z (side v) * (Z.b2z (sender net a =? v)%nat * f a)))).
  2: { intros. now rewrite sum_scale. }
  rewrite sum_swap. apply sum_ext. intros a Ha.
  rewrite (sum_single _ (sender net a)).
  - rewrite Nat.eqb_refl. cbn [Z.b2z]. lia.
  - now apply (sender_in _ W).
  - intros v Hv Hne. replace (sender net a =? v)%nat with false; [cbn [Z.b2z]; lia|].
    symmetry. apply Nat.eqb_neq. auto.
Qed.

(** What flows across any cut is the value of the flow. *)
Lemma flow_across net f side : well_formed net -> legal net f -> is_cut net side ->
  value net f = sum (arcs net) (fun a => Z.b2z (leaves net side a) * f a).
Proof.
  intros W L [Hs Ht].
  transitivity (sum (nodes net) (fun v => Z.b2z (side v) * out net f v)).
  - rewrite (sum_single _ (source net)).
    + rewrite Hs. unfold value. cbn [Z.b2z]. lia.
    + apply (source_in _ W).
    + intros v Hv Hne. destruct (side v) eqn:E; [|reflexivity].
      assert (v <> sink net) by (intros ->; congruence).
      rewrite (conserved _ _ L v) by auto. lia.
  - rewrite out_over_side by auto.
    rewrite (sum_ext _ _ (fun a => Z.b2z (leaves net side a) * f a
      + Z.b2z (side (sender net a) && side (receiver net a)) * f a)).
    2: { intros a Ha. unfold leaves.
         destruct (side (sender net a)), (side (receiver net a)); simpl; lia. }
    rewrite sum_add. enough (sum (arcs net) (fun a =>
      Z.b2z (side (sender net a) && side (receiver net a)) * f a) = 0) by lia.
    apply sum_skew. intros a Ha.
    rewrite (skew _ _ L) by auto. rewrite (receiver_reverse _ W) by auto.
    rewrite <- (receiver_is _ W) by auto. rewrite andb_comm. lia.
Qed.

(** Weak duality: no flow exceeds the capacity of a cut. *)
Theorem weak_duality net f side : well_formed net -> legal net f -> is_cut net side ->
  value net f <= cut_capacity net side.
Proof.
  intros W L C. rewrite (flow_across net f side) by auto. apply sum_le. intros a Ha.
  pose proof (within _ _ L a Ha). pose proof (b2z_nonneg (leaves net side a)). nia.
Qed.

(** A flow as large as a cut is maximum, and the cut is as small as any. *)
Corollary equal_cut_is_maximum net f side : well_formed net -> legal net f -> is_cut net side ->
  value net f = cut_capacity net side -> maximum net f.
Proof.
  intros W L C E. split; [assumption|]. intros g G. rewrite E. now apply weak_duality.
Qed.

(** If every arc that leaves the cut is full, the flow is as large as the cut. *)
Theorem full_cut_is_maximum net r side : well_formed net -> legal net (flow_of net r) ->
  is_cut net side ->
  (forall a, (a < arcs net)%nat -> leaves net side a = true -> r a = 0) ->
  value net (flow_of net r) = cut_capacity net side /\ maximum net (flow_of net r).
Proof.
  intros W L C H.
  assert (E : value net (flow_of net r) = cut_capacity net side).
  { rewrite (flow_across net _ side) by auto. apply sum_ext. intros a Ha.
    destruct (leaves net side a) eqn:F; cbn [Z.b2z]; [|lia].
    unfold flow_of. rewrite (H a) by auto. lia. }
  split; [assumption|]. now apply equal_cut_is_maximum with side.
Qed.

(** No flow exceeds the capacities that leave the source: rounds are bounded by this. *)
Definition value_bound (net : network) : Z := cut_capacity net (fun v => (v =? source net)%nat).

Lemma value_bounded net f : well_formed net -> legal net f -> value net f <= value_bound net.
Proof.
  intros W L. apply weak_duality; auto. split; [apply Nat.eqb_refl|].
  apply Nat.eqb_neq. intros E. now apply (ends_differ _ W).
Qed.

(** ** Walks *)

Inductive walk (net : network) (usable : nat -> bool) : nat -> list nat -> nat -> Prop :=
| walk_nil u : walk net usable u [] u
| walk_cons a p v : (a < arcs net)%nat -> usable a = true ->
    walk net usable (receiver net a) p v -> walk net usable (sender net a) (a :: p) v.

Lemma walk_app net usable u p v q w :
  walk net usable u p v -> walk net usable v q w -> walk net usable u (p ++ q) w.
Proof. induction 1; intros; simpl; [assumption|]. constructor; auto. Qed.

Lemma walk_first net usable u a p w : walk net usable u (a :: p) w ->
  (a < arcs net)%nat /\ usable a = true /\ u = sender net a /\
  walk net usable (receiver net a) p w.
Proof. intros H. inversion H; subst. auto. Qed.

Lemma walk_split net usable p : forall u q w, walk net usable u (p ++ q) w ->
  exists v, walk net usable u p v /\ walk net usable v q w.
Proof.
  induction p as [|a p IH]; simpl; intros u q w H.
  - exists u. split; [constructor|assumption].
  - apply walk_first in H. destruct H as [A [U [-> H]]].
    destruct (IH _ _ _ H) as [v [P Q]]. exists v. split; [now constructor|assumption].
Qed.

Lemma walk_usable net usable u p v : walk net usable u p v ->
  forall a, In a p -> (a < arcs net)%nat /\ usable a = true.
Proof. induction 1; [intros ? []|]. intros b [<-|B]; auto. Qed.

Lemma walk_in net usable u p v : well_formed net -> walk net usable u p v ->
  (u < nodes net)%nat -> (v < nodes net)%nat.
Proof. intros W. induction 1; intros; auto. apply IHwalk. now apply receiver_in. Qed.

Lemma walk_weaken net (usable usable' : nat -> bool) u p v :
  (forall a, In a p -> usable a = true -> usable' a = true) ->
  walk net usable u p v -> walk net usable' u p v.
Proof.
  intros H P. induction P; constructor; auto.
  - apply H; simpl; auto.
  - apply IHP. intros b B. apply H. now right.
Qed.

(** A set that contains the start and that no usable arc leaves contains the end. *)
Lemma walk_stays net usable (side : nat -> bool) u p v :
  (forall a, (a < arcs net)%nat -> usable a = true ->
     side (sender net a) = true -> side (receiver net a) = true) ->
  walk net usable u p v -> side u = true -> side v = true.
Proof. intros H. induction 1; auto. Qed.

(** ** Augmentation *)

Definition count (p : list nat) (a : nat) : Z := Z.of_nat (count_occ Nat.eq_dec p a).

Lemma count_cons b p a : count (b :: p) a = Z.b2z (b =? a)%nat + count p a.
Proof.
  unfold count. simpl. destruct (Nat.eq_dec b a) as [->|Hne].
  - rewrite Nat.eqb_refl. cbn [Z.b2z]. lia.
  - apply Nat.eqb_neq in Hne. rewrite Hne. cbn [Z.b2z]. lia.
Qed.

Lemma count_nonneg p a : 0 <= count p a.
Proof. unfold count. lia. Qed.

(** A path takes [d] from its arcs and gives it to their reverses. *)
Definition push (r : nat -> Z) (p : list nat) (d : Z) : nat -> Z :=
  fun a => r a - d * count p a + d * count p (reverse a).

(** Around every node, a walk leaves as often as it comes, but for its two ends. *)
Lemma walk_balance net usable u p v x : well_formed net -> walk net usable u p v ->
  sum (arcs net) (fun a =>
    Z.b2z (sender net a =? x)%nat * (count p a - count p (reverse a)))
  = Z.b2z (u =? x)%nat - Z.b2z (v =? x)%nat.
Proof.
  intros W. induction 1 as [u|b p v Hb U P IH].
  - rewrite sum_zero; [lia|]. intros. unfold count. simpl. lia.
  - rewrite (sum_ext _ _ (fun a =>
      Z.b2z (sender net a =? x)%nat * (count p a - count p (reverse a))
      + (Z.b2z (sender net a =? x)%nat * Z.b2z (b =? a)%nat
         + - (Z.b2z (sender net a =? x)%nat * Z.b2z (b =? reverse a)%nat)))).
    2: { intros. rewrite !count_cons. lia. }
    rewrite sum_add, IH, sum_add, sum_opp.
    rewrite (sum_single _ b).
    + rewrite (sum_single _ (reverse b)).
      * rewrite reverse_twice, !Nat.eqb_refl, <- (receiver_is _ W) by auto.
        replace (Z.b2z true) with 1 by reflexivity. lia.
      * now apply reverse_in.
      * intros i Hi Hne. replace (b =? reverse i)%nat with false; [cbn [Z.b2z]; lia|].
        symmetry. apply Nat.eqb_neq. intros ->. apply Hne. now rewrite reverse_twice.
    + assumption.
    + intros i Hi Hne. replace (b =? i)%nat with false; [cbn [Z.b2z]; lia|].
      symmetry. apply Nat.eqb_neq. auto.
Qed.

Lemma push_out net r usable u p v d x : well_formed net -> walk net usable u p v ->
  out net (flow_of net (push r p d)) x
  = out net (flow_of net r) x + d * (Z.b2z (u =? x)%nat - Z.b2z (v =? x)%nat).
Proof.
  intros W P. rewrite <- (walk_balance net usable u p v x W P), <- sum_scale.
  unfold out. rewrite <- sum_add. apply sum_ext. intros a Ha. unfold flow_of, push. lia.
Qed.

(** Whatever walk from source to sink is applied: if no residual falls below 0, the flow stays
    legal and grows by what was pushed. *)
Theorem push_legal net r usable p d : well_formed net -> legal net (flow_of net r) ->
  walk net usable (source net) p (sink net) ->
  (forall a, (a < arcs net)%nat -> 0 <= push r p d a) ->
  legal net (flow_of net (push r p d)) /\
  value net (flow_of net (push r p d)) = value net (flow_of net r) + d.
Proof.
  intros W L P N. split; [split|].
  - intros a Ha. specialize (N a Ha). unfold flow_of in *. lia.
  - intros a Ha. pose proof (skew _ _ L a Ha). unfold flow_of, push in *.
    rewrite reverse_twice. lia.
  - intros v Hv Hs Ht. rewrite (push_out net r usable _ _ _ d v W P), (conserved _ _ L) by auto.
    apply Nat.eqb_neq in Hs, Ht. rewrite (Nat.eqb_sym _ v), Hs, (Nat.eqb_sym _ v), Ht.
    cbn [Z.b2z]. lia.
  - unfold value. rewrite (push_out net r usable _ _ _ d _ W P), Nat.eqb_refl.
    replace (sink net =? source net)%nat with false; [cbn [Z.b2z]; lia|].
    symmetry. apply Nat.eqb_neq. intros E. symmetry in E. now apply (ends_differ _ W).
Qed.

(** A path without repetition may carry as much as the smallest of its residuals. *)
Lemma push_nonneg net r p d : legal net (flow_of net r) -> NoDup p -> 0 <= d ->
  (forall a, In a p -> d <= r a) -> forall a, (a < arcs net)%nat -> 0 <= push r p d a.
Proof.
  intros L N D B a Ha. unfold push. pose proof (residual_nonneg _ _ L a Ha).
  pose proof (count_nonneg p (reverse a)).
  destruct (in_dec Nat.eq_dec a p) as [I|I].
  - specialize (B a I). assert (count p a = 1).
    { unfold count. apply NoDup_count_occ' with (decA := Nat.eq_dec) in I; auto. now rewrite I. }
    nia.
  - assert (count p a = 0).
    { unfold count. apply count_occ_not_In with (eq_dec := Nat.eq_dec) in I. now rewrite I. }
    nia.
Qed.

(** All arcs take part. *)
Definition everything (a : nat) : bool := true.
