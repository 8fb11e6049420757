(** Rounds of Ford-Fulkerson with cells: each finds a shortest augmenting path and applies it, or
    proves the flow maximum; and they end.

    A round is that of [classical/ford_fulkerson.py]: search, path, bottleneck, subtraction, and a
    judge that applies only what equals the truth.  [mask] says which arcs take part: all of them
    here, the tight ones in [Costs]. *)
From Coq Require Import ZArith List Lia Bool Arith.
From Augury Require Import Sums Network Rules Search Digits Judge.
Import ListNotations.
Open Scope Z_scope.

Inductive outcome :=
| Done (side : nat -> bool)       (** the search did not reach the sink: what it did reach *)
| Applied (path : list nat) (amount : Z)
| Wrong.                          (** the judge refused something *)

Section Rounds.
Variable net : network.
Hypothesis W : well_formed net.
Variable t : table.
Hypothesis E : equals_rules t = true.
(** The width of the integers: a residual can grow to its pair's sum. *)
Variable width : nat.
Hypothesis fits : forall a, (a < arcs net)%nat ->
  capacity net a + capacity net (reverse a) < 2 ^ Z.of_nat width.

Definition usable_arcs (mask : nat -> bool) (r : nat -> Z) (a : nat) : bool := mask a && (0 <? r a).

(** What becomes of the answers of a search; the judge compares them with the truth. *)
Definition judged_round (r : nat -> Z) (s : state) : outcome :=
  if reached s (sink net) then
    match follow net (link s) (nodes net) (sink net) [] with
    | None => Wrong
    | Some p =>
        let truth := smallest (map r p) in
        let proposed := least_of t width (map r p) in
        let kept a := difference t width 0 false (r a) proposed in
        if (proposed =? truth) && (0 <? truth) && forallb (fun a => kept a =? r a - truth) p
        then Applied p truth else Wrong
    end
  else Done (reached s).

Definition round (mask : nat -> bool) (r : nat -> Z) (o : outcome) : Prop :=
  exists weight s, (forall a, (a < arcs net)%nat -> (1 <= weight a <= 15)%nat) /\
    searched net t (usable_arcs mask r) weight 0 (start net) s /\ o = judged_round r s.

Theorem round_exists mask r : exists o, round mask r o.
Proof.
  destruct (search_exists net t (usable_arcs mask r) (fun _ => 1%nat) 0 (start net)) as [s S].
  exists (judged_round r s), (fun _ => 1%nat), s. repeat split; auto; lia.
Qed.

(** A path of usable arcs that no other such path is shorter than. *)
Definition shortest_augmenting (mask : nat -> bool) (r : nat -> Z) (p : list nat) : Prop :=
  walk net (usable_arcs mask r) (source net) p (sink net) /\ NoDup p /\
  forall q, walk net (usable_arcs mask r) (source net) q (sink net) ->
    (length p <= length q)%nat.

(** What a round can come to: never to [Wrong]. *)
Theorem round_correct mask r o : legal net (flow_of net r) -> round mask r o ->
  match o with
  | Done side => is_cut net side /\
      (forall v, (v < nodes net)%nat -> (side v = true <-> reachable net (usable_arcs mask r) v)) /\
      (forall a, (a < arcs net)%nat -> leaves net side a = true -> usable_arcs mask r a = false)
  | Applied p d => shortest_augmenting mask r p /\ 0 < d /\
      (forall a, In a p -> d <= r a) /\ (exists a, In a p /\ d = r a) /\
      legal net (flow_of net (push r p d)) /\
      value net (flow_of net (push r p d)) = value net (flow_of net r) + d
  | Wrong => False
  end.
Proof.
  intros L [weight [s [Wt [Se ->]]]].
  destruct (search_correct net W t E _ weight Wt s Se) as [R P]. unfold judged_round.
  destruct (reached s (sink net)) eqn:Rs.
  - destruct (P eq_refl) as [p [F [Wp [Sh N]]]]. rewrite F.
    assert (U : forall a, In a p -> (a < arcs net)%nat /\ 0 < r a).
    { intros a A. destruct (walk_usable _ _ _ _ _ Wp a A) as [B C]. split; [assumption|].
      apply andb_true_iff in C. destruct C as [_ C]. now apply Z.ltb_lt. }
    assert (Ne : map r p <> []).
    { destruct p; [|discriminate]. exfalso. apply (ends_differ _ W). now inversion Wp. }
    destruct (smallest_least _ Ne) as [Sin Sle]. set (d := smallest (map r p)) in *.
    assert (Dpos : 0 < d).
    { apply in_map_iff in Sin. destruct Sin as [a [<- A]]. now apply U. }
    assert (Le : forall a, In a p -> d <= r a) by (intros a A; apply Sle; now apply in_map).
    assert (B : forall a, In a p -> 0 <= r a < 2 ^ Z.of_nat width).
    { intros a A. destruct (U a A) as [A' Ra]. split; [lia|].
      pose proof (pair_sum _ _ L a A').
      pose proof (residual_nonneg _ _ L _ (reverse_in _ _ A')). pose proof (fits a A'). lia. }
    rewrite (least_exact t E width (map r p) d Sin Sle).
    2: { intros v V. apply in_map_iff in V. destruct V as [a [<- A]]. now apply B. }
    rewrite Z.eqb_refl. replace (0 <? d) with true by (symmetry; now apply Z.ltb_lt). cbn [andb].
    replace (forallb _ p) with true.
    2: { symmetry. apply forallb_forall. intros a A. apply Z.eqb_eq.
         apply (subtract_exact t E); [|apply B; assumption]. pose proof (Le a A). lia. }
    repeat split; auto; try apply (push_legal net r _ p d W L Wp); auto.
    { apply in_map_iff in Sin. destruct Sin as [a [Ea A]]. exists a. auto. }
    all: intros; apply push_nonneg with net; auto; lia.
  - split; [split|split].
    + apply R; [apply (source_in _ W)|]. exists []. constructor.
    + assumption.
    + assumption.
    + intros a A Lv. destruct (usable_arcs mask r a) eqn:Ua; [|reflexivity]. exfalso.
      unfold leaves in Lv. apply andb_true_iff in Lv. destruct Lv as [S1 S2].
      apply negb_true_iff in S2. enough (reached s (receiver net a) = true) by congruence.
      apply R; [now apply receiver_in|]. apply R in S1; [|now apply sender_in].
      destruct S1 as [q Q]. exists (q ++ [a]). now apply walk_extend.
Qed.

End Rounds.

(** ** Whole runs *)

Section Runs.
Variable net : network.
Hypothesis W : well_formed net.
Hypothesis capacities : nonnegative net.
Variable width : nat.
Hypothesis fits : forall a, (a < arcs net)%nat ->
  capacity net a + capacity net (reverse a) < 2 ^ Z.of_nat width.

(** Every round may be decided by a table of its own, such as the decisions of a network that is
    evaluated anew in another order of summation; each of them equals the rules. *)
Variable allowed : table -> Prop.
Hypothesis E : forall t, allowed t -> equals_rules t = true.

(** [run k r]: after k paths the residuals are r.  A path comes from a round, or else from anywhere:
    another child of the source in the same tree, a further search of a phase, another executor.
    The judge lets it pass if it is right. *)
Inductive run : nat -> (nat -> Z) -> Prop :=
| run_start : run 0 (capacity net)
| run_round k r t p d : run k r -> allowed t -> round net t width everything r (Applied p d) ->
    run (S k) (push r p d)
| run_path k r p d : run k r -> accepts net everything r p d = true -> run (S k) (push r p d).

Lemma run_legal k r : run k r ->
  legal net (flow_of net r) /\ Z.of_nat k <= value net (flow_of net r).
Proof.
  induction 1 as [|k r t p d Rn [L V] A Ro|k r p d Rn [L V] Ok].
  - split; [now apply start_legal|]. rewrite start_value. simpl. lia.
  - destruct (round_correct net W t (E t A) width fits _ _ _ L Ro) as [_ [D [_ [_ [L' V']]]]].
    split; [assumption|]. lia.
  - destruct (accepted_is_legal net W _ _ _ _ L Ok) as [_ [D [L' V']]]. split; [assumption|]. lia.
Qed.

(** A round that does not reach the sink has found a full cut: the flow is maximum. *)
Lemma done_is_maximum t r side : allowed t -> legal net (flow_of net r) ->
  round net t width everything r (Done side) ->
  value net (flow_of net r) = cut_capacity net side /\ maximum net (flow_of net r).
Proof.
  intros At L Ro. destruct (round_correct net W t (E t At) width fits _ _ _ L Ro) as [C [_ F]].
  apply full_cut_is_maximum; auto. intros a A Lv. specialize (F a A Lv).
  unfold usable_arcs, everything in F. cbn [andb] in F. apply Z.ltb_ge in F.
  pose proof (residual_nonneg _ _ L a A). lia.
Qed.

(** The theorem of docs/verification.md.  In every state of every run, whatever the weights and
    ties: the flow is legal; the paths so far are at most the capacity that leaves the source; a
    further round can be made, it never goes wrong, it applies a shortest augmenting path, or
    else the flow is maximum and the reached nodes are a cut of equal capacity. *)
Theorem ford_fulkerson_correct k r : run k r ->
  legal net (flow_of net r) /\
  Z.of_nat k <= value_bound net /\
  forall t, allowed t ->
  (exists o, round net t width everything r o) /\
  forall o, round net t width everything r o ->
    match o with
    | Done side => maximum net (flow_of net r) /\ is_cut net side /\
        value net (flow_of net r) = cut_capacity net side
    | Applied p d => shortest_augmenting net everything r p /\ 0 < d /\
        value net (flow_of net (push r p d)) = value net (flow_of net r) + d
    | Wrong => False
    end.
Proof.
  intros Rn. destruct (run_legal k r Rn) as [L V]. split; [assumption|]. split.
  { pose proof (value_bounded net _ W L). lia. }
  intros t A. split; [apply round_exists|]. intros o Ro.
  pose proof (round_correct net W t (E t A) width fits _ _ _ L Ro) as C. destruct o as [side|p d|].
  - destruct (done_is_maximum t r side A L Ro) as [V' M]. destruct C as [C _]. auto.
  - tauto.
  - assumption.
Qed.

(** Every run can be brought to its end, and that is a maximum flow. *)
Theorem run_ends t k r : allowed t -> run k r ->
  exists k' r' side, (k <= k')%nat /\ run k' r' /\ round net t width everything r' (Done side) /\
    maximum net (flow_of net r') /\ value net (flow_of net r') = cut_capacity net side.
Proof.
  intros A Rn. remember (Z.to_nat (value_bound net - Z.of_nat k)) as n eqn:N.
  revert k r Rn N. induction n as [n IH] using lt_wf_ind. intros k r Rn N.
  destruct (run_legal k r Rn) as [L _].
  destruct (round_exists net t width everything r) as [o Ro].
  pose proof (round_correct net W t (E t A) width fits _ _ _ L Ro) as C. destruct o as [side|p d|].
  - exists k, r, side. destruct (done_is_maximum t r side A L Ro). auto.
  - pose proof (run_round k r t p d Rn A Ro) as Rn'.
    destruct (ford_fulkerson_correct _ _ Rn') as [_ [B _]].
    destruct (IH (Z.to_nat (value_bound net - Z.of_nat (S k)))) with (k := S k) (r := push r p d)
      as [k' [r' [side [K H]]]]; auto; [lia|].
    exists k', r', side. split; [lia|assumption].
  - contradiction.
Qed.

End Runs.
