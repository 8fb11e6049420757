(** The certificate checkers, as functions, and proofs that what they accept is optimal.

    They do what [classical/certificate.py] and [classical/prices.py] check: a vertex cover for a
    matching, a cut for a flow, prices where there are costs.  They know nothing of how an answer
    was found.  [Extract.v] turns them into OCaml; tests compare that with the Python code. *)
From Coq Require Import ZArith List Lia Bool Arith.
From Augury Require Import Sums Network Rules Search Digits FordFulkerson Costs.
Import ListNotations.
Open Scope Z_scope.

(** ** Matchings *)

Definition edge := (nat * nat)%type.

Definition same_edge (e f : edge) : bool := (fst e =? fst f)%nat && (snd e =? snd f)%nat.

Definition is_in (x : nat) (l : list nat) : bool := existsb (Nat.eqb x) l.

Fixpoint all_different (l : list nat) : bool :=
  match l with [] => true | x :: rest => negb (is_in x rest) && all_different rest end.

Record matching (edges m : list edge) : Prop := {
  of_edges : forall e, In e m -> In e edges;
  left_once : NoDup (map fst m);
  right_once : NoDup (map snd m)
}.

Definition is_matching (edges m : list edge) : bool :=
  forallb (fun e => existsb (same_edge e) edges) m &&
  all_different (map fst m) && all_different (map snd m).

Definition covers (edges : list edge) (left right : list nat) : bool :=
  forallb (fun e => is_in (fst e) left || is_in (snd e) right) edges.

(** A matching, and a cover as large as it. *)
Definition check_matching (edges m : list edge) (left right : list nat) : bool :=
  is_matching edges m && covers edges left right &&
  (length left + length right =? length m)%nat.

Lemma is_in_spec x l : is_in x l = true <-> In x l.
Proof.
  unfold is_in. rewrite existsb_exists. split.
  - intros [y [I H]]. apply Nat.eqb_eq in H. now subst.
  - intros I. exists x. split; [assumption|apply Nat.eqb_refl].
Qed.

Lemma same_edge_spec e f : same_edge e f = true <-> e = f.
Proof.
  unfold same_edge. rewrite andb_true_iff, !Nat.eqb_eq. destruct e, f. simpl.
  split; [intros [-> ->]; reflexivity|intros H; injection H; auto].
Qed.

Lemma all_different_spec l : all_different l = true <-> NoDup l.
Proof.
  induction l as [|x l IH]; simpl; [split; [constructor|reflexivity]|].
  rewrite andb_true_iff, negb_true_iff, IH, NoDup_cons_iff.
  rewrite <- not_true_iff_false, is_in_spec. reflexivity.
Qed.

Lemma is_matching_spec edges m : is_matching edges m = true <-> matching edges m.
Proof.
  unfold is_matching. rewrite !andb_true_iff, !all_different_spec, forallb_forall.
  assert (H : (forall e, In e m -> existsb (same_edge e) edges = true) <->
              (forall e, In e m -> In e edges)).
  { split; intros H e I.
    - specialize (H e I). apply existsb_exists in H. destruct H as [f [F S]].
      apply same_edge_spec in S. now subst.
    - apply existsb_exists. exists e. split; [auto|now apply same_edge_spec]. }
  rewrite H. split; [intros [[? ?] ?]; now split|intros [? ? ?]; auto].
Qed.

Lemma NoDup_map_filter {A} (f : A -> nat) (keep : A -> bool) l :
  NoDup (map f l) -> NoDup (map f (filter keep l)).
Proof.
  induction l as [|x l IH]; simpl; [auto|]. rewrite NoDup_cons_iff. intros [N D].
  destruct (keep x); simpl; [|auto]. constructor; [|auto].
  intros I. apply N. apply in_map_iff in I. destruct I as [y [E I]]. apply filter_In in I.
  apply in_map_iff. exists y. tauto.
Qed.

Lemma filter_length {A} (keep : A -> bool) l :
  (length (filter keep l) + length (filter (fun x => negb (keep x)) l) = length l)%nat.
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. destruct (keep x); simpl; lia. Qed.

(** No matching has more edges than a cover has nodes (König's easy half). *)
Lemma cover_bounds edges m left right : matching edges m -> covers edges left right = true ->
  (length m <= length left + length right)%nat.
Proof.
  intros M C. unfold covers in C. rewrite forallb_forall in C.
  pose proof (filter_length (fun e => is_in (fst e) left) m) as Split.
  cbv beta in Split.
  assert (L : (length (filter (fun e => is_in (fst e) left) m) <= length left)%nat).
  { rewrite <- (map_length fst). apply NoDup_incl_length.
    - apply NoDup_map_filter, M.
    - intros x I. apply in_map_iff in I. destruct I as [e [<- I]]. apply filter_In in I.
      now apply is_in_spec. }
  assert (R : (length (filter (fun e => negb (is_in (fst e) left)) m) <= length right)%nat).
  { rewrite <- (map_length snd). apply NoDup_incl_length.
    - apply NoDup_map_filter, M.
    - intros x I. apply in_map_iff in I. destruct I as [e [<- I]]. apply filter_In in I.
      destruct I as [I N]. apply negb_true_iff in N. specialize (C e (of_edges _ _ M e I)).
      rewrite N in C. now apply is_in_spec. }
  unfold edge in *. lia.
Qed.

Theorem check_matching_sound edges m left right : check_matching edges m left right = true ->
  matching edges m /\ forall m', matching edges m' -> (length m' <= length m)%nat.
Proof.
  unfold check_matching. rewrite !andb_true_iff, Nat.eqb_eq. intros [[M C] S].
  split; [now apply is_matching_spec|]. intros m' M'.
  pose proof (cover_bounds _ _ _ _ M' C). lia.
Qed.

(** ** Flows *)

Section Flows.
Variable net : network.

Definition is_well_formed : bool :=
  (source net <? nodes net)%nat && (sink net <? nodes net)%nat &&
  negb (source net =? sink net)%nat &&
  forallb (fun a => (sender net a <? nodes net)%nat &&
    (receiver net a =? sender net (reverse a))%nat) (seq 0 (arcs net)).

Definition is_bounded (f : nat -> Z) : bool :=
  forallb (fun a => (f a <=? capacity net a) && (f (reverse a) =? - f a)) (seq 0 (arcs net)).

Definition is_conserved (f : nat -> Z) : bool :=
  forallb (fun v => (v =? source net)%nat || (v =? sink net)%nat || (out net f v =? 0))
    (seq 0 (nodes net)).

Definition is_legal (f : nat -> Z) : bool := is_well_formed && is_bounded f && is_conserved f.

(** A legal flow, and a cut of the capacity of its value. *)
Definition check_cut (f : nat -> Z) (side : nat -> bool) : bool :=
  is_legal f && side (source net) && negb (side (sink net)) &&
  (value net f =? cut_capacity net side).

Lemma forallb_below (g : nat -> bool) n :
  forallb g (seq 0 n) = true <-> forall i, (i < n)%nat -> g i = true.
Proof.
  rewrite forallb_forall. split; intros H i I; apply H; [apply in_seq; lia|].
  apply in_seq in I. lia.
Qed.

Lemma is_well_formed_spec : is_well_formed = true <-> well_formed net.
Proof.
  unfold is_well_formed.
  rewrite !andb_true_iff, !Nat.ltb_lt, negb_true_iff, Nat.eqb_neq, forallb_below.
  assert (H : (forall i, (i < arcs net)%nat -> (sender net i <? nodes net)%nat &&
      (receiver net i =? sender net (reverse i))%nat = true) <->
    (forall i, (i < arcs net)%nat -> (sender net i < nodes net)%nat /\
      receiver net i = sender net (reverse i))).
  { split; intros H i I; specialize (H i I);
      rewrite andb_true_iff, Nat.ltb_lt, Nat.eqb_eq in *; assumption. }
  rewrite H. split.
  - intros [[[? ?] ?] K]. split; auto; intros; now apply K.
  - intros []. repeat split; auto.
Qed.

Lemma is_bounded_spec f : is_bounded f = true <-> bounded net f.
Proof.
  unfold is_bounded, bounded. rewrite forallb_below.
  split; intros H a A; specialize (H a A); rewrite andb_true_iff, Z.leb_le, Z.eqb_eq in *; auto.
Qed.

Lemma is_legal_spec f : is_legal f = true <-> well_formed net /\ legal net f.
Proof.
  unfold is_legal, is_conserved.
  rewrite !andb_true_iff, is_well_formed_spec, is_bounded_spec, forallb_below.
  unfold bounded. split.
  - intros [[W B] C]. split; [assumption|]. split; [intros; now apply B|intros; now apply B|].
    intros v V Ns Nt. specialize (C v V). apply Nat.eqb_neq in Ns, Nt. rewrite Ns, Nt in C.
    now apply Z.eqb_eq in C.
  - intros [W L]. split; [split; [assumption|]|].
    + intros a A. split; [now apply (within _ _ L)|now apply (skew _ _ L)].
    + intros v V. destruct (Nat.eqb_spec v (source net)); [reflexivity|].
      destruct (Nat.eqb_spec v (sink net)); [reflexivity|]. apply Z.eqb_eq. now apply L.
Qed.

Theorem check_cut_sound f side : check_cut f side = true -> maximum net f.
Proof.
  unfold check_cut. rewrite !andb_true_iff, negb_true_iff, Z.eqb_eq, is_legal_spec.
  intros [[[[W L] S] T] V]. now apply equal_cut_is_maximum with side.
Qed.

(** And complete: for every maximum flow there is a cut that is accepted. *)
Theorem check_cut_complete t f : equals_rules t = true -> well_formed net -> maximum net f ->
  exists side, check_cut f side = true.
Proof.
  intros E W [L M]. set (r := fun a => capacity net a - f a).
  assert (Lr : legal net (flow_of net r)).
  { unfold r. split.
    - intros a A. unfold flow_of. pose proof (within _ _ L a A). lia.
    - intros a A. unfold flow_of. pose proof (skew _ _ L a A). lia.
    - intros v V Ns Nt. rewrite <- (conserved _ _ L v V Ns Nt). apply sum_ext. intros.
      unfold flow_of. f_equal. lia. }
  assert (Vr : value net (flow_of net r) = value net f).
  { apply sum_ext. intros. unfold flow_of, r. f_equal. lia. }
  destruct (search_exists net t (usable_arcs everything r) (fun _ => 1%nat) 0 (start net)) as [s Se].
  destruct (search_correct net W t E (usable_arcs everything r) (fun _ => 1%nat)
    ltac:(intros; cbv beta; lia) s Se) as [R P].
  assert (Open : forall a, usable_arcs everything r a = true -> 0 < r a).
  { intros a U. apply andb_true_iff in U. destruct U as [_ U]. now apply Z.ltb_lt. }
  destruct (reached s (sink net)) eqn:Rs.
  - exfalso. destruct (P eq_refl) as [p [_ [Wp [_ N]]]].
    destruct (push_legal net r _ p 1 W Lr Wp) as [L' V'].
    + apply push_nonneg; auto; [lia|]. intros a A.
      destruct (walk_usable _ _ _ _ _ Wp a A) as [_ U]. apply Open in U. lia.
    + specialize (M _ L'). lia.
  - exists (reached s). unfold check_cut.
    rewrite !andb_true_iff, negb_true_iff, Z.eqb_eq, is_legal_spec.
    assert (Ss : reached s (source net) = true).
    { apply R; [apply (source_in _ W)|]. exists []. constructor. }
    split; [tauto|]. rewrite <- Vr. apply full_cut_is_maximum; auto; [now split|].
    intros a A Lv. pose proof (residual_nonneg _ _ Lr a A).
    destruct (Z_le_dec (r a) 0) as [|N]; [lia|]. exfalso.
    unfold leaves in Lv. apply andb_true_iff in Lv. destruct Lv as [S1 S2].
    apply negb_true_iff in S2. enough (reached s (receiver net a) = true) by congruence.
    apply R; [now apply receiver_in|]. apply R in S1; [|now apply sender_in].
    destruct S1 as [q Q]. exists (q ++ [a]). apply walk_extend; auto.
    unfold usable_arcs, everything. cbn [andb]. apply Z.ltb_lt. lia.
Qed.

(** ** Costs *)

Variable cost : nat -> Z.

Definition is_skew_cost : bool :=
  forallb (fun a => cost (reverse a) =? - cost a) (seq 0 (arcs net)).

(** No arc that could carry more has a negative reduced cost.  ([Residual.are_proof]) *)
Definition are_proof (f price : nat -> Z) : bool :=
  forallb (fun a => negb (f a <? capacity net a) || (0 <=? reduced net cost price a))
    (seq 0 (arcs net)).

Definition check_prices (f price : nat -> Z) : bool :=
  is_well_formed && is_bounded f && is_skew_cost && are_proof f price.

(** What is accepted costs least among all flows within the capacities that bring the same to
    every node, whatever the supplies and lower bounds are. *)
Theorem check_prices_sound f price : check_prices f price = true ->
  bounded net f /\ forall g, bounded net g ->
    (forall v, (v < nodes net)%nat -> out net g v = out net f v) ->
    total_cost net cost f <= total_cost net cost g.
Proof.
  unfold check_prices. rewrite !andb_true_iff, is_well_formed_spec, is_bounded_spec.
  intros [[[W B] S] P]. split; [assumption|]. intros g G Same.
  apply (prices_prove_least_cost_of_all net W cost) with price; auto.
  - intros a A. unfold is_skew_cost in S. rewrite forallb_below in S. now apply Z.eqb_eq, S.
  - intros a A Lt. unfold are_proof in P. rewrite forallb_below in P. specialize (P a A).
    apply Z.ltb_lt in Lt. rewrite Lt in P. now apply Z.leb_le in P.
Qed.

(** A legal flow with a cut and prices is maximum, and of least cost among those of its size. *)
Theorem check_both_sound f side price : check_cut f side = true -> check_prices f price = true ->
  maximum net f /\ least_cost net cost f.
Proof.
  intros C P. pose proof (check_cut_sound f side C) as M. split; [assumption|].
  unfold check_prices in P. rewrite !andb_true_iff, is_well_formed_spec in P.
  destruct P as [[[W _] S] P].
  assert (Sk : forall a, (a < arcs net)%nat -> cost (reverse a) = - cost a).
  { intros a A. unfold is_skew_cost in S. rewrite forallb_below in S. now apply Z.eqb_eq, S. }
  destruct M as [L _]. set (r := fun a => capacity net a - f a).
  assert (Lr : legal net (flow_of net r)).
  { unfold r. split.
    - intros a A. unfold flow_of. pose proof (within _ _ L a A). lia.
    - intros a A. unfold flow_of. pose proof (skew _ _ L a A). lia.
    - intros v V Ns Nt. rewrite <- (conserved _ _ L v V Ns Nt). apply sum_ext. intros.
      unfold flow_of. f_equal. lia. }
  assert (Least : least_cost net cost (flow_of net r)).
  { apply (prices_prove_least_cost net W cost Sk r price Lr). intros a A Pos.
    unfold are_proof in P. rewrite forallb_below in P. specialize (P a A).
    assert (Lt : f a <? capacity net a = true) by (apply Z.ltb_lt; unfold r in Pos; lia).
    rewrite Lt in P. now apply Z.leb_le in P. }
  intros g G V.
  assert (Ext : forall a, flow_of net r a = f a) by (intros; unfold flow_of, r; lia).
  assert (Vr : value net (flow_of net r) = value net f).
  { apply sum_ext. intros. now rewrite Ext. }
  assert (Cr : total_cost net cost (flow_of net r) = total_cost net cost f).
  { apply sum_ext. intros. now rewrite Ext. }
  rewrite <- Cr. apply Least; [assumption|]. now rewrite Vr.
Qed.

End Flows.

(** ** Matchings with costs *)

Fixpoint total (values : list Z) : Z :=
  match values with [] => 0 | v :: rest => v + total rest end.

Definition cost_of (cost : edge -> Z) (m : list edge) : Z := total (map cost m).

(** Prices of source, left nodes, right nodes and sink: no change that the matching allows has a
    negative reduced cost.  [lefts] and [rights] are all nodes. *)
Definition check_assignment (edges : list edge) (cost : edge -> Z) (lefts rights : list nat)
    (m : list edge) (at_source : Z) (left right : nat -> Z) (at_sink : Z) : bool :=
  is_matching edges m &&
  forallb (fun e => 0 <=? cost e + left (fst e) - right (snd e)) edges &&
  forallb (fun e => cost e + left (fst e) - right (snd e) <=? 0) m &&
  forallb (fun e => is_in (fst e) lefts && is_in (snd e) rights) edges &&
  forallb (fun u => if is_in u (map fst m) then at_source <=? left u else left u <=? at_source) lefts &&
  forallb (fun v => if is_in v (map snd m) then right v <=? at_sink else at_sink <=? right v) rights.

Lemma total_le {A} (f g : A -> Z) l : (forall x, In x l -> f x <= g x) ->
  total (map f l) <= total (map g l).
Proof.
  induction l as [|x l IH]; intros H; [simpl; lia|].
  assert (f x <= g x) by (apply H; now left).
  assert (total (map f l) <= total (map g l)) by (apply IH; intros; apply H; now right).
  simpl. lia.
Qed.

Lemma total_combined {A} (f g : A -> Z) l :
  total (map (fun x => f x - g x) l) = total (map f l) - total (map g l).
Proof. induction l; simpl; lia. Qed.

Lemma total_shifted (f : nat -> Z) c l :
  total (map (fun x => f x - c) l) = total (map f l) - c * Z.of_nat (length l).
Proof. induction l; simpl length; [simpl; lia|]. cbn [map total]. lia. Qed.

Lemma total_app a b : total (a ++ b) = total a + total b.
Proof. induction a; simpl; lia. Qed.

Lemma total_nonneg (f : nat -> Z) b : (forall x, In x b -> 0 <= f x) -> 0 <= total (map f b).
Proof.
  induction b as [|y b IH]; intros B; simpl; [lia|].
  assert (0 <= f y) by (apply B; now left).
  assert (0 <= total (map f b)) by (apply IH; intros; apply B; now right). lia.
Qed.

(** Among numbers that are positive at most inside [b], no set has a larger sum than [b]. *)
Lemma total_inside (f : nat -> Z) a : forall b, NoDup a -> (forall x, In x b -> 0 <= f x) ->
  (forall x, In x a -> In x b \/ f x <= 0) -> total (map f a) <= total (map f b).
Proof.
  induction a as [|x a IH]; intros b N B H.
  - now apply total_nonneg.
  - apply NoDup_cons_iff in N. destruct N as [Nx Na].
    destruct (H x (or_introl eq_refl)) as [I|Neg].
    + apply in_split in I. destruct I as [l1 [l2 ->]].
      assert (total (map f a) <= total (map f (l1 ++ l2))).
      { apply IH; auto.
        - intros y Y. apply B. apply in_app_iff in Y. apply in_app_iff. simpl. tauto.
        - intros y Y. destruct (H y (or_intror Y)) as [I|]; [left|now right].
          apply in_app_iff in I. apply in_app_iff. destruct I as [I|[->|I]]; auto; contradiction. }
      rewrite map_app, total_app in *. simpl. lia.
    + assert (total (map f a) <= total (map f b)) by (apply IH; auto; intros; apply H; now right).
      simpl. lia.
Qed.

Theorem check_assignment_sound edges cost lefts rights m at_source left right at_sink :
  check_assignment edges cost lefts rights m at_source left right at_sink = true ->
  matching edges m /\ forall m', matching edges m' -> length m' = length m ->
    cost_of cost m <= cost_of cost m'.
Proof.
  unfold check_assignment. rewrite !andb_true_iff, is_matching_spec, !forallb_forall.
  intros [[[[[M Ge] Le] In_] Lf] Rg]. split; [assumption|]. intros m' M' Len.
  unfold edge in *.
  assert (A : cost_of cost m' >= total (map (fun e => right (snd e) - left (fst e)) m')).
  { apply Z.le_ge. apply total_le. intros e I. specialize (Ge e (of_edges _ _ M' e I)).
    apply Z.leb_le in Ge. lia. }
  assert (B : cost_of cost m <= total (map (fun e => right (snd e) - left (fst e)) m)).
  { apply total_le. intros e I. specialize (Le e I). apply Z.leb_le in Le. lia. }
  rewrite (total_combined (fun e => right (snd e)) (fun e => left (fst e))) in A, B.
  rewrite <- (map_map fst left), <- (map_map snd right) in A, B.
  assert (Nodes : forall e, In e edges -> In (fst e) lefts /\ In (snd e) rights).
  { intros e I. specialize (In_ e I). rewrite andb_true_iff, !is_in_spec in In_. assumption. }
  assert (L : total (map left (map fst m')) <= total (map left (map fst m))).
  { pose proof (total_inside (fun u => left u - at_source) (map fst m') (map fst m)) as T.
    rewrite !total_shifted, !map_length, Len in T.
    enough (total (map left (map fst m')) - at_source * Z.of_nat (length m)
            <= total (map left (map fst m)) - at_source * Z.of_nat (length m)) by lia.
    apply T; [apply M'| |].
    - intros u U. assert (Iu := U). apply in_map_iff in U. destruct U as [e [<- I]].
      specialize (Lf _ (proj1 (Nodes e (of_edges _ _ M e I)))). apply is_in_spec in Iu.
      rewrite Iu in Lf. apply Z.leb_le in Lf. lia.
    - intros u U. apply in_map_iff in U. destruct U as [e [<- I]].
      specialize (Lf _ (proj1 (Nodes e (of_edges _ _ M' e I)))).
      destruct (is_in (fst e) (map fst m)) eqn:Q; [left; now apply is_in_spec|right].
      apply Z.leb_le in Lf. lia. }
  assert (R : total (map right (map snd m)) <= total (map right (map snd m'))).
  { pose proof (total_inside (fun v => - right v - - at_sink) (map snd m') (map snd m)) as T.
    rewrite !total_shifted, !map_length, Len in T.
    assert (Neg : forall l, total (map (fun v => - right v) l) = - total (map right l)).
    { induction l; simpl; lia. }
    rewrite !Neg in T.
    enough (- total (map right (map snd m')) - - at_sink * Z.of_nat (length m)
            <= - total (map right (map snd m)) - - at_sink * Z.of_nat (length m)) by lia.
    apply T; [apply M'| |].
    - intros u U. assert (Iu := U). apply in_map_iff in U. destruct U as [e [<- I]].
      specialize (Rg _ (proj2 (Nodes e (of_edges _ _ M e I)))). apply is_in_spec in Iu.
      rewrite Iu in Rg. apply Z.leb_le in Rg. lia.
    - intros u U. apply in_map_iff in U. destruct U as [e [<- I]].
      specialize (Rg _ (proj2 (Nodes e (of_edges _ _ M' e I)))).
      destruct (is_in (snd e) (map snd m)) eqn:Q; [left; now apply is_in_spec|right].
      apply Z.leb_le in Rg. lia. }
  lia.
Qed.
