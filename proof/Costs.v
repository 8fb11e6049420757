(** Least cost: prices prove it, and the primal-dual method of [classical/least_cost.py] ends with
    a maximum flow and prices that do.

    The method asks the cells for nothing new: rounds over the tight arcs, and a step of the prices
    in which [LEAST] finds the least reduced cost across a cut and [SUBTRACT] takes it away. *)
From Coq Require Import ZArith List Lia Bool Arith.
From Augury Require Import Sums Network Rules Search Digits Judge FordFulkerson.
Import ListNotations.
Open Scope Z_scope.

(** ** Prices prove the least cost *)

Section Optimality.
Variable net : network.
Hypothesis W : well_formed net.
Variable cost : nat -> Z.
Hypothesis cost_skew : forall a, (a < arcs net)%nat -> cost (reverse a) = - cost a.

(** The even arc of a pair has the cost of its edge, the odd one its negative. *)
Definition total_cost (f : nat -> Z) : Z :=
  sum (pairs net) (fun k => cost (2 * k)%nat * f (2 * k)%nat).

Definition least_cost (f : nat -> Z) : Prop :=
  forall g, legal net g -> value net g = value net f -> total_cost f <= total_cost g.

Definition reduced (price : nat -> Z) (a : nat) : Z :=
  cost a + price (sender net a) - price (receiver net a).

(** No arc with residual has a negative reduced cost. *)
Definition feasible (r price : nat -> Z) : Prop :=
  forall a, (a < arcs net)%nat -> 0 < r a -> 0 <= reduced price a.

Lemma reduced_skew price a : (a < arcs net)%nat ->
  reduced price (reverse a) = - reduced price a.
Proof.
  intros A. unfold reduced. rewrite (receiver_reverse _ W) by auto.
  rewrite <- (receiver_is _ W) by auto. rewrite cost_skew by auto. lia.
Qed.

Lemma sum_twice m g : (forall a, (a < 2 * m)%nat -> g (reverse a) = g a) ->
  sum (2 * m) g = 2 * sum m (fun k => g (2 * k)%nat).
Proof.
  induction m; intros H; [reflexivity|].
  replace (2 * S m)%nat with (S (S (2 * m))) by lia. cbn [sum].
  rewrite IHm by (intros; apply H; lia).
  assert (g (S (2 * m)) = g (2 * m)%nat).
  { rewrite <- (H (2 * m)%nat) by lia. rewrite reverse_double. f_equal. lia. }
  lia.
Qed.

Lemma twice_cost f : (forall a, (a < arcs net)%nat -> f (reverse a) = - f a) ->
  2 * total_cost f = sum (arcs net) (fun a => cost a * f a).
Proof.
  intros S. unfold arcs. rewrite sum_twice; [reflexivity|].
  intros a A. rewrite cost_skew, S by auto. lia.
Qed.

Lemma out_weighted (p : nat -> Z) f :
  sum (nodes net) (fun v => p v * out net f v)
  = sum (arcs net) (fun a => p (sender net a) * f a).
Proof.
  unfold out. rewrite (sum_ext _ _ (fun v => sum (arcs net) (fun a =>
    p v * (Z.b2z (sender net a =? v)%nat * f a)))).
  2: { intros. now rewrite sum_scale. }
  rewrite sum_swap. apply sum_ext. intros a Ha. rewrite (sum_single _ (sender net a)).
  - rewrite Nat.eqb_refl. cbn [Z.b2z]. lia.
  - now apply (sender_in _ W).
  - intros v Hv Hne. replace (sender net a =? v)%nat with false; [cbn [Z.b2z]; lia|].
    symmetry. apply Nat.eqb_neq. auto.
Qed.

(** Prices cancel out in a change that leaves every node balanced. *)
Lemma prices_cancel (price h : nat -> Z) :
  (forall a, (a < arcs net)%nat -> h (reverse a) = - h a) ->
  (forall v, (v < nodes net)%nat -> out net h v = 0) ->
  sum (arcs net) (fun a => (price (sender net a) - price (receiver net a)) * h a) = 0.
Proof.
  intros S B.
  rewrite (sum_ext _ _ (fun a => price (sender net a) * h a + - (price (receiver net a) * h a)))
    by (intros; lia).
  rewrite sum_add, sum_opp.
  assert (Zs : sum (arcs net) (fun a => price (sender net a) * h a) = 0).
  { rewrite <- out_weighted. apply sum_zero. intros v V. rewrite B by auto. lia. }
  assert (Zr : sum (arcs net) (fun a => price (receiver net a) * h a)
             = - sum (arcs net) (fun a => price (sender net a) * h a)).
  { rewrite <- sum_opp. unfold arcs. rewrite <- sum_reverse. apply sum_ext. intros a A.
    rewrite (receiver_reverse _ W), S by auto. lia. }
  lia.
Qed.

(** A net flow within the capacities, whatever it brings to the nodes. *)
Definition bounded (f : nat -> Z) : Prop :=
  forall a, (a < arcs net)%nat -> f a <= capacity net a /\ f (reverse a) = - f a.

(** Complementary slackness: with feasible prices a flow costs least among all that bring the same
    to every node.  This covers supplies and lower bounds as well. *)
Theorem prices_prove_least_cost_of_all f g price : bounded f -> bounded g ->
  (forall a, (a < arcs net)%nat -> f a < capacity net a -> 0 <= reduced price a) ->
  (forall v, (v < nodes net)%nat -> out net g v = out net f v) ->
  total_cost f <= total_cost g.
Proof.
  intros L G F Same. set (h := fun a => g a - f a).
  assert (Sh : forall a, (a < arcs net)%nat -> h (reverse a) = - h a).
  { intros a A. unfold h. rewrite (proj2 (L a A)), (proj2 (G a A)). lia. }
  assert (B : forall v, (v < nodes net)%nat -> out net h v = 0).
  { intros v V. specialize (Same v V). unfold out, h in *.
    rewrite (sum_ext _ _ (fun a => Z.b2z (sender net a =? v)%nat * g a
      + - (Z.b2z (sender net a =? v)%nat * f a))) by (intros; lia).
    rewrite sum_add, sum_opp. lia. }
  enough (0 <= sum (arcs net) (fun a => cost a * h a)).
  { pose proof (twice_cost f (fun a A => proj2 (L a A))).
    pose proof (twice_cost g (fun a A => proj2 (G a A))).
    rewrite (sum_ext (arcs net) (fun a => cost a * h a)
      (fun a => cost a * g a + - (cost a * f a))) in H by (intros; unfold h; lia).
    rewrite sum_add, sum_opp in H. lia. }
  pose proof (prices_cancel price h Sh B) as C.
  rewrite (sum_ext _ _ (fun a => reduced price a * h a
    + - ((price (sender net a) - price (receiver net a)) * h a))) by (intros; unfold reduced; lia).
  rewrite sum_add, sum_opp, C.
  enough (0 <= sum (arcs net) (fun a => reduced price a * h a)) by lia.
  apply sum_nonneg. intros a A.
  assert (Up : forall b, (b < arcs net)%nat -> 0 < h b -> 0 <= reduced price b).
  { intros b Hb P. apply F; auto. pose proof (proj1 (G b Hb)). unfold h in P. lia. }
  destruct (Z_lt_dec 0 (h a)) as [P|P]; [specialize (Up a A P); nia|].
  destruct (Z_lt_dec (h a) 0) as [N|N]; [|replace (h a) with 0 by lia; lia].
  assert (0 <= reduced price (reverse a)).
  { apply Up; [now apply reverse_in|]. rewrite Sh by auto. lia. }
  rewrite reduced_skew in H by auto. nia.
Qed.

(** A legal flow with feasible prices costs least among all of its size. *)
Theorem prices_prove_least_cost r price :
  legal net (flow_of net r) -> feasible r price -> least_cost (flow_of net r).
Proof.
  intros L F g G V. set (f := flow_of net r) in *.
  assert (Bf : bounded f) by (intros a A; split; [now apply (within _ _ L)|now apply (skew _ _ L)]).
  assert (Bg : bounded g) by (intros a A; split; [now apply (within _ _ G)|now apply (skew _ _ G)]).
  apply prices_prove_least_cost_of_all with price; auto.
  - intros a A Lt. apply F; auto. unfold f, flow_of in Lt. lia.
  - assert (Ends : forall k, legal net k ->
      out net k (source net) + out net k (sink net) = 0).
    { intros k K. pose proof (out_weighted (fun _ => 1) k) as Ow.
      rewrite (sum_ext (arcs net) _ k) in Ow by (intros; lia).
      unfold arcs in Ow. rewrite sum_skew in Ow by (apply (skew _ _ K)).
      rewrite (sum_ext _ _ (fun v => (if (v =? source net)%nat then out net k v else 0)
        + (if (v =? sink net)%nat then out net k v else 0))) in Ow.
      - rewrite sum_add, (sum_single _ (source net)), (sum_single _ (sink net)) in Ow;
          rewrite ?Nat.eqb_refl in *; try apply W; auto;
          intros v _ N; apply Nat.eqb_neq in N; now rewrite N.
      - intros v Hv. destruct (Nat.eqb_spec v (source net)) as [Es|Ns];
          destruct (Nat.eqb_spec v (sink net)) as [Et|Nt]; try lia.
        + exfalso. apply (ends_differ _ W). congruence.
        + rewrite (conserved _ _ K v Hv Ns Nt). lia. }
    intros v Hv. pose proof (Ends f L). pose proof (Ends g G). unfold value in V.
    destruct (Nat.eq_dec v (source net)) as [->|Ns]; [assumption|].
    destruct (Nat.eq_dec v (sink net)) as [->|Nt]; [lia|].
    rewrite (conserved _ _ G), (conserved _ _ L) by auto. lia.
Qed.

End Optimality.

(** ** The primal-dual method *)

Section PrimalDual.
Variable net : network.
Hypothesis W : well_formed net.
(** As in [FordFulkerson], every event may be decided by a table of its own. *)
Variable allowed : table -> Prop.
Hypothesis E : forall t, allowed t -> equals_rules t = true.
Variable some_table : table.
Hypothesis some_allowed : allowed some_table.
Variable width : nat.
Hypothesis fits : forall a, (a < arcs net)%nat ->
  capacity net a + capacity net (reverse a) < 2 ^ Z.of_nat width.
Variable cost : nat -> Z.
Hypothesis cost_skew : forall a, (a < arcs net)%nat -> cost (reverse a) = - cost a.

(** A legal start with feasible prices, and how large the numbers are at the start. *)
Variables r0 price0 : nat -> Z.
Hypothesis legal0 : legal net (flow_of net r0).
Hypothesis feasible0 : feasible net cost r0 price0.
Variables most_cost spread : Z.
Hypothesis cost_bound : forall a, (a < arcs net)%nat -> Z.abs (cost a) <= most_cost.
Hypothesis most_cost_nonneg : 0 <= most_cost.
Hypothesis spread_bound : forall u v, (u < nodes net)%nat -> (v < nodes net)%nat ->
  price0 u - price0 v <= spread.

(** The network sees each reduced cost with [half] added to it, so that it is not negative. *)
Variable half : Z.
Definition farthest : Z := (Z.of_nat (nodes net) - 1) * most_cost + spread.
Hypothesis half_bound : most_cost + spread + 2 * farthest < half.
Hypothesis half_fits : 2 * half <= 2 ^ Z.of_nat width.

Local Notation reduced := (reduced net cost).
Local Notation feasible := (feasible net cost).

Definition tight (price : nat -> Z) (a : nat) : bool := reduced price a =? 0.

Inductive step_outcome :=
| Finished
| Stepped (price : nat -> Z)
| WrongStep.

Definition raised (side : nat -> bool) (d : Z) (price : nat -> Z) (v : nat) : Z :=
  if side v then price v else price v + d.

(** The step after a search that stopped at [side], as the judge sees it. *)
Definition price_step (t : table) (r price : nat -> Z) (side : nat -> bool) : step_outcome :=
  let leaving := filter (leaves net side) (seq 0 (arcs net)) in
  match filter (fun a => 0 <? r a) leaving with
  | [] => Finished
  | across =>
      let truth := smallest (map (reduced price) across) in
      let proposed := least_of t width (map (fun a => Z.max (reduced price a) 0) across) in
      let kept a := difference t width 0 false (reduced price a + half) proposed in
      if (proposed =? truth) && forallb (fun a => kept a =? reduced price a + half - truth) leaving
      then Stepped (raised side truth price) else WrongStep
  end.

(** [run total k j D D' r price]: after [total] events, k of them augmentations, j steps since the
    last of these; the steps add up to D, and to D' since the last augmentation.  A path over tight
    arcs comes from a round, or else from anywhere, past the judge. *)
Inductive run : nat -> nat -> nat -> Z -> Z -> (nat -> Z) -> (nat -> Z) -> Prop :=
| run_start : run 0 0 0 0 0 r0 price0
| run_round total k j D D' r price t p d : run total k j D D' r price -> allowed t ->
    round net t width (tight price) r (Applied p d) ->
    run (S total) (S k) 0 D 0 (push r p d) price
| run_path total k j D D' r price p d : run total k j D D' r price ->
    accepts net (tight price) r p d = true ->
    run (S total) (S k) 0 D 0 (push r p d) price
| run_step total k j D D' r price price' t t' side d : run total k j D D' r price ->
    allowed t -> round net t width (tight price) r (Done side) ->
    allowed t' -> price_step t' r price side = Stepped price' ->
    d = price' (sink net) - price (sink net) ->
    run (S total) k (S j) (D + d) (D' + d) r price'.

(** *** One step *)

Definition in_range (price : nat -> Z) : Prop :=
  forall a, (a < arcs net)%nat -> Z.abs (reduced price a) < half.

Lemma leaving_in side a :
  In a (filter (leaves net side) (seq 0 (arcs net))) <-> (a < arcs net)%nat /\ leaves net side a = true.
Proof. rewrite filter_In, in_seq. split; intros [? ?]; split; auto; lia. Qed.

Lemma raised_reduced side d price a :
  reduced (raised side d price) a = reduced price a
    + (if side (sender net a) then 0 else d) - (if side (receiver net a) then 0 else d).
Proof. unfold Costs.reduced, raised. destruct (side (sender net a)), (side (receiver net a)); lia. Qed.

(** A step keeps the prices feasible. *)
Lemma raised_feasible r price side d : feasible r price -> 0 <= d ->
  (forall a, (a < arcs net)%nat -> leaves net side a = true -> 0 < r a -> d <= reduced price a) ->
  feasible r (raised side d price).
Proof.
  intros F D H a A R. rewrite raised_reduced. specialize (F a A R). specialize (H a A).
  unfold leaves in H. destruct (side (sender net a)), (side (receiver net a)); simpl in H; lia.
Qed.

(** An augmentation over tight arcs keeps them feasible: the reverse of a tight arc is tight. *)
Lemma push_feasible r price p d : feasible r price -> 0 <= d ->
  (forall a, In a p -> (a < arcs net)%nat /\ tight price a = true) -> feasible (push r p d) price.
Proof.
  intros F D T a A R. destruct (Z_lt_dec 0 (r a)) as [P|N]; [now apply F|].
  unfold push in R. pose proof (count_nonneg p a).
  assert (C : 0 < count p (reverse a)) by nia. unfold count in C.
  assert (I : In (reverse a) p) by (apply (count_occ_In Nat.eq_dec); lia).
  destruct (T _ I) as [_ Z0]. unfold tight in Z0. apply Z.eqb_eq in Z0.
  rewrite (reduced_skew net W cost cost_skew) in Z0 by auto. lia.
Qed.

(** What a step can come to, if the numbers are in range before and after it. *)
Lemma price_step_correct t r price side : allowed t -> feasible r price -> in_range price ->
  (forall d, 0 <= d -> (exists a, (a < arcs net)%nat /\ leaves net side a = true /\ 0 < r a /\
     d = reduced price a) ->
     (forall a, (a < arcs net)%nat -> leaves net side a = true -> 0 < r a -> d <= reduced price a) ->
     in_range (raised side d price)) ->
  match price_step t r price side with
  | Finished => forall a, (a < arcs net)%nat -> leaves net side a = true -> r a <= 0
  | Stepped price' => exists d, 0 <= d /\ price' = raised side d price /\
      (exists a, (a < arcs net)%nat /\ leaves net side a = true /\ 0 < r a /\ d = reduced price a) /\
      (forall a, (a < arcs net)%nat -> leaves net side a = true -> 0 < r a -> d <= reduced price a)
  | WrongStep => False
  end.
Proof.
  intros At F Ra After. unfold price_step.
  set (leaving := filter (leaves net side) (seq 0 (arcs net))).
  set (across := filter (fun a => 0 <? r a) leaving).
  assert (Ac : forall a, In a across <-> ((a < arcs net)%nat /\ leaves net side a = true) /\ 0 < r a).
  { intros a. unfold across, leaving. now rewrite filter_In, leaving_in, Z.ltb_lt. }
  destruct across as [|x rest] eqn:Ex.
  - intros a A Lv. destruct (Z_le_dec (r a) 0) as [|N]; [assumption|]. exfalso.
    apply (Ac a). repeat split; auto. lia.
  - assert (Ne : map (reduced price) (x :: rest) <> []) by discriminate.
    set (some := x :: rest) in *.
    destruct (smallest_least _ Ne) as [Sin Sle]. set (d := smallest _) in *.
    assert (D0 : forall a, In a some -> 0 <= reduced price a).
    { intros a A. apply Ac in A. destruct A as [[A _] R]. now apply F. }
    assert (Dge : 0 <= d).
    { apply in_map_iff in Sin. destruct Sin as [a [<- A]]. now apply D0. }
    assert (Max : map (fun a => Z.max (reduced price a) 0) some = map (reduced price) some).
    { apply map_ext_in. intros a A. specialize (D0 a A). lia. }
    assert (Arg : exists a, (a < arcs net)%nat /\ leaves net side a = true /\ 0 < r a /\
      d = reduced price a).
    { apply in_map_iff in Sin. destruct Sin as [a [Ea A]]. apply Ac in A. exists a.
      destruct A as [[? ?] ?]. auto. }
    assert (Least : forall a, (a < arcs net)%nat -> leaves net side a = true -> 0 < r a ->
      d <= reduced price a).
    { intros a A Lv R. apply Sle, in_map, Ac. auto. }
    rewrite Max, (least_exact t (E t At) width _ d Sin Sle).
    2: { intros v V. apply in_map_iff in V. destruct V as [a [<- A]].
         pose proof (D0 a A). apply Ac in A. pose proof (Ra a (proj1 (proj1 A))). lia. }
    rewrite Z.eqb_refl. cbn [andb]. replace (forallb _ leaving) with true.
    + exists d. auto.
    + symmetry. apply forallb_forall. intros a A. apply leaving_in in A. destruct A as [A Lv].
      apply Z.eqb_eq. pose proof (Ra a A). pose proof (After d Dge Arg Least a A) as Af.
      rewrite raised_reduced in Af. unfold leaves in Lv. apply andb_true_iff in Lv.
      destruct Lv as [L1 L2]. apply negb_true_iff in L2. rewrite L1, L2 in Af.
      apply (subtract_exact t (E t At)); lia.
Qed.

(** *** Reachability over tight arcs *)

Definition reaches (r price : nat -> Z) (v : nat) : Prop :=
  reachable net (usable_arcs (tight price) r) v.

(** What can be reached can be reached in fewer steps than there are nodes. *)
Lemma short_walk usable v : (v < nodes net)%nat -> reachable net usable v ->
  exists p, walk net usable (source net) p v /\ (length p <= nodes net - 1)%nat.
Proof.
  intros V Rv. pose proof (two_nodes net W).
  destruct (search_exists net some_table usable (fun _ => 1%nat) 0 (start net)) as [s Se].
  destruct (search_result net W some_table (E _ some_allowed) usable (fun _ => 1%nat))
    with (3 := invariant_start net usable)
    (k := 0%nat) (s := start net) (s' := s) as [R [j [J [B _]]]]; auto; try lia.
  { unfold num_reached, start. cbn [reached].
    rewrite (sum_single _ (source net));
      [rewrite Nat.eqb_refl; simpl; lia|apply (source_in _ W)|].
    intros i _ N. apply Nat.eqb_neq in N. now rewrite N. }
  apply R in Rv; [|assumption]. apply B in Rv; [|assumption]. destruct Rv as [p [P L]].
  exists p. split; [assumption|lia].
Qed.

(** Along tight arcs prices differ by the costs. *)
Lemma tight_walk_price price u p v : walk net (tight price) u p v ->
  price v <= price u + Z.of_nat (length p) * most_cost.
Proof.
  induction 1 as [u|a p v A T P IH]; cbn [length]; [lia|].
  unfold tight, Costs.reduced in T. apply Z.eqb_eq in T. pose proof (cost_bound a A). lia.
Qed.

Lemma reached_price price v : (v < nodes net)%nat -> reachable net (tight price) v ->
  price v <= price (source net) + (Z.of_nat (nodes net) - 1) * most_cost.
Proof.
  intros V R. destruct (short_walk _ v V R) as [p [P L]]. pose proof (tight_walk_price _ _ _ _ P).
  pose proof (two_nodes net W). nia.
Qed.

Lemma open_is_tight r price u p v : walk net (usable_arcs (tight price) r) u p v ->
  walk net (tight price) u p v.
Proof.
  apply walk_weaken. intros a _ U. unfold usable_arcs in U. now apply andb_true_iff in U.
Qed.

(** *** What holds in every state of a run *)

Definition counts (j : nat) (r price : nat -> Z) : Prop :=
  forall side, (forall v, (v < nodes net)%nat -> (side v = true <-> reaches r price v)) ->
    Z.of_nat j < sum (nodes net) (fun v => Z.b2z (side v)).

Record invariant (k j : nat) (D D' : Z) (r price : nat -> Z) : Prop := {
  inv_legal : legal net (flow_of net r);
  inv_value : value net (flow_of net r0) + Z.of_nat k <= value net (flow_of net r);
  inv_feasible : feasible r price;
  inv_source : price (source net) = price0 (source net);
  inv_sink : price (sink net) = price0 (sink net) + D;
  inv_prices : forall v, (v < nodes net)%nat -> price0 v <= price v <= price0 v + D;
  inv_total : D <= farthest + D';
  inv_since : 0 <= D' <= farthest;
  inv_unreached : forall v, (v < nodes net)%nat -> price0 v + D' <= price v \/ reaches r price v;
  inv_counts : counts j r price
}.

Lemma farthest_nonneg : 0 <= farthest.
Proof.
  pose proof (two_nodes net W). pose proof (source_in _ W) as S.
  pose proof (spread_bound _ _ S S). unfold farthest. nia.
Qed.

Lemma invariant_in_range k j D D' r price : invariant k j D D' r price -> in_range price.
Proof.
  intros I a A. pose proof (sender_in _ W a A) as S. pose proof (receiver_in _ W a A) as R.
  pose proof (inv_prices _ _ _ _ _ _ I _ S). pose proof (inv_prices _ _ _ _ _ _ I _ R).
  pose proof (spread_bound _ _ S R). pose proof (spread_bound _ _ R S).
  pose proof (inv_total _ _ _ _ _ _ I). pose proof (inv_since _ _ _ _ _ _ I).
  pose proof (cost_bound a A). unfold Costs.reduced. lia.
Qed.

Lemma reaches_source r price : reaches r price (source net).
Proof. exists []. constructor. Qed.

Lemma some_counted r price : counts 0 r price.
Proof.
  intros side S. apply Z.le_lt_trans with (sum (nodes net) (fun _ => 0)).
  { rewrite sum_zero by auto. simpl. lia. }
  apply sum_lt with (source net); [|apply (source_in _ W)|].
  - intros. apply b2z_nonneg.
  - replace (side (source net)) with true; [simpl; lia|].
    symmetry. apply S; [apply (source_in _ W)|apply reaches_source].
Qed.

Lemma invariant_start : invariant 0 0 0 0 r0 price0.
Proof.
  pose proof farthest_nonneg.
  split; auto using some_counted; intros; try left; lia.
Qed.

Lemma invariant_push k j D D' r price p d : invariant k j D D' r price ->
  walk net (tight price) (source net) p (sink net) -> 0 < d ->
  legal net (flow_of net (push r p d)) ->
  value net (flow_of net (push r p d)) = value net (flow_of net r) + d ->
  invariant (S k) 0 D 0 (push r p d) price.
Proof.
  intros I Wp Dp L V. pose proof farthest_nonneg.
  split; try apply I; auto using some_counted.
  - pose proof (inv_value _ _ _ _ _ _ I). lia.
  - apply push_feasible; [apply I|lia|]. apply (walk_usable _ _ _ _ _ Wp).
  - pose proof (reached_price price _ (sink_in _ W) (ex_intro _ p Wp)).
    pose proof (inv_source _ _ _ _ _ _ I). pose proof (inv_sink _ _ _ _ _ _ I).
    pose proof (spread_bound _ _ (source_in _ W) (sink_in _ W)). unfold farthest. lia.
  - lia.
  - intros v Hv. left. pose proof (inv_prices _ _ _ _ _ _ I v Hv). lia.
Qed.

Lemma invariant_round t k j D D' r price p d : allowed t -> invariant k j D D' r price ->
  round net t width (tight price) r (Applied p d) -> invariant (S k) 0 D 0 (push r p d) price.
Proof.
  intros At I Ro.
  destruct (round_correct net W t (E t At) width fits _ _ _ (inv_legal _ _ _ _ _ _ I) Ro)
    as [[Wp _] [Dp [_ [_ [L V]]]]].
  apply (invariant_push k j D D'); auto. now apply open_is_tight with r.
Qed.

Lemma invariant_path k j D D' r price p d : invariant k j D D' r price ->
  accepts net (tight price) r p d = true -> invariant (S k) 0 D 0 (push r p d) price.
Proof.
  intros I Ok.
  destruct (accepted_is_legal net W _ _ _ _ (inv_legal _ _ _ _ _ _ I) Ok) as [Wp [Dp [L V]]].
  now apply (invariant_push k j D D').
Qed.

Lemma invariant_step t k j D D' r price side d : allowed t -> invariant k j D D' r price ->
  round net t width (tight price) r (Done side) -> 0 <= d ->
  (exists a, (a < arcs net)%nat /\ leaves net side a = true /\ 0 < r a /\ d = reduced price a) ->
  (forall a, (a < arcs net)%nat -> leaves net side a = true -> 0 < r a -> d <= reduced price a) ->
  invariant k (S j) (D + d) (D' + d) r (raised side d price).
Proof.
  intros At I Ro Dp [a [A [Lv [Ra Ea]]]] Least.
  destruct (round_correct net W t (E t At) width fits _ _ _ (inv_legal _ _ _ _ _ _ I) Ro)
    as [[Ss St] [Sv _]].
  set (price' := raised side d price).
  (* Arcs inside the side keep their reduced costs, so what was reached still is. *)
  assert (Keep : forall v, (v < nodes net)%nat -> side v = true -> reaches r price' v).
  { intros v Hv S. apply Sv in S; [|assumption]. destruct S as [p P]. exists p.
    assert (G : forall u q w, walk net (usable_arcs (tight price) r) u q w -> side u = true ->
      walk net (usable_arcs (tight price') r) u q w).
    { induction 1 as [u|b q w B U Q IH]; intros Su; [constructor|].
      assert (Sr : side (receiver net b) = true).
      { apply Sv; [now apply receiver_in|]. apply Sv in Su; [|now apply sender_in].
        destruct Su as [q' Q']. exists (q' ++ [b]). now apply walk_extend. }
      constructor; [assumption| |now apply IH].
      unfold usable_arcs, tight in *. unfold price'. rewrite raised_reduced, Su, Sr.
      now replace (reduced price b + 0 - 0) with (reduced price b) by lia. }
    now apply G. }
  (* The cheapest arc across becomes tight, so its end is reached. *)
  assert (Lv' := Lv). unfold leaves in Lv'. apply andb_true_iff in Lv'. destruct Lv' as [L1 L2].
  apply negb_true_iff in L2. set (w := receiver net a) in *.
  assert (Wn : (w < nodes net)%nat) by now apply receiver_in.
  assert (New : reaches r price' w).
  { destruct (Keep _ (sender_in _ W a A) L1) as [p P]. exists (p ++ [a]).
    apply walk_extend; auto. unfold usable_arcs, tight. unfold price'. rewrite raised_reduced.
    fold w. rewrite L1, L2. apply andb_true_iff. split; [apply Z.eqb_eq; lia|now apply Z.ltb_lt]. }
  assert (Far : price0 w + D' <= price w).
  { destruct (inv_unreached _ _ _ _ _ _ I w Wn) as [H|H]; [assumption|].
    apply Sv in H; [congruence|assumption]. }
  assert (Src : price' (source net) = price0 (source net)).
  { unfold price', raised. rewrite Ss. apply I. }
  assert (Since : D' + d <= farthest).
  { assert (R : reachable net (tight price') w)
      by (destruct New as [p P]; exists p; now apply open_is_tight with r).
    pose proof (reached_price price' w Wn R) as H. rewrite Src in H.
    assert (price' w = price w + d) by (unfold price', raised; now rewrite L2).
    pose proof (spread_bound _ _ (source_in _ W) Wn). unfold farthest. lia. }
  split; try apply I; auto.
  - now apply raised_feasible; [apply I| |].
  - unfold price', raised. rewrite St. pose proof (inv_sink _ _ _ _ _ _ I). lia.
  - intros v Hv. pose proof (inv_prices _ _ _ _ _ _ I v Hv). unfold price', raised.
    destruct (side v); lia.
  - pose proof (inv_total _ _ _ _ _ _ I). lia.
  - pose proof (inv_since _ _ _ _ _ _ I). lia.
  - intros v Hv. destruct (side v) eqn:S; [right; now apply Keep|left].
    destruct (inv_unreached _ _ _ _ _ _ I v Hv) as [H|H].
    + unfold price', raised. rewrite S. lia.
    + apply Sv in H; [congruence|assumption].
  - intros side' S'. pose proof (inv_counts _ _ _ _ _ _ I side Sv).
    enough (sum (nodes net) (fun v => Z.b2z (side v)) < sum (nodes net) (fun v => Z.b2z (side' v)))
      by lia.
    apply sum_lt with w; [|assumption|].
    + intros v Hv. destruct (side v) eqn:S; [|destruct (side' v); simpl; lia].
      replace (side' v) with true; [lia|]. symmetry. apply S'; auto.
    + rewrite L2. replace (side' w) with true; [simpl; lia|]. symmetry. now apply S'.
Qed.

Lemma run_invariant total k j D D' r price : run total k j D D' r price ->
  invariant k j D D' r price.
Proof.
  induction 1 as [|total k j D D' r price t p d Rn I At Ro|total k j D D' r price p d Rn I Ok
    |total k j D D' r price price' t t' side d Rn I At Ro At' St Ed].
  - apply invariant_start.
  - eapply (invariant_round t); eauto.
  - eapply invariant_path; eauto.
  - pose proof (price_step_correct t' r price side At' (inv_feasible _ _ _ _ _ _ I)
      (invariant_in_range _ _ _ _ _ _ I)) as C.
    rewrite St in C. destruct C as [d' [Dp [-> [Arg Least]]]].
    { intros d' Dp Arg Least. eapply invariant_in_range. eapply (invariant_step t); eauto. }
    assert (d = d').
    { rewrite Ed. unfold raised.
      destruct (round_correct net W t (E t At) width fits _ _ _ (inv_legal _ _ _ _ _ _ I) Ro)
        as [[_ Sk] _]. rewrite Sk. lia. }
    subst d'. eapply (invariant_step t); eauto.
Qed.

Lemma steps_bounded total k j D D' r price : run total k j D D' r price -> (j < nodes net)%nat.
Proof.
  intros Rn. pose proof (inv_counts _ _ _ _ _ _ (run_invariant _ _ _ _ _ _ _ Rn)) as C.
  destruct (search_exists net some_table (usable_arcs (tight price) r) (fun _ => 1%nat) 0 (start net))
    as [s Se].
  destruct (search_correct net W some_table (E _ some_allowed) (usable_arcs (tight price) r) (fun _ => 1%nat)
    ltac:(intros; cbv beta; lia) s Se) as [R _].
  specialize (C (reached s) R).
  assert (sum (nodes net) (fun v => Z.b2z (reached s v)) <= sum (nodes net) (fun _ => 1)).
  { apply sum_le. intros v _. destruct (reached s v); simpl; lia. }
  assert (Ones : forall n, sum n (fun _ => 1) = Z.of_nat n) by (induction n; simpl; lia).
  rewrite Ones in *. lia.
Qed.

Lemma events_bounded total k j D D' r price : run total k j D D' r price ->
  (total <= k * nodes net + j)%nat.
Proof.
  induction 1 as [|total k j D D' r price t p d Rn IH At Ro|total k j D D' r price p d Rn IH Ok|];
    [lia| | |lia]; pose proof (steps_bounded _ _ _ _ _ _ _ Rn); nia.
Qed.

(** The theorem on costs of docs/verification.md.  In every state of every run, from any legal
    flow and feasible prices: the flow is legal and the prices feasible, every number fits, events
    are bounded, a next event exists and never goes wrong, and where the run ends, the flow is
    maximum and of least cost. *)
Theorem primal_dual_correct total k j D D' r price : run total k j D D' r price ->
  legal net (flow_of net r) /\ feasible r price /\ in_range price /\
  Z.of_nat k <= value_bound net - value net (flow_of net r0) /\
  (j < nodes net)%nat /\ (total <= k * nodes net + j)%nat /\
  forall t, allowed t ->
  (exists o, round net t width (tight price) r o) /\
  forall o, round net t width (tight price) r o ->
    match o with
    | Applied p d => value net (flow_of net (push r p d)) = value net (flow_of net r) + d /\ 0 < d
    | Done side =>
        match price_step t r price side with
        | Stepped price' => feasible r price'
        | Finished => maximum net (flow_of net r) /\ least_cost net cost (flow_of net r) /\
            is_cut net side /\ value net (flow_of net r) = cut_capacity net side
        | WrongStep => False
        end
    | Wrong => False
    end.
Proof.
  intros Rn. pose proof (run_invariant _ _ _ _ _ _ _ Rn) as I. split; [apply I|].
  split; [apply I|]. split; [now apply invariant_in_range in I|].
  split.
  { pose proof (value_bounded net _ W (inv_legal _ _ _ _ _ _ I)).
    pose proof (inv_value _ _ _ _ _ _ I). lia. }
  split; [now apply steps_bounded in Rn|]. split; [now apply events_bounded in Rn|].
  intros t At. split; [apply round_exists|].
  intros o Ro.
  pose proof (round_correct net W t (E t At) width fits _ _ _ (inv_legal _ _ _ _ _ _ I) Ro) as C.
  destruct o as [side|p d|]; [|tauto|assumption].
  destruct C as [Cut [_ Open]].
  pose proof (price_step_correct t r price side At (inv_feasible _ _ _ _ _ _ I)
    (invariant_in_range _ _ _ _ _ _ I)) as S.
  destruct (price_step t r price side) as [|price'|].
  - assert (Full : forall a, (a < arcs net)%nat -> leaves net side a = true -> r a = 0).
    { intros a A Lv. assert (r a <= 0).
      { apply S; auto. intros d' Dp Arg Least. eapply invariant_in_range. eapply (invariant_step t); eauto. }
      pose proof (residual_nonneg _ _ (inv_legal _ _ _ _ _ _ I) a A). lia. }
    destruct (full_cut_is_maximum net r side W (inv_legal _ _ _ _ _ _ I) Cut Full) as [V M].
    split; [assumption|]. split; [|auto].
    apply (prices_prove_least_cost net W cost cost_skew r price); apply I.
  - destruct S as [d' [Dp [-> [_ Least]]]].
    { intros d' Dp Arg Least. eapply invariant_in_range. eapply (invariant_step t); eauto. }
    apply raised_feasible; auto. apply I.
  - apply S. intros d' Dp Arg Least. eapply invariant_in_range. eapply (invariant_step t); eauto.
Qed.

(** How far apart prices can be at the end, for a second run that starts from them. *)
Theorem spread_after total k j D D' r price : run total k j D D' r price ->
  forall u v, (u < nodes net)%nat -> (v < nodes net)%nat ->
    price u - price v <= spread + 2 * farthest.
Proof.
  intros Rn u v U V. pose proof (run_invariant _ _ _ _ _ _ _ Rn) as I.
  pose proof (inv_prices _ _ _ _ _ _ I u U). pose proof (inv_prices _ _ _ _ _ _ I v V).
  pose proof (spread_bound u v U V).
  pose proof (inv_total _ _ _ _ _ _ I). pose proof (inv_since _ _ _ _ _ _ I). lia.
Qed.

(** Every run can be brought to its end. *)
Theorem primal_dual_ends t total k j D D' r price : allowed t -> run total k j D D' r price ->
  exists total' k' j' E E' r' price' side, run total' k' j' E E' r' price' /\
    round net t width (tight price') r' (Done side) /\ price_step t r' price' side = Finished.
Proof.
  intros At Rn. remember (Z.to_nat ((value_bound net - value net (flow_of net r0) + 1)
    * Z.of_nat (nodes net) - Z.of_nat total)) as n eqn:N.
  revert total k j D D' r price Rn N. induction n as [n IH] using lt_wf_ind. intros.
  assert (Bound : forall total k j D D' r price, run total k j D D' r price ->
    Z.of_nat total < (value_bound net - value net (flow_of net r0) + 1) * Z.of_nat (nodes net)).
  { intros tt kk jj DD DD' rr pp Rn'.
    destruct (primal_dual_correct _ _ _ _ _ _ _ Rn') as [_ [_ [_ [K [J [T _]]]]]]. nia. }
  destruct (primal_dual_correct _ _ _ _ _ _ _ Rn) as [_ [_ [_ [_ [_ [_ Next]]]]]].
  destruct (Next t At) as [[o Ro] C].
  specialize (C o Ro). destruct o as [side|p d|]; [|clear C|contradiction].
  - destruct (price_step t r price side) as [|price'|] eqn:St; [|clear C|contradiction].
    + exists total, k, j, D, D', r, price, side. auto.
    + pose proof (run_step _ _ _ _ _ _ _ price' t t side _ Rn At Ro At St eq_refl) as Rn'.
      pose proof (Bound _ _ _ _ _ _ _ Rn'). pose proof (Bound _ _ _ _ _ _ _ Rn).
      eapply (IH _ _ _ _ _ _ _ _ _ Rn' eq_refl).
  - pose proof (run_round _ _ _ _ _ _ _ t p d Rn At Ro) as Rn'.
    pose proof (Bound _ _ _ _ _ _ _ Rn'). pose proof (Bound _ _ _ _ _ _ _ Rn).
    eapply (IH _ _ _ _ _ _ _ _ _ Rn' eq_refl).
  Unshelve. all: lia.
Qed.

End PrimalDual.

(** The code takes for [half] a power of two above 9 (n + 2) C.  A run on a bipartite graph starts
    with prices that differ by at most 2 C, one on a network with equal prices, and its second run
    with those that the first left, at most 2 (n - 1) C apart: all of these fit. *)
Lemma half_of_the_code n C L : 2 <= n -> 0 <= C -> L <= 2 * (n - 1) * C ->
  C + L + 2 * ((n - 1) * C + L) <= 9 * (n + 2) * C.
Proof. nia. Qed.
