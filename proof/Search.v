(** One search: bits flood the network from the source, and every node latches the link by which
    it was reached.  With a table that equals the rules, the bits after t steps are the ball of
    radius t, and the latched links are a tree of shortest walks.

    Steps are those of [CellExecutor.flood]: every node decides from the set of kinds that it
    hears; the search goes on while some node says that it has changed, for at most |V| - 1 steps.
    Which of several best links a node takes is left open, so the theorems hold for any. *)
From Coq Require Import ZArith List Lia Bool Arith.
From Augury Require Import Sums Network Rules.
Import ListNotations.
Open Scope nat_scope.

Section Search.
Variable net : network.
Hypothesis W : well_formed net.
Variable t : table.
Hypothesis E : equals_rules t = true.
Variable usable : nat -> bool.
Variable weight : nat -> nat.
Hypothesis weights : forall a, a < arcs net -> 1 <= weight a <= 15.

Record state := State { reached : nat -> bool; link : nat -> option nat }.

Definition incoming (v : nat) : list nat :=
  filter (fun a => receiver net a =? v) (seq 0 (arcs net)).

(** A node hears itself, by a self loop that is not usable, and the arcs that lead to it. *)
Definition heard (bits : nat -> bool) (v : nat) : list nat :=
  pair_kind (bits v) false ::
  map (fun a => pair_kind (bits (sender net a)) (usable a)) (incoming v).

Definition says_reached (bits : nat -> bool) (v : nat) : bool :=
  said (flood t) (Nat.b2n (bits v)) (set_of (heard bits v)) 0.

Definition says_changed (bits : nat -> bool) (v : nat) : bool :=
  said (flood t) (Nat.b2n (bits v)) (set_of (heard bits v)) 1.

(** The score of a link to [v]; None is the self loop. *)
Definition link_score (bits : nat -> bool) (v : nat) (l : option nat) : Z :=
  score (nearest t) match l with
    | None => link_kind (bits v) false 0
    | Some a => link_kind (bits (sender net a)) (usable a) (weight a)
    end.

Definition best (bits : nat -> bool) (v : nat) (l : option nat) : Prop :=
  let links := None :: map Some (incoming v) in
  In l links /\ forall other, In other links ->
    (link_score bits v other <= link_score bits v l)%Z.

Definition step (s s' : state) : Prop :=
  forall v, v < nodes net ->
    reached s' v = says_reached (reached s) v /\
    if negb (reached s v) && reached s' v
    then best (reached s) v (link s' v) else link s' v = link s v.

Definition any_changed (s : state) : bool :=
  existsb (says_changed (reached s)) (seq 0 (nodes net)).

Definition start : state := State (fun v => v =? source net) (fun _ => None).

(** [searched k s s']: after k steps the state is s, and when the search ends it is s'. *)
Inductive searched : nat -> state -> state -> Prop :=
| ends k s s' : step s s' -> any_changed s = false \/ nodes net - 1 <= S k -> searched k s s'
| goes_on k s s' s'' : step s s' -> any_changed s = true -> S k < nodes net - 1 ->
    searched (S k) s' s'' -> searched k s s''.

(** ** What a node decides *)

Lemma incoming_in v a : In a (incoming v) <-> a < arcs net /\ receiver net a = v.
Proof.
  unfold incoming. rewrite filter_In, in_seq, Nat.eqb_eq. split; intros [H ?]; split; auto; lia.
Qed.

(** Some usable arc leads here from a reached node. *)
Definition news (bits : nat -> bool) (v : nat) : Prop :=
  exists a, a < arcs net /\ receiver net a = v /\ usable a = true /\ bits (sender net a) = true.

Lemma news_heard bits v :
  existsb (Nat.eqb (pair_kind true true)) (heard bits v) = true <-> news bits v.
Proof.
  unfold heard. rewrite existsb_exists. split.
  - intros [k [I K]]. apply Nat.eqb_eq in K. destruct I as [<-|I].
    + destruct (bits v); discriminate.
    + apply in_map_iff in I. destruct I as [a [K' I]]. apply incoming_in in I. exists a.
      destruct (bits (sender net a)), (usable a); subst; try discriminate; tauto.
  - intros [a [A [R [U S]]]]. exists (pair_kind true true). split; [|reflexivity].
    right. apply in_map_iff. exists a. rewrite S, U. split; [reflexivity|].
    now apply incoming_in.
Qed.

Lemma heard_below bits v k : In k (heard bits v) -> k < 4.
Proof.
  intros [<-|I]; [apply pair_kind_below|].
  apply in_map_iff in I. destruct I as [a [<- _]]. apply pair_kind_below.
Qed.

Lemma decides_reached bits v : says_reached bits v = true <-> bits v = true \/ news bits v.
Proof.
  unfold says_reached.
  destruct (flood_decides t E (bits v) (heard bits v) (heard_below bits v)) as [-> _].
  - now left.
  - now rewrite orb_true_iff, news_heard.
Qed.

Lemma decides_changed bits v : says_changed bits v = true <-> bits v = false /\ news bits v.
Proof.
  unfold says_changed.
  destruct (flood_decides t E (bits v) (heard bits v) (heard_below bits v)) as [_ ->].
  - now left.
  - now rewrite andb_true_iff, news_heard, negb_true_iff.
Qed.

Lemma link_kind_below r u w : w <= 15 -> link_kind r u w < 64.
Proof. intros. unfold link_kind. pose proof (pair_kind_below r u). lia. Qed.

Lemma weighted_occurs r u w : 1 <= w <= 15 -> link_occurs (link_kind r u w) = true.
Proof.
  intros [L H]. unfold link_occurs, link_kind.
  rewrite (Nat.mul_comm 16), Nat.add_comm, Nat.mod_add, Nat.mod_small by lia.
  destruct w; [lia|]. reflexivity.
Qed.

Lemma valid_rank w : 1 <= w <= 15 -> link_rank (link_kind true true w) = 16 - w.
Proof.
  intros. unfold link_rank, link_kind, pair_kind. cbn [Nat.b2n].
  replace (48 <? 16 * (2 * 1 + 1) + w) with true; [lia|]. symmetry. apply Nat.ltb_lt. lia.
Qed.

Lemma invalid_rank r u w : r && u = false -> w <= 15 -> link_rank (link_kind r u w) = 0.
Proof.
  intros. unfold link_rank, link_kind, pair_kind.
  replace (48 <? 16 * (2 * Nat.b2n r + Nat.b2n u) + w) with false; [reflexivity|].
  symmetry. apply Nat.ltb_ge. destruct r, u; try discriminate; simpl; lia.
Qed.

(** A node that is not reached and has a valid link takes a valid link, and the lightest. *)
Lemma best_is_valid bits v l : bits v = false -> news bits v -> best bits v l ->
  exists a, l = Some a /\ a < arcs net /\ receiver net a = v /\
    usable a = true /\ bits (sender net a) = true /\
    forall b, b < arcs net -> receiver net b = v -> usable b = true ->
      bits (sender net b) = true -> weight a <= weight b.
Proof.
  intros B [b [Hb [Rb [Ub Sb]]]] [I H].
  assert (Inb : forall c, c < arcs net -> receiver net c = v ->
    In (Some c) (None :: map Some (incoming v))).
  { intros c C R. right. apply in_map, incoming_in. auto. }
  assert (Valid : forall k, k < 64 -> link_occurs k = true ->
    (score (nearest t) (link_kind true true (weight b)) <= score (nearest t) k)%Z ->
    link_rank k <> 0).
  { intros k K O S Z. pose proof (weights b Hb).
    assert (score (nearest t) k < score (nearest t) (link_kind true true (weight b)))%Z; [|lia].
    apply (nearest_decides t E); auto.
    - apply link_kind_below. lia.
    - apply weighted_occurs. lia.
    - rewrite Z, valid_rank; lia. }
  pose proof (H _ (Inb b Hb Rb)) as Hbest. unfold link_score at 1 in Hbest. rewrite Sb, Ub in Hbest.
  destruct I as [<-|I].
  - exfalso. unfold link_score in Hbest. rewrite B in Hbest.
    apply (Valid (link_kind false false 0)); auto.
    apply link_kind_below. lia.
  - apply in_map_iff in I. destruct I as [a [<- I]]. apply incoming_in in I. destruct I as [A R].
    pose proof (weights a A) as Wa. unfold link_score in Hbest.
    assert (V : bits (sender net a) && usable a = true).
    { destruct (bits (sender net a) && usable a) eqn:V; [reflexivity|]. exfalso.
      apply (Valid _ (link_kind_below _ _ _ (proj2 Wa)) (weighted_occurs _ _ _ Wa) Hbest).
      apply invalid_rank; [assumption|lia]. }
    apply andb_true_iff in V. destruct V as [Sa Ua].
    exists a. repeat split; auto. intros c C Rc Uc Sc.
    destruct (le_lt_dec (weight a) (weight c)) as [|Lt]; [assumption|]. exfalso.
    pose proof (H _ (Inb c C Rc)) as Hc. unfold link_score in Hc. rewrite Sa, Ua, Sc, Uc in Hc.
    pose proof (weights c C).
    assert (score (nearest t) (link_kind true true (weight a))
            < score (nearest t) (link_kind true true (weight c)))%Z; [|lia].
    apply (nearest_decides t E); try apply link_kind_below; try apply weighted_occurs; try lia.
    rewrite !valid_rank; lia.
Qed.

(** ** Balls *)

(** The nodes at most k usable arcs away from the source. *)
Definition ball (k v : nat) : Prop :=
  exists p, walk net usable (source net) p v /\ length p <= k.

Definition at_distance (v k : nat) : Prop :=
  (exists p, walk net usable (source net) p v /\ length p = k) /\
  forall p, walk net usable (source net) p v -> k <= length p.

Lemma walk_last p : forall u v, walk net usable u p v -> p <> [] ->
  exists q a, p = q ++ [a] /\ a < arcs net /\ usable a = true /\ receiver net a = v /\
    walk net usable u q (sender net a).
Proof.
  intros u v H N. destruct (exists_last N) as [q [a ->]]. exists q, a.
  apply walk_split in H. destruct H as [x [Q A]]. apply walk_first in A.
  destruct A as [A [U [-> T]]]. inversion T; subst. repeat split; auto.
Qed.

Lemma walk_extend u q a : walk net usable u q (sender net a) -> a < arcs net -> usable a = true ->
  walk net usable u (q ++ [a]) (receiver net a).
Proof. intros Q A U. apply walk_app with (sender net a); auto. repeat constructor; auto. Qed.

Lemma ball_step k v : ball (S k) v <->
  ball k v \/ exists a, a < arcs net /\ receiver net a = v /\ usable a = true /\
                        ball k (sender net a).
Proof.
  split.
  - intros [p [P L]]. destruct p as [|x p'] eqn:Ep.
    + left. exists []. split; [assumption|simpl; lia].
    + rewrite <- Ep in *. assert (N : p <> []) by (rewrite Ep; discriminate). clear x p' Ep.
      destruct (walk_last p _ _ P N) as [q [a [-> [A [U [R Q]]]]]]. right. exists a.
      rewrite app_length in L. cbn [length] in L. repeat split; auto. exists q.
      split; [assumption|lia].
  - intros [[p [P L]]|[a [A [<- [U [p [P L]]]]]]].
    + exists p. split; [assumption|lia].
    + exists (p ++ [a]). rewrite app_length. cbn [length]. split; [|lia]. now apply walk_extend.
Qed.

(** The latched link of each reached node leads from one step nearer to the source. *)
Definition tree (s : state) : Prop :=
  forall v, v < nodes net -> reached s v = true -> v <> source net ->
  exists a k, link s v = Some a /\ a < arcs net /\ receiver net a = v /\ usable a = true /\
    reached s (sender net a) = true /\ at_distance (sender net a) k /\ at_distance v (S k).

Definition invariant (k : nat) (s : state) : Prop :=
  (forall v, v < nodes net -> (reached s v = true <-> ball k v)) /\ tree s.

Lemma invariant_start : invariant 0 start.
Proof.
  split.
  - intros v V. unfold start. cbn [reached]. rewrite Nat.eqb_eq. split.
    + intros ->. exists []. split; [constructor|auto].
    + intros [[|? ?] [P L]]; [|simpl in L; lia]. inversion P. reflexivity.
  - intros v V R N. unfold start in R. cbn [reached] in R. apply Nat.eqb_eq in R. contradiction.
Qed.

Theorem invariant_step k s s' : invariant k s -> step s s' -> invariant (S k) s'.
Proof.
  intros [B T] St.
  assert (R' : forall v, v < nodes net -> (reached s' v = true <-> reached s v = true \/ news (reached s) v)).
  { intros v V. destruct (St v V) as [-> _]. apply decides_reached. }
  assert (B' : forall v, v < nodes net -> (reached s' v = true <-> ball (S k) v)).
  { intros v V. rewrite R', ball_step, B by assumption.
    split; (intros [?|[a [A [R [U S]]]]]; [now left|right; exists a; repeat split; auto]).
    - apply B; [now apply sender_in|assumption].
    - apply B; [now apply sender_in|assumption]. }
  split; [assumption|].
  intros v V R N. destruct (St v V) as [_ L]. destruct (reached s v) eqn:Old.
  - cbn [negb andb] in L. rewrite L. destruct (T v V Old N) as [a [j H]]. exists a, j.
    destruct H as [H1 [H2 [H3 [H4 [H5 [H6 H7]]]]]]. repeat split; auto; try apply H6; try apply H7.
    apply R'; [now apply sender_in|now left].
  - rewrite R in L. cbn [negb andb] in L.
    assert (Nw : news (reached s) v).
    { apply R' in R; [|assumption]. destruct R as [R|R]; [congruence|assumption]. }
    destruct (best_is_valid _ _ _ Old Nw L) as [a [La [A [Ra [U [Sa _]]]]]].
    assert (Far : forall p, walk net usable (source net) p v -> S k <= length p).
    { intros p P. destruct (le_lt_dec (S k) (length p)); [assumption|]. exfalso.
      assert (reached s v = true); [|congruence]. apply B; [assumption|].
      exists p. split; [assumption|lia]. }
    assert (Near : ball k (sender net a)) by (apply B; [now apply sender_in|assumption]).
    destruct Near as [p [P Lp]].
    assert (Ev : walk net usable (source net) (p ++ [a]) v).
    { rewrite <- Ra. now apply walk_extend. }
    assert (Len : length p = k).
    { pose proof (Far _ Ev) as F. rewrite app_length in F. cbn [length] in F. lia. }
    exists a, k. repeat split; auto.
    + apply R'; [now apply sender_in|now left].
    + exists p. auto.
    + intros q Q. assert (Eq : walk net usable (source net) (q ++ [a]) v).
      { rewrite <- Ra. now apply walk_extend. }
      pose proof (Far _ Eq) as F. rewrite app_length in F. cbn [length] in F. lia.
    + exists (p ++ [a]). split; [assumption|]. rewrite app_length. cbn [length]. lia.
Qed.

(** ** The end of a search *)

Definition reachable (v : nat) : Prop := exists p, walk net usable (source net) p v.

Definition num_reached (s : state) : Z := sum (nodes net) (fun v => Z.b2z (reached s v)).

Lemma step_keeps s s' v : step s s' -> v < nodes net -> reached s v = true -> reached s' v = true.
Proof. intros St V R. destruct (St v V) as [-> _]. apply decides_reached. now left. Qed.

Lemma changed_grows s s' : step s s' -> any_changed s = true ->
  (num_reached s < num_reached s')%Z.
Proof.
  intros St C. apply existsb_exists in C. destruct C as [v [I C]]. apply in_seq in I.
  apply decides_changed in C. destruct C as [Old Nw].
  apply sum_lt with v; [|lia|].
  - intros u U. destruct (reached s u) eqn:R; [|destruct (reached s' u); simpl; lia].
    rewrite (step_keeps s s' u St U R). simpl. lia.
  - destruct (St v) as [R _]; [lia|]. rewrite Old, R.
    replace (says_reached (reached s) v) with true; [simpl; lia|].
    symmetry. apply decides_reached. now right.
Qed.

Lemma all_reached s : (Z.of_nat (nodes net) <= num_reached s)%Z ->
  forall v, v < nodes net -> reached s v = true.
Proof.
  intros H v V. destruct (reached s v) eqn:R; [reflexivity|]. exfalso.
  assert (num_reached s < sum (nodes net) (fun _ => 1))%Z.
  { apply sum_lt with v; auto.
    - intros i _. destruct (reached s i); simpl; lia.
    - rewrite R. simpl. lia. }
  assert (Ones : forall n, (sum n (fun _ => 1) = Z.of_nat n)%Z) by (induction n; simpl; lia).
  rewrite Ones in *. lia.
Qed.

Lemma unchanged_closed s s' : step s s' -> any_changed s = false ->
  forall a, a < arcs net -> usable a = true -> reached s' (sender net a) = true ->
  reached s' (receiver net a) = true.
Proof.
  intros St C a A U R.
  assert (Same : forall v, v < nodes net -> reached s' v = reached s v).
  { intros v V. destruct (St v V) as [-> _]. destruct (reached s v) eqn:Old.
    - apply decides_reached. now left.
    - destruct (says_reached (reached s) v) eqn:N; [|reflexivity]. exfalso.
      apply decides_reached in N. destruct N as [N|N]; [congruence|].
      enough (any_changed s = true) by congruence. apply existsb_exists. exists v.
      split; [apply in_seq; lia|]. now apply decides_changed. }
  rewrite Same in R by now apply sender_in.
  destruct (St _ (receiver_in _ W a A)) as [-> _]. apply decides_reached. right.
  exists a. auto.
Qed.

(** The bits of a search are the ball of the steps so far, and at the end all that can be reached. *)
Theorem search_result k s s' : searched k s s' -> invariant k s ->
  (Z.of_nat k < num_reached s)%Z -> k < nodes net - 1 ->
  (forall v, v < nodes net -> (reached s' v = true <-> reachable v)) /\
  exists j, j <= nodes net - 1 /\ invariant j s'.
Proof.
  induction 1 as [k s s' St End|k s s' s'' St C K Rest IH]; intros I N Lt.
  - pose proof (invariant_step _ _ _ I St) as I'. split; [|exists (S k); split; [lia|assumption]].
    intros v V. split.
    + intros R. apply (proj1 I' v V) in R. destruct R as [p [P _]]. now exists p.
    + intros [p P]. destruct (any_changed s) eqn:C.
      * destruct End as [End|End]; [discriminate|].
        apply all_reached; [|assumption]. pose proof (changed_grows _ _ St C). lia.
      * apply (walk_stays net usable (reached s') _ _ _ (unchanged_closed _ _ St C) P).
        apply (proj1 I' _ (source_in _ W)). exists []. split; [constructor|simpl; lia].
  - apply IH; auto.
    + eapply invariant_step; eauto.
    + pose proof (changed_grows _ _ St C). lia.
Qed.

Lemma two_nodes : 2 <= nodes net.
Proof.
  pose proof (source_in _ W). pose proof (sink_in _ W). pose proof (ends_differ _ W). lia.
Qed.

(** The states after each step, for the statement that the bits are balls. *)
Inductive after : nat -> state -> Prop :=
| after_start : after 0 start
| after_step k s s' : after k s -> step s s' -> after (S k) s'.

Theorem bits_are_balls k s : after k s ->
  forall v, v < nodes net -> (reached s v = true <-> ball k v).
Proof.
  intros A. assert (I : invariant k s); [|apply I].
  induction A; [apply invariant_start|]. eapply invariant_step; eauto.
Qed.

(** ** The path *)

(** Follow the links from a node back to the source; [fuel] is the limit |V| of the code. *)
Fixpoint follow (links : nat -> option nat) (fuel v : nat) (path : list nat) : option (list nat) :=
  if v =? source net then Some path
  else match fuel with
       | O => None
       | S rest => match links v with
                   | None => None
                   | Some a => follow links rest (sender net a) (a :: path)
                   end
       end.

Lemma distance_unique v j k : at_distance v j -> at_distance v k -> j = k.
Proof.
  intros [[p [P <-]] J] [[q [Q <-]] K]. specialize (J q Q). specialize (K p P). lia.
Qed.

Lemma follow_finds s : tree s -> forall k fuel v path, v < nodes net -> reached s v = true ->
  at_distance v k -> k <= fuel ->
  exists q, follow (link s) fuel v path = Some (q ++ path) /\
    walk net usable (source net) q v /\ length q = k.
Proof.
  intros T. induction k as [|k IH]; intros fuel v path V R D F.
  - destruct D as [[p [P L]] _]. destruct p; [|discriminate]. inversion P; subst.
    exists []. destruct fuel; simpl; rewrite Nat.eqb_refl; auto using walk_nil.
  - destruct (Nat.eq_dec v (source net)) as [->|N].
    + destruct D as [_ D]. specialize (D [] (walk_nil _ _ _)). simpl in D. lia.
    + destruct (T v V R N) as [a [j [L [A [Ra [U [Sa [Da Dv]]]]]]]].
      assert (j = k) by (pose proof (distance_unique _ _ _ D Dv); lia). subst j.
      destruct fuel as [|fuel]; [lia|].
      destruct (IH fuel (sender net a) (a :: path)) as [q [Fq [Q Lq]]]; auto; try lia.
      { now apply sender_in. }
      exists (q ++ [a]). cbn [follow]. apply Nat.eqb_neq in N. rewrite N, L, Fq.
      rewrite <- app_assoc, app_length. cbn [app length]. repeat split; auto; try lia.
      rewrite <- Ra. now apply walk_extend.
Qed.

Lemma repeats_or_not (p : list nat) :
  NoDup p \/ exists a l1 l2 l3, p = l1 ++ a :: l2 ++ a :: l3.
Proof.
  induction p as [|x p [N|[a [l1 [l2 [l3 ->]]]]]].
  - left. constructor.
  - destruct (in_dec Nat.eq_dec x p) as [I|I]; [|left; now constructor].
    apply in_split in I. destruct I as [l2 [l3 ->]]. right. now exists x, [], l2, l3.
  - right. now exists a, (x :: l1), l2, l3.
Qed.

(** A walk that no walk is shorter than uses no arc twice. *)
Lemma shortest_repeats_nothing p v : walk net usable (source net) p v ->
  (forall q, walk net usable (source net) q v -> length p <= length q) -> NoDup p.
Proof.
  intros P H. destruct (repeats_or_not p) as [N|[a [l1 [l2 [l3 ->]]]]]; [assumption|]. exfalso.
  apply walk_split in P. destruct P as [u [P1 P2]].
  apply walk_first in P2. destruct P2 as [A [U [-> P2]]].
  apply walk_split in P2. destruct P2 as [x [_ P3]].
  apply walk_first in P3. destruct P3 as [_ [_ [_ P3]]].
  assert (Q : walk net usable (source net) (l1 ++ a :: l3) v).
  { apply walk_app with (sender net a); auto. now constructor. }
  apply H in Q. rewrite !app_length in Q. cbn [length] in Q. rewrite app_length in Q.
  cbn [length] in Q. lia.
Qed.

(** A search from the start: it reaches what can be reached; and if that is the sink, following
    the links from it yields a shortest walk to it, without repetition. *)
Theorem search_correct s : searched 0 start s ->
  (forall v, v < nodes net -> (reached s v = true <-> reachable v)) /\
  (reached s (sink net) = true -> exists p,
     follow (link s) (nodes net) (sink net) [] = Some p /\
     walk net usable (source net) p (sink net) /\
     (forall q, walk net usable (source net) q (sink net) -> length p <= length q) /\ NoDup p).
Proof.
  intros Se. pose proof two_nodes.
  destruct (search_result 0 start s Se invariant_start) as [R [j [J [B T]]]].
  - unfold num_reached, start. cbn [reached].
    rewrite (sum_single _ (source net)); [rewrite Nat.eqb_refl; simpl; lia|apply (source_in _ W)|].
    intros i _ N. apply Nat.eqb_neq in N. now rewrite N.
  - lia.
  - split; [assumption|]. intros Rs. pose proof (sink_in _ W) as Si.
    assert (Near : exists k, at_distance (sink net) k /\ k <= nodes net).
    { destruct (Nat.eq_dec (sink net) (source net)) as [Eq|Ne].
      - exfalso. symmetry in Eq. now apply (ends_differ _ W).
      - destruct (T _ Si Rs Ne) as [a [k [_ [_ [_ [_ [_ [_ D]]]]]]]]. exists (S k).
        split; [assumption|]. apply B in Rs; [|assumption]. destruct Rs as [p [P L]].
        destruct D as [_ D]. specialize (D p P). lia. }
    destruct Near as [k [D K]].
    destruct (follow_finds s T k (nodes net) (sink net) [] Si Rs D K) as [q [F [Q L]]].
    rewrite app_nil_r in F.
    assert (Sh : forall q', walk net usable (source net) q' (sink net) -> length q <= length q').
    { intros q' Q'. rewrite L. now apply D. }
    exists q. repeat split; auto. now apply shortest_repeats_nothing with (sink net).
Qed.

(** ** A search exists, whatever ties there are *)

Lemma best_exists bits v : exists l, best bits v l.
Proof.
  unfold best. generalize (map Some (incoming v)). intros ls.
  induction ls as [|x ls [l [I H]]].
  - exists None. split; [now left|]. intros o [<-|[]]. lia.
  - destruct (Z_le_dec (link_score bits v x) (link_score bits v l)) as [Le|Gt].
    + exists l. split; [destruct I; [now left|now right; right]|].
      intros o [<-|[<-|O]]; [apply H; now left|assumption|apply H; now right].
    + exists x. split; [right; now left|]. intros o [<-|[<-|O]]; [|lia|].
      * assert (link_score bits v None <= link_score bits v l)%Z by (apply H; now left). lia.
      * assert (link_score bits v o <= link_score bits v l)%Z by (apply H; now right). lia.
Qed.

Lemma choice_below (Q : nat -> option nat -> Prop) n :
  (forall v, exists l, Q v l) -> exists f, forall v, v < n -> Q v (f v).
Proof.
  intros H. induction n as [|n [f F]].
  - exists (fun _ => None). intros; lia.
  - destruct (H n) as [l L]. exists (fun v => if v =? n then l else f v). intros v V.
    destruct (Nat.eqb_spec v n) as [->|N]; [assumption|apply F; lia].
Qed.

Lemma step_exists s : exists s', step s s'.
Proof.
  set (bits := fun v => says_reached (reached s) v).
  destruct (choice_below (fun v l => if negb (reached s v) && bits v
    then best (reached s) v l else l = link s v) (nodes net)) as [f F].
  - intros v. destruct (negb (reached s v) && bits v); [apply best_exists|now exists (link s v)].
  - exists (State bits f). intros v V. split; [reflexivity|]. apply (F v V).
Qed.

Theorem search_exists k s : exists s', searched k s s'.
Proof.
  remember (nodes net - 1 - k) as n eqn:N. revert k s N.
  induction n as [|n IH]; intros k s N; destruct (step_exists s) as [s1 S1].
  - exists s1. apply ends; [assumption|right; lia].
  - destruct (any_changed s) eqn:C; [|exists s1; apply ends; auto].
    destruct (le_lt_dec (nodes net - 1) (S k)) as [L|L].
    + exists s1. apply ends; auto.
    + destruct (IH (S k) s1) as [s2 S2]; [lia|]. exists s2. eapply goes_on; eauto.
Qed.

End Search.
