(** Phases: a path over arcs of the level graph is a shortest augmenting path at the moment when it
    is taken, so a phase is a run of Edmonds and Karp's with certain ties. *)
From Coq Require Import ZArith List Lia Bool Arith.
From Augury Require Import Sums Network Rules Search Digits FordFulkerson.
Import ListNotations.
Open Scope Z_scope.

Section Phases.
Variable net : network.
Hypothesis W : well_formed net.

Definition open_arcs (r : nat -> Z) (a : nat) : bool := 0 <? r a.

(** Levels: [inside] are the nodes that the first search of the phase has reached, [level] their
    distances; no arc with residual leads out of them, or up by more than one level. *)
Definition levelled (inside : nat -> bool) (level : nat -> nat) (r : nat -> Z) : Prop :=
  inside (source net) = true /\ level (source net) = 0%nat /\
  forall a, (a < arcs net)%nat -> 0 < r a -> inside (sender net a) = true ->
    inside (receiver net a) = true /\ (level (receiver net a) <= S (level (sender net a)))%nat.

(** A path in the level graph: each arc leads to the next level. *)
Definition level_path (inside : nat -> bool) (level : nat -> nat) (p : list nat) : Prop :=
  forall a, In a p -> inside (sender net a) = true /\ inside (receiver net a) = true /\
    level (receiver net a) = S (level (sender net a)).

(** Taking a path of the level graph opens only arcs that lead back, so the levels still hold. *)
Lemma push_levelled inside level r p d : levelled inside level r -> level_path inside level p ->
  0 <= d -> levelled inside level (push r p d).
Proof.
  intros [S [L0 H]] P D. split; [assumption|split; [assumption|]].
  intros a A R I. destruct (Z_lt_dec 0 (r a)) as [Pos|Non]; [now apply H|].
  unfold push in R. pose proof (count_nonneg p a).
  assert (C : 0 < count p (reverse a)) by nia. unfold count in C.
  assert (In (reverse a) p) by (apply (count_occ_In Nat.eq_dec); lia).
  destruct (P _ H1) as [I1 [I2 Lv]].
  rewrite (receiver_reverse _ W) in I2, Lv by auto. rewrite <- (receiver_is _ W) in I1, Lv by auto.
  split; [assumption|lia].
Qed.

Lemma levelled_walk inside level r u q v : levelled inside level r ->
  walk net (open_arcs r) u q v -> inside u = true ->
  inside v = true /\ (level v <= level u + length q)%nat.
Proof.
  intros [_ [_ H]]. induction 1 as [u|a q v A U Q IH]; intros I; simpl.
  - split; [assumption|lia].
  - apply Z.ltb_lt in U. destruct (H a A U I) as [I' Lv]. destruct (IH I') as [Iv Lq].
    split; [assumption|lia].
Qed.

Lemma level_path_length inside level usable u p v : level_path inside level p ->
  walk net usable u p v -> level v = (level u + length p)%nat.
Proof.
  intros P. induction 1 as [u|a p v A U Q IH]; simpl; [lia|].
  destruct (P a (or_introl eq_refl)) as [_ [_ Lv]]. rewrite IH; [lia|].
  intros b B. apply P. now right.
Qed.

(** [taken inside level r r']: paths of the level graph lead from r to r'; each one was open when
    it was taken. *)
Inductive taken (inside : nat -> bool) (level : nat -> nat) : (nat -> Z) -> (nat -> Z) -> Prop :=
| taken_none r : taken inside level r r
| taken_path r p d r' : level_path inside level p ->
    walk net (open_arcs r) (source net) p (sink net) -> 0 < d ->
    (forall a, In a p -> d <= r a) -> taken inside level (push r p d) r' -> taken inside level r r'.

(** The lemma of docs/verification.md: every path of a phase is a shortest augmenting path. *)
Theorem phase_paths_are_shortest inside level r0 r p : levelled inside level r0 ->
  taken inside level r0 r -> level_path inside level p ->
  walk net (open_arcs r) (source net) p (sink net) ->
  forall q, walk net (open_arcs r) (source net) q (sink net) -> (length p <= length q)%nat.
Proof.
  intros L T P Wp q Q. assert (Lr : levelled inside level r).
  { induction T; [assumption|]. apply IHT; auto. apply push_levelled; auto. lia. }
  destruct (levelled_walk _ _ _ _ _ _ Lr Q) as [_ Lq]; [apply Lr|].
  pose proof (level_path_length _ _ _ _ _ _ P Wp) as Lp. destruct Lr as [_ [L0 _]]. lia.
Qed.

(** The flow stays legal, and grows by what the paths carry. *)
Theorem phase_keeps_legal inside level r0 r : levelled inside level r0 -> taken inside level r0 r ->
  legal net (flow_of net r0) ->
  legal net (flow_of net r) /\ value net (flow_of net r0) <= value net (flow_of net r).
Proof.
  intros L T. induction T as [r|r p d r' P Wp D Le T IH]; intros Lg; [split; [assumption|lia]|].
  assert (Sh : forall q, walk net (open_arcs r) (source net) q (sink net) ->
    (length p <= length q)%nat).
  { apply (phase_paths_are_shortest inside level r r p L (taken_none _ _ _) P Wp). }
  pose proof (shortest_repeats_nothing net _ p _ Wp Sh) as N.
  destruct (push_legal net r _ p d W Lg Wp) as [L' V'].
  { apply push_nonneg; auto. lia. }
  destruct IH as [L'' V'']; auto.
  { apply push_levelled; auto. lia. }
  split; [assumption|lia].
Qed.

(** The first search of a phase supplies the levels: the lengths of the latched paths. *)
Definition tree_level (s : state) (v : nat) : nat :=
  match follow net (link s) (nodes net) v [] with Some p => length p | None => 0%nat end.

Theorem search_levels t r weight s : equals_rules t = true ->
  (forall a, (a < arcs net)%nat -> (1 <= weight a <= 15)%nat) ->
  searched net t (open_arcs r) weight 0 (start net) s ->
  levelled (reached s) (tree_level s) r.
Proof.
  intros E Wt Se. pose proof (two_nodes net W).
  destruct (search_result net W t E (open_arcs r) weight Wt 0 (start net) s Se
    (invariant_start net _)) as [R [j [J [B T]]]].
  { unfold num_reached, start. cbn [reached].
    rewrite (sum_single _ (source net));
      [rewrite Nat.eqb_refl; simpl; lia|apply (source_in _ W)|].
    intros i _ N. apply Nat.eqb_neq in N. now rewrite N. }
  { lia. }
  assert (Dist : forall v, (v < nodes net)%nat -> reached s v = true ->
    at_distance net (open_arcs r) v (tree_level s v)).
  { intros v V Rv.
    assert (Near : exists k, at_distance net (open_arcs r) v k /\ (k <= nodes net)%nat).
    { destruct (Nat.eq_dec v (source net)) as [->|N].
      - exists 0%nat. split; [|lia]. split; [exists []; split; [constructor|reflexivity]|].
        intros. lia.
      - destruct (T v V Rv N) as [a [k [_ [_ [_ [_ [_ [_ D]]]]]]]]. exists (S k).
        split; [assumption|]. apply B in Rv; [|assumption]. destruct Rv as [p [P L]].
        destruct D as [_ D]. specialize (D p P). lia. }
    destruct Near as [k [D K]].
    destruct (follow_finds net W _ s T k (nodes net) v [] V Rv D K) as [q [F [_ Lq]]].
    unfold tree_level. rewrite F, app_nil_r, Lq. assumption. }
  split; [|split].
  - apply R; [apply (source_in _ W)|]. exists []. constructor.
  - unfold tree_level. destruct (nodes net) as [|n]; [lia|]. cbn [follow]. now rewrite Nat.eqb_refl.
  - intros a A Pos I. assert (U : open_arcs r a = true) by now apply Z.ltb_lt.
    pose proof (sender_in _ W a A) as Si. pose proof (receiver_in _ W a A) as Ri.
    assert (I' : reached s (receiver net a) = true).
    { apply R; [assumption|]. apply R in I; [|assumption]. destruct I as [p P].
      exists (p ++ [a]). now apply walk_extend. }
    split; [assumption|]. destruct (Dist _ Si I) as [[p [P Lp]] _].
    destruct (Dist _ Ri I') as [_ Least]. specialize (Least _ (walk_extend _ _ _ _ _ P A U)).
    rewrite app_length in Least. cbn [length] in Least. lia.
Qed.

End Phases.
