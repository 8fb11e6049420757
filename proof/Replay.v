(** A recorded round is a round of the model: a check, and its proof.

    The relations of [Search] and [FordFulkerson] leave ties and weights open.  These functions
    decide whether what an executor did, step by step, is one of the things that they allow; tests
    put whole runs of the Python code through them. *)
From Coq Require Import ZArith List Lia Bool Arith.
From Augury Require Import Sums Network Rules Search Digits FordFulkerson.
Import ListNotations.
Open Scope nat_scope.

Definition same_link (l l' : option nat) : bool :=
  match l, l' with
  | None, None => true
  | Some a, Some b => a =? b
  | _, _ => false
  end.

Lemma same_link_spec l l' : same_link l l' = true <-> l = l'.
Proof.
  destruct l as [a|], l' as [b|]; simpl; split; try discriminate; auto.
  - intros H. apply Nat.eqb_eq in H. now subst.
  - intros H. injection H as ->. apply Nat.eqb_refl.
Qed.

Section Replay.
Variable net : network.
Variable t : table.
Variable usable : nat -> bool.
Variable weight : nat -> nat.

Definition is_best (bits : nat -> bool) (v : nat) (l : option nat) : bool :=
  let links := None :: map Some (incoming net v) in
  existsb (same_link l) links &&
  forallb (fun other => (link_score net t usable weight bits v other
                         <=? link_score net t usable weight bits v l)%Z) links.

Definition is_step (s s' : state) : bool :=
  forallb (fun v =>
    eqb (reached s' v) (says_reached net t usable (reached s) v) &&
    if negb (reached s v) && reached s' v
    then is_best (reached s) v (link s' v) else same_link (link s' v) (link s v))
    (seq 0 (nodes net)).

(** The states after each step, to the end of the search. *)
Fixpoint is_search (k : nat) (s : state) (states : list state) : bool :=
  match states with
  | [] => false
  | [s'] => is_step s s' && (negb (any_changed net t usable s) || (nodes net - 1 <=? S k))
  | s' :: rest =>
      is_step s s' && any_changed net t usable s && (S k <? nodes net - 1) && is_search (S k) s' rest
  end.

Lemma is_best_sound bits v l : is_best bits v l = true -> best net t usable weight bits v l.
Proof.
  unfold is_best, best. rewrite andb_true_iff, existsb_exists, forallb_forall.
  intros [[l' [I S]] H]. apply same_link_spec in S. subst l'. split; [assumption|].
  intros other O. now apply Z.leb_le, H.
Qed.

Lemma is_step_sound s s' : is_step s s' = true -> step net t usable weight s s'.
Proof.
  intros H v V. unfold is_step in H. apply forallb_seq with (k := v) in H; [|assumption].
  apply andb_true_iff in H. destruct H as [R L]. apply eqb_prop in R. split; [assumption|].
  destruct (negb (reached s v) && reached s' v); [now apply is_best_sound|now apply same_link_spec].
Qed.

Theorem is_search_sound states : forall k s, is_search k s states = true ->
  searched net t usable weight k s (last states s).
Proof.
  induction states as [|s1 rest IH]; intros k s H; [discriminate|]. destruct rest as [|s2 rest].
  - cbn [is_search] in H. apply andb_true_iff in H. destruct H as [St En].
    apply is_step_sound in St. cbn [last]. apply ends; [assumption|].
    apply orb_true_iff in En. destruct En as [En|En]; [left|right; now apply Nat.leb_le].
    now apply negb_true_iff.
  - set (more := s2 :: rest) in *.
    assert (E : is_search k s (s1 :: more) = is_step s s1 && any_changed net t usable s
      && (S k <? nodes net - 1) && is_search (S k) s1 more) by reflexivity.
    rewrite E, !andb_true_iff in H. destruct H as [[[St C] K] R].
    assert (La : last (s1 :: more) s = last more s1).
    { unfold more. clear. revert s2. induction rest as [|x rest IH]; intros s2; [reflexivity|].
      cbn [last] in *. apply IH. }
    rewrite La. apply goes_on with s1; auto using is_step_sound. now apply Nat.ltb_lt.
Qed.

End Replay.

(** A recorded round: what the model makes of its last state, if every step of it is allowed. *)
Definition replayed (net : network) (t : table) (width : nat) (r : nat -> Z) (weight : nat -> nat)
    (states : list state) : option outcome :=
  if forallb (fun a => (1 <=? weight a) && (weight a <=? 15)) (seq 0 (arcs net)) &&
     is_search net t (usable_arcs everything r) weight 0 (start net) states
  then Some (judged_round net t width r (last states (start net))) else None.

Theorem replayed_is_a_round net t width r weight states o :
  replayed net t width r weight states = Some o -> round net t width everything r o.
Proof.
  unfold replayed. destruct (forallb _ _ && is_search _ _ _ _ _ _ _) eqn:H; [|discriminate].
  intros O. injection O as <-. apply andb_true_iff in H. destruct H as [Wt Se].
  exists weight, (last states (start net)). split; [|split; [|reflexivity]].
  - intros a A. apply forallb_seq with (k := a) in Wt; [|assumption].
    apply andb_true_iff in Wt. now rewrite !Nat.leb_le in Wt.
  - now apply is_search_sound.
Qed.
