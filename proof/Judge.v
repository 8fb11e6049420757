(** The judge: whatever paths and amounts are proposed, what it applies keeps the flow legal.

    It goes through the paths one by one on its own residual, as [classical/phases.py] does; a path
    counts only if every arc of it can carry the amount when its turn comes. *)
From Coq Require Import ZArith List Lia Bool Arith.
From Augury Require Import Sums Network Digits.
Import ListNotations.
Open Scope Z_scope.

Section Judge.
Variable net : network.
Hypothesis W : well_formed net.

(** Does the path lead from [u] to the sink, arc by arc?  ([_are_walks] in classical/phases.py) *)
Fixpoint leads (u : nat) (p : list nat) : bool :=
  match p with
  | [] => (u =? sink net)%nat
  | a :: rest => (a <? arcs net)%nat && (sender net a =? u)%nat && leads (receiver net a) rest
  end.

Lemma leads_walk p : forall u, leads u p = true -> walk net everything u p (sink net).
Proof.
  induction p as [|a p IH]; simpl; intros u H.
  - apply Nat.eqb_eq in H. subst. constructor.
  - apply andb_true_iff in H. destruct H as [H R]. apply andb_true_iff in H. destruct H as [A S].
    apply Nat.eqb_eq in S. apply Nat.ltb_lt in A. subst. constructor; auto.
Qed.

(** What each arc of the path can carry when its turn comes.  ([_in_turn]) *)
Fixpoint in_turn (r : nat -> Z) (p : list nat) (d : Z) : list Z :=
  match p with [] => [] | a :: rest => r a :: in_turn (push r [a] d) rest d end.

Lemma push_in_turn p : forall r a d b, push r (a :: p) d b = push (push r [a] d) p d b.
Proof.
  intros. unfold push. rewrite !count_cons. change (count [] b) with 0.
  change (count [] (reverse b)) with 0. lia.
Qed.

Lemma in_turn_nonneg p : forall r d, 0 <= d ->
  (forall a, (a < arcs net)%nat -> 0 <= r a) ->
  (forall a, In a p -> (a < arcs net)%nat) ->
  (forall v, In v (in_turn r p d) -> d <= v) ->
  forall a, (a < arcs net)%nat -> 0 <= push r p d a.
Proof.
  induction p as [|b p IH]; intros r d D N A C a Ha.
  - unfold push, count. simpl. specialize (N a Ha). lia.
  - rewrite push_in_turn. apply IH; auto.
    + intros c Hc. unfold push. rewrite !count_cons. unfold count. cbn [count_occ].
      assert (d <= r b) by (apply C; now left). specialize (N c Hc).
      destruct (Nat.eqb_spec b c); destruct (b =? reverse c)%nat; cbn [Z.b2z]; try subst c; lia.
    + intros c Hc. apply A. now right.
    + intros v V. apply C. now right.
Qed.

(** The judge applies a proposal only if it is a path over arcs that take part, and its amount is
    the true bottleneck. *)
Definition accepts (mask : nat -> bool) (r : nat -> Z) (p : list nat) (d : Z) : bool :=
  leads (source net) p && forallb mask p && (0 <? d) && (d =? smallest (in_turn r p d)).

Theorem accepted_is_legal mask r p d : legal net (flow_of net r) -> accepts mask r p d = true ->
  walk net mask (source net) p (sink net) /\ 0 < d /\
  legal net (flow_of net (push r p d)) /\
  value net (flow_of net (push r p d)) = value net (flow_of net r) + d.
Proof.
  intros L Ok. unfold accepts in Ok. rewrite !andb_true_iff in Ok. destruct Ok as [[[P M] D] S].
  apply leads_walk in P. apply Z.ltb_lt in D. apply Z.eqb_eq in S. rewrite forallb_forall in M.
  split; [|split; [assumption|]].
  { apply walk_weaken with everything; auto. }
  apply (push_legal net r everything p d W L P).
  apply in_turn_nonneg; [lia|now apply residual_nonneg| |].
  - intros a A. now apply (walk_usable _ _ _ _ _ P).
  - intros v V. rewrite S. apply smallest_least; [|assumption]. intros Nil. now rewrite Nil in V.
Qed.

(** Whatever an executor proposes, in whatever order: what the judge applies keeps the flow legal. *)
Definition judge (r : nat -> Z) (proposal : list nat * Z) : nat -> Z :=
  if accepts everything r (fst proposal) (snd proposal)
  then push r (fst proposal) (snd proposal) else r.

Theorem judge_keeps_legal proposals : forall r, legal net (flow_of net r) ->
  legal net (flow_of net (fold_left judge proposals r)) /\
  value net (flow_of net r) <= value net (flow_of net (fold_left judge proposals r)).
Proof.
  induction proposals as [|[p d] rest IH]; intros r L; cbn [fold_left]; [split; [assumption|lia]|].
  unfold judge at 2 4. cbn [fst snd].
  destruct (accepts everything r p d) eqn:Ok; [|now apply IH].
  destruct (accepted_is_legal _ _ _ _ L Ok) as [_ [D [L' V']]].
  destruct (IH _ L') as [L'' V'']. split; [assumption|]. lia.
Qed.

End Judge.
